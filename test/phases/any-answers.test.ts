import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answer, type GivenPhase, phaseRun, type Workflow } from '../../src/index.ts';
import { fail, play, type Request, readBack, WORDS, type Work } from '../support/phases.ts';
import { rounds } from '../support/runtimes.ts';

/** What an agent may come up with, sensible or not. */
const someAnswer: fc.Arbitrary<(nth: number, phases: readonly string[]) => unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(() => 'PASS') },
  { weight: 3, arbitrary: fc.constant((nth: number) => ({ made: nth })) },
  fc.constant(() => ({ made: 'always the same' })),
  fc
    .constantFrom(null, 7, true, false, 'FAIL', {}, [], { issues: 'x' }, { assessment: '__proto__' })
    .map((given) => () => given),
  fc.constant(() => ({ assessment: 'FAIL', issues: [null, 7, 'text', { affectedPhases: {} }, []] })),
  fc.constant((nth: number, phases: readonly string[]) => fail([`${WORDS[nth % 12]} is wrong`, phases])),
  fc.constant((nth: number, phases: readonly string[]) =>
    fail(['the same', phases.slice(nth % 2)], ['and this']),
  ),
  fc.constant((nth: number, phases: readonly string[]) =>
    answer(null, { issues: [{ description: `${WORDS[nth % 12]} is odd`, phase: phases[0] ?? 'unknown' }] }),
  ),
  fc.constant(() => {
    throw new Error('it broke');
  }),
);

interface Case {
  readonly phases: readonly GivenPhase[];
  readonly answers: readonly ((nth: number, phases: readonly string[]) => unknown)[];
  readonly decisions: readonly string[];
}

const IDS = ['a', 'b', 'c', 'd', 'e'];

const someCase: fc.Arbitrary<Case> = fc
  .record({
    kinds: fc.array(fc.constantFrom('work', 'work', 'review', 'test'), { minLength: 1, maxLength: 4 }),
    needs: fc.array(fc.nat(31), { minLength: 5, maxLength: 5 }),
    shapes: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    answers: fc.array(someAnswer, { minLength: 12, maxLength: 12 }),
    decisions: fc.array(fc.constantFrom('continue', 'retry', 'accept'), { maxLength: 4 }),
  })
  .map(({ kinds, needs, shapes, answers, decisions }) => ({
    answers,
    decisions,
    phases: (['work', ...kinds] as const).map((kind, at): GivenPhase => {
      const id = IDS[at] ?? 'z';
      // All that judge look at the first one, at least.
      const own = IDS.slice(0, at).filter((_, place) => place === 0 || ((needs[at] ?? 0) >> place) & 1);
      return {
        id,
        kind,
        needs: own,
        ...(shapes[at] === true && kind === 'work' && { output: 'isMade' }),
        ...(shapes[at] === true && at > 0 && { input: { a: 'isMade' } }),
      };
    }),
  }));

/** Not picky: a third of all that is made does not please it. */
const isMade = (value: unknown): readonly string[] =>
  JSON.stringify(value).length % 3 === 0 ? [`${JSON.stringify(value).length} is too long`] : [];

const workOf = ({ input, feedback }: Request): string => JSON.stringify([input.inputs, feedback]);

describe('a phase run', () => {
  it('P3, P6, P12: ends or asks whatever agents answer, and nobody does again what is done', async () => {
    await fc.assert(
      fc.asyncProperty(someCase, async ({ phases, answers, decisions }) => {
        const declared = phaseRun('any', {
          phases,
          functions: { isMade: (value) => [...isMade(value)] },
          roles: Object.fromEntries(phases.map(({ id }) => [id, { attempts: 1 }])),
        }) as Workflow;
        let turn = 0;
        const work =
          (id: string): Work =>
          ({ input }, nth) => {
            turn += 1;
            const next = answers[(turn * 7 + IDS.indexOf(id)) % answers.length];
            return next?.(nth, input.attribution?.phases ?? []);
          };
        const played = await play(declared, Object.fromEntries(phases.map(({ id }) => [id, work(id)])));
        for (const decision of [...decisions, 'cancel']) {
          await played.run.settled();
          const [question] = await played.runtime.questions();
          if (!question) break;
          const isOffered = question.options.some(({ id }) => id === decision);
          await played.runtime.answer(question.id, isOffered ? decision : 'cancel');
        }
        const { result, events, facts } = await readBack(played);
        expect(result.verdict).toMatch(/^(verified|accepted|cancelled)$/);
        expect(events.filter(({ kind }) => kind === 'failed' || kind === 'undelivered')).toEqual([]);
        expect(facts('correction.opened').length).toBeLessThanOrEqual(10 + 3 * decisions.length);
        const redone = facts('phase.done') as unknown as { phase: string; run: number }[];
        for (const { id } of phases) {
          const done = redone.filter(({ phase }) => phase === id).map(({ run }) => run);
          const workIn = (run: number): string | undefined => {
            const request = played.requests[id]?.[run - 1];
            return request && workOf(request);
          };
          // Where it found faults in something else in between, what it was given has changed, and changed back.
          const again = done.filter((run) => done.includes(run - 1));
          for (const run of again) expect(workIn(run)).not.toBe(workIn(run - 1));
        }
      }),
      { numRuns: rounds(20, 300) },
    );
  }, 300_000);
});
