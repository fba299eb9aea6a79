import { RuntimeError } from '../errors.ts';
import type { Json } from '../events/json.ts';
import {
  causesOf,
  type FeedbackRow,
  formatFeedback,
  parseFeedback,
  targetOf,
} from '../events/tree-feedback-lines.ts';
import { routeOf } from './coordinator-checks.ts';
import { type CoordinatorInput, withCount } from './coordinator-state.ts';
import { fixLimits, type GivenLimits } from './limits.ts';
import { isId } from './plan.ts';
import {
  checkedExpiry,
  checkedLevels,
  type PersonOptions,
  type RoleOptions,
  settingsOf,
} from './plan-run.ts';
import type { QuestionLevel } from './question-machine.ts';
import { treeMachine } from './tree-machine.ts';
import { fixTree, type GivenNode, shapeOf, type TreeNode } from './tree-plan.ts';
import type { NodeInput } from './tree-request.ts';
import type { TreeRunInput } from './tree-state.ts';
import { type Workflow, type WorkflowOptions, workflow } from './workflow.ts';

/** What a loop node may repeat, and how much feedback a run may have, unless set. */
const USUAL: GivenLimits = { repeats: 5, feedbacks: 100 };

export interface TreeRunOptions<
  Nodes extends readonly GivenNode[],
  Extra extends string,
  Person extends string,
> extends Pick<WorkflowOptions<typeof treeMachine>, 'version' | 'turnsMax'> {
  /** The root has no parent; every other node names the one above it. */
  readonly nodes: Nodes;
  /** Agents that planners may name besides those of the nodes. */
  readonly agents?: readonly Extra[];
  readonly limits?: GivenLimits;
  /** What happens at a limit: a person is asked (default), or the run ends. */
  readonly onLimit?: 'ask' | 'stop';
  readonly ask?: readonly QuestionLevel[];
  readonly onExpiry?: 'cancel' | 'stop';
  readonly roles?: Readonly<Record<string, RoleOptions>>;
  readonly persons?: Readonly<Record<Person, PersonOptions>>;
}

/** What a tree run is started with. */
export interface TreeGiven {
  readonly task: Json;
  /** Feedback of earlier runs: rows, or the text of a feedback file. What has not ended waits for its target again. */
  readonly feedback?: readonly FeedbackRow[] | string;
}

/** The agents that nodes name. */
type RolesOf<Node> = Node extends { readonly condition: unknown }
  ? never
  : Node extends { readonly agent: infer Role extends string }
    ? Role
    : Node extends { readonly id: infer Role extends string }
      ? Role
      : never;

export type TreeRun<Name extends string, Role extends string> = Workflow<
  Name,
  typeof treeMachine,
  { readonly given: TreeGiven; readonly roles: Role; readonly stepInput: NodeInput }
>;

/**
 * Declares a workflow that works through a tree of nodes, takes what nodes find out back to the nodes above them, and ends
 * within its limits.
 *
 * @throws {RuntimeError} BAD_PLAN, BAD_OPTION
 */
export const treeRun = <
  const Name extends string,
  const Nodes extends readonly GivenNode[],
  const Extra extends string = never,
  const Person extends string = never,
>(
  name: Name,
  options: TreeRunOptions<Nodes, Extra, Person>,
): TreeRun<Name, Exclude<RolesOf<Nodes[number]> | Extra, Person>> => {
  const { limits = {}, onLimit = 'ask', ask = [{ to: null, expiresMs: null }], onExpiry = 'stop' } = options;
  const { version, turnsMax, agents = [] } = options;
  const nodes = fixTree(options.nodes);
  const fixed: Omit<TreeRunInput, 'task' | 'before' | 'imported'> = {
    nodes,
    limits: fixLimits({ ...USUAL, ...limits }),
    unbounded: limits.unbounded ?? null,
    onLimit,
    questionLevels: checkedLevels('ask', ask),
    onExpiry: checkedExpiry(onExpiry),
    // Those that nodes name, and those that planners may call on.
    roles: settingsOf([...nodes.flatMap(({ agent }) => agent ?? []), ...agents], options, {
      place: 'node',
      wrong: agents
        .filter((agent) => !isId(agent))
        .map((agent) => `"${agent}" cannot be the name of an agent`),
    }),
  };
  return workflow(name, treeMachine, {
    ...(version !== undefined && { version }),
    ...(turnsMax !== undefined && { turnsMax }),
    counters: {
      replans: {
        value: ({ replans }) => replans,
        counts: ({ kind, type, data }) =>
          kind === 'fact' && type === 'tree.planned' && data['replan'] !== null,
      },
    },
    asStep: { ...fixed, ...startOf({ task: null }, nodes) },
    prepare: (given) => ({ ...fixed, ...startOf(given, nodes) }),
  }) as unknown as TreeRun<Name, Exclude<RolesOf<Nodes[number]> | Extra, Person>>;
};

