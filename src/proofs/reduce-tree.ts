import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { ancestorsOf, type KnownTree, type Link } from '../machines/coordinator-checks.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import { queueItems } from '../machines/coordinator-queue.ts';
import { READ_AT_ONCE_MAX } from '../machines/coordinator-rules.ts';
import type { CoordinatorState, Entry } from '../machines/coordinator-state.ts';
import { FIX_VERIFY } from '../machines/fix-verify-machine.ts';
import { hashOf } from '../machines/plan.ts';
import {
  freshNodes,
  keyOf,
  type NodeRecord,
  nodeOf,
  type TreeState,
  type TreeView,
  viewOf,
} from '../machines/tree-state.ts';
import { budgetOf, counted, FAR, FRESH, near, type Reduce, type Reductions } from './reduce.ts';

/**
 * What can be seen of the feedbacks that led to something at a node. Ids are numbers in the order of coming, which decide nothing: a
 * feedback is known by its two ends. Without planners each goes further up than the one before it, so that none comes back to
 * where one began, and only how many there are counts: if what can still follow might be too many.
 */
const inChain = (chain: readonly Link[], node: string, above: Above): Json => {
  if (mayPlan(above.tree)) return chain.map(({ from, to }) => `${from}>${to}`);
  return isFarFrom(above, node, chain.length) ? [] : chain.length;
};

/** Whether a chain of so many feedbacks, of which the last led to something at a node, cannot become too long. */
export const isFarFrom = ({ tree, hops }: Above, node: string, length: number): boolean =>
  hops === null || length + ancestorsOf(tree, node).length - 1 < hops;

const mayPlan = (tree: KnownTree): boolean => Object.values(tree).some(({ plans }) => plans);

/** What a chain of feedbacks is judged by. */
export interface Above {
  readonly tree: KnownTree;
  readonly hops: number | null;
}

/**
 * Several feedbacks that a node finds not to have helped are sent again one after the other: which is first makes a difference only where a
 * limit that one of them meets ends the run before the others have a round.
 */
export const sentIn = ({ onLimit }: Pick<TreeState, 'onLimit'>, feedbacks: readonly Json[]): Json =>
  onLimit === 'stop' ? feedbacks : sorted(feedbacks);

export const sorted = (values: readonly Json[]): Json => values.map((value) => canonicalJson(value)).sort();

const hashes = new WeakMap<object, string>();

/** The plan is the same object from state to state, unless a planner changes it. */
const shapeHash = (shape: TreeState['nodes'] | KnownTree): string => {
  const known = hashes.get(shape) ?? hashOf(shape as unknown as Json);
  hashes.set(shape, known);
  return known;
};

/** What the guards of a tree run can see of it. */
export const reduceTree: Reduce = (given) => {
  const state = given as TreeState; // Kept for the machine of tree runs only.
  const view = viewOf(state);
  const fresh = freshNodes(view);
  const { open } = state;
  const label = (id: string): Json => {
    const { source, target, kind, stage } = open[id] ?? {};
    return source === undefined ? 'queued' : `${source}>${target} ${kind} ${stage}`;
  };
  return {
    ...reduceWhole(state),
    records: Object.fromEntries(
      Object.entries(state.records).map(([id, record]) => [
        id,
        { ...reduceRecord(view, id, record), fresh: fresh.has(id), ...waitsOf(view, id, { record, label }) },
      ]),
    ),
    open: sentIn(state, Object.keys(open).map(label)),
  };
};

/** What it is as a whole, whatever its nodes do. */
export const reduceWhole = (state: TreeState): { readonly [name: string]: Json } => {
  const { limits, spent, halt } = state;
  return {
    plan: shapeHash(state.nodes),
    budget: budgetOf(limits, spent),
    counts: [counted(limits.replans, state.replans), counted(limits.addedNodes, state.added)],
    limits: [limits.replans, limits.addedNodes],
    settling: state.settling.length,
    paused: state.pauseReasons,
    halt: halt && [halt.verdict, halt.met?.limit ?? null, halt.step],
    ends: [state.isDecided, state.isCancelled, state.debt.length > 0],
  };
};

