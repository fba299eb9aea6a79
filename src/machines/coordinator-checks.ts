import type { FeedbackItem } from '../events/tree-feedback.ts';

/** What the coordinator knows of a node. */
export interface KnownNode {
  readonly parent: string | null;
  /** Whether it can change the plan below it. */
  readonly plans: boolean;
  /** Whether an agent works on it, which can be asked for something. */
  readonly works: boolean;
}

export type KnownTree = Readonly<Record<string, KnownNode>>;

/** One feedback of a chain of causes. */
export interface Link {
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/** The nodes above one, nearest first, up to the root, however far that is. */
export const ancestorsOf = (tree: KnownTree, id: string): readonly string[] => {
  const found: string[] = [];
  const seen = new Set([id]);
  for (let parent = tree[id]?.parent ?? null; parent !== null && !seen.has(parent); ) {
    found.push(parent);
    seen.add(parent);
    parent = tree[parent]?.parent ?? null;
  }
  return found;
};

export const isAncestor = (tree: KnownTree, above: string, below: string): boolean =>
  ancestorsOf(tree, below).includes(above);

/** The node itself if it plans, else the nearest above it that does. */
export const plannerFor = (tree: KnownTree, id: string): string | undefined =>
  [id, ...ancestorsOf(tree, id)].find((each) => tree[each]?.plans === true);

/** To whom a feedback goes, or why it can go nowhere. */
export type Route = { readonly to: string; readonly fault?: undefined } | { readonly fault: string };

export const routeOf = (
  tree: KnownTree,
  { from_node: from, to_node: to, feedback_type: kind }: RoutedItem,
): Route => {
  if (!Object.hasOwn(tree, from)) return { fault: `"from_node" is "${from}", which is not in the tree` };
  if (!Object.hasOwn(tree, to)) return { fault: `"to_node" is "${to}", which is not in the tree` };
  const isAbove = isAncestor(tree, to, from);
  if (!isAbove && kind !== 'DEPENDENCY_MISSING') return { fault: notAbove(from, to) };
  if (!isAbove && (from === to || isAncestor(tree, from, to))) return { fault: notAbove(from, to) };
  if (kind === 'FIX_REQUEST' || kind === 'CONTEXT_REQUEST')
    return tree[to]?.works
      ? { to }
      : { fault: `"to_node" is "${to}", which has no agent that could be asked` };
  const planner = isAbove ? plannerFor(tree, to) : commonPlanner(tree, from, to);
  return planner === undefined
    ? {
        fault: `neither "${to}" nor a node above it plans, so that nobody could change the plan for a ${kind}`,
      }
    : { to: planner };
};

type RoutedItem = Pick<FeedbackItem, 'from_node' | 'to_node' | 'feedback_type'>;

const notAbove = (from: string, to: string): string =>
  `"to_node" is "${to}", which is not above "${from}" in the tree`;

/** Of nodes in branches side by side: the nearest node above both that plans. */
const commonPlanner = (tree: KnownTree, from: string, to: string): string | undefined => {
  const others = new Set(ancestorsOf(tree, to));
  return ancestorsOf(tree, from).find((id) => others.has(id) && tree[id]?.plans === true);
};

/**
 * The cycle that one more feedback would close: from its target along what was sent before, back to its source, shown with
 * its first node at its end again. Undefined if it closes none. Works on any graph.
 */
export const cycleOf = (
  before: readonly Pick<Link, 'from' | 'to'>[],
  { from, to }: Pick<Link, 'from' | 'to'>,
): readonly string[] | undefined => {
  const cameFrom = new Map<string, string | null>([[to, null]]);
  const waiting = [to];
  for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
    if (node === from) return [...wayTo(cameFrom, node), to];
    for (const link of before) {
      if (link.from !== node || cameFrom.has(link.to)) continue;
      cameFrom.set(link.to, node);
      waiting.push(link.to);
    }
  }
  return undefined;
};

const wayTo = (cameFrom: ReadonlyMap<string, string | null>, last: string): readonly string[] => {
  const way: string[] = [];
  for (let node: string | null = last; node !== null; node = cameFrom.get(node) ?? null) way.unshift(node);
  return way;
};
