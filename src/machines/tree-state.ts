import { isJsonObject, type Json } from '../events/json.ts';
import type { FeedbackItem, FeedbackKind, Priority } from '../events/tree-feedback.ts';
import type { Spent } from '../events/usage.ts';
import type { AgentSettings } from './agent-work.ts';
import { changed, withEntry } from './changed.ts';
import { ancestorsOf, type KnownTree, type Link } from './coordinator-checks.ts';
import type { CoordinatorInput, FeedbackAttempt } from './coordinator-state.ts';
import type { Limits } from './limits.ts';
import type { StepInputs } from './nested.ts';
import { hashOf } from './plan.ts';
import { type RunMessage } from './run-messages.ts';
import type { Halt } from './run-state.ts';
import { shapeOf, type TreeNode } from './tree-plan.ts';

/** What a tree run is started with, as the log keeps it. */
export interface TreeRunInput extends StepInputs {
  readonly task: Json;
  readonly nodes: readonly TreeNode[];
  readonly limits: Limits;
  readonly unbounded: string | null;
  readonly onLimit: 'ask' | 'stop';
  readonly questionLevels: readonly { readonly to: string | null; readonly expiresMs: number | null }[];
  readonly onExpiry: 'cancel' | 'stop';
  readonly roles: Readonly<Record<string, AgentSettings>>;
  /** Feedback of earlier runs. */
  readonly before: CoordinatorInput['before'];
  /** The same, as it was brought in: for the record. */
  readonly imported: readonly Json[];
}

/** Feedback that an execution was given: it and its retries, and no other. */
export interface BoundFeedback {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: FeedbackKind;
  readonly item: FeedbackItem;
  readonly priority: Priority;
  readonly round: number;
  readonly chain: readonly Link[];
  readonly escalates: string | null;
  readonly attempts: readonly FeedbackAttempt[];
}

/** A result of a node that was replaced by a later one. */
export interface EarlierTry {
  readonly output: Json;
  /** The feedback that it was made with, by id and round. */
  readonly feedback: readonly { readonly id: string; readonly round: number }[];
}

export interface NodeRecord {
  readonly status: 'waiting' | 'working' | 'reporting' | 'blocked' | 'done' | 'failed';
  /** What the result that stands was made from, and what the execution in hand is made from. */
  readonly key: string | null;
  readonly nextKey: string | null;
  readonly request: string | null;
  /** Whether it waits to be given its feedback, and would run without any. */
  readonly taking: 'no' | 'feedback' | 'due';
  readonly runs: number;
  readonly repeats: number;
  readonly failuresInRow: number;
  /** How often in a row its answer could not be taken, and what was wrong with the last. */
  readonly refusals: number;
  readonly notice: readonly string[];
  readonly output: Json;
  readonly hash: string | null;
  readonly artifacts: Readonly<Record<string, Json>>;
  /** What it made when it sent feedback: taken if a person says so. */
  readonly reported: Json;
  /** How many feedbacks wait for it. */
  readonly queued: number;
  readonly bound: readonly BoundFeedback[];
  /** Feedback that it has sent and that has not ended. */
  readonly blockedBy: readonly string[];
  /** Of these, what the execution in hand verifies. */
  readonly verifies: readonly string[];
  readonly cause: readonly Link[];
  /** The chain of causes by which it came into the plan. */
  readonly addedBy: readonly Link[];
  /** What its requests for context were answered with. */
  readonly answers: Readonly<Record<string, Json>>;
  readonly history: readonly EarlierTry[];
  /** Whether it has planned before. */
  readonly planned: boolean;
}

/** What the run knows of a feedback that was handed out. */
export interface OpenFeedback {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: FeedbackKind;
  readonly stage: 'fixing' | 'verifying' | 'asking' | 'again';
}

export interface Debt {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: FeedbackKind;
}

export interface TreeState extends Omit<TreeRunInput, 'before' | 'imported'> {
  readonly started: readonly string[];
  readonly records: Readonly<Record<string, NodeRecord>>;
  readonly open: Readonly<Record<string, OpenFeedback>>;
  /** Feedback of which the coordinator will say in this turn what becomes of it. Nothing ends before that. */
  readonly settling: readonly string[];
  readonly spent: Spent;
  readonly replans: number;
  readonly added: number;
  /** How often nodes had run that are not in the plan any more. */
  readonly runsOfRemoved?: Readonly<Record<string, number>>;
  readonly pauseReasons: readonly string[];
  readonly deadlineMs: number | null;
  readonly halt: Halt | null;
  /** A person has decided already that it ends so. */
  readonly isDecided: boolean;
  readonly isCancelled: boolean;
  readonly debt: readonly Debt[];
  readonly decidedBy: string | null;
}

/** What a rule makes of a tree run. */
export interface TreeOutcome {
  readonly state: TreeState;
  readonly messages: readonly RunMessage[];
}

