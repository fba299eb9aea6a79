import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRuntime, type GivenStep, planRun, type Workflow } from '../../src/index.ts';
import { anyAnswers } from '../../src/testing/index.ts';
import { Random } from '../simulation/random.ts';
import { KINDS, type LoopKind } from '../support/nested-loops.ts';
import { rounds } from '../support/runtimes.ts';

const LIMITS = { passes: 2, feedbacks: 4, repeats: 2, reworks: 1, pairRounds: 1, sameIssue: 2 };
const ONCE = { attempts: 1 };

/** What one step of a nest is: an agent, or a loop of a kind. */
type Part = LoopKind | null;

interface Nest {
  readonly workflow: Workflow;
  readonly inside: readonly Workflow[];
  readonly kinds: readonly LoopKind[];
}

/** Steps one after the other, and a gate that sends one of them back. */
const nestOf = (parts: readonly Part[], corrected: number | null): Nest => {
  const options = { limits: LIMITS, onLimit: 'stop' } as const;
  const inside = parts.map((kind, index) => kind?.declare({ ...options, name: `loop-${index}` }) ?? null);
  const steps = inside.map(
    (run, index): GivenStep => ({
      id: `s${index}`,
      needs: index === 0 ? [] : [`s${index - 1}`],
      ...(run ? { run } : { agent: 'maker' }),
    }),
  );
  const last = `s${steps.length - 1}`;
  const gate = corrected === null ? [] : [{ reviewers: ['judge'], corrects: `s${corrected % steps.length}` }];
  const roles = {
    ...(parts.includes(null) && { maker: ONCE }),
    ...(corrected !== null && { judge: ONCE }),
  };
  return {
    workflow: planRun('nest', {
      steps: [...steps, ...gate.map((each) => ({ id: 'gate', needs: [last], gate: each }))],
      roles,
      ...options,
    }) as Workflow,
    inside: inside.flatMap((run) => run ?? []),
    kinds: parts.flatMap((kind) => kind ?? []),
  };
};

/** By names, so that a counterexample can be read. */
const nests = fc.record({
  parts: fc.array(fc.constantFrom('agent', ...KINDS.map(({ name }) => name)), { minLength: 1, maxLength: 3 }),
  corrected: fc.option(fc.nat(2)),
});

const kindNamed = (name: string): Part => KINDS.find((kind) => kind.name === name) ?? null;

const RUNS_OF_EACH = 5;

/** What the explorer says of a nest. */
const boundOf = async ({ workflow, inside }: Nest) => {
  const runtime = await createRuntime({
    file: ':memory:',
    workflows: [...inside, workflow],
    agents: {},
    idle: true,
  });
  const bound = await runtime.worstCase('nest');
  await runtime.close();
  return bound;
};

// Method: the explorer says what a nest takes at most; then it is run with agents that are content, find fault, answer anything, or fail.
describe('X8: a nest of loops', () => {
  // Rounds of a tree were counted beside the states, as if two trees were one.
  it.each(KINDS)('K5: two of $name, one after the other, take twice as much as one', async (kind) => {
    const one = await boundOf(nestOf([kind], null));
    const two = await boundOf(nestOf([kind, kind], null));
    expect([one.result, two.result]).toEqual(['proved', 'proved']);
    expect([two.calls, two.requests]).toEqual([2 * (one.calls ?? 0), 2 * (one.requests ?? 0)]);
  });

  it(
    'X4, K5: comes to an end within the bound of the explorer, whatever it is made of and its agents answer',
    async () => {
      const answers = anyAnswers(fc).agents('any');
      await fc.assert(
        fc.asyncProperty(nests, fc.nat(), answers, async ({ parts, corrected }, seed, { any }) => {
          const { workflow, inside, kinds } = nestOf(parts.map(kindNamed), corrected);
          const random = new Random(seed);
          const calls = new Map<string, number>();
          const said = (kind: LoopKind | undefined, role: string, nth: number): unknown => {
            const isContent = random.chance(0.6);
            if (kind) return isContent || role !== kind.critic ? kind.good(role, nth) : kind.bad(nth);
            return isContent
              ? { passed: true, issues: [] }
              : { passed: false, issues: [{ description: `no ${'i'.repeat(nth)}` }] };
          };
          const roles = ['maker', 'judge', ...kinds.flatMap((kind) => kind.roles)];
          const agents = Object.fromEntries(
            roles.map((role) => [
              role,
              (request: Parameters<typeof any>[0]) => {
                const nth = (calls.get(request.run) ?? 0) + 1;
                calls.set(request.run, nth);
                if (random.chance(0.05)) throw new Error('not now');
                const kind = kinds.find((each) => each.roles.includes(role));
                return random.chance(0.1) ? any(request) : said(kind, role, nth);
              },
            ]),
          );
          const workflows = [...inside, workflow];
          const runtime = await createRuntime({
            file: ':memory:',
            workflows,
            agents,
            printEscalations: false,
          });
          try {
            const bound = await runtime.worstCase('nest');
            expect([bound.result, bound.problem]).toEqual(['proved', null]);
            const runs = await Promise.all(
              Array.from({ length: RUNS_OF_EACH }, (_, index) =>
                runtime.start('nest', null, { id: `r${index}` }),
              ),
            );
            for (const run of runs) expect(bound.verdicts).toContain((await run.result()).verdict);
            for (const { id, turns } of await runtime.runs()) {
              expect(calls.get(id) ?? 0).toBeLessThanOrEqual(bound.calls ?? 0);
              // The turn that starts a run is not one that agents bring about.
              expect(turns).toBeLessThanOrEqual((bound.turns ?? 0) + 1);
            }
          } finally {
            await runtime.close();
          }
        }),
        { numRuns: rounds(8, 300) },
      );
    },
    rounds(120_000, 3_600_000),
  );
});
