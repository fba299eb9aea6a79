import { describe, expect, it } from 'vitest';
import type { GivenNode, Json, JsonObject } from '../../src/index.ts';
import { createGate } from '../support/draft-plan.ts';
import {
  factsOf,
  inTurn,
  item,
  mends,
  passes,
  playTree,
  reporting,
  statusesOf,
  type TreeScript,
} from '../support/tree-runs.ts';

const SERVICE: readonly GivenNode[] = [
  { id: 'plan', plans: true },
  { id: 'payment', parent: 'plan', agent: 'worker' },
  { id: 'service', parent: 'plan' },
];

/** A planner that changes its plan when it is told something, and says the same of it all the time. */
const plans =
  (...answers: readonly Json[]): TreeScript[string] =>
  ({ feedback, history }) => ({
    design: 'as it is',
    ...(feedback.length > 0 && { plan: answers[Math.min(history.length, answers.length) - 1] ?? {} }),
  });

describe('a missing node', () => {
  const missing = item('service', 'plan', { feedback_type: 'DEPENDENCY_MISSING', priority: 'critical' });

  it('C12: is added before the node that needs it, runs, and then that node again', async () => {
    const played = await playTree(SERVICE, {
      plan: plans({ add: [{ id: 'refund', agent: 'worker', with: 'a refund model' }] }),
      service: inTurn(() => reporting(missing), passes),
    });
    const { log, result, events } = await played.readBack();
    expect(result).toMatchObject({ verdict: 'verified', output: { replans: 1, added: 1 } });
    expect(played.order()).toEqual(['plan', 'payment', 'service', 'plan', 'refund', 'service']);
    expect(played.calls.at(-1)?.input.inputs).toHaveProperty('refund', { by: 'refund' });
    expect(log.rows['FB-001']).toMatchObject({ status: 'resolved' });
    expect(factsOf(events, 'tree.planned')).toMatchObject([
      { by: 'plan', replan: 1, added: ['refund'], changed: ['service'] },
    ]);
  });

  it('C4, C12: between parallel branches goes to the nearest planner above both', async () => {
    const nodes = [
      ...SERVICE,
      { id: 'shop', parent: 'plan', plans: true, agent: 'worker' },
      { id: 'cart', parent: 'shop', agent: 'worker' },
    ];
    const aside = item('service', 'cart', { feedback_type: 'DEPENDENCY_MISSING' });
    const played = await playTree(nodes, {
      plan: plans({ add: [{ id: 'refund', agent: 'worker' }] }),
      service: inTurn(() => reporting(aside), passes),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-001']).toMatchObject({ to_node: 'cart', routed_to: 'plan', status: 'resolved' });
  });

  it('C12: a planner that changes nothing has not heard: the next round, with what was wrong', async () => {
    const played = await playTree(SERVICE, {
      plan: inTurn(
        () => ({}),
        () => ({}),
        () => ({ plan: { add: [{ id: 'refund', agent: 'worker' }] } }),
      ),
      service: inTurn(() => reporting(missing), passes),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(statusesOf(log, 'FB-001')).toEqual([
      'queued 1',
      'delivered 1',
      'queued 2',
      'delivered 2',
      'resolved 2',
    ]);
  });

  it('C12, C2: a plan that cannot be run is refused with every fault, and its planner asked again', async () => {
    const bad = {
      add: [
        { id: 'refund', agent: 'nobody' },
        { id: 'service', agent: 'worker', needs: ['ghost'] },
        { id: 'b c', colour: 'red' },
      ],
    };
    const played = await playTree(SERVICE, {
      plan: inTurn(
        () => ({}),
        () => ({ plan: bad }),
        () => ({ plan: { add: bad.add.slice(0, 2) } }),
        () => ({ plan: { add: [{ id: 'refund', agent: 'worker' }] } }),
      ),
      service: inTurn(() => reporting(missing), passes),
    });
    const { result, events } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const refused = factsOf(events, 'node.refused').map(({ faults }) => JSON.stringify(faults));
    expect(refused[0]).toMatch(/colour/);
    expect(refused[1]).toMatch(/nobody/);
    expect(refused[1]).toMatch(/ghost/);
    expect(refused[1]).toMatch(/there twice/);
  });
});

describe('a fault of the design', () => {
  it('G13, C13: a node that is taken out and comes back under its name has calls of its own', async () => {
    const issue = item('service', 'plan', { feedback_type: 'ARCHITECTURE_ISSUE' });
    const played = await playTree(SERVICE, {
      plan: inTurn(
        () => ({ design: 0 }),
        () => ({ design: 1, plan: { remove: ['payment'] } }),
        () => ({ design: 2, plan: { add: [{ id: 'payment', agent: 'worker', before: [] }] } }),
      ),
      service: inTurn(
        () => reporting(issue),
        () => reporting(issue),
        passes,
      ),
    });
    const { result, events } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(factsOf(events, 'tree.planned')).toMatchObject([{ removed: ['payment'] }, { added: ['payment'] }]);
    expect(played.order().filter((node) => node === 'payment')).toHaveLength(2);
    const ids = played.calls.map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(ids.length);
    // Nor is its second run told of as its first.
    const runs = factsOf(events, 'node.done').filter(({ node }) => node === 'payment');
    expect(runs.map(({ run }) => run)).toEqual([1, 2]);
  });

  it('C13: after a replan, nodes whose definition and inputs did not change make no more calls', async () => {
    const issue = item('invoice', 'plan', { feedback_type: 'ARCHITECTURE_ISSUE' });
    const nodes: readonly GivenNode[] = [
      { id: 'plan', plans: true },
      { id: 'payment', parent: 'plan', agent: 'worker' },
      { id: 'receipt', parent: 'payment', agent: 'worker' },
      { id: 'invoice', parent: 'plan' },
      { id: 'old', parent: 'plan', agent: 'worker' },
    ];
    const gate = createGate();
    const played = await playTree(nodes, {
      plan: plans({
        nodes: [
          { id: 'payment', agent: 'worker' },
          { id: 'receipt', parent: 'payment', agent: 'worker' },
          { id: 'join', agent: 'worker' },
          { id: 'invoice', needs: ['join'] },
        ],
      }),
      worker: ({ input }) => {
        if (input.node === 'receipt') gate.open();
        return { by: input.node };
      },
      invoice: inTurn(async () => {
        await gate.opened();
        return reporting(issue);
      }, passes),
    });
    const { result, events } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const counts = (node: string) => played.order().filter((each) => each === node).length;
    expect([counts('payment'), counts('receipt'), counts('invoice'), counts('join')]).toEqual([1, 1, 2, 1]);
    expect(result?.output?.outputs).not.toHaveProperty('old');
    expect(factsOf(events, 'tree.planned')).toMatchObject([
      { added: ['join'], removed: ['old'], changed: ['invoice'] },
    ]);
  });

  it('C13: goes to the nearest planner at or above the node that it names', async () => {
    const nodes = [
      { id: 'plan', plans: true },
      { id: 'model', parent: 'plan' },
      { id: 'spec', parent: 'model' },
    ];
    const played = await playTree(nodes, {
      plan: mends,
      spec: inTurn(() => reporting(item('spec', 'model', { feedback_type: 'ARCHITECTURE_ISSUE' })), passes),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-001']).toMatchObject({ to_node: 'model', routed_to: 'plan' });
  });

  it('C13: a replan without the node that asked for it has heard it', async () => {
    const issue = item('service', 'plan', { feedback_type: 'ARCHITECTURE_ISSUE' });
    const played = await playTree(SERVICE, {
      plan: plans({ remove: ['service'] }),
      service: () => reporting(issue),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-001']).toMatchObject({ status: 'resolved' });
  });

  it('C7: a cycle that a moved node makes possible is refused, shown, and put before a person', async () => {
    const nodes: readonly GivenNode[] = [
      { id: 'root', plans: true },
      { id: 'C', parent: 'root' },
      { id: 'B', parent: 'C' },
      { id: 'A', parent: 'B' },
    ];
    const moved = { nodes: [{ id: 'A' }, { id: 'C', parent: 'A' }, { id: 'B', parent: 'C' }] };
    const played = await playTree(nodes, {
      root: plans(moved),
      A: inTurn(() => reporting(item('A', 'B')), passes),
      B: inTurn(passes, () => reporting(item('B', 'C')), passes),
      C: inTurn(
        passes,
        () => reporting(item('C', 'root', { feedback_type: 'ARCHITECTURE_ISSUE' })),
        () => reporting(item('C', 'A')),
        passes,
      ),
    });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe('FB-004 would close a cycle of feedback: A → B → C → A.');
    expect(question?.details).toMatchObject({ feedback: { cycle: ['A', 'B', 'C', 'A'] } });
    await played.runtime.answer(question?.id ?? '', 'accept');
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('accepted');
    expect(log.escalations.map(({ cycle }) => cycle)).toContainEqual(['A', 'B', 'C', 'A']);
    // What A had sent to B is void: B is no longer above it.
    expect(log.rows['FB-001']).toMatchObject({ status: 'failed', verdict: 'cancelled' });
  });
});

describe('a cycle through an added node', () => {
  it('C7, C17: is one: what was added for a node cannot send that node feedback in turn', async () => {
    const nodes: readonly GivenNode[] = [
      { id: 'root', plans: true },
      { id: 'A', parent: 'root' },
      { id: 'B', parent: 'A' },
    ];
    const played = await playTree(
      nodes,
      {
        // The node that A missed is put below A, and A need not wait for it.
        root: plans({ add: [{ id: 'X', agent: 'worker', parent: 'A', before: ['B'] }] }),
        A: inTurn(() => reporting(item('A', 'root', { feedback_type: 'DEPENDENCY_MISSING' })), passes),
        worker: inTurn(() => reporting(item('X', 'A')), passes),
      },
      { agents: ['worker'], onLimit: 'stop' },
    );
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('stalled');
    expect(log.escalations).toMatchObject([{ cycle: ['A', 'root', 'X', 'A'] }]);
  });
});

describe('limits of plans', () => {
  const missing = item('service', 'plan', { feedback_type: 'DEPENDENCY_MISSING' });
  const adds = (count: number, nth = 0): Json => ({
    add: Array.from({ length: count }, (_, index) => ({ id: `x${nth}-${index}`, agent: 'worker' })),
  });

  it('C17: no more nodes are added than 20; a person may allow more', async () => {
    const played = await playTree(SERVICE, {
      plan: plans(adds(21)),
      service: inTurn(() => reporting(missing), passes),
    });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.details).toMatchObject({ limit: { limit: 'addedNodes', bound: 20, used: 21 } });
    expect(played.order().some((node) => node.startsWith('x'))).toBe(false);
    await played.runtime.answer(question?.id ?? '', 'continue');
    const { result } = await played.readBack();
    expect(result).toMatchObject({ verdict: 'verified', output: { added: 21 } });
  });

  it('C17: the fourth replan is put before a person', async () => {
    const nodes = [...SERVICE, ...['s1', 's2', 's3'].map((id) => ({ id, parent: 'plan' }))];
    let nth = 0;
    const reportsOnce = (id: string) =>
      inTurn(() => reporting(item(id, 'plan', { feedback_type: 'DEPENDENCY_MISSING' })), passes);
    const played = await playTree(
      nodes,
      {
        // One at a time, so that each has a replan of its own.
        plan: ({ feedback }) => ({ ...(feedback.length > 0 && { plan: adds(1, (nth += 1)) }) }),
        service: reportsOnce('service'),
        s1: inTurn(passes, passes),
        worker: passes,
        ...Object.fromEntries(['s1', 's2', 's3'].map((id) => [id, reportsOnce(id)])),
      },
      { limits: { replans: 0 } },
    );
    const { questions, log } = await played.readBack();
    expect(questions.some((text) => text.includes('"replans" of 0'))).toBe(true);
    expect(log.escalations.length).toBeGreaterThan(0);
    const usual = await playTree(
      SERVICE,
      {
        plan: ({ feedback, history }) => ({ ...(feedback.length > 0 && { plan: adds(1, history.length) }) }),
        service: () => reporting(missing),
      },
      { limits: { pairRounds: 10 } },
    );
    const { events, questions: asked } = await usual.readBack();
    expect(factsOf(events, 'tree.planned')).toHaveLength(3);
    expect(asked).toEqual([expect.stringMatching(/the limit "replans" of 3 is met/)]);
  });

  it('C6, C17: causes pass through added nodes: what they send is one hop further', async () => {
    const nodes: readonly GivenNode[] = [
      { id: 'plan', plans: true },
      { id: 'service', parent: 'plan' },
    ];
    const played = await playTree(
      nodes,
      {
        plan: ({ feedback }) => ({
          version: feedback.length,
          ...(feedback.some((each) => (each as JsonObject)['kind'] === 'DEPENDENCY_MISSING') && {
            plan: { add: [{ id: 'refund', agent: 'worker' }] },
          }),
        }),
        worker: inTurn(() => reporting(item('refund', 'plan')), passes),
        service: inTurn(
          () => reporting(item('service', 'plan', { feedback_type: 'DEPENDENCY_MISSING' })),
          passes,
        ),
      },
      { agents: ['worker'] },
    );
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-002']).toMatchObject({ from_node: 'refund', caused_by: 'FB-001' });
  });
});

describe('loops and conditions', () => {
  const nodes = [{ id: 'model' }, { id: 'tests', parent: 'model', loop: true as const }];
  const failing = (words: string) => () => ({ passed: false, summary: words });

  it('C14: a loop repeats until it is done; after 2 failures in a row it asks the node above for a fix', async () => {
    const played = await playTree(nodes, {
      model: mends,
      tests: inTurn(failing('one'), () => ({ done: false }), failing('two'), failing('three'), passes),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(played.order()).toEqual(['model', 'tests', 'tests', 'tests', 'tests', 'model', 'tests']);
    expect(played.calls.filter(({ node }) => node === 'tests').map(({ input }) => input.repeat)).toEqual([
      1, 2, 3, 4, 1,
    ]);
    expect(log.rows['FB-001']).toMatchObject({
      from_node: 'tests',
      to_node: 'model',
      feedback_type: 'FIX_REQUEST',
      message: 'tests has failed 2 times in a row. The last time: three',
    });
  });

  it('C14: a loop that is never done ends after 5 repeats: a person is asked', async () => {
    const played = await playTree(nodes, { tests: () => ({ done: false }) });
    const { questions } = await played.readBack();
    expect(played.order().filter((node) => node === 'tests')).toHaveLength(5);
    expect(questions).toEqual(['The limit "repeats" of 5 was met.']);
  });

  it('C9, C14: a loop reads feedback between repeats, and only the repeat that reads it sees it', async () => {
    const below = [...nodes, { id: 'report', parent: 'tests' }];
    const first = createGate();
    const played = await playTree(below, {
      model: mends,
      tests: inTurn(passes, () => ({ done: false }), passes),
      report: inTurn(() => {
        first.open();
        return reporting(item('report', 'tests'));
      }, passes),
    });
    const { result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const seen = played.calls
      .filter(({ node }) => node === 'tests')
      .map(({ feedback }) => feedback.map(({ id }) => id));
    // A fix that takes two repeats is one fix: both are about it.
    expect(seen).toEqual([[], ['FB-001'], ['FB-001']]);
  });

  it.each([
    [true, 'triage'],
    [false, 'ship'],
  ])('C14: a condition branches on whether feedback is pending: %s', async (isPending, expected) => {
    const tree: readonly GivenNode[] = [
      { id: 'model' },
      { id: 'spec', parent: 'model' },
      { id: 'gate', parent: 'model' },
      {
        id: 'choice',
        parent: 'gate',
        condition: { pendingFor: 'model', pending: ['triage'], otherwise: ['ship'] },
      },
      { id: 'triage', parent: 'choice' },
      { id: 'ship', parent: 'choice' },
    ];
    const sent = createGate();
    const chosen = createGate();
    const played = await playTree(tree, {
      // The fix waits until the condition was reached.
      model: inTurn(
        () => 'one',
        async () => {
          sent.open();
          await chosen.opened();
          return 'one';
        },
      ),
      spec: isPending ? inTurn(() => reporting(item('spec', 'model')), passes) : passes,
      gate: async () => {
        if (isPending) await sent.opened();
        return 'open';
      },
      triage: () => (chosen.open(), 'looked at'),
      ship: () => 'shipped',
    });
    const { result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(['triage', 'ship'].filter((node) => played.order().includes(node))).toEqual([expected]);
  });
});
