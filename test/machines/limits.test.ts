import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { addSpent, NOTHING_SPENT, type Spent, spend, type Usage } from '../../src/events/usage.ts';
import {
  type Budget,
  budgetLeft,
  fixLimits,
  type GivenLimits,
  LIMITS,
  type LimitName,
  type Limits,
  metLimit,
  nestedLimits,
  usedUp,
} from '../../src/machines/limits.ts';
import { refused } from '../support/refused.ts';

const NAMES = Object.keys(LIMITS) as LimitName[];
const BUDGETS = ['costUsd', 'tokens', 'calls'] as const;

/** Dollars to the millionth, as they are counted. */
const usd = fc.nat(5_000_000).map((millionths) => millionths / 1e6);
const bound = (of: fc.Arbitrary<number>): fc.Arbitrary<number | null> => fc.option(of, { freq: 4 });

const someLimits: fc.Arbitrary<Limits> = fc
  .record({ calls: bound(fc.nat(50)), tokens: bound(fc.nat(10_000)), costUsd: bound(usd) })
  .map((given) => fixLimits({ ...given, unbounded: 'a test' }));

const someUsage: fc.Arbitrary<Usage> = fc.record(
  { inputTokens: fc.nat(2_000), outputTokens: fc.nat(2_000), costUsd: usd },
  { requiredKeys: [] },
);

/** What an agent may claim to have used: types do not keep it from anything. */
const claimedNumber = fc.oneof(
  fc.double(),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.double({ min: -1, max: 1e-5, noNaN: true }),
  fc.integer(),
  fc.constantFrom(Number.NaN, Number.MAX_VALUE, Number.POSITIVE_INFINITY, -0, 5e-7, 1.5e-6, 1e300),
);
const claimed = fc.record(
  { inputTokens: claimedNumber, outputTokens: claimedNumber, costUsd: claimedNumber },
  { requiredKeys: [] },
);

const spentBy = (usages: readonly Usage[]): Spent => usages.reduce<Spent>(spend, NOTHING_SPENT);

describe('fixLimits', () => {
  it('gives the usual value of what is not set, and keeps what is', () => {
    const usual = Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, limit.usual]));
    expect(fixLimits()).toEqual(usual);
    expect(fixLimits({})).toEqual(usual);
    fc.assert(
      fc.property(
        fc.record(
          Object.fromEntries(NAMES.map((name) => [name, fc.double({ min: 0, noNaN: true, max: 1e9 })])),
          { requiredKeys: [] },
        ),
        (given: GivenLimits) => {
          expect(fixLimits(given)).toEqual({ ...usual, ...given });
        },
      ),
    );
  });

  it('refuses a name that there is not, one that every object has among them', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('pases', 'toString', '__proto__', 'constructor', 'Passes')),
        (name) => {
          fc.pre(!Object.hasOwn(LIMITS, name) && name !== 'unbounded');
          const given = Object.fromEntries([[name, 1]]);
          expect(refused(() => fixLimits(given), 'BAD_OPTION').message).toContain(`limits.${name}`);
        },
      ),
    );
  });

  test.each<[string, unknown]>([
    ['a negative number', -1],
    ['no number', Number.NaN],
    ['no end', Number.POSITIVE_INFINITY],
    ['a text', '5'],
    ['a truth', true],
    ['a list', [5]],
    ['an object', {}],
    ['a large integer', 5n],
    ['a function', () => 5],
  ])('refuses %s for a bound, whichever it is', (_, value) => {
    for (const name of NAMES) {
      const given = { [name]: value } as GivenLimits;
      const { message } = refused(() => fixLimits(given), 'BAD_OPTION');
      expect(message).toContain(`limits.${name}`);
      // It says what was found, and `null` would have been taken.
      expect(message).not.toMatch(/found (?:null|undefined)|is null|is undefined/);
    }
  });

  it('X8: refuses a loop that no count ends, unless `unbounded` says why in words', () => {
    const counts = ['passes', 'calls'] as const;
    for (const name of counts) {
      const given: GivenLimits = { [name]: null };
      expect(refused(() => fixLimits(given), 'BAD_OPTION').message).toContain(`limits.${name}`);
      for (const unbounded of ['', ' \n\t', true, 1, {}, null, ['why']])
        refused(() => fixLimits({ ...given, unbounded } as unknown as GivenLimits), 'BAD_OPTION');
      expect(fixLimits({ ...given, unbounded: 'a person watches it' })[name]).toBeNull();
    }
    // Those that do not end it by counting may be missing without a word.
    for (const name of NAMES.filter((each) => !counts.some((count) => count === each)))
      expect(fixLimits({ [name]: null })[name]).toBeNull();
    // A reason alone takes nothing away.
    expect(fixLimits({ unbounded: 'why not' })).toEqual(fixLimits());
  });
});

