import { canonicalJson } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import type { TreeNode } from '../machines/tree-plan.ts';
import type { TreeState } from '../machines/tree-state.ts';

/**
 * Nodes side by side of which nobody could tell which is which, but for their names: states that differ by these only are one state. On the
 * way from state to state the nodes then change their names, and what is counted beside the states goes along with them.
 */
export type Renaming = ReadonlyMap<string, string>;

/** The nodes of a tree in an order that follows from what is known of them, each with its agent. */
export type NodeOrder = readonly Pick<NamedNode, 'id' | 'agent'>[];

interface NamedNode {
  readonly id: string;
  readonly parent: string | null;
  readonly agent: string;
  /** All that makes a difference, but for its name. */
  readonly text: string;
}

const kinds = new WeakMap<TreeState['nodes'], ReadonlyMap<string, number> | null>();

/** What sort of node each is, by its declaration, as a number; null if no two that have the same parent are of one sort, or if nodes share an agent. */
export const kindsOf = ({ nodes, roles }: TreeState): ReadonlyMap<string, number> | null => {
  const known = kinds.get(nodes);
  if (known !== undefined) return known;
  const texts = nodes.map((node) => kindOf(node, roles));
  // The first node of each sort stands for it.
  const found = new Map(nodes.map(({ id }, index) => [id, texts.indexOf(texts[index] ?? '')]));
  const places = new Set(nodes.map(({ id, parent }) => `${parent} ${found.get(id)}`));
  const agents = new Set(nodes.map(({ agent }) => agent));
  const result = places.size < nodes.length && agents.size === nodes.length ? found : null;
  kinds.set(nodes, result);
  return result;
};

const kindOf = (node: TreeNode, roles: TreeState['roles']): string =>
  canonicalJson([
    { ...node, id: null, parent: null, agent: null },
    { ...roles[node.agent ?? ''], role: null },
  ] as unknown as Json); // Both are kept in the log.

/** A tree in words that are the same for all that differ by names, and in which order they speak of its nodes. */
export const inAnyNames = (
  nodes: readonly NamedNode[],
): { readonly text: string; readonly order: NodeOrder } => {
  const below = (above: string | null): readonly { text: string; order: NodeOrder }[] =>
    nodes
      .filter(({ parent }) => parent === above)
      .map((node) => {
        const children = joined(below(node.id));
        return { text: `${node.text}(${children.text})`, order: [node, ...children.order] };
      });
  return joined(below(null));
};

const joined = (
  parts: readonly { text: string; order: NodeOrder }[],
): { readonly text: string; readonly order: NodeOrder } => {
  const sorted = parts.toSorted((one, other) => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0));
  return { text: sorted.map(({ text }) => text).join(';'), order: sorted.flatMap(({ order }) => order) };
};

/** The names that nodes and agents of one tree have in another that looks the same; null if these are their own. */
export const renamingTo = (one: NodeOrder, other: NodeOrder): Renaming | null => {
  const names: [from: string, to: string][] = [];
  for (const [index, { id, agent }] of one.entries()) {
    const as = other[index] ?? { id, agent };
    names.push([id, as.id], [agentKey(agent), agentKey(as.agent)]);
  }
  if (names.every(([from, to]) => from === to)) return null;
  // The same names are the same text.
  return new Map(names.sort(([from], [than]) => (from < than ? -1 : 1)));
};

/** Agents may have names of nodes. */
const agentKey = (agent: string): string => `agent ${agent}`;

export const renamedAgent = (renaming: Renaming | null, agent: string): string =>
  renaming?.get(agentKey(agent))?.slice(agentKey('').length) ?? agent;
