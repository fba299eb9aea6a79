import { describe, expect, it } from 'vitest';
import { nodesOf } from '../../bench/shipped-loops.ts';
import { type AgentOutcome, createRuntime, type Json, treeRun, type Workflow } from '../../src/index.ts';
import { assumedInTree, outcomesInTree } from '../../src/proofs/tree-outcomes.ts';
import { open, rounds } from '../support/runtimes.ts';

const item = (from: string, to: string, more: Record<string, Json> = {}): Json => ({
  from_node: from,
  to_node: to,
  feedback_type: 'FIX_REQUEST',
  message: 'm',
  suggested_fix: 'f',
  priority: 'high',
  ...more,
});

type Extra = (node: string, above: readonly string[]) => readonly AgentOutcome[];

const reports = (name: string, feedback: readonly Json[]): AgentOutcome => ({
  name,
  output: { passed: false },
  feedback,
});

/** What the outcomes of a tree leave out. */
const EXTRAS: Readonly<Record<string, Extra>> = {
  'several feedbacks in one answer': (node, above) =>
    above.length < 2
      ? []
      : [
          reports(
            'reports to all',
            above.map((to) => item(node, to)),
          ),
        ],
  'two feedbacks to one node': (node, above) =>
    above.map((to) => reports(`reports twice to ${to}`, [item(node, to), item(node, to)])),
  'a request for what is not there': (node, above) =>
    above.map((to) =>
      reports(`asks ${to} for context`, [
        item(node, to, { feedback_type: 'CONTEXT_REQUEST', requested_info: ['missing'] }),
      ]),
    ),
  'a result that is left as it was': () => [
    { name: 'leaves it as it was', output: ({ nth, made }) => made.at(-1) ?? { $fresh: nth } },
  ],
};

const prove = async (parents: readonly number[], extra: Extra) => {
  const nodes = nodesOf(parents);
  const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: 1 }]));
  const tree = treeRun('tree', { nodes, roles }) as Workflow;
  const given = tree.options.prepare?.({ task: null }) as Parameters<typeof outcomesInTree>[0];
  const usual = outcomesInTree(given);
  const above = (id: string): readonly string[] => {
    const parent = nodes.find((node) => node.id === id)?.parent;
    return parent == null ? [] : [parent, ...above(parent)];
  };
  const runtime = await createRuntime({ file: ':memory:', workflows: [tree], agents: {}, idle: true });
  try {
    return await runtime.worstCase(
      'tree',
      { task: null },
      { outcomes: (agent, input) => [...usual(agent, input), ...extra(agent, above(agent))] },
    );
  } finally {
    await runtime.close();
  }
};

const TREES = rounds(1, 2) === 1 ? [[0, 1]] : [[0], [0, 1], [0, 0]];

const usually = new Map<string, ReturnType<typeof prove>>();

/** The bound as it is proved; once for each tree. */
const usualOf = (parents: readonly number[]): ReturnType<typeof prove> => {
  const known = usually.get(parents.join()) ?? prove(parents, () => []);
  usually.set(parents.join(), known);
  return known;
};

// Method: the proof of a tree leaves out what takes no more than what it tries. Here that is tried as well.
describe('what the proof of a tree leaves out', () => {
  it.each(Object.entries(EXTRAS))('K5, C4: %s does not change its bound', async (_, extra) => {
    for (const parents of TREES) {
      const usual = await usualOf(parents);
      const more = await prove(parents, extra);
      expect(more.result).toBe('proved');
      expect([more.requests, more.turns, more.callsByAgent]).toEqual([
        usual.requests,
        usual.turns,
        usual.callsByAgent,
      ]);
      if (parents.length > 1) expect(more.states).toBeGreaterThanOrEqual(usual.states);
    }
  });
});

describe('whom a node may ask', () => {
  it.each([
    [[0, 1, 2], ['n2', 'n1', 'n0'], false],
    [[0, 1, 2, 3], ['n3'], true],
    // Here the nearest are all that there are.
    [[0, 0, 0, 0], ['n0'], false],
  ] as const)('K5, C4: with parents %j the last may ask %j', async (parents, asked, isNarrowed) => {
    const nodes = nodesOf(parents);
    const tree = treeRun('tree', { nodes }) as Workflow;
    const given = tree.options.prepare?.({ task: null }) as Parameters<typeof outcomesInTree>[0];
    const last = `n${parents.length}`;
    const names = outcomesInTree(given)(last, { node: last }).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('asks'))).toEqual(
      asked.map((id) => `asks ${id} for a fix`),
    );
    // Where others are left out it is said with the bound.
    expect(assumedInTree(given).includes('to the node above')).toBe(isNarrowed);
    const far = outcomesInTree(given, { farRequests: true })(last, { node: last });
    expect(far.length).toBeGreaterThanOrEqual(names.length + (isNarrowed ? 1 : 0));
    expect(assumedInTree(given, { farRequests: true })).not.toContain('to the node above');
  });

  it('K5, C4: may be any in a tree of 5, if that is asked for', async () => {
    const nodes = nodesOf([0, 1, 2, 3]);
    const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: 1 }]));
    const chain = treeRun('tree', { nodes, roles, limits: { pairRounds: 1, feedbacks: 1 } }) as Workflow;
    const runtime = await open({ file: ':memory:', workflows: [chain], agents: {}, idle: true });
    const near = await runtime.worstCase('tree', { task: null });
    const far = await runtime.worstCase('tree', { task: null }, { farRequests: true });
    expect([near.result, far.result]).toEqual(['proved', 'proved']);
    expect(far.states).toBeGreaterThan(near.states);
    expect([near, far].map(({ text }) => text.includes('to the node above'))).toEqual([true, false]);
  });

  it.runIf(rounds(0, 1) === 1)('K5, C4: any node above in a tree of 5, with the usual limits', async () => {
    const tree = treeRun('tree', { nodes: nodesOf([0, 0, 0, 1]) }) as Workflow;
    const runtime = await open({ file: ':memory:', workflows: [tree], agents: {}, idle: true });
    const proof = await runtime.worstCase('tree', { task: null }, { farRequests: true });
    expect([proof.result, proof.requests, proof.calls, proof.turns]).toEqual(['proved', 141, 423, 1128]);
  });
});