const NEW_NODE: NodeRecord = {
  status: 'waiting',
  key: null,
  nextKey: null,
  request: null,
  taking: 'no',
  runs: 0,
  repeats: 0,
  failuresInRow: 0,
  refusals: 0,
  notice: [],
  output: null,
  hash: null,
  artifacts: {},
  reported: null,
  queued: 0,
  bound: [],
  blockedBy: [],
  verifies: [],
  cause: [],
  addedBy: [],
  answers: {},
  history: [],
  planned: false,
};

/** The nodes at the ends of feedback that was brought in. */
export const recordsWith = (waiting: CoordinatorInput['before']['waiting']): TreeState['records'] => {
  const records: Record<string, NodeRecord> = {};
  for (const { id, from, to } of waiting) {
    const target = records[to] ?? NEW_NODE;
    records[to] = { ...target, queued: target.queued + 1 };
    const source = records[from] ?? NEW_NODE;
    records[from] = { ...source, blockedBy: [...source.blockedBy, id] };
  }
  return records;
};

export const nodeOf = ({ nodes }: Pick<TreeState, 'nodes'>, id: string): TreeNode | undefined =>
  nodes.find((node) => node.id === id);

export const recordOf = ({ records }: Pick<TreeState, 'records'>, id: string): NodeRecord =>
  records[id] ?? NEW_NODE;

export const withSettling = (state: TreeState, ids: readonly string[]): TreeState => ({
  ...state,
  settling: [...new Set([...state.settling, ...ids])],
});

export const withRecord = (state: TreeState, id: string, change: Partial<NodeRecord>): TreeState =>
  changed(state, { records: withEntry(state.records, id, changed(recordOf(state, id), change)) });

/** The nodes that are not on a way that a condition has left out. */
const activeNodes = (state: TreeState): readonly TreeNode[] => {
  const out = new Set<string>();
  for (const { id, condition } of state.nodes) {
    const { output } = recordOf(state, id);
    if (!condition || !isJsonObject(output)) continue;
    const left = output['branch'] === 'pending' ? condition.otherwise : condition.pending;
    const taken = output['branch'] === 'pending' ? condition.pending : condition.otherwise;
    for (const child of left) if (!taken.includes(child)) out.add(child);
  }
  if (out.size === 0) return state.nodes;
  const tree = shapeOf(state.nodes);
  return state.nodes.filter(
    ({ id }) => !out.has(id) && !ancestorsOf(tree, id).some((above) => out.has(above)),
  );
};

/** The tree as it stands, and what of it can go on: computed once for each step. */
export interface TreeView {
  readonly state: TreeState;
  readonly active: readonly TreeNode[];
  readonly byId: ReadonlyMap<string, TreeNode>;
  readonly tree: KnownTree;
  /** Keys that were asked for before. */
  readonly keys: Map<string, string>;
}

/** A state is never changed in place: what follows from it is computed once. */
const views = new WeakMap<TreeState, TreeView>();

export const viewOf = (state: TreeState): TreeView => {
  const known = views.get(state);
  if (known) return known;
  const active = activeNodes(state);
  const { byId, tree } = formOf(active);
  const view = { state, active, byId, tree, keys: new Map<string, string>() };
  views.set(state, view);
  return view;
};

type Form = Pick<TreeView, 'byId' | 'tree'>;

/** Most states of a tree have the nodes of the one before. */
const forms = new WeakMap<readonly TreeNode[], Form>();

const formOf = (nodes: readonly TreeNode[]): Form => {
  const form = forms.get(nodes) ?? {
    byId: new Map(nodes.map((node) => [node.id, node])),
    tree: shapeOf(nodes),
  };
  forms.set(nodes, form);
  return form;
};

const isActive = ({ tree }: TreeView, id: string): boolean => Object.hasOwn(tree, id);

/** What a node works from: equal keys are equal work. */
export const keyOf = (view: TreeView, node: TreeNode): string => {
  const known = view.keys.get(node.id);
  if (known !== undefined) return known;
  const made = beforeOf(node).map((id) => (isActive(view, id) ? recordOf(view.state, id).hash : null));
  const key = [definitionOf(node), ...made].join(' ');
  view.keys.set(node.id, key);
  return key;
};

/** The nodes whose results it is given. */
const beforeOf = ({ parent, needs }: TreeNode): readonly string[] =>
  parent === null ? needs : [parent, ...needs];

const definitions = new WeakMap<TreeNode, string>();

const definitionOf = (node: TreeNode): string => {
  const known = definitions.get(node);
  if (known !== undefined) return known;
  const hash = hashOf(node as unknown as Json);
  definitions.set(node, hash);
  return hash;
};

const isDone = (view: TreeView, id: string): boolean =>
  !isActive(view, id) || recordOf(view.state, id).status === 'done';

const isReady = (view: TreeView, { parent, needs }: TreeNode): boolean =>
  (parent === null || isDone(view, parent)) && needs.every((need) => isDone(view, need));

/** Made from what stands before it now; what that was made from is another matter. */
const isCurrent = (view: TreeView, node: TreeNode): boolean => {
  const { status, key } = recordOf(view.state, node.id);
  return status === 'done' && key === keyOf(view, node);
};

