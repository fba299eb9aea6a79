import type { ActorRecord } from '../actors/actor-record.ts';
import type { Address } from '../events/event.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import type { CoordinatorState } from '../machines/coordinator-state.ts';
import { agentId } from '../machines/run-messages.ts';
import {
  keyOf,
  nodeOf,
  openRequests,
  readyNodes,
  recordOf,
  type TreeState,
  viewOf,
  withRecord,
} from '../machines/tree-state.ts';
import type { ExploredSystem } from './explored-system.ts';
import { FAR } from './reduce.ts';
import { isPlain } from './tree-outlook.ts';

/**
 * How often in a row the answer of a node was refused is kept beside the states: its agent is asked again, and all that anybody sees of it is
 * whether it was for the last time. So whatever an agent does is explored as if it had not been refused before, and what it is refused
 * as if it were for the last time, too. One that is asked again at once is taken to be refused as often as may be before anything
 * else comes of it; one that waits until it is asked again is counted from the beginning, which is on the safe side.
 */
export interface AskedAgain {
  /** What came of it, as if none of its answers had been refused. */
  readonly after: ExploredSystem;
  /** How often it may be refused and asked again. */
  readonly times: number;
  /** The system that it was refused in, as if it were for the last time. */
  readonly last: ExploredSystem;
}

interface Tree {
  readonly record: ActorRecord;
  readonly state: TreeState;
}

/** The tree of a system, if it is one in which every request is answered: what is called off would have to be counted, too. */
const treeIn = ({ actors }: ExploredSystem): Tree | undefined => {
  for (const { machine, status, parent, snapshot } of actors.values()) {
    const record = machine === COORDINATOR && status === 'active' ? actors.get(parent ?? '') : undefined;
    // A coordinator is started by a tree only, and both keep what their machines say.
    const state = record?.snapshot?.context as TreeState | undefined;
    const coordinator = snapshot?.context as CoordinatorState | undefined;
    if (record && state && coordinator) return isPlain(state, coordinator) ? { record, state } : undefined;
  }
  return undefined;
};

/** What came of an answer, if it was refused and its agent is to be asked again. */
export const askedAgain = (given: ExploredSystem, after: ExploredSystem): AskedAgain | undefined => {
  const tree = treeIn(given);
  const next = tree && treeIn(after);
  if (!next || tree.record === next.record) return undefined;
  const { state } = tree;
  for (const [id, { refusals }] of Object.entries(next.state.records)) {
    if (refusals === 0 || recordOf(state, id).refusals > 0) continue;
    const times = timesOf(state, id);
    return {
      after: withRefusals(after, next, { id, refusals: 0 }),
      times,
      last: withRefusals(given, tree, { id, refusals: times }),
    };
  }
  return undefined;
};

const timesOf = (state: TreeState, id: string): number =>
  (state.roles[nodeOf(state, id)?.agent ?? '']?.attempts ?? 1) - 1;

export interface InPlace {
  /** The node that its agent works for: what is refused of one may be taken of another. */
  readonly node: string;
  /** How often it may be refused and asked again. */
  readonly times: number;
}

/**
 * Whether an agent whose answer is refused is, by the rules of the tree, asked again at once with all else as it was: then nobody has to try
 * what comes of it. Undefined if that is not so, or not sure.
 */
export const refusedInPlace = (system: ExploredSystem, agent: Address): InPlace | undefined => {
  const { record, state } = treeIn(system) ?? {};
  if (!record || !state || state.halt || !isFarFromBudget(state)) return undefined;
  const asked = openRequests(state).filter(({ role }) => `${record.address}/${agentId(role)}` === agent);
  const node = asked.length === 1 ? asked[0]?.node : undefined;
  return node !== undefined && isAskedAgainAsBefore(state, node)
    ? { node, times: timesOf(state, node) }
    : undefined;
};

const isFarFromBudget = ({ limits, spent }: TreeState): boolean =>
  limits.costUsd === null &&
  limits.tokens === null &&
  (limits.calls === null || limits.calls - spent.calls > 2 * FAR);

const isAskedAgainAsBefore = (state: TreeState, id: string): boolean => {
  const { blockedBy, verifies, queued, nextKey } = recordOf(state, id);
  const status = blockedBy.length > 0 ? 'blocked' : 'waiting';
  const view = viewOf(withRecord(state, id, { request: null, status, refusals: 1 }));
  const [next, ...others] = readyNodes(view);
  if (next?.node.id !== id || others.length > 0) return false;
  const willVerify = next.why === 'verify' ? blockedBy : [];
  return queued === 0 && nextKey === keyOf(view, next.node) && willVerify.join() === verifies.join();
};

const withRefusals = (
  system: ExploredSystem,
  { record, state }: Tree,
  { id, refusals }: { readonly id: string; readonly refusals: number },
): ExploredSystem => {
  const { snapshot } = record;
  // A snapshot is a plain object, of which only the context is another.
  const other = { ...snapshot, context: withRecord(state, id, { refusals }) } as ActorRecord['snapshot'];
  return system.withRecord({ ...record, snapshot: other });
};
