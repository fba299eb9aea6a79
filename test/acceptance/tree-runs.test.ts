import { describe, expect, it } from 'vitest';
import { answer, type GivenNode, treeRun } from '../../src/index.ts';
import { never } from '../support/draft-plan.ts';
import { createFakeClock, open } from '../support/runtimes.ts';
import { inTurn, item, mends, passes, playTree, reporting } from '../support/tree-runs.ts';

const MODEL: readonly GivenNode[] = [{ id: 'model' }, { id: 'spec', parent: 'model' }];

describe('a tree run', () => {
  it('X1, X4: a budget is a limit: a person is asked, and may raise it', async () => {
    const played = await playTree(
      MODEL,
      { model: mends, spec: inTurn(() => reporting(item('spec', 'model')), passes) },
      { limits: { calls: 3 } },
    );
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe('The limit "calls" of 3 was met.');
    await played.runtime.answer(question?.id ?? '', 'continue', { value: 5 });
    const { result } = await played.readBack();
    expect(result).toMatchObject({ verdict: 'verified', output: { spent: { calls: 4 } } });
  });

  it('X1: a time limit ends it in the middle of a round, and a person may give more', async () => {
    const clock = createFakeClock();
    let isSlow = true;
    const played = await playTree(
      MODEL,
      {
        model: ({ feedback }) => {
          if (feedback.length === 0 || !isSlow) return { version: feedback.length };
          setImmediate(() => clock.advance(60_000));
          return never();
        },
        spec: inTurn(() => reporting(item('spec', 'model')), passes),
      },
      { clock, limits: { timeMs: 60_000 } },
    );
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe('The limit "timeMs" of 60000 was met.');
    isSlow = false;
    await played.runtime.answer(question?.id ?? '', 'continue');
    const { result, log } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    // The round that was cut short is the one that goes on, with the same feedback.
    expect(log.rows['FB-001']).toMatchObject({ status: 'resolved', round: 1 });
    expect(played.calls.filter(({ feedback }) => feedback.length > 0)).toHaveLength(2);
  });

  it('X1, X6: an agent that fails for good is put before a person, who may have it tried again', async () => {
    let isBroken = true;
    const played = await playTree(
      MODEL,
      {
        model: () => {
          if (isBroken) throw new Error('out of order');
          return 'model';
        },
      },
      { roles: { model: { attempts: 1 } } },
    );
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe('The node "model" failed: out of order');
    isBroken = false;
    await played.runtime.answer(question?.id ?? '', 'retry');
    expect((await played.readBack()).result?.verdict).toBe('verified');
  });

  it('X6: a node can be a person, whose answer is its result', async () => {
    const played = await playTree(MODEL, {}, { persons: { spec: { text: 'Is it good?' } } });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe('Is it good?');
    await played.runtime.answer(question?.id ?? '', null, { value: 'yes' });
    const { result } = await played.readBack();
    expect(result?.output?.outputs['spec']).toMatchObject({ value: 'yes' });
  });

  it('C8, C10: texts and artifacts that are too large for an event reach the target whole', async () => {
    const large = `${'x'.repeat(300_000)} end`;
    const played = await playTree(MODEL, {
      model: mends,
      spec: inTurn(
        () =>
          answer(
            { passed: false },
            {
              feedback: [item('spec', 'model', { message: large, artifacts: ['a.txt'] })],
              artifacts: { 'a.txt': large },
            },
          ),
        passes,
      ),
    });
    const { result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const [given] = played.calls[2]?.feedback ?? [];
    expect(given?.message).toBe(large);
    expect(given?.artifacts[0]?.content).toBe(large);
  });

  it('C2: more feedback in one answer than a turn can hold is refused', async () => {
    const many = Array.from({ length: 500 }, () => item('spec', 'model'));
    const played = await playTree(MODEL, { spec: inTurn(() => reporting(...many), passes) });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.refused).toMatchObject([{ faults: ['there are 500 feedbacks; 20 are taken at once'] }]);
  });

  it('C5, X1: whoever ends the run at one of several questions ends it', async () => {
    const nodes = [...MODEL, { id: 'lint', parent: 'model' }];
    const played = await playTree(nodes, {
      model: mends,
      spec: () => reporting(item('spec', 'model')),
      lint: () => reporting(item('lint', 'model')),
    });
    await played.run.settled();
    const questions = await played.runtime.questions();
    expect(questions).toHaveLength(2);
    await played.runtime.answer(questions[0]?.id ?? '', 'stop');
    const { result } = await played.readBack();
    expect(result).toMatchObject({ verdict: 'exhausted', output: { limit: { limit: 'pairRounds' } } });
  });

  it('X4: what it may take at most is told before it starts', async () => {
    const tree = treeRun('tree', {
      nodes: [...MODEL],
      roles: { model: { attempts: 1 }, spec: { attempts: 1 } },
    });
    const runtime = await open({
      file: ':memory:',
      workflows: [tree],
      agents: { model: never, spec: never },
    });
    const { result, text } = await runtime.worstCase('tree', { task: 'x' });
    expect(result).toBe('proved');
    // Model and spec, then two rounds of both.
    expect(text).toBe(
      'at most 6 calls of agents in 12 turns, then it ends or asks a person (as long as each answer has one request for a fix or something new)',
    );
  });
});
