import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import type { Link } from '../machines/coordinator-checks.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import { queueItems } from '../machines/coordinator-queue.ts';
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
import { counted, FRESH, near, type Reduce, type Reductions } from './reduce.ts';

/** Ids are numbers in the order of coming, which decide nothing: a feedback is known by its two ends. */
const inChain = (chain: readonly Link[]): Json => chain.map(({ from, to }) => `${from}>${to}`);

const sorted = (values: readonly Json[]): Json => values.map((value) => canonicalJson(value)).sort();

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
    plan: hashOf(state.nodes as unknown as Json),
    records: Object.fromEntries(
      Object.entries(state.records).map(([id, record]) => [
        id,
        { ...reduceRecord(view, id, record), fresh: fresh.has(id), ...waitsOf(record, label) },
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
    willBeCurrent: node ? record.nextKey === keyOf(view, node) : null,
    isAsked: record.request !== null,
    taking: record.taking,
    counts: [record.repeats, record.failuresInRow, record.refusals, record.queued],
    // An artifact that is like no other is like all others of this kind.
    output: record.hash === null ? null : isNew(record.output) ? FRESH : record.hash,
    reported: isNew(record.reported) ? FRESH : hashOf(record.reported),
    planned: record.planned,
    answers: Object.keys(record.answers).sort(),
  };
};

const isNew = (output: Json): boolean => isJsonObject(output) && output[FRESH] !== undefined;

const waitsOf = (record: NodeRecord, label: (id: string) => Json) => ({
  bound: sorted(record.bound.map(({ id, chain }) => [label(id), inChain(chain)])),
  blockedBy: sorted(record.blockedBy.map(label)),
  verifies: sorted(record.verifies.map(label)),
  cause: inChain(record.cause),
  addedBy: inChain(record.addedBy),
});

const entryOf = ({ from, to, kind, priority, stage, slot, chain, escalates, attempts }: Entry): Json => [
  from,
  to,
  kind,
  priority,
  stage,
  slot,
  inChain(chain),
  escalates !== null,
  attempts.length > 0,
];

const reduceCoordinator: Reduce = (given) => {
  const state = given as CoordinatorState; // Kept under the name of its machine only.
  const { limits, slots, open } = state;
  return {
    tree: hashOf(state.tree as unknown as Json),
    made: limits.feedbacks === null ? 'any' : near(limits.feedbacks - state.made),
    rounds: limits.pairRounds === null ? 'any' : state.rounds,
    granted: state.granted,
    queues: Object.fromEntries(
      Object.entries(state.queues).map(([to, queue]) => [to, queueItems(queue).map(entryOf)]),
    ),
    open: sorted(Object.values(open).map(entryOf)),
    slots: Object.keys(slots).sort(),
  };
};

/** What it goes by comes with the message on which it decides. */
const reduceFix: Reduce = () => null;

export const TREE_REDUCTIONS: Reductions = {
  [COORDINATOR]: reduceCoordinator,
  [FIX_VERIFY]: reduceFix,
};