/** Types keep other values out; what is read from a file is not kept by them. */
const startOf = (
  given: unknown,
  nodes: readonly TreeNode[],
): Pick<TreeRunInput, 'task' | 'before' | 'imported'> => {
  if (typeof given !== 'object' || given === null || !('task' in given))
    throw new RuntimeError('BAD_OPTION', {
      option: 'input of a tree run',
      found: 'without a task',
      expected: '{ task: … }, with `feedback` of earlier runs if there is some',
    });
  const { task, feedback = [] } = given as TreeGiven;
  // Rows that come as they are pass the same checks as those of a file.
  const { rows, refused } = parseFeedback(typeof feedback === 'string' ? feedback : formatFeedback(feedback));
  const problems = [
    ...refused.map(({ line, faults }) => `line ${line}: ${faults.join('; ')}`),
    ...rows.flatMap((row) => problemsOfPlace(row, nodes)),
  ];
  if (problems.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'feedback',
      found: problems.join('. '),
      expected: 'rows that can be taken: parseFeedback() tells which they are',
    });
  return { task: task ?? null, before: beforeOf(rows), imported: rows as unknown as readonly Json[] };
};

const isOpen = ({ status }: FeedbackRow): boolean => status === 'queued' || status === 'delivered';

/** What is still to be delivered needs its two nodes; what has ended is history. */
const problemsOfPlace = (row: FeedbackRow, nodes: readonly TreeNode[]): readonly string[] => {
  if (!isOpen(row)) return [];
  const { fault } = routeOf(shapeOf(nodes), row);
  return fault === undefined ? [] : [`${row.feedback_id}: ${fault}`];
};

const beforeOf = (rows: readonly FeedbackRow[]): CoordinatorInput['before'] => {
  const known = new Map(rows.map((row) => [row.feedback_id, row]));
  const rounds = rows.reduce<CoordinatorInput['before']['rounds']>((sum, row) => {
    const pair = { from: row.from_node, to: targetOf(row) };
    const used = sum[pair.to]?.[pair.from] ?? 0;
    return withCount(sum, pair, Math.max(0, row.round - used));
  }, {});
  const numbers = rows.map(({ feedback_id: id }) => Number(/^FB-(\d{1,9})$/.exec(id)?.[1] ?? 0));
  return {
    made: Math.max(0, rows.length, ...numbers),
    rounds,
    waiting: rows.filter(isOpen).map((row) => waitingOf(row, known)),
  };
};

const waitingOf = (
  row: FeedbackRow,
  known: ReadonlyMap<string, FeedbackRow>,
): CoordinatorInput['before']['waiting'][number] => {
  const { feedback_id: id, from_node: from, feedback_type: kind, priority, round } = row;
  const chain = causesOf(row, known).map((cause) => ({
    id: cause.feedback_id,
    from: cause.from_node,
    to: targetOf(cause),
  }));
  const read = {
    type: 'FEEDBACK',
    from_node: from,
    to_node: row.to_node,
    feedback_type: kind,
    message: row.message,
    priority,
  } as const;
  const item = {
    ...read,
    ...(row.suggested_fix !== undefined && { suggested_fix: row.suggested_fix }),
    ...(row.suggested_action !== undefined && { suggested_action: row.suggested_action }),
    ...(row.requested_info !== undefined && { requested_info: row.requested_info }),
    ...(row.artifacts !== undefined && { artifacts: row.artifacts }),
  };
  return {
    id,
    item,
    kind,
    from,
    to: targetOf(row),
    priority,
    round,
    chain,
    escalates: row.escalates ?? null,
    attempts: [],
  };
};