export const reduceRecord = (view: TreeView, id: string, record: NodeRecord) => {
  const node = nodeOf(view.state, id);
  return {
    status: record.status,
    isCurrent: node ? record.key === keyOf(view, node) : null,
    // What an execution is made from counts when it ends; what it reported, when a person takes it as it is.
    willBeCurrent: node && record.status === 'working' ? record.nextKey === keyOf(view, node) : null,
    isAsked: record.request !== null,
    taking: record.taking,
    counts: [record.repeats, record.failuresInRow, record.refusals, record.queued],
    // An artifact that is like no other is like all others of this kind.
    output: record.hash === null ? null : isNew(record.output) ? FRESH : record.hash,
    planned: record.planned,
    answers: Object.keys(record.answers).sort(),
  };
};

/** Whether an artifact is like no other. */
export const isNew = (output: Json): boolean => isJsonObject(output) && output[FRESH] !== undefined;

const waitsOf = (
  view: TreeView,
  id: string,
  { record, label }: { record: NodeRecord; label: (id: string) => Json },
) => {
  const above = { tree: view.tree, hops: view.state.limits.hops };
  const isTop = isTopIn(view.tree, id);
  return {
    bound: sorted(
      record.bound.map((item) => [label(item.id), isTop ? [] : inChain(item.chain, item.source, above)]),
    ),
    blockedBy: sorted(record.blockedBy.map(label)),
    verifies: sorted(record.verifies.map(label)),
    cause: causeIn(above, id, record),
    addedBy: inChain(record.addedBy, id, above),
  };
};

export const causeIn = (above: Above, id: string, record: NodeRecord): Json =>
  isTopIn(above.tree, id) || isForgotten(record) ? [] : inChain(record.cause, id, above);

/** Whether the next execution has causes of its own. */
const isForgotten = ({ status, bound, blockedBy, repeats, refusals }: NodeRecord): boolean =>
  status === 'done' && bound.length + blockedBy.length + repeats + refusals === 0;

/** Its attempts are counted as rounds. */
const entryOf = (above: Above, entry: Entry): Json => {
  const { from, to, kind, priority, stage, slot, escalates } = entry;
  return [from, to, kind, priority, stage, slot !== null, chainOf(above, entry), escalates !== null];
};

/** What is on its way to the top has a chain that nobody adds to. */
export const chainOf = (above: Above, { from, to, chain }: Entry): Json =>
  isTopIn(above.tree, to) ? [] : inChain(chain, from, above);

/** Whether a node has nobody above it that it could report to, and adds nothing: then nobody looks at why it ran. */
const isTopIn = (tree: KnownTree, id: string): boolean => tree[id]?.parent === null && !tree[id].plans;

/** All that waits for a node is given to it at once; what came first shows in the chain of causes only, if in anything. */
const queueOf = (above: Above, to: string, items: readonly Entry[]): Json => {
  const entries = items.map((item) => entryOf(above, item));
  return (isTopIn(above.tree, to) || !mayPlan(above.tree)) && items.length <= READ_AT_ONCE_MAX
    ? sorted(entries)
    : entries;
};

/** How many feedbacks must be left so that they are not counted. The explorer checks that they are left on every way. */
export const FEEDBACKS_FAR = 40;

/** What is counted of feedbacks, if that is so far away only from there on. */
export const reduceCounts = (
  { limits, made, rounds, granted }: CoordinatorState,
  far: number,
): { readonly [name: string]: Json } => ({
  made: limits.feedbacks === null ? 'any' : near(limits.feedbacks - made, far),
  rounds: limits.pairRounds === null ? 'any' : rounds,
  granted,
});

const reduceCoordinator =
  (far: number): Reduce =>
  (given) => {
    const state = given as CoordinatorState; // Kept under the name of its machine only.
    const { limits, open, tree } = state;
    const above = { tree, hops: limits.hops };
    return {
      tree: shapeHash(state.tree),
      ...reduceCounts(state, far),
      queues: Object.fromEntries(
        Object.entries(state.queues).map(([to, queue]) => [to, queueOf(above, to, queueItems(queue))]),
      ),
      open: sentIn(
        state,
        Object.values(open).map((entry) => entryOf(above, entry)),
      ),
    };
  };

/** What it goes by comes with the message on which it decides. */
const reduceFix: Reduce = () => null;

/** From where on feedbacks are counted down: with `counts` from further away. */
export const farOf = (counts: boolean): number => (counts ? FAR : FEEDBACKS_FAR);

export const treeReductions = (counts: boolean): Reductions => ({
  [COORDINATOR]: reduceCoordinator(farOf(counts)),
  [FIX_VERIFY]: reduceFix,
});
