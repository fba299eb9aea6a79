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
import { counted, FAR, FRESH, near, type Reduce, type Reductions } from './reduce.ts';

/**
 * What can be seen of the feedbacks that led to something at a node. Ids are numbers in the order of coming, which decide nothing: a
 * feedback is known by its two ends. Without planners each goes further up than the one before it, so that none comes back to
 * where one began, and only how many there are counts: if what can still follow might be too many.
 */
const inChain = (chain: readonly Link[], node: string, { tree, hops }: Above): Json => {
  if (mayPlan(tree)) return chain.map(({ from, to }) => `${from}>${to}`);
  const mayFollow = ancestorsOf(tree, node).length - 1;
  return hops === null || chain.length + mayFollow < hops ? [] : chain.length;
};

const mayPlan = (tree: KnownTree): boolean => Object.values(tree).some(({ plans }) => plans);

/** What a chain of feedbacks is judged by. */
interface Above {
  readonly tree: KnownTree;
  readonly hops: number | null;
}

const sorted = (values: readonly Json[]): Json => values.map((value) => canonicalJson(value)).sort();

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
  const { limits, spent, halt, open } = state;
  const label = (id: string): Json => {
    const { source, target, kind, stage } = open[id] ?? {};
    return source === undefined ? 'queued' : `${source}>${target} ${kind} ${stage}`;
  };
  return {
    plan: shapeHash(state.nodes),
    records: Object.fromEntries(
      Object.entries(state.records).map(([id, record]) => [
        id,
        { ...reduceRecord(view, id, record), fresh: fresh.has(id), ...waitsOf(view, id, { record, label }) },
      ]),
    ),
    open: sorted(Object.keys(open).map(label)),
    calls: limits.calls === null ? 'many' : near(limits.calls - spent.calls),
    spent: [limits.costUsd === null ? 0 : spent.costUsd, limits.tokens === null ? 0 : spent.tokens],
    counts: [counted(limits.replans, state.replans), counted(limits.addedNodes, state.added)],
    limits: [limits.replans, limits.addedNodes],
    settling: state.settling.length,
    paused: state.pauseReasons,
    halt: halt && [halt.verdict, halt.met?.limit ?? null, halt.step],
    ends: [state.isDecided, state.isCancelled, state.debt.length > 0],
  };
};

const reduceRecord = (view: TreeView, id: string, record: NodeRecord) => {
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

const isNew = (output: Json): boolean => isJsonObject(output) && output[FRESH] !== undefined;

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
    cause: isTop || isForgotten(record) ? [] : inChain(record.cause, id, above),
    addedBy: inChain(record.addedBy, id, above),
  };
};

/** Whether the next execution has causes of its own. */
const isForgotten = ({ status, bound, blockedBy, repeats, refusals }: NodeRecord): boolean =>
  status === 'done' && bound.length + blockedBy.length + repeats + refusals === 0;

/** Its attempts are counted as rounds. What is on its way to the top has a chain that nobody adds to. */
const entryOf = (above: Above, { from, to, kind, priority, stage, slot, chain, escalates }: Entry): Json => [
  from,
  to,
  kind,
  priority,
  stage,
  slot !== null,
  isTopIn(above.tree, to) ? [] : inChain(chain, from, above),
  escalates !== null,
];

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

const reduceCoordinator =
  (far: number): Reduce =>
  (given) => {
    const state = given as CoordinatorState; // Kept under the name of its machine only.
    const { limits, open, tree } = state;
    const above = { tree, hops: limits.hops };
    return {
      tree: shapeHash(state.tree),
      made: limits.feedbacks === null ? 'any' : near(limits.feedbacks - state.made, far),
      rounds: limits.pairRounds === null ? 'any' : state.rounds,
      granted: state.granted,
      queues: Object.fromEntries(
        Object.entries(state.queues).map(([to, queue]) => [to, queueOf(above, to, queueItems(queue))]),
      ),
      open: sorted(Object.values(open).map((entry) => entryOf(above, entry))),
    };
  };

/** What it goes by comes with the message on which it decides. */
const reduceFix: Reduce = () => null;

/** With `counts` feedbacks are counted down from further away. */
export const treeReductions = (counts: boolean): Reductions => ({
  [COORDINATOR]: reduceCoordinator(counts ? FAR : FEEDBACKS_FAR),
  [FIX_VERIFY]: reduceFix,
});
