import {
  type AgentRequest,
  answer,
  type GivenNode,
  type Json,
  type JsonObject,
  type NodeFeedback,
  type NodeInput,
  type RecordedEvent,
  type RunResult,
  type Runtime,
  type TreeFeedbackLog,
  type TreeGiven,
  type TreeOutput,
  type TreeRunOptions,
  treeFeedbackLog,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays, type FakeClock, open } from './runtimes.ts';

type TreeWork = (request: AgentRequest<NodeInput>) => unknown;

/** What each role does; a role that is not there makes something that says who made it. */
export type TreeScript = Readonly<Record<string, TreeWork>>;

const OWN: Readonly<Record<string, JsonObject>> = {
  FIX_REQUEST: { suggested_fix: 'mend it' },
  CONTEXT_REQUEST: { requested_info: 'signature' },
  DEPENDENCY_MISSING: { suggested_action: 'add it' },
  ARCHITECTURE_ISSUE: { suggested_fix: 'plan it anew' },
};

/** Feedback with all that its kind must have. */
export const item = (from: string, to: string, more: JsonObject = {}): JsonObject => ({
  type: 'FEEDBACK',
  from_node: from,
  to_node: to,
  feedback_type: 'FIX_REQUEST',
  message: `${from} is not content with ${to}`,
  priority: 'high',
  ...OWN[typeof more['feedback_type'] === 'string' ? more['feedback_type'] : 'FIX_REQUEST'],
  ...more,
});

/** An answer with feedback. */
export const reporting = (...items: readonly Json[]) => answer({ passed: false }, { feedback: items });

/** Does one thing after the other, and then the last again and again. */
export const inTurn = (...works: readonly TreeWork[]): TreeWork => {
  let nth = 0;
  return (request) => works[Math.min((nth += 1), works.length) - 1]?.(request);
};

/** Makes something else each time that it is given feedback. */
export const mends: TreeWork = ({ input, feedback, history }) => ({
  by: input.node,
  version: history.length + feedback.length,
});

export const passes: TreeWork = () => ({ passed: true });

export interface TreeCall {
  readonly node: string;
  readonly input: NodeInput;
  readonly feedback: readonly NodeFeedback[];
  readonly callId: string;
  readonly attempt: number;
  readonly context: Json;
}

export interface TreePlay {
  readonly runtime: Runtime;
  readonly run: Awaited<ReturnType<Runtime['start']>>;
  /** Everything that agents were asked, in order. */
  readonly calls: readonly TreeCall[];
  /** Nodes in the order in which they were asked. */
  readonly order: () => readonly string[];
  readonly file: string;
  /** Waits until it has ended or waits for a person, closes, and reads everything back in another runtime. */
  readonly readBack: () => Promise<ReadBack>;
}

interface ReadBack {
  readonly log: TreeFeedbackLog;
  readonly events: readonly RecordedEvent[];
  readonly result: RunResult<TreeOutput> | undefined;
  readonly questions: readonly string[];
}

type Options = Omit<TreeRunOptions<readonly GivenNode[], string, string>, 'nodes'> & {
  readonly clock?: FakeClock;
  readonly given?: TreeGiven;
};

/** Starts a run of a tree with scripted agents on a log of its own. */
export const playTree = async (
  nodes: readonly GivenNode[],
  script: TreeScript = {},
  { clock, given = { task: 'the task' }, ...options }: Options = {},
): Promise<TreePlay> => {
  const file = temporaryFile();
  const roles = [
    ...nodes.flatMap(({ id, agent, condition }) => (condition ? [] : [agent ?? id])),
    ...(options.agents ?? []),
  ];
  const tree: Workflow = treeRun('tree', {
    nodes,
    ...options,
    roles: { ...Object.fromEntries(roles.map((role) => [role, { backoffMs: 1 }])), ...options.roles },
  });
  const calls: TreeCall[] = [];
  const agents = Object.fromEntries(
    [...new Set(roles)].map((role) => [
      role,
      (request: AgentRequest<NodeInput>) => {
        const { input, feedback, callId, attempt, context } = request;
        calls.push({
          node: input.node,
          input,
          feedback: feedback as unknown as NodeFeedback[],
          callId,
          attempt,
          context,
        });
        return (script[role] ?? (() => ({ by: input.node })))(request);
      },
    ]),
  );
  const runtime = await open({ file, workflows: [tree], agents, ...(clock && { clock }) });
  const run = await runtime.start('tree', given, { id: 'r' });
  return {
    runtime,
    run,
    calls,
    order: () => calls.map(({ node }) => node),
    file,
    readBack: async () => {
      await run.settled();
      await runtime.close();
      await expectReplays(file, [tree]);
      const second = await open({ file, workflows: [tree], agents: {}, idle: true });
      const [known] = await second.runs();
      const result = known?.verdict == null ? undefined : await (await second.run('r')).result();
      const events = await second.audit({ run: 'r', limit: Number.POSITIVE_INFINITY });
      const log = await second.read(treeFeedbackLog, 'r');
      const questions = (await second.questions()).map(({ text }) => text);
      await second.close();
      return { log, events, result: result as RunResult<TreeOutput> | undefined, questions };
    },
  };
};

/** The statuses of a feedback in the order in which it had them. */
export const statusesOf = ({ audit }: TreeFeedbackLog, id: string): readonly string[] =>
  audit.filter(({ feedback_id: of }) => of === id).map(({ status, round }) => `${status} ${round}`);

/** What the machines stated, by type. */
export const factsOf = (events: readonly RecordedEvent[], type: string): readonly JsonObject[] =>
  events.filter((event) => event.kind === 'fact' && event.type === type).map(({ data }) => data);

/** A chain: each node is below the one before it. */
export const chain = (...ids: readonly string[]): readonly GivenNode[] =>
  ids.map((id, index) => ({ id, ...(index > 0 && { parent: ids[index - 1] ?? '' }) }));
