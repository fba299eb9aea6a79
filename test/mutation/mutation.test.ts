import { describe, expect, it } from 'vitest';
import { allMutants, mutate } from './mutate.ts';
import { mutable } from './points.ts';
import { SURVIVORS } from './survivors.ts';
import { summaryOf, tableOf } from './verdict.ts';

// The whole command takes minutes: `npm run mutate`. Here it is shown that it works, and that it can fail.

const SOURCE = `
const machine = setup({
  guards: {
    isOver: ({ context }) => context.tries >= 3,
    isBlock: ({ context }) => {
      return context.tries > 0;
    },
  },
}).createMachine({ on: { GO: { guard: ({ event }) => event.ok } } });
const next = (state) => ({ ...state, tries: state.tries + 1, same: state.same + (isSame ? 1 : 0) });
const name = (index) => \`nth \${index + 1}\`;
const stop = (state) => metLimit(state.limits, { tries: { used: state.tries } });
const pay = (state, spent) => ({ ...state, spent: addSpent(state.spent, spent) });
`;

describe('mutation', () => {
  it('K5: finds each guard, counter and limit in a source, and nothing that only names a place', () => {
    const { mutants } = mutable('src/machines/tight-x.ts', SOURCE);
    expect(mutants.map(({ name }) => name.replace('src/machines/tight-x.ts: ', ''))).toEqual([
      'guard isOver always true',
      'guard isOver always false',
      'guard isBlock always true',
      'guard isBlock always false',
      'guard in place always true',
      'guard in place always false',
      'count state.tries does not count',
      'count state.same does not count',
      'limit in stop is never met',
      'sum in pay does not count',
    ]);
    expect(new Set(mutants.map(({ machine }) => machine))).toEqual(new Set(['tight']));
  });

  it('K5: every machine has mutants, each with a name of its own, and survivors are among them', () => {
    const all = allMutants();
    const names = new Set(all.map(({ name }) => name));
    expect(names.size).toBe(all.length);
    expect(all.length).toBeGreaterThan(350);
    expect(Object.keys(SURVIVORS).filter((name) => !names.has(name))).toEqual([]);
    expect(Object.values(SURVIVORS).every((reason) => reason.length > 10)).toBe(true);
  });

  it('K5: a few mutants of small machines are found, and what is not mutated is not', async () => {
    const few = {
      only: 'question,context,fix-verify,coordinator-queue',
      killers: 'lw.question,lw.context,lw.fix-verify,a property',
      sample: 4,
    };
    const tried = await mutate(few);
    expect(tried.length).toBeGreaterThan(12);
    expect(tried.filter(({ by }) => by === null)).toEqual([]);
    expect(summaryOf(tried, {})).toMatchObject({ percent: 100, isGood: true });
    const unchanged = await mutate({ ...few, isDry: true });
    expect(unchanged.map(({ by }) => by)).toEqual(tried.map(() => null));
    const summary = summaryOf(unchanged, {});
    expect(summary).toMatchObject({ percent: 0, found: 0, isGood: false });
    expect(tableOf(summary)).toContain('NO REASON IS GIVEN');
  });

  it('K5: no loop can lose its budget unnoticed', async () => {
    const tried = await mutate({ only: 'limit in budgetMet', killers: 'few calls' });
    expect(tried.map(({ machine }) => machine)).toEqual(['run', 'phase', 'repeat', 'story', 'tight', 'tree']);
    expect(tried.filter(({ by }) => by === null)).toEqual([]);
  });

  it('K5: a survivor without a reason fails the command, and so does a reason for one that is found', () => {
    const mutant = { machine: 'm', kind: 'always true', place: 'p', difference: null, ms: 1 } as const;
    const found = Array.from({ length: 19 }, (_, nth) => ({ ...mutant, name: `found ${nth}`, by: 'k' }));
    const survivor = { ...mutant, name: 'survivor', by: null };
    const good = summaryOf([...found, survivor], { survivor: 'nobody can see it' });
    expect(good).toMatchObject({ percent: 95, isGood: true, machines: { m: { mutants: 20, found: 19 } } });
    expect(summaryOf([...found, survivor], {}).isGood).toBe(false);
    expect(summaryOf(found, { 'found 1': 'it was not found before' }).isGood).toBe(false);
    const many = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, 'nobody can see it']));
    const three = Object.keys(many).map((name) => ({ ...survivor, name }));
    expect(summaryOf([...found, ...three], many)).toMatchObject({ percent: 86.3, isGood: false });
  });
});
