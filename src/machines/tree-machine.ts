import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { NOTHING_SPENT, type Spent } from '../events/usage.ts';
import { startActor, WAITING_TAG } from '../events/vocabulary.ts';
import type { AgentReply } from './agent-work.ts';
import { CONTEXT } from './context-machine.ts';
import { isAncestor } from './coordinator-checks.ts';
import { COORDINATOR } from './coordinator-machine.ts';
import type { CoordinatorInput } from './coordinator-state.ts';
import type { MetLimit } from './limits.ts';
import { decisions, finalsThat, stopping, tellsParent } from './loop-ends.ts';
import { isFromParent, tellEnd, tellWaits } from './nested.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { isContinuing, questionFor, verdictOf } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { agentId, CONTEXT_ID, type RunMessage } from './run-messages.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import { COORDINATOR_ID, halted } from './tree-ends.ts';
import { decided, type Moved, moved, withdrawAll } from './tree-moves.ts';
import { shapeOf } from './tree-plan.ts';
import { bound, dispatch, judged, record } from './tree-rules.ts';
import {
  type BoundFeedback,
  type Debt,
  isComplete,
  isIdle,
  openRequests,
  readyNodes,
  recordsWith,
  type TreeRunInput,
  type TreeState,
  viewOf,
} from './tree-state.ts';

/** What a tree run gives at its end. */
export interface TreeOutput {
  readonly verdict: Verdict;
  readonly outputs: Readonly<Record<string, Json>>;
  readonly reason: string | null;
  readonly limit: MetLimit | null;
  /** Feedback that a person took as it is. */
  readonly debt: readonly Debt[];
  readonly replans: number;
  readonly added: number;
  readonly spent: Spent;
  readonly decidedBy: string | null;
}

export type TreeEvent =
  | AgentReply
  | { type: 'tree.judged'; node: string; faults: readonly string[]; ids: readonly string[] }
  | { type: 'tree.bound'; node: string; execution: string; items: readonly BoundFeedback[] }
  | ({ type: 'tree.moved' } & Moved)
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string }
  | { type: 'run.cancel' };

/** What the machine keeps until it has started the coordinator. */
interface TreeContext extends TreeState {
  readonly before: CoordinatorInput['before'] | null;
  readonly imported: readonly Json[] | null;
}

const initialState = (input: TreeRunInput): TreeContext => ({
  ...input,
  started: [],
  records: recordsWith(input.before.waiting),
  open: {},
  settling: [],
  spent: NOTHING_SPENT,
  replans: 0,
  added: 0,
  pauseReasons: [],
  deadlineMs: null,
  halt: null,
  isDecided: false,
  isCancelled: false,
  debt: [],
  decidedBy: null,
});

/** Only the agent itself may speak for it, and only of what it was asked. */
const awaited = (state: TreeState, event: TreeEvent) =>
  event.type === 'agent.done' || event.type === 'agent.failed'
    ? openRequests(state).find(
        ({ role, request }) =>
          request === event.request && delivery().from === `${delivery().self}/${agentId(role)}`,
      )
    : undefined;

const startCoordinator = ({ nodes, limits, onLimit, questionLevels, onExpiry, before }: TreeContext) => {
  const nothing = { made: 0, rounds: {}, waiting: [] };
  const input: CoordinatorInput = {
    tree: shapeOf(nodes),
    limits,
    onLimit,
    questionLevels,
    onExpiry,
    before: before ?? nothing,
  };
  return startActor({ id: COORDINATOR_ID, machine: COORDINATOR, input: input as unknown as Json });
};

const outputOf = (state: TreeState, verdict: Verdict): TreeOutput => ({
  verdict,
  outputs: Object.fromEntries(
    Object.entries(state.records).flatMap(([id, { hash, output }]) => (hash === null ? [] : [[id, output]])),
  ),
  reason: state.halt?.reason ?? null,
  limit: state.halt?.met ?? null,
  debt: state.debt,
  replans: state.replans,
  added: state.added,
  spent: state.spent,
  decidedBy: state.decidedBy,
});

