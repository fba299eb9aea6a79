import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { type AgentOutcome, agentCall, planRun, workflow } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { draftPlan, never } from '../support/draft-plan.ts';
import { open } from '../support/runtimes.ts';

const OUTCOMES: readonly AgentOutcome[] = [
  { name: 'good', output: true },
  { name: 'bad', output: false },
  { name: 'fails', fails: true },
];

/** Tries until its worker says true, so many times at most; without a bound, for ever. */
const trying = (triesMax: number | null, isStuck = false) =>
  workflow(
    'trying',
    setup({
      types: { context: {} as { tries: number } },
      actors: { worker: agentCall<null, boolean>() },
      guards: {
        isGood: (_, good: boolean) => good,
        isOver: ({ context }) => triesMax !== null && context.tries >= triesMax,
      },
    }).createMachine({
      context: { tries: 0 },
      initial: 'working',
      states: {
        working: {
          entry: assign({ tries: ({ context }) => context.tries + 1 }),
          invoke: {
            src: 'worker',
            input: null,
            onDone: [
              { guard: { type: 'isGood', params: ({ event }) => event.output }, target: 'done' },
              { target: 'deciding' },
            ],
            onError: 'deciding',
          },
        },
        deciding: {
          always: [{ guard: 'isOver', target: isStuck ? 'stuck' : 'done' }, { target: 'working' }],
        },
        stuck: {},
        done: { type: 'final' },
      },
    }),
  );

const worstOf = async (
  chart: ReturnType<typeof trying>,
  options: { reduce?: (context: unknown) => number | null; statesMax?: number } = {},
) => {
  const runtime = await open({ file: temporaryFile(), workflows: [chart], agents: { worker: never } });
  const { reduce, statesMax } = options;
  return runtime.worstCase('trying', null, {
    outcomes: () => OUTCOMES,
    ...(reduce && { reduce: { trying: reduce } }),
    ...(statesMax !== undefined && { statesMax }),
  });
};

describe('the explorer', () => {
  it.each([1, 2, 7])(
    'K5: proves that a machine with at most %i tries ends, and how many calls it takes',
    async (tries) => {
      const proof = await worstOf(trying(tries));
      expect(proof).toMatchObject({
        result: 'proved',
        calls: tries,
        turns: tries,
        callsByAgent: { worker: tries },
        endless: null,
      });
      expect(proof.verdicts).toEqual(['verified']);
    },
  );

  it('K5, X8: shows the endless way of a machine without a bound, once its counter is reduced away', async () => {
    const proof = await worstOf(trying(null), { reduce: () => null });
    expect(proof).toMatchObject({ result: 'not proved', calls: null, endless: { prefix: [] } });
    expect(proof.endless?.cycle).toHaveLength(1);
    expect(proof.text).toMatch(/not proved, at most 10000 turns by the cap: it need not end/);
  });

  it('K5: without a reduction it gives up at the cap of states, and says so', async () => {
    const proof = await worstOf(trying(null), { statesMax: 50 });
    expect(proof).toMatchObject({
      result: 'inconclusive',
      problem: 'there are more than 50 states',
      calls: null,
    });
  });

  it('K5: a reduction that loses what a guard sees is found out', async () => {
    const proof = await worstOf(trying(3), {
      reduce: (context) => Math.min((context as { tries: number }).tries, 2),
    });
    expect(proof.result).not.toBe('proved');
    const wrong = await worstOf(trying(4), { reduce: (context) => (context as { tries: number }).tries % 2 });
    expect(wrong.result).not.toBe('proved');
  });

  it('K5: finds states from which nothing leads on', async () => {
    const proof = await worstOf(trying(2, true));
    expect(proof).toMatchObject({ result: 'not proved', deadEnds: ['run: "stuck"'] });
  });

  it('X4: what a plan with persons may take is counted up to the question', async () => {
    const plan = planRun('signed', {
      steps: [
        { id: 'write', agent: 'writer' },
        { id: 'sign', needs: ['write'], gate: { reviewers: ['boss'], corrects: 'write' } },
      ],
      roles: { writer: { attempts: 1 } },
      persons: { boss: { text: 'Good?', options: [{ id: 'approve', label: 'Yes' }] } },
    });
    const runtime = await open({ file: temporaryFile(), workflows: [plan], agents: { writer: never } });
    expect(await runtime.worstCase('signed')).toMatchObject({ result: 'proved', calls: 1, mayAsk: true });
  });

  it('X4: says which workflow there is not, and whose agents it knows nothing of', async () => {
    const runtime = await open({
      file: temporaryFile(),
      workflows: [trying(1), draftPlan()],
      agents: { worker: never, writer: never, critic: never },
    });
    await expect(runtime.worstCase('nothing' as 'draft')).rejects.toThrow(/nothing/);
    await expect(runtime.worstCase('trying')).rejects.toThrow(/outcomes of "worker"/);
  });
});