describe('metLimit', () => {
  const anyLimits = fc
    .record(Object.fromEntries(NAMES.map((name) => [name, bound(fc.nat(6))])))
    .map((given) => fixLimits({ ...given, unbounded: 'a test' }));
  const anyUses = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), fc.nat(6)), { selector: ([name]) => name })
    .map((uses) => uses.map(([name, used]) => [name, { used, evidence: [name] }] as const));

  it('a limit is met exactly when what was used has reached it; null never is; the first one counts', () => {
    fc.assert(
      fc.property(anyLimits, anyUses, (limits, uses) => {
        const expected = uses.find(([name, { used }]) => {
          const limit = limits[name];
          return limit !== null && used >= limit;
        });
        expect(metLimit(limits, Object.fromEntries(uses))).toEqual(
          expected && {
            limit: expected[0],
            bound: limits[expected[0]],
            used: expected[1].used,
            evidence: [expected[0]],
          },
        );
      }),
    );
  });

  it('proceeds one below the bound, and not at it', () => {
    const limits = fixLimits({ calls: 3 });
    expect(metLimit(limits, { calls: { used: 2 } })).toBeUndefined();
    expect(metLimit(limits, { calls: { used: 3 } })).toEqual({
      limit: 'calls',
      bound: 3,
      used: 3,
      evidence: [],
    });
    expect(metLimit(limits, { tokens: { used: Number.MAX_SAFE_INTEGER } })).toBeUndefined();
  });
});

describe('the budget of a nested loop', () => {
  const usages = fc.array(someUsage, { maxLength: 8 });

  it('X4: is never more than its parent has left, nor than its own', () => {
    fc.assert(
      fc.property(someLimits, someLimits, usages, (parent, own, used) => {
        const rest = budgetLeft(parent, spentBy(used));
        const nested = nestedLimits(own, rest);
        for (const name of BUDGETS) {
          for (const most of [rest[name], own[name]])
            if (most !== null) expect(nested[name] ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(most);
          if (rest[name] === null && own[name] === null) expect(nested[name]).toBeNull();
          expect(rest[name] ?? 0).toBeGreaterThanOrEqual(0);
        }
        for (const name of NAMES.filter((each) => !BUDGETS.some((budget) => budget === each)))
          expect(nested[name]).toBe(own[name]);
      }),
    );
  });

  // Method: whatever a nested loop spends, it finds its budget used up exactly when its parent would, in the same sum.
  it('X4: is used up exactly when the parent budget is, to the millionth of a dollar', () => {
    fc.assert(
      fc.property(someLimits, usages, usages, (parent, before, within) => {
        const spent = spentBy(before);
        fc.pre(usedUp(parent, spent) === undefined);
        const own = fixLimits({ passes: null, calls: null, unbounded: 'its parent has a bound' });
        const nested: Budget = nestedLimits(own, budgetLeft(parent, spent));
        const more = spentBy(within);
        expect(usedUp(nested, more)).toBe(usedUp(parent, addSpent(spent, more)));
      }),
      { numRuns: 1_000 },
    );
  });

  test('X4: 1.1 dollars of which 0.8 are spent are used up by 0.3', () => {
    const rest = budgetLeft(fixLimits({ costUsd: 1.1 }), { ...NOTHING_SPENT, costUsd: 0.8 });
    expect(usedUp(rest, { ...NOTHING_SPENT, costUsd: 0.3 })).toBe('costUsd');
    expect(usedUp(rest, { ...NOTHING_SPENT, costUsd: 0.299999 })).toBeUndefined();
  });
});

describe('usage', () => {
  it('X4: adds up to the same in whatever order, and however it is put together', () => {
    fc.assert(
      fc.property(
        fc
          .array(fc.oneof(claimed, someUsage), { maxLength: 8 })
          .chain((list) =>
            fc.tuple(
              fc.constant(list),
              fc.shuffledSubarray(list, { minLength: list.length }),
              fc.nat(list.length),
            ),
          ),
        ([list, shuffled, at]) => {
          expect(spentBy(shuffled)).toEqual(spentBy(list));
          expect(addSpent(spentBy(list.slice(0, at)), spentBy(list.slice(at)))).toEqual(spentBy(list));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('X4: nothing that an agent claims wins a budget back, or makes a number that the log cannot keep', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(claimed, someUsage), { maxLength: 8 }), (list) => {
        let spent = NOTHING_SPENT;
        for (const usage of list) {
          const next = spend(spent, usage);
          expect(next.calls).toBe(spent.calls + 1);
          expect(next.tokens).toBeGreaterThanOrEqual(spent.tokens);
          expect(next.costUsd).toBeGreaterThanOrEqual(spent.costUsd);
          expect(Object.values(next).every(Number.isFinite)).toBe(true);
          spent = next;
        }
      }),
    );
  });

  it('counts what is known, and one call for each usage', () => {
    expect(spend(NOTHING_SPENT, undefined)).toEqual({ calls: 1, tokens: 0, costUsd: 0 });
    expect(spend(NOTHING_SPENT, { inputTokens: 3, outputTokens: 4, costUsd: 0.1 })).toEqual({
      calls: 1,
      tokens: 7,
      costUsd: 0.1,
    });
    fc.assert(
      fc.property(fc.array(someUsage), (list) => {
        const sum = (read: (usage: Usage) => number) => list.reduce((total, usage) => total + read(usage), 0);
        expect(spentBy(list)).toEqual({
          calls: list.length,
          tokens: sum(({ inputTokens = 0, outputTokens = 0 }) => inputTokens + outputTokens),
          costUsd: sum(({ costUsd = 0 }) => Math.round(costUsd * 1e6)) / 1e6,
        });
      }),
    );
  });
});