/** Nodes whose results stand, made from results that stand. */
export const freshNodes = (view: TreeView): ReadonlySet<string> => {
  const known = new Map<string, boolean>();
  const isFresh = (id: string): boolean => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const node = view.byId.get(id);
    const fresh = node === undefined || (beforeOf(node).every(isFresh) && isCurrent(view, node));
    known.set(id, fresh);
    return fresh;
  };
  return new Set(view.active.map(({ id }) => id).filter(isFresh));
};

/** Why a node runs. */
export type Why = 'first' | 'feedback' | 'stale' | 'verify';

/** What can begin now, and why. */
export const readyNodes = (view: TreeView): readonly { readonly node: TreeNode; readonly why: Why }[] => {
  const fresh = freshNodes(view);
  return view.active.flatMap((node) => {
    const why = whyReady(view, node, fresh);
    return why ? [{ node, why }] : [];
  });
};

const whyReady = (view: TreeView, node: TreeNode, fresh: ReadonlySet<string>): Why | undefined => {
  const { status, blockedBy, queued } = recordOf(view.state, node.id);
  if (status === 'working' || status === 'reporting' || status === 'failed') return undefined;
  if (blockedBy.length > 0) return canVerify(view, node) ? 'verify' : undefined;
  if (status === 'waiting') return isReady(view, node) && !isAboutToChange(view, node) ? 'first' : undefined;
  if (queued > 0) return 'feedback';
  if (fresh.has(node.id) || isCurrent(view, node) || !isReady(view, node)) return undefined;
  if (isOnTheWay(view, node.id)) return isAboutToChange(view, node) ? undefined : 'stale';
  const isFresh = beforeOf(node).every((id) => !isActive(view, id) || fresh.has(id));
  return isFresh && !isHeld(view, node.id) ? 'stale' : undefined;
};

/** All that it has sent is fixed, and what it works from is made anew: now it can look whether that helped. */
const canVerify = (view: TreeView, node: TreeNode): boolean => {
  const open = recordOf(view.state, node.id).blockedBy.map((id) => view.state.open[id]);
  return (
    open.every((each) => each?.stage === 'verifying' && isDone(view, each.target)) &&
    isReady(view, node) &&
    open.every((each) => wayTo(view, node.id, each?.target ?? '').every((id) => isCurrentId(view, id)))
  );
};

const isCurrentId = (view: TreeView, id: string): boolean => {
  const node = view.byId.get(id);
  return node !== undefined && isCurrent(view, node);
};

/** What a node works from, however far back, up to the node that was fixed. */
const wayTo = (view: TreeView, source: string, target: string): readonly string[] => {
  const found = new Set<string>();
  const stops = new Set([target, ...ancestorsOf(view.tree, target)]);
  const walk = (id: string): void => {
    const node = view.byId.get(id);
    for (const before of node ? beforeOf(node) : []) {
      if (found.has(before) || stops.has(before) || !isActive(view, before)) continue;
      found.add(before);
      walk(before);
    }
  };
  walk(source);
  return [...found];
};

/** Whether a verification waits for it: then it runs at once, and not when all is verified. */
const isOnTheWay = (view: TreeView, id: string): boolean => {
  const known =
    ways.get(view) ?? new Set(verifyingOf(view).flatMap(({ source, target }) => wayTo(view, source, target)));
  ways.set(view, known);
  return known.has(id);
};

const ways = new WeakMap<TreeView, ReadonlySet<string>>();

const verifyingOf = ({ state }: TreeView): readonly OpenFeedback[] =>
  Object.values(state.open).filter(({ stage }) => stage === 'verifying');

/** Whether something that it works from is just about to be made anew: then it waits for that. What is held back may take long. */
const isAboutToChange = (view: TreeView, node: TreeNode): boolean =>
  beforeOf(node).some((id) => {
    const before = view.byId.get(id);
    if (!before) return false;
    if (isOnTheWay(view, id)) return !isCurrent(view, before) || isAboutToChange(view, before);
    const isStale = recordOf(view.state, id).status === 'done' && !isCurrent(view, before);
    return (isStale && !isHeld(view, id)) || isAboutToChange(view, before);
  });

/** Something above it is being fixed: nodes that have a result wait until that is verified, and run once. */
const isHeld = ({ state, tree }: TreeView, id: string): boolean => {
  const above = ancestorsOf(tree, id);
  return Object.values(state.open).some(({ target }) => above.includes(target));
};

export const isComplete = (view: TreeView): boolean =>
  Object.keys(view.state.open).length === 0 &&
  view.active.every(({ id }) => recordOf(view.state, id).queued === 0) &&
  freshNodes(view).size === view.active.length;

/** Requests that agents have not answered yet. */
export const openRequests = (
  state: TreeState,
): readonly { readonly node: string; readonly role: string; readonly request: string }[] =>
  Object.entries(state.records).flatMap(([id, { request }]) => {
    const role = nodeOf(state, id)?.agent;
    return request === null || role == null ? [] : [{ node: id, role, request }];
  });

/** Nothing is at work, and nothing is waited for but persons. */
export const isIdle = (state: TreeState): boolean =>
  state.settling.length === 0 &&
  Object.values(state.records).every(({ status }) => status !== 'working' && status !== 'reporting');
