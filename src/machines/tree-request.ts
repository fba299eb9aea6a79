import { isBlobRef } from '../events/blob.ts';
import { readPath, valueAt } from '../events/context-path.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { readArtifact, requestedPaths } from '../events/tree-feedback.ts';
import type { WorkRequest } from './agent-work.ts';
import { ancestorsOf } from './coordinator-checks.ts';
import { budgetLeft } from './limits.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import { type GivenNode, shapeOf, type TreeNode } from './tree-plan.ts';
import { type BoundFeedback, recordOf, type TreeState } from './tree-state.ts';

/** What the agent of a node is given as its input. */
export interface NodeInput {
  /** What the run was started with. */
  readonly task: Json;
  readonly node: string;
  /** What the plan says for this node. */
  readonly with: Json;
  /** What the node above it, and the nodes that it needs, have made. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** Feedback that this node has sent, of which it now looks whether it was heeded. */
  readonly verifies: readonly string[];
  /** What was wrong with its last answer, which could not be taken. */
  readonly refused: readonly string[];
  /** Which repeat it is, if the node is a loop. */
  readonly repeat: number | null;
  /** The nodes below it, if it plans. */
  readonly plan: readonly GivenNode[] | null;
}

/** One feedback as the agent of its target is given it. */
export interface NodeFeedback {
  readonly id: string;
  readonly from: string;
  readonly kind: string;
  readonly message: Json;
  readonly suggestedFix: Json;
  readonly suggestedAction: Json;
  readonly requestedInfo: readonly string[];
  readonly priority: string;
  readonly round: number;
  readonly artifacts: readonly {
    readonly path: string;
    readonly lines: string | null;
    readonly content: Json;
  }[];
  /** Rounds that did not settle it: what was said, what was made of it, and why that was not enough. */
  readonly attempts: readonly {
    readonly round: number;
    readonly message: Json;
    readonly made: Json;
    readonly reason: string;
  }[];
  /** What it is about, if it came here because others could not settle it. */
  readonly escalates: string | null;
}

/** The request for the execution in hand. */
export const requestOf = (state: TreeState, node: TreeNode): RunMessage => {
  const record = recordOf(state, node.id);
  const request: WorkRequest = {
    id: record.request ?? '',
    // They are JSON: what they are made of came through the door.
    input: inputOf(state, node) as unknown as Json,
    feedback: record.bound.map((bound) => feedbackOf(state, bound)) as unknown as Json[],
    history: record.history as unknown as Json[],
    context: record.answers,
    budget: budgetLeft(state.limits, state.spent),
  };
  return { type: 'agent.request', to: `./${agentId(node.agent ?? '')}`, request: request as unknown as Json };
};

const inputOf = (state: TreeState, node: TreeNode): NodeInput => {
  const { verifies, notice, repeats } = recordOf(state, node.id);
  const before = [...(node.parent === null ? [] : [node.parent]), ...node.needs];
  return {
    task: state.task,
    node: node.id,
    with: node.with,
    inputs: Object.fromEntries(before.map((id) => [id, recordOf(state, id).output])),
    verifies,
    refused: notice,
    repeat: node.loop ? repeats : null,
    plan: node.plans ? below(state, node.id) : null,
  };
};

/** The nodes below one, as a planner writes them. */
export const below = ({ nodes }: Pick<TreeState, 'nodes'>, id: string): readonly TreeNode[] => {
  const tree = shapeOf(nodes);
  return nodes.filter((node) => ancestorsOf(tree, node.id).includes(id));
};

const feedbackOf = (
  state: TreeState,
  { id, source, target, item, priority, round, ...rest }: BoundFeedback,
): NodeFeedback => ({
  id,
  from: source,
  kind: rest.kind,
  message: item.message,
  suggestedFix: item.suggested_fix ?? null,
  suggestedAction: item.suggested_action ?? null,
  requestedInfo: requestedPaths(item.requested_info),
  priority,
  round,
  artifacts: (item.artifacts ?? []).map((artifact) => contentOf(state, artifact, [source, target])),
  attempts: rest.attempts.map((attempt) => ({
    ...attempt,
    made: madeIn(state, target, { id, round: attempt.round }),
  })),
  escalates: rest.escalates,
});

/** What the target made of a feedback in an earlier round; null if it made nothing. */
const madeIn = (
  state: TreeState,
  target: string,
  { id, round }: { readonly id: string; readonly round: number },
): Json =>
  recordOf(state, target).history.findLast(({ feedback }) =>
    feedback.some((given) => given.id === id && given.round === round),
  )?.output ?? null;

/** The lines of an artifact as its source, or else its target, has shown it. One that the log keeps elsewhere is given whole. */
const contentOf = (
  state: TreeState,
  artifact: string,
  holders: readonly string[],
): NodeFeedback['artifacts'][number] => {
  const { path = artifact, from = null, to = null } = readArtifact(artifact) ?? {};
  const shownIn = holders
    .map((id) => recordOf(state, id).artifacts)
    .find((artifacts) => Object.hasOwn(artifacts, path));
  const content = shownIn?.[path] ?? null;
  const lines = from === null ? null : from === to ? `${from}` : `${from}-${to}`;
  const isText = typeof content === 'string' && from !== null && to !== null;
  return {
    path,
    lines,
    content: isText
      ? content
          .split('\n')
          .slice(from - 1, to)
          .join('\n')
      : content,
  };
};

/** The values at the paths that a node asks for, as far as the output has them. */
export const foundIn = (
  output: Json,
  { item }: Pick<BoundFeedback, 'item'>,
): { readonly values: Readonly<Record<string, Json>>; readonly isAll: boolean } => {
  const paths = requestedPaths(item.requested_info);
  const values: Record<string, Json> = {};
  for (const path of paths) {
    const keys = keysOf(path);
    const value = keys && isJsonObject(output) && !isBlobRef(output) ? valueAt(output, keys) : undefined;
    if (value !== undefined && value !== null) values[path] = value;
  }
  return { values, isAll: paths.every((path) => Object.hasOwn(values, path)) };
};

/** What an agent wrote may be no path at all: then nothing is there. */
const keysOf = (path: string): readonly string[] | undefined => {
  try {
    return readPath(path);
  } catch {
    return undefined;
  }
};