const setupTree = setup({
  types: {
    context: {} as TreeContext,
    input: {} as TreeRunInput,
    events: {} as TreeEvent,
    emitted: {} as RunMessage,
    output: {} as TreeOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      const { limits, unbounded, imported } = context;
      enqueue.emit(startActor({ id: CONTEXT_ID, machine: CONTEXT, input: null }));
      enqueue.emit({ type: 'run.limits', limits: limits as unknown as Json, unbounded });
      for (const row of imported ?? []) enqueue.emit({ type: 'feedback.imported', row });
      enqueue.emit(startCoordinator(context));
      enqueue.assign({ before: null, imported: null });
    }),
    dispatch: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, dispatch(context));
    }),
    record: enqueueActions(({ context, event, enqueue }) => {
      const place = awaited(context, event);
      if (place && (event.type === 'agent.done' || event.type === 'agent.failed'))
        apply(enqueue, record(context, place.node, event));
    }),
    judged: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'tree.judged') apply(enqueue, judged(context, event.node, event));
    }),
    bound: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'tree.bound') apply(enqueue, bound(context, event.node, event.items));
    }),
    moved: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'tree.moved') apply(enqueue, moved(context, event));
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause') apply(enqueue, paused(context, event.reason));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume') apply(enqueue, resumed(context, event.reason));
    }),
    timeIsUp: enqueueActions(({ context, enqueue }) => {
      const limit = context.limits.timeMs ?? 0;
      const met = { limit: 'timeMs', bound: limit, used: limit, evidence: [] } as const;
      const withdrawn = withdrawAll(context);
      apply(enqueue, halted(withdrawn.state, withdrawn.messages, haltOf(met, null)));
    }),
    noteStuck: enqueueActions(({ context, enqueue }) => {
      const reason = 'Nothing of the tree can go on.';
      apply(enqueue, halted(context, [], { verdict: 'stalled', met: null, step: null, reason }));
    }),
    decide: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      apply(enqueue, decided(context, said, delivery().atMs));
    }),
    tellParent: enqueueActions(({ context, enqueue }, verdict: Verdict) => {
      tellEnd(enqueue, context, outputOf(context, verdict));
    }),
    tellWaits: enqueueActions(({ context, enqueue }, waits: boolean) => {
      tellWaits(enqueue, context, waits);
    }),
  },
  guards: {
    isFromParent: ({ context }) => isFromParent(context),
    isAwaited: ({ context, event }) => awaited(context, event) !== undefined,
    isFromCoordinator: ({ event }) =>
      event.type.startsWith('tree.') && delivery().from === `${delivery().self}/${COORDINATOR_ID}`,
    isCancelled: ({ context }) => context.isCancelled,
    isDecided: ({ context }) => context.isDecided,
    isVerified: ({ context }) => isOver(context) && context.debt.length === 0,
    isAccepted: ({ context }) => isOver(context),
    isPaused: ({ context }) => context.pauseReasons.length > 0,
    /** Whoever sends it from outside may leave it out, and then nobody could take it back. */
    hasText: ({ event }) => event.type === 'run.pause' && typeof event.reason === 'string',
    isLastReason: ({ context, event }) =>
      event.type === 'run.resume' && resumed(context, event.reason).state.pauseReasons.length === 0,
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' && context.pauseReasons.includes(event.reason),
    asks: ({ context }) =>
      context.halt !== null && isIdle(context) && context.onLimit === 'ask' && !context.isDecided,
    stops: ({ context }) => context.halt !== null && isIdle(context),
    waitsForPersons: ({ context }) => isWaiting(context),
    isStuck: ({ context }) => isStuck(context),
    goesOn: (_, said: QuestionOutput) => isContinuing(said),
    ends: ({ context }, { said, verdict }: { said: QuestionOutput; verdict: Verdict }) =>
      verdictOf(context, said) === verdict,
    isHaltedAs: ({ context }, verdict: Verdict) => context.halt?.verdict === verdict,
  },
  delays: {
    timeLimit: ({ context }) => context.limits.timeMs ?? Number.POSITIVE_INFINITY,
    deadline: ({ context: { deadlineMs } }) =>
      deadlineMs === null ? Number.POSITIVE_INFINITY : Math.max(0, deadlineMs - delivery().atMs),
  },
});

function isOver(state: TreeState): boolean {
  return state.halt === null && isIdle(state) && isComplete(viewOf(state));
}

/** All that is open is open with persons. */
function isWaiting(state: TreeState): boolean {
  const requests = openRequests(state);
  const isAsking = Object.values(state.open).some(({ stage }) => stage === 'asking');
  const isOnlyPersons = requests.every(({ role }) => state.roles[role]?.person != null);
  const isAtWork = Object.values(state.records).some(
    ({ status, request }) => status === 'reporting' || (status === 'working' && request === null),
  );
  return !isAtWork && isOnlyPersons && (isAsking || requests.length > 0);
}

