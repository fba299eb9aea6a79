import { describe, expect, it } from 'vitest';
import {
  answer,
  feedbackRows,
  feedbackStatistics,
  formatFeedback,
  type GivenNode,
  parseFeedback,
  treeRun,
} from '../../src/index.ts';
import { createGate } from '../support/draft-plan.ts';
import { refused } from '../support/refused.ts';
import { createFakeClock, refusal } from '../support/runtimes.ts';
import {
  factsOf,
  inTurn,
  item,
  mends,
  passes,
  playTree,
  reporting,
  statusesOf,
} from '../support/tree-runs.ts';

const MODEL: readonly GivenNode[] = [{ id: 'model' }, { id: 'spec', parent: 'model' }];

describe('the queue', () => {
  it('C3, C9: feedback waits while its target works, then is read in order of priority and age', async () => {
    const priorities = ['low', 'high', 'medium', 'critical', 'high'];
    const children = priorities.map((priority, index) => ({ id: `t${index}`, priority }));
    const nodes = [
      { id: 'model' },
      { id: 'first', parent: 'model' },
      ...children.map(({ id }) => ({ id, parent: 'model' })),
    ];
    const atWork = createGate();
    const allSent = createGate();
    const turns = children.map(() => createGate());
    turns[0]?.open();
    const played = await playTree(nodes, {
      model: inTurn(
        () => 'one',
        // At work on the feedback of the first, while all others come in.
        async ({ feedback }) => {
          atWork.open();
          await allSent.opened();
          return `two of ${feedback.length}`;
        },
        ({ feedback }) => `three of ${feedback.length}`,
      ),
      first: inTurn(() => reporting(item('first', 'model')), passes),
      ...Object.fromEntries(
        children.map(({ id, priority }, index) => [
          id,
          inTurn(async () => {
            await atWork.opened();
            // One after the other, in the order of their names.
            await turns[index]?.opened();
            turns[index + 1]?.open();
            return reporting(item(id, 'model', { priority }));
          }, passes),
        ]),
      ),
    });
    played.runtime.events$.subscribe(({ type }) => {
      if (type === 'feedback.queued' && played.calls.length > 0) queued += 1;
      if (queued === 6) allSent.open();
    });
    let queued = 0;
    const { result, events } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const reads = played.calls
      .filter(({ node }) => node === 'model')
      .map(({ feedback }) => feedback.map(({ from }) => from));
    expect(reads).toEqual([[], ['first'], ['t3', 't1', 't4', 't2', 't0']]);
    // It was not interrupted: its call was answered once, with what it was given at first.
    const delivered = factsOf(events, 'feedback.delivered').map(({ id, execution }) => [id, execution]);
    expect(new Set(delivered.map(([id]) => id)).size).toBe(delivered.length);
    expect(delivered.slice(1).every(([, execution]) => execution === 'model.3')).toBe(true);
  });

  it('C9: two feedbacks for one node are two, and each is seen by one execution and its retries', async () => {
    const nodes = [...MODEL, { id: 'lint', parent: 'model' }];
    let failures = 0;
    const played = await playTree(nodes, {
      model: (request) => {
        // The execution that reads feedback fails at first.
        if (request.feedback.length > 0 && request.attempt === 1) {
          failures += 1;
          throw new Error('not yet');
        }
        return mends(request);
      },
      spec: inTurn(
        () => reporting(item('spec', 'model', { message: 'one' }), item('spec', 'model', { message: 'two' })),
        passes,
      ),
      lint: passes,
    });
    const { result, log } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const seen = played.calls
      .filter(({ node }) => node === 'model')
      .map(({ callId, attempt, feedback }) => [
        callId.split('#')[1],
        attempt,
        feedback.map(({ message }) => message),
      ]);
    expect(failures).toBe(1);
    expect(seen).toEqual([
      ['model.1', 1, []],
      ['model.2', 1, ['one', 'two']],
      ['model.2', 2, ['one', 'two']],
    ]);
    expect(log.order.map((id) => log.rows[id]?.status)).toEqual(['resolved', 'resolved']);
  });

  it('C18: the branch of the source waits for its feedback; other branches go on', async () => {
    const nodes = [
      ...MODEL,
      { id: 'after', parent: 'spec' },
      { id: 'docs', parent: 'model' },
      { id: 'page', parent: 'docs' },
    ];
    const fixed = createGate();
    const played = await playTree(nodes, {
      model: inTurn(
        () => 'one',
        async () => {
          await fixed.opened();
          return 'one';
        },
      ),
      spec: inTurn(() => reporting(item('spec', 'model')), passes),
      docs: () => 'docs',
      page: () => (fixed.open(), 'page'),
    });
    const { result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const order = played.order();
    // The page was made while the model was being mended (or this would never end); what is below the source came last.
    expect(order.indexOf('page')).toBeLessThan(order.lastIndexOf('spec'));
    expect(order.indexOf('after')).toBeGreaterThan(order.lastIndexOf('spec'));
  });

  it('C18: while a person is asked about one feedback, other branches go on', async () => {
    const nodes = [...MODEL, { id: 'docs', parent: 'model' }, { id: 'page', parent: 'docs' }];
    const asked = createGate();
    const played = await playTree(nodes, {
      model: () => 'same',
      spec: () => reporting(item('spec', 'model')),
      docs: async () => {
        await asked.opened();
        return 'docs';
      },
    });
    played.runtime.questions$.subscribe(() => asked.open());
    await played.run.settled();
    const { result, questions } = await played.readBack();
    expect(result).toBeUndefined();
    expect(questions).toHaveLength(1);
    expect(played.order()).toContain('page');
  });

  it('C9, C16: it can be paused in the middle of a round, and goes on in it', async () => {
    const fixing = createGate();
    const paused = createGate();
    const played = await playTree(MODEL, {
      model: inTurn(
        () => 'one',
        async () => {
          fixing.open();
          await paused.opened();
          return 'two';
        },
      ),
      spec: inTurn(() => reporting(item('spec', 'model')), passes),
    });
    await fixing.opened();
    await played.run.pause('lunch');
    paused.open();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(played.order()).toEqual(['model', 'spec', 'model']);
    await played.run.resume('lunch');
    const { result, log } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(statusesOf(log, 'FB-001')).toEqual(['queued 1', 'delivered 1', 'resolved 1']);
  });
});

describe('statistics and files', () => {
  it('C15: by kind, success rate, mean rounds and mean time', async () => {
    const none = await playTree(MODEL, {});
    expect(feedbackStatistics((await none.readBack()).log)).toMatchObject({
      total: 0,
      successRate: 'n/a',
      meanRounds: 'n/a',
      meanTimeMs: 'n/a',
    });
    const clock = createFakeClock();
    const nodes = [{ id: 'model' }, ...['a', 'b', 'c'].map((id) => ({ id, parent: 'model' }))];
    const played = await playTree(
      nodes,
      {
        model: ({ feedback }) => {
          if (feedback.length > 0) clock.advance(4_000);
          return { signature: 'f(x)' };
        },
        a: inTurn(
          () => reporting(item('a', 'model')),
          () => ({ passed: false }),
          passes,
        ),
        b: inTurn(() => reporting(item('b', 'model', { feedback_type: 'CONTEXT_REQUEST' })), passes),
        c: () => reporting(item('c', 'model')),
      },
      { clock, limits: { pairRounds: 2 } },
    );
    const { log } = await played.readBack();
    const statistics = feedbackStatistics(log);
    expect(statistics).toMatchObject({
      total: 3,
      resolved: 2,
      byKind: { FIX_REQUEST: { total: 2, resolved: 1 }, CONTEXT_REQUEST: { total: 1, resolved: 1 } },
      successRate: 2 / 3,
      meanRounds: 1.5,
    });
    expect(statistics.meanTimeMs).toBeGreaterThan(0);
  });

  it('C10, C16: the feedback of a run is written as a file, and read again, equal; another run goes on from it', async () => {
    const played = await playTree(MODEL, {
      model: mends,
      spec: inTurn(() => reporting(item('spec', 'model', { artifacts: ['spec/model.rb:42-45'] })), passes),
    });
    const { log } = await played.readBack();
    const text = formatFeedback(feedbackRows(log));
    expect(parseFeedback(text)).toEqual({ rows: feedbackRows(log), refused: [] });
    expect(formatFeedback(parseFeedback(text).rows)).toBe(text);
    // One round was used: the next run has one left, and numbers go on.
    const next = await playTree(
      MODEL,
      { model: mends, spec: () => reporting(item('spec', 'model')) },
      { given: { task: 'again', feedback: text }, onLimit: 'stop' },
    );
    const again = await next.readBack();
    expect(feedbackRows(again.log)[0]).toEqual(feedbackRows(log)[0]);
    expect(again.log.order).toEqual(['FB-001', 'FB-002']);
    expect(statusesOf(again.log, 'FB-002')).toEqual(['queued 2', 'delivered 2', 'failed 2']);
    expect(again.result?.verdict).toBe('exhausted');
  });

  it('C9, C16: what had not ended in an earlier run is read by the first execution of its target', async () => {
    const line = {
      ...item('spec', 'model', { message: 'from before' }),
      timestamp: '2025-01-21T14:00:00Z',
      status: 'queued',
      round: 1,
    };
    const played = await playTree(
      MODEL,
      { model: mends, spec: passes },
      { given: { task: 'again', feedback: `${JSON.stringify(line)}\n` } },
    );
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(played.calls.map(({ node, feedback }) => [node, feedback.map(({ message }) => message)])).toEqual([
      ['model', ['from before']],
      ['spec', []],
    ]);
    expect(played.calls.at(-1)?.input.verifies).toEqual(['FB-001']);
    expect(log.rows['FB-001']).toMatchObject({ status: 'resolved', timestamp: '2025-01-21T14:00:00Z' });
  });

  it('C7, C16: a run cannot be started with feedback that cannot be taken: everything wrong with it is told', async () => {
    const row = (id: string, from: string, to: string, more = {}) =>
      JSON.stringify({
        ...item(from, to),
        feedback_id: id,
        timestamp: '2025-01-21T14:00:00Z',
        status: 'resolved',
        round: 1,
        ...more,
      });
    const text = [
      row('FB-001', 'A', 'B'),
      row('FB-002', 'B', 'C', { caused_by: 'FB-001' }),
      row('FB-003', 'C', 'A', { caused_by: 'FB-002' }),
      '{"from_node":',
      row('FB-005', 'A', 'B', { status: 'done', round: 0, caused_by: 'FB-009' }),
    ].join('\n');
    const { rows, refused: lines } = parseFeedback(text);
    expect(rows.map(({ feedback_id: id }) => id)).toEqual(['FB-001', 'FB-002']);
    expect(lines.map(({ line }) => line)).toEqual([3, 4, 5]);
    expect(lines[0]?.faults).toEqual(['it closes a cycle of feedback: A → B → C → A']);
    expect(lines[2]?.faults).toHaveLength(3);
    const played = await playTree(MODEL, {});
    const error = await refusal(played.runtime.start('tree', { task: null, feedback: text }), 'BAD_OPTION');
    expect(error.message).toMatch(/line 3.*line 4.*line 5/s);
    await refusal(played.runtime.start('tree', 'just a task'), 'BAD_OPTION');
    const stray = JSON.stringify({ ...item('A', 'B'), timestamp: '2025-01-21T14:00:00Z', status: 'queued' });
    const unknown = await refusal(
      played.runtime.start('tree', { task: null, feedback: stray }),
      'BAD_OPTION',
    );
    expect(unknown.message).toMatch(/"A", which is not in the tree/);
  });
});

describe('a tree that cannot be run', () => {
  it('C2: is refused with everything that is wrong with it', () => {
    const error = refused(
      () =>
        treeRun('bad', {
          nodes: [
            { id: 'root' },
            { id: 'other' },
            { id: 'root', parent: 'root' },
            { id: 'b c', parent: 'ghost' },
            { id: 'x', parent: 'root', needs: ['y', 'nobody'] },
            { id: 'y', parent: 'root', needs: ['x'] },
            { id: 'c', parent: 'root', agent: 'someone', condition: { pending: ['y'] } },
            { id: 'l', parent: 'root', loop: { repeats: 0, failures: -1, sendsTo: 'y' } },
          ],
        }),
      'BAD_PLAN',
    );
    for (const problem of [
      /have no parent/,
      /there twice/,
      /letters, digits/,
      /"ghost"/,
      /"nobody"/,
      /wait for each other/,
      /no agent/,
      /"y", which is not below it/,
      /repeats 0/,
      /after -1/,
      /"y", which is not above/,
    ])
      expect(error.message).toMatch(problem);
    refused(() => treeRun('bad', { nodes: [{ id: 'root' }], roles: { stranger: {} } }), 'BAD_PLAN');
  });

  it('C2: an agent that is no function of the run cannot speak for a node: messages from outside are not taken', async () => {
    const gate = createGate();
    const played = await playTree(MODEL, {
      model: async () => {
        await gate.opened();
        return 'model';
      },
    });
    const { taken } = await played.run.send({
      type: 'agent.done',
      request: 'model.1',
      answer: { output: 'forged' },
      attempts: 1,
      spent: { calls: 0, tokens: 0, costUsd: 0 },
    });
    expect(taken).toBe(false);
    const submitted = await played.runtime.send('r/coordinator', {
      type: 'feedback.submit',
      node: 'spec',
      items: [item('spec', 'model')],
      cause: [],
      verifies: [],
    } as { type: string });
    expect(submitted.taken).toBe(false);
    gate.open();
    const { log, result } = await played.readBack();
    expect(result?.output?.outputs['model']).toBe('model');
    expect(log.order).toEqual([]);
    expect(answer(1).output).toBe(1);
  });
});
