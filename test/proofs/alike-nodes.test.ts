import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodesOf } from '../../bench/shipped-loops.ts';
import { type GivenNode, treeRun, type Workflow, type WorstCaseOptions } from '../../src/index.ts';
import { inAnyNames, kindsOf, renamedAgent, renamingTo } from '../../src/proofs/alike-nodes.ts';
import { outcomesInTree } from '../../src/proofs/tree-outcomes.ts';
import { open, rounds } from '../support/runtimes.ts';

type Prepared = Parameters<typeof outcomesInTree>[0];

const treeOf = (nodes: readonly GivenNode[], roles = {}) => {
  const workflow = treeRun('tree', { nodes, roles }) as Workflow;
  // What a tree run is started with.
  return { workflow, input: workflow.options.prepare?.({ task: null }) as Prepared };
};

const prove = async (workflow: Workflow, options: WorstCaseOptions) => {
  const runtime = await open({ file: ':memory:', workflows: [workflow], agents: {}, idle: true });
  const proof = await runtime.worstCase('tree', { task: null }, { statesMax: 10_000, ...options });
  await runtime.close();
  const { result, requests, calls, turns, callsByAgent, verdicts, mayAsk, states } = proof;
  return { told: { result, requests, calls, turns, callsByAgent, verdicts, mayAsk }, states };
};

// Method: whoever says what agents may do has every node told apart. The same outcomes, said so, must come to the same bounds.
describe('nodes side by side that nobody could tell apart', () => {
  it.each([[0, 0, 0], ...(rounds(0, 1) === 1 ? [[0, 1, 1]] : [])].map((parents) => [parents] as const))(
    'K5: %j has the same bounds, for each agent too, whether or not they are',
    async (parents) => {
      const nodes = nodesOf(parents);
      const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: 1 }]));
      const { workflow, input } = treeOf(nodes, roles);
      const told = await prove(workflow, { outcomes: outcomesInTree(input) });
      const alike = await prove(workflow, {});
      expect(told.told.result).toBe('proved');
      expect(alike.told).toEqual(told.told);
      expect(alike.states).toBeLessThan(told.states * 0.6);
    },
  );

  it('K5: are told apart if they are not declared alike, if they share an agent, or if what agents cost counts', async () => {
    const [root, one, other] = nodesOf([0, 0]);
    if (!root || !one || !other) throw new Error('There are three nodes.');
    const kinds = (nodes: readonly GivenNode[], roles = {}) =>
      kindsOf(treeOf(nodes, roles).input as unknown as Parameters<typeof kindsOf>[0]);
    expect(kinds([root, one, other])?.size).toBe(3);
    expect(kinds([root, one, { ...other, with: 'more' }])).toBeNull();
    expect(kinds([root, one, other], { n1: { attempts: 1 } })).toBeNull();
    expect(kinds([root, { ...one, agent: 'same' }, { ...other, agent: 'same' }])).toBeNull();
    const { workflow } = treeOf([root, one, other]);
    const free = await prove(workflow, {});
    const paid = await prove(workflow, { costUsd: { n1: 1 } });
    expect(paid.told).toEqual(free.told);
    expect(paid.states).toBeGreaterThan(free.states);
  });

  it('K5: a tree is told in the same words whatever its nodes are called, and each node is found again by its words', () => {
    const anyTree = fc
      .array(fc.record({ parent: fc.nat(), says: fc.constantFrom('a', 'b') }), { minLength: 1, maxLength: 7 })
      .map((nodes) =>
        nodes.map(({ parent, says }, index) => ({ parent: index === 0 ? -1 : parent % index, says })),
      );
    const named = (nodes: readonly { parent: number; says: string }[], names: readonly string[]) =>
      nodes.map(({ parent, says }, index) => ({
        id: names[index] ?? '',
        parent: names[parent] ?? null,
        agent: `of ${names[index]}`,
        text: says,
      }));
    const tree = anyTree.chain((nodes) => {
      const names = nodes.map((_, index) => `n${index}`);
      return fc.tuple(fc.constant(nodes), fc.shuffledSubarray(names, { minLength: names.length }));
    });
    fc.assert(
      fc.property(tree, ([nodes, names]) => {
        const one = named(
          nodes,
          nodes.map((_, index) => `n${index}`),
        );
        // The same nodes by other names, in the order of these.
        const other = named(nodes, names).sort((some, more) => (some.id < more.id ? -1 : 1));
        const said = inAnyNames(one);
        const again = inAnyNames(other);
        expect(again.text).toBe(said.text);
        const renaming = renamingTo(said.order, again.order);
        const textOf = (all: typeof one, id: string | null) => all.find((node) => node.id === id);
        for (const node of one) {
          const as = textOf(other, renaming?.get(node.id) ?? node.id);
          expect([as?.text, as?.agent]).toEqual([node.text, renamedAgent(renaming, node.agent)]);
          const parent = node.parent === null ? null : (renaming?.get(node.parent) ?? node.parent);
          expect(as?.parent ?? null).toBe(parent);
        }
        // Control: a tree in which something else is said is told in other words.
        const changed = one.map((node, index) => (index === 0 ? { ...node, text: 'c' } : node));
        expect(inAnyNames(changed).text).not.toBe(said.text);
      }),
    );
  });
});
