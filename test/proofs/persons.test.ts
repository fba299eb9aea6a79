import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import {
  agentCall,
  createRuntime,
  repeatLoop,
  tightLoop,
  treeRun,
  type Workflow,
  workflow,
} from '../../src/index.ts';
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

  it('K5: what one decision leads to and another, too, is not taken for something else', async () => {
    // Whatever is said to the first question, a second one is asked.
    const twice = workflow(
      'twice',
      setup({ actors: { question: questionMachine } }).createMachine({
        initial: 'first',
        states: {
          first: {
            tags: 'waiting',
            invoke: { id: 'one', src: 'question', input: QUESTION, onDone: 'second' },
          },
          second: {
            tags: 'waiting',
            invoke: { id: 'two', src: 'question', input: QUESTION, onDone: 'done' },
          },
          done: { type: 'final' },
        },
      }),
    ) as Workflow;
    expect(await explore(twice, null, { outcomes, persons: true })).toMatchObject({
      result: 'proved',
      states: 3,
      afterDecisions: { result: 'proved', problem: null, calls: 0 },
    });
  });

  it('K5, X4: the loop inside one task, however often persons let it go on', async () => {
    const repeats = repeatLoop('repeats', { agent: 'developer' }) as Workflow;
    const proof = await explore(repeats, 'a task', { persons: true });
    expect(proof).toMatchObject({ result: 'proved', requests: 10, calls: 30 });
    expect(proof.afterDecisions).toMatchObject({ result: 'proved', requests: 10, calls: 30 });
  });

  it('K5: a budget that persons double each time has no bound from one decision to the next', async () => {
    const options = { agent: 'developer', maxRepeats: 3, limits: { calls: 7 } };
    const proof = await explore(repeatLoop('repeats', options) as Workflow, 'a task', {
      persons: true,
      statesMax: 300,
    });
    expect(proof).toMatchObject({ result: 'proved', calls: 7 });
    expect(proof.afterDecisions).toMatchObject({ result: 'inconclusive', calls: null });
  });

  it('K5, C8: a tree of two nodes, with all that may be decided about its feedback', async () => {
    const nodes = [{ id: 'n0' }, { id: 'n1', parent: 'n0' }];
    const tree = treeRun('tree', { nodes }) as Workflow;
    const proof = await explore(tree, { task: null }, { persons: true });
    expect(proof).toMatchObject({ result: 'proved', calls: 54 });
    expect(proof.afterDecisions).toMatchObject({ result: 'proved', calls: 54 });
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
