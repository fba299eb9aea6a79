import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { agentCall, createRuntime, tightLoop, type Workflow, workflow } from '../../src/index.ts';
import { type QuestionOutput, questionMachine } from '../../src/machines/question-machine.ts';
import { replayEndless } from '../../src/testing/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';

const QUESTION = {
  text: 'Go on?',
  details: null,
  options: [
    { id: 'go', label: 'Yes' },
    { id: 'stop', label: 'No' },
  ],
  isFree: false,
  levels: [{ to: null, expiresMs: null }],
  onExpiry: 'stop',
} as const;

const isGo = ({ event }: { readonly event: { readonly output: QuestionOutput } }): boolean =>
  event.output.outcome === 'answered' && event.output.option === 'go';

/** Asks before it works; then it works for ever, comes to a standstill, or asks again. */
const asking = (then: 'endless' | 'stuck' | 'again') =>
  workflow(
    'asking',
    setup({ actors: { question: questionMachine, worker: agentCall<null, boolean>() } }).createMachine({
      initial: 'asking',
      states: {
        asking: {
          tags: 'waiting',
          invoke: {
            src: 'question',
            input: QUESTION,
            onDone: [{ guard: isGo, target: 'working' }, { target: 'done' }],
          },
        },
        working: {
          invoke: {
            src: 'worker',
            input: null,
            onDone: { target: { endless: 'working', stuck: 'stuck', again: 'asking' }[then], reenter: true },
            onError: 'done',
          },
        },
        stuck: {},
        done: { type: 'final' },
      },
    }),
  ) as Workflow;

const explore = async (explored: Workflow, input: unknown, options = {}) => {
  const runtime = await createRuntime({ file: ':memory:', workflows: [explored], agents: {}, idle: true });
  try {
    return await runtime.worstCase(explored.name, input, options);
  } finally {
    await runtime.close();
  }
};

const outcomes = () => [
  { name: 'works', output: true },
  { name: 'fails', fails: true },
];

describe('what persons decide, and what follows', () => {
  it('K5, X8: a way that never ends after what a person has said is found, and replays', async () => {
    const endless = asking('endless');
    // Up to the question nothing is wrong.
    expect(await explore(endless, null, { outcomes })).toMatchObject({
      result: 'proved',
      calls: 0,
      mayAsk: true,
      afterDecisions: null,
    });
    const proof = await explore(endless, null, { outcomes, persons: true });
    expect(proof).toMatchObject({
      result: 'not proved',
      afterDecisions: { result: 'not proved', calls: null },
    });
    expect(proof.endless?.prefix).toEqual(['a person decides: go']);
    expect(proof.endless?.cycle).toEqual(['worker: works']);
    const replay = await replayEndless(endless, proof, { file: temporaryFile(), times: 3 });
    const added = replay.events.slice(1).map((count, index) => count - (replay.events[index] ?? 0));
    expect(new Set(added).size).toBe(1);
    expect(added[0]).toBeGreaterThan(0);
  });

  it('K5: so is a standstill', async () => {
    const proof = await explore(asking('stuck'), null, { outcomes, persons: true });
    expect(proof).toMatchObject({ result: 'not proved', deadEnds: [], endless: null });
    expect(proof.afterDecisions?.deadEnds).toEqual(['run: "stuck"']);
  });

  it('K5: persons may go on for as long as they like; what a decision takes is bounded', async () => {
    const proof = await explore(asking('again'), null, { outcomes, persons: true });
    expect(proof).toMatchObject({ result: 'proved', calls: 0, endless: null });
    expect(proof.afterDecisions).toMatchObject({ result: 'proved', calls: 1, verdicts: ['verified'] });
    expect(proof.text).toContain('from one decision to the next');
  });

  it('K5, X4: the tight loop, with all that may be decided at its limits', async () => {
    const proof = await explore(tightLoop() as Workflow, 'a task', { persons: true });
    expect(proof).toMatchObject({ result: 'proved', requests: 15, verdicts: ['verified'] });
    expect(proof.afterDecisions).toMatchObject({
      result: 'proved',
      requests: 15,
      verdicts: ['accepted', 'cancelled', 'failed', 'verified'],
    });
    // What nobody comes to without a person, and what a person leads to.
    expect(proof.unreachable['tight-loop']).toContain('accepted');
    expect(proof.afterDecisions?.unreachable['tight-loop']).not.toContain('accepted');
  });
});