/** Never so, unless a rule is wrong: then a person hears of it, and the run does not just lie there. */
function isStuck(state: TreeState): boolean {
  return (
    state.halt === null &&
    isIdle(state) &&
    // What the plan has just made void, the coordinator will say in this turn.
    Object.values(state.open).every(
      ({ stage, source, target }) => stage === 'verifying' && isAncestor(viewOf(state).tree, target, source),
    ) &&
    Object.values(state.records).every(
      ({ queued, blockedBy }) => queued === 0 && blockedBy.every((id) => Object.hasOwn(state.open, id)),
    ) &&
    !isComplete(viewOf(state)) &&
    readyNodes(viewOf(state)).length === 0
  );
}

/** While nothing new may begin, what comes in is noted all the same. */
const notes = {
  'agent.done': { guard: 'isAwaited', actions: 'record' },
  'agent.failed': { guard: 'isAwaited', actions: 'record' },
  'tree.judged': { guard: 'isFromCoordinator', actions: 'judged' },
  'tree.bound': { guard: 'isFromCoordinator', actions: 'bound' },
  'tree.moved': { guard: 'isFromCoordinator', actions: 'moved' },
} as const;

/** More time than at first is counted where something may go on. */
const untilDeadline = { deadline: { target: 'working', actions: 'timeIsUp' } } as const;

export const treeMachine = setupTree.createMachine({
  id: 'tree',
  context: ({ input }) => initialState(input),
  entry: 'begin',
  initial: 'working',
  after: {
    timeLimit: [
      // The question that is open stays. Should the person let it go on, this one is asked next.
      { guard: 'asks', actions: assign({ deadlineMs: () => delivery().atMs }) },
      { target: '.working', actions: 'timeIsUp' },
    ],
  },
  on: {
    'agent.done': { guard: 'isAwaited', target: '.working', actions: 'record' },
    'agent.failed': { guard: 'isAwaited', target: '.working', actions: 'record' },
    'tree.judged': { guard: 'isFromCoordinator', target: '.working', actions: 'judged' },
    'tree.bound': { guard: 'isFromCoordinator', target: '.working', actions: 'bound' },
    'tree.moved': { guard: 'isFromCoordinator', target: '.working', actions: 'moved' },
    'run.pause': { guard: 'hasText', target: '.paused', actions: 'pause' },
    'run.cancel': { guard: 'isFromParent', target: '.cancelled' },
  },
  states: {
    working: {
      entry: 'dispatch',
      after: untilDeadline,
      always: [
        { guard: 'isCancelled', target: 'cancelled' },
        { guard: 'isVerified', target: 'verified' },
        { guard: 'isAccepted', target: 'accepted' },
        { guard: 'asks', target: 'asking' },
        { guard: 'stops', target: 'stopping' },
        { guard: 'isPaused', target: 'paused' },
        { guard: 'waitsForPersons', target: 'waiting' },
        { guard: 'isStuck', target: 'stuck' },
      ],
    },
    waiting: { tags: WAITING_TAG, ...tellsParent, after: untilDeadline },
    stuck: { entry: 'noteStuck', always: 'working' },
    paused: {
      after: untilDeadline,
      always: [{ guard: 'isCancelled', target: 'cancelled' }],
      on: {
        ...notes,
        'run.pause': { guard: 'hasText', actions: 'pause' },
        'run.resume': [
          { guard: 'isLastReason', target: 'working', actions: 'resume' },
          { guard: 'hasReason', actions: 'resume' },
        ],
      },
    },
    asking: {
      tags: WAITING_TAG,
      ...tellsParent,
      always: [
        { guard: 'isCancelled', target: 'cancelled' },
        // Who answered another question has said that it ends.
        { guard: 'isDecided', target: 'stopping' },
      ],
      on: {
        ...notes,
        'run.pause': { guard: 'hasText', actions: 'pause' },
        'run.resume': { guard: 'hasReason', actions: 'resume' },
      },
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) => questionFor({ ...context, issues: {} }),
        onDone: [...decisions],
        onError: 'stopping',
      },
    },
    stopping,
    ...finalsThat('tellParent'),
  },
  // The output of the final state that was reached.
  output: ({ context, event }) => outputOf(context, event.output as Verdict),
});
