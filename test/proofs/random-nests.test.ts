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

const nests = fc
  .tuple(
    fc.array(fc.constantFrom<Part>(null, ...KINDS), { minLength: 1, maxLength: 3 }),
    fc.option(fc.nat(2)),
  )
  .map(([parts, corrected]) => nestOf(parts, corrected));

const RUNS_OF_EACH = 5;

// Method: the explorer says what a nest takes at most; then it is run with agents that are content, find fault, answer anything, or fail.
describe('X8: a nest of loops', () => {
  it(
    'X4, K5: comes to an end within the bound of the explorer, whatever it is made of and its agents answer',
    async () => {
      const answers = anyAnswers(fc).agents('any');
      await fc.assert(
        fc.asyncProperty(nests, fc.nat(), answers, async ({ workflow, inside, kinds }, seed, { any }) => {
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
        { numRuns: rounds(10, 300) },
      );
    },
    rounds(120_000, 3_600_000),
  );
});
