import { describe, expect, it } from 'vitest';
import { answer, type GivenNode, type Json, type JsonObject } from '../../src/index.ts';
import { createGate } from '../support/draft-plan.ts';
import {
  chain,
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

describe('a fix request', () => {
  it('C1, C8, C10: is delivered, mended, verified and resolved, each with its time', async () => {
    const played = await playTree(MODEL, {
      model: mends,
      spec: inTurn(() => reporting(item('spec', 'model')), passes),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(played.order()).toEqual(['model', 'spec', 'model', 'spec']);
    expect(statusesOf(log, 'FB-001')).toEqual(['queued 1', 'delivered 1', 'resolved 1']);
    const row = log.rows['FB-001'];
    for (const time of [row?.timestamp, row?.delivered_at, row?.resolved_at])
      expect(Number.isFinite(Date.parse(time ?? ''))).toBe(true);
    expect(row).toMatchObject({ from_node: 'spec', to_node: 'model', status: 'resolved', round: 1 });
    expect(Object.keys(log.audit[0] ?? {}).sort()).toEqual(
      ['feedback_id', 'round', 'source', 'status', 'target', 'timestamp', 'type'].sort(),
    );
  });

  it('C8: the parent is given message, artifacts with their lines, and what was tried before', async () => {
    const report = (message: string) =>
      answer(
        { passed: false },
        {
          feedback: [item('spec', 'model', { message, artifacts: ['spec/model.rb:2-3', 'spec/other.rb:9'] })],
          artifacts: { 'spec/model.rb': 'one\ntwo\nthree\nfour' },
        },
      );
    const played = await playTree(MODEL, {
      model: mends,
      spec: inTurn(
        () => report('no email'),
        () => report('still no email'),
        passes,
      ),
    });
    const { result, events, log } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const [, first, second] = played.calls.filter(({ node }) => node === 'model');
    expect(first?.feedback).toMatchObject([
      {
        id: 'FB-001',
        from: 'spec',
        message: 'no email',
        suggestedFix: 'mend it',
        priority: 'high',
        round: 1,
        artifacts: [
          { path: 'spec/model.rb', lines: '2-3', content: 'two\nthree' },
          { path: 'spec/other.rb', lines: '9', content: null },
        ],
        attempts: [],
      },
    ]);
    // The next round has the new words, a raised priority, and what came of the first.
    expect(second?.feedback).toMatchObject([
      {
        id: 'FB-001',
        message: 'still no email',
        priority: 'critical',
        round: 2,
        attempts: [
          { round: 1, message: 'no email', made: { by: 'model', version: 2 }, reason: 'still no email' },
        ],
      },
    ]);
    expect(statusesOf(log, 'FB-001')).toEqual([
      'queued 1',
      'delivered 1',
      'queued 2',
      'delivered 2',
      'resolved 2',
    ]);
    // A warning opens the last round.
    expect(factsOf(events, 'feedback.lastRound')).toMatchObject([{ id: 'FB-001', round: 2 }]);
  });

  it.each([
    ['says that it did not pass', () => ({ passed: false })],
    [
      'fails',
      () => {
        throw new Error('out of order');
      },
    ],
  ])('C8: a verification that %s is the next round', async (_what, second) => {
    const played = await playTree(
      MODEL,
      { model: mends, spec: inTurn(() => reporting(item('spec', 'model')), second, passes) },
      { roles: { spec: { attempts: 1 } } },
    );
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(statusesOf(log, 'FB-001').at(-1)).toBe('resolved 2');
  });

  it('C8: a fix that fails is the next round, and what the parent made before stands', async () => {
    const failing = () => {
      throw new Error('out of order');
    };
    const played = await playTree(
      MODEL,
      { model: inTurn(mends, failing, mends), spec: inTurn(() => reporting(item('spec', 'model')), passes) },
      { roles: { model: { attempts: 1 } } },
    );
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(played.order()).toEqual(['model', 'spec', 'model', 'model', 'spec']);
    expect(statusesOf(log, 'FB-001').at(-1)).toBe('resolved 2');
  });

  it('C8: after the verification, finished nodes below whose input changed run again, once', async () => {
    const nodes = [
      ...MODEL,
      { id: 'docs', parent: 'model' },
      { id: 'page', parent: 'docs' },
      { id: 'free', parent: 'model' },
    ];
    const gate = createGate();
    let isFirst = true;
    const played = await playTree(nodes, {
      // The second fix gives what the first gave: nothing changes any more.
      model: inTurn(
        () => 'one',
        () => 'two',
        () => 'two',
      ),
      docs: ({ input }) => ({ of: input.inputs['model'] ?? null }),
      spec: inTurn(
        async () => {
          await gate.opened();
          return reporting(item('spec', 'model'));
        },
        () => ({ passed: false }),
        passes,
      ),
      free: () => {
        if (isFirst) gate.open();
        isFirst = false;
        return 'same';
      },
    });
    const { result } = await played.readBack();
    expect(result?.output?.outputs['docs']).toEqual({ of: 'two' });
    const order = played.order();
    // All were finished before the feedback came, and ran again only after its verification.
    expect(order.filter((node) => node === 'docs')).toHaveLength(2);
    expect(order.filter((node) => node === 'page')).toHaveLength(2);
    expect(order.lastIndexOf('docs')).toBeGreaterThan(order.lastIndexOf('spec'));
    expect(order.lastIndexOf('page')).toBeGreaterThan(order.lastIndexOf('docs'));
  });

  it('C8: all that the verification works from is made anew before it, once, in other branches too', async () => {
    const nodes: readonly GivenNode[] = [
      { id: 'root' },
      { id: 'model', parent: 'root' },
      { id: 'schema', parent: 'model' },
      { id: 'client', parent: 'root', needs: ['schema'] },
      { id: 'page', parent: 'model', needs: ['client'] },
      { id: 'spec', parent: 'model', needs: ['page'] },
    ];
    const uses: typeof mends = ({ input }) => ({ of: JSON.stringify(input.inputs) });
    const played = await playTree(nodes, {
      model: mends,
      schema: uses,
      client: uses,
      page: uses,
      spec: inTurn(() => reporting(item('spec', 'model')), passes),
    });
    const { result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    const once = ['model', 'schema', 'client', 'page', 'spec'];
    expect(played.order()).toEqual(['root', ...once, ...once]);
  });

  it('C8: nodes between source and target run before the verification', async () => {
    const played = await playTree(chain('model', 'service', 'spec'), {
      model: mends,
      service: ({ input }) => ({ uses: input.inputs['model'] ?? null }),
      spec: inTurn(() => reporting(item('spec', 'model')), passes),
    });
    await played.readBack();
    expect(played.order()).toEqual(['model', 'service', 'spec', 'model', 'service', 'spec']);
    expect(played.calls.at(-1)?.input.inputs).toEqual({ service: { uses: { by: 'model', version: 2 } } });
  });
});

const FAULTY: readonly (readonly [string, Json, readonly RegExp[]])[] = [
  ['no list', 'mend it', [/is a list/]],
  ['no object', ['mend it'], [/not an object/]],
  [
    'nothing that is required',
    [{}],
    [
      /"from_node" is missing/,
      /"to_node" is missing/,
      /"feedback_type" is missing/,
      /"message" is missing/,
      /"priority" is missing/,
    ],
  ],
  [
    'wrong kinds of values',
    [
      {
        ...item('spec', 'model'),
        feedback_type: 'COMPLAINT',
        priority: 'urgent',
        message: 7,
        artifacts: ['a.rb:9-3', 1],
      },
    ],
    [
      /"COMPLAINT", which is none of/,
      /"urgent", which is none of/,
      /"message" is not a text/,
      /artifacts\[0\]/,
      /artifacts\[1\]/,
    ],
  ],
  [
    'a fix without a suggestion',
    [{ ...item('spec', 'model'), suggested_fix: ' ' }],
    [/"suggested_fix" is missing, which a FIX_REQUEST/],
  ],
  [
    'a design fault without one',
    [{ ...item('spec', 'model', { feedback_type: 'ARCHITECTURE_ISSUE' }), suggested_fix: null }],
    [/which a ARCHITECTURE_ISSUE/],
  ],
  [
    'a request without what it wants',
    [{ ...item('spec', 'model', { feedback_type: 'CONTEXT_REQUEST' }), requested_info: [] }],
    [/"requested_info" is missing/],
  ],
  [
    'a missing node without an action',
    [{ ...item('spec', 'model', { feedback_type: 'DEPENDENCY_MISSING' }), suggested_action: '' }],
    [/"suggested_action" is missing/],
  ],
  ['the name of another', [item('model', 'spec')], [/but it came from "spec"/]],
  ['a target that is not there', [item('spec', 'nobody')], [/"nobody", which is not in the tree/]],
  ['a target that is beside it', [item('spec', 'docs')], [/"docs", which is not above "spec"/]],
  ['itself as target', [item('spec', 'spec')], [/not above/]],
  [
    'no planner above',
    [item('spec', 'model', { feedback_type: 'ARCHITECTURE_ISSUE' })],
    [/nor a node above it plans/],
  ],
  ['one good and one bad', [item('spec', 'model'), item('spec', 'docs')], [/feedback 2: "to_node"/]],
];

describe('what is refused', () => {
  it.each(FAULTY)(
    'C2, C4: %s: every fault is listed, nothing is queued, and the agent is told',
    async (_what, given, faults) => {
      const nodes = [...MODEL, { id: 'docs', parent: 'model' }];
      const played = await playTree(nodes, { spec: inTurn(() => answer(null, { feedback: given }), passes) });
      const { log, result } = await played.readBack();
      expect(result?.verdict).toBe('verified');
      expect(log.order).toEqual([]);
      const [refused] = log.refused;
      for (const fault of faults) expect(refused?.faults.join('\n')).toMatch(fault);
      const [, again] = played.calls.filter(({ node }) => node === 'spec');
      expect(again?.input.refused).toEqual(refused?.faults);
    },
  );

  it('C2: an agent that does not learn is asked as often as for any request, then a person hears of it', async () => {
    const played = await playTree(
      MODEL,
      { spec: () => answer(null, { feedback: [{}] }) },
      { roles: { spec: { attempts: 2 } } },
    );
    const { questions, log } = await played.readBack();
    expect(log.refused).toHaveLength(2);
    expect(questions).toEqual([
      expect.stringMatching(/"spec" failed: Its answer was refused: feedback 1: "from_node" is missing/),
    ]);
  });

  it('C4: any ancestor can be the target: the root, and one that is far more than ten levels away', async () => {
    const ids = Array.from({ length: 25 }, (_, index) => `n${index}`);
    const script: Record<string, typeof mends> = {
      n0: mends,
      n24: inTurn(() => reporting(item('n24', 'n0')), passes),
    };
    const played = await playTree(chain(...ids), script);
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(log.rows['FB-001']).toMatchObject({ to_node: 'n0', status: 'resolved' });
  });
});

describe('a request for context', () => {
  it('C11: is answered from what the parent made, without running it', async () => {
    const asks = item('spec', 'model', {
      feedback_type: 'CONTEXT_REQUEST',
      requested_info: 'api.name, api.parameters',
    });
    const played = await playTree(MODEL, {
      model: () => ({ api: { name: 'pay', parameters: ['amount'] } }),
      spec: inTurn(() => reporting(asks), passes),
    });
    const { log, result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(played.order()).toEqual(['model', 'spec', 'spec']);
    expect(played.calls.at(-1)?.context).toEqual({ 'api.name': 'pay', 'api.parameters': ['amount'] });
    expect(statusesOf(log, 'FB-001')).toEqual(['queued 1', 'delivered 1', 'resolved 1']);
  });

  it('C11: if the parent has not made all of it, the parent is asked', async () => {
    const asks = item('spec', 'model', {
      feedback_type: 'CONTEXT_REQUEST',
      requested_info: ['name', 'returns'],
    });
    const played = await playTree(MODEL, {
      model: ({ feedback }): JsonObject =>
        feedback.length > 0 ? { name: 'pay', returns: 'Receipt' } : { name: 'pay' },
      spec: inTurn(() => reporting(asks), passes),
    });
    const { result } = await played.readBack();
    expect(result?.verdict).toBe('verified');
    expect(played.order()).toEqual(['model', 'spec', 'model', 'spec']);
    const [, asked] = played.calls.filter(({ node }) => node === 'model');
    expect(asked?.feedback).toMatchObject([{ kind: 'CONTEXT_REQUEST', requestedInfo: ['name', 'returns'] }]);
    expect(played.calls.at(-1)?.context).toEqual({ name: 'pay', returns: 'Receipt' });
  });
});
