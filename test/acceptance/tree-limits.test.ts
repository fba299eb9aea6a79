import { describe, expect, it } from 'vitest';
import type { GivenNode } from '../../src/index.ts';
import { chain, inTurn, item, mends, passes, playTree, reporting, statusesOf } from '../support/tree-runs.ts';

const MODEL: readonly GivenNode[] = [{ id: 'model' }, { id: 'spec', parent: 'model' }];

describe('limits', () => {
  it('C5, C8: a third round of a pair is refused and goes up as an architecture issue, without another hop', async () => {
    const nodes = [
      { id: 'plan', plans: true },
      ...chain('model', 'spec').map((node, index) => (index === 0 ? { ...node, parent: 'plan' } : node)),
    ];
    const played = await playTree(nodes, {
      plan: mends,
      model: mends,
      // Two issues that are each mended, then a third.
      spec: inTurn(
        () => reporting(item('spec', 'model', { message: 'first' })),
        () => reporting(item('spec', 'model', { message: 'second' })),
        () => reporting(item('spec', 'model', { message: 'third' })),
        passes,
      ),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-001']).toMatchObject({ status: 'failed', round: 2, verdict: 'exhausted' });
    expect(log.rows['FB-002']).toMatchObject({
      feedback_type: 'ARCHITECTURE_ISSUE',
      from_node: 'spec',
      to_node: 'plan',
      escalates: 'FB-001',
      status: 'resolved',
    });
    expect(log.rows['FB-002']).not.toHaveProperty('caused_by');
    // Nobody was asked for a third fix.
    expect(played.calls.filter(({ node, feedback }) => node === 'model' && feedback.length > 0)).toHaveLength(
      2,
    );
  });

  it('C5: counts rounds over issues and kinds: each entry has an id and a round of its own', async () => {
    const played = await playTree(
      MODEL,
      {
        model: mends,
        spec: inTurn(() => reporting(item('spec', 'model')), passes, passes),
      },
      {},
    );
    await played.readBack();
    const both = await playTree(MODEL, {
      model: () => ({ signature: 'f(x)' }),
      spec: inTurn(
        () => reporting(item('spec', 'model'), item('spec', 'model', { feedback_type: 'CONTEXT_REQUEST' })),
        passes,
      ),
    });
    const { log } = await both.readBack();
    expect(log.order).toEqual(['FB-001', 'FB-002']);
    expect(log.order.map((id) => log.rows[id]?.round)).toEqual([1, 2]);
    expect(log.order.map((id) => log.rows[id]?.status)).toEqual(['resolved', 'resolved']);
    const third = await playTree(MODEL, {
      model: mends,
      spec: () => reporting(item('spec', 'model'), item('spec', 'model'), item('spec', 'model')),
    });
    const { log: refusing, questions } = await third.readBack();
    expect(refusing.escalations[0]).toMatchObject({ feedback_id: 'FB-003' });
    expect(questions).toContain('spec → model has had its 2 rounds, and FB-003 is not settled.');
    // Refused means: never queued.
    expect(statusesOf(refusing, 'FB-003')).toEqual(['failed 3']);
  });

  it('C5, C8: without a planner, or with the planner as target, a person is asked; the answer counts', async () => {
    for (const [option, verdict] of [
      ['accept', 'accepted'],
      ['stop', 'exhausted'],
      ['cancel', 'cancelled'],
    ] as const) {
      const played = await playTree(
        [
          { id: 'model', plans: true },
          { id: 'spec', parent: 'model' },
        ],
        {
          model: mends,
          spec: () => reporting(item('spec', 'model')),
        },
      );
      await played.run.settled();
      const [question] = await played.runtime.questions();
      expect(question?.details).toMatchObject({
        feedback: { id: 'FB-001', attempts: [{ round: 1 }, { round: 2 }] },
      });
      await played.runtime.answer(question?.id ?? '', option, { by: 'ada', note: 'I have seen it' });
      const { result, log } = await played.readBack();
      expect(result?.verdict).toBe(verdict);
      expect(log.rows['FB-001']).toMatchObject({
        status: 'failed',
        verdict: option === 'stop' ? 'exhausted' : verdict,
      });
      if (option === 'accept') {
        expect(result?.output?.debt).toMatchObject([{ id: 'FB-001', source: 'spec', target: 'model' }]);
        expect(result?.output?.outputs['spec']).toEqual({ passed: false });
      }
    }
  });

  it('C5: a person may allow more rounds', async () => {
    const played = await playTree(MODEL, {
      model: mends,
      spec: inTurn(...Array.from({ length: 4 }, () => () => reporting(item('spec', 'model'))), passes),
    });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    await played.runtime.answer(question?.id ?? '', 'continue', { value: 2 });
    const { result, log } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-001']).toMatchObject({ status: 'resolved', round: 4 });
  });

  it('C6: the fourth hop of a chain of causes is refused and put before a person', async () => {
    const ids = ['migration', 'model', 'service', 'controller', 'e2e'];
    // Each asks the one above as soon as it is asked itself.
    const asksAbove = (id: string, above: string) => inTurn(passes, () => reporting(item(id, above)), passes);
    const played = await playTree(chain(...ids), {
      model: asksAbove('model', 'migration'),
      service: asksAbove('service', 'model'),
      controller: asksAbove('controller', 'service'),
      e2e: inTurn(() => reporting(item('e2e', 'controller')), passes),
    });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe(
      'FB-004 would be hop 4 of a chain of feedback (e2e → controller → service → model → migration); 3 are allowed.',
    );
    await played.runtime.answer(question?.id ?? '', 'accept');
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('accepted');
    expect(log.order.map((id) => log.rows[id]?.caused_by)).toEqual([undefined, 'FB-001', 'FB-002', 'FB-003']);
    expect(['FB-001', 'FB-002', 'FB-003'].map((id) => log.rows[id]?.status)).toEqual([
      'resolved',
      'resolved',
      'resolved',
    ]);
    expect(statusesOf(log, 'FB-004')).toEqual(['failed 1', 'failed 1']);
    // The depth follows from causes, not from how often a node was a target.
    expect(played.order().filter((node) => node === 'migration')).toHaveLength(1);
  });

  it('C6, X1: with onLimit stop it ends exhausted, with the limit', async () => {
    const played = await playTree(
      MODEL,
      { model: mends, spec: () => reporting(item('spec', 'model')) },
      { onLimit: 'stop' },
    );
    const { result } = await played.readBack();
    expect(result).toMatchObject({
      verdict: 'exhausted',
      output: { limit: { limit: 'pairRounds', bound: 2, used: 2 } },
    });
  });
});
