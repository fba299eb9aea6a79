import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { NOTHING_SPENT, type Spent } from '../events/usage.ts';
import { startActor, WAITING_TAG } from '../events/vocabulary.ts';
import type { AgentReply } from './agent-work.ts';
import { CONTEXT } from './context-machine.ts';
import { type IssueRecord, isKnown, rejectIssue } from './issues.ts';
import type { MetLimit } from './limits.ts';
import { finalsThat, onEnd, stopping, tellsParent } from './loop-ends.ts';
import { isFromParent, tellEnd, tellWaits } from './nested.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { isContinuing, questionFor, verdictOf } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { agentId, CONTEXT_ID, type RunMessage } from './run-messages.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import { takeUp } from './tight-earlier.ts';
import { ask, decideTight, nextPass, stateOf, take } from './tight-rules.ts';
import {
  newPass,
  passesMax,
  type Resume,
  type TightInput,
  type TightRole,
  type TightState,
} from './tight-state.ts';

/** What a tight loop gives at its end. */
export interface TightOutput {
  readonly verdict: Verdict;
  /** The completion promise, if review and tests both passed in the same pass. */
  readonly promise: 'IMPLEMENTATION_VERIFIED' | null;
  readonly iterations: number;
  readonly reason: string | null;
  readonly limit: MetLimit | null;
  /** What was open when a person took the state as it is. */
  readonly debt: readonly IssueRecord[];
  readonly spent: Spent;
  readonly decidedBy: string | null;
}

export type TightEvent =
  | AgentReply
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string }
  | { type: 'run.cancel' }
  | { type: 'issue.reject'; fingerprint: string; note: string | null };

const freshState = (input: TightInput): TightState => ({
  ...input,
  passes: [],
  current: newPass(1),
  repeat: 1,
  pending: null,
  requests: 0,
  started: [],
  issues: {},
  ran: { review: 0, test: 0 },
  failedInRow: { review: 0, test: 0 },
  artifacts: [],
  unchanged: 0,
  oscillations: 0,
  spent: NOTHING_SPENT,
  allowed: 0,
  deadlineMs: null,
  pauseReasons: [],
  halt: null,
  resume: 'nextPass',
  debt: [],
  decidedBy: null,
});

const initialState = (input: TightInput): TightState => takeUp(freshState(input)).state;

/** Only the agent that was asked may answer, and only what it was asked. */
const isAwaited = ({ pending }: TightState, event: TightEvent): boolean =>
  (event.type === 'agent.done' || event.type === 'agent.failed') &&
  pending !== null &&
  pending.request === event.request &&
  delivery().from === `${delivery().self}/${agentId(pending.role)}`;

const outputOf = (state: TightState, verdict: Verdict): TightOutput => ({
  verdict,
  promise: verdict === 'verified' ? 'IMPLEMENTATION_VERIFIED' : null,
  iterations: state.passes.length,
  reason: state.halt?.reason ?? null,
  limit: state.halt?.met ?? null,
  debt: state.debt,
  spent: state.spent,
  decidedBy: state.decidedBy,
});

const setupTight = setup({
  types: {
    context: {} as TightState,
    input: {} as TightInput,
    events: {} as TightEvent,
    emitted: {} as RunMessage,
    output: {} as TightOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      const { task, folder, enabled, limits, unbounded } = context;
      enqueue.emit(startActor({ id: CONTEXT_ID, machine: CONTEXT, input: null }));
      enqueue.emit({
        type: 'loop.started',
        task,
        folder,
        enabled,
        limits: limits as unknown as Json,
        unbounded,
        passesMax: passesMax(context),
      });
      for (const message of takeUp(freshState(context)).messages) enqueue.emit(message);
    }),
    ask: enqueueActions(({ context, enqueue }, role: TightRole) => {
      apply(enqueue, ask(context, role));
    }),
    take: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'agent.done' || event.type === 'agent.failed') apply(enqueue, take(context, event));
    }),
    nextPass: assign(({ context }) => nextPass(context)),
    decide: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      apply(enqueue, decideTight(context, said, delivery().atMs));
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause') apply(enqueue, paused(context, event.reason));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume') apply(enqueue, resumed(context, event.reason));
    }),
    rejectIssue: assign(({ context, event }) =>
      event.type === 'issue.reject'
        ? { issues: rejectIssue(context.issues, event.fingerprint, event.note ?? null) }
        : {},
    ),
    timeIsUp: enqueueActions(({ context, enqueue }) => {
      const { pending, limits } = context;
      const bound = limits.timeMs ?? 0;
      if (pending)
        enqueue.emit({ type: 'agent.cancel', to: `./${agentId(pending.role)}`, request: pending.request });
      const met = { limit: 'timeMs' as const, bound, used: bound, evidence: [] };
      const resume = stateOf(pending?.role ?? 'developer');
      enqueue.assign({ pending: null, halt: haltOf(met, null), resume });
      enqueue.emit({ type: 'loop.halted', met });
    }),
    tell: enqueueActions(({ enqueue }, status: string) => {
      enqueue.emit({ type: 'loop.status', status });
    }),
    tellParent: enqueueActions(({ context, enqueue }, verdict: Verdict) => {
      const { reason, spent, promise, iterations } = outputOf(context, verdict);
      const { implementation = '' } = context.passes.at(-1) ?? {};
      const outputs = { implementation, promise, iterations };
      tellEnd(enqueue, context, { verdict, outputs, spent, reason, isComparable: false });
    }),
    tellWaits: enqueueActions(({ context, enqueue }, waits: boolean) => {
      tellWaits(enqueue, context, waits);
    }),
  },
  guards: {
    isFromParent: ({ context }) => isFromParent(context),
    isAwaited: ({ context, event }) => isAwaited(context, event),
    isUnderWay: ({ context }) => context.halt === null,
    isHalted: ({ context }) => context.halt !== null,
    asks: ({ context }) => context.halt !== null && context.onLimit === 'ask',
    isRepeating: ({ context }) => context.pending === null && context.repeat > 1,
    isChecked: ({ context }) => context.current.review?.passed === true && context.current.test === null,
    isVerified: ({ context }) => context.passes.at(-1)?.test?.passed === true,
    isHaltedAs: ({ context }, verdict: Verdict) => context.halt?.verdict === verdict,
    /** Whoever sends it from outside may leave it out, and then nobody could take it back. */
    hasText: ({ event }) => event.type === 'run.pause' && typeof event.reason === 'string',
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' && context.pauseReasons.includes(event.reason),
    isKnownIssue: ({ context, event }) =>
      event.type === 'issue.reject' && isKnown(context.issues, event.fingerprint),
    goesOnAt: ({ context }, { said, resume }: { said: QuestionOutput; resume: Resume }) =>
      isContinuing(said) && context.resume === resume,
    ends: ({ context }, { said, verdict }: { said: QuestionOutput; verdict: Verdict }) =>
      !isContinuing(said) && verdictOf(context, said) === verdict,
  },
  delays: {
    timeLimit: ({ context }) => context.limits.timeMs ?? Number.POSITIVE_INFINITY,
    deadline: ({ context: { deadlineMs } }) =>
      deadlineMs === null ? Number.POSITIVE_INFINITY : Math.max(0, deadlineMs - delivery().atMs),
  },
});

/** What a reply leads to, wherever it is waited for. */
const replies = (next: string) =>
  ({
    'agent.done': { guard: 'isAwaited', target: next, actions: 'take' },
    'agent.failed': { guard: 'isAwaited', target: next, actions: 'take' },
  }) as const;

const onAnswer = (resume: Resume) =>
  ({
    guard: { type: 'goesOnAt', params: ({ event }: Answered) => ({ said: event.output, resume }) },
    target: resume,
    actions: { type: 'decide', params: ({ event }: Answered) => event.output },
  }) as const;

interface Answered {
  readonly event: { readonly output: QuestionOutput };
}

/** More time than at first is counted where something may go on. */
const untilDeadline = { deadline: { target: 'stopped', actions: 'timeIsUp' } } as const;

const halting = [
  { guard: 'asks', target: 'asking' },
  { guard: 'isHalted', target: 'stopping' },
] as const;

export const tightMachine = setupTight.createMachine({
  id: 'tight',
  context: ({ input }) => initialState(input),
  entry: 'begin',
  initial: 'starting',
  after: {
    timeLimit: [
      { guard: 'isUnderWay', target: '.stopped', actions: 'timeIsUp' },
      // The question that is open stays. Should the person let it go on, this one is asked next.
      { actions: assign({ deadlineMs: () => delivery().atMs }) },
    ],
  },
  on: {
    'run.pause': { guard: 'hasText', actions: 'pause' },
    'run.resume': { guard: 'hasReason', actions: 'resume' },
    'issue.reject': { guard: 'isKnownIssue', actions: 'rejectIssue' },
    'run.cancel': { guard: 'isFromParent', target: '.cancelled' },
  },
  states: {
    // Earlier passes may have been enough, or too many.
    starting: {
      always: [...halting, { guard: 'isVerified', target: 'verified' }, { target: 'implementing' }],
    },
    implementing: {
      entry: { type: 'ask', params: 'developer' },
      always: halting,
      after: untilDeadline,
      on: replies('implemented'),
    },
    implemented: {
      always: [...halting, { guard: 'isRepeating', target: 'implementing' }, { target: 'reviewing' }],
    },
    reviewing: {
      entry: { type: 'ask', params: 'reviewer' },
      always: halting,
      after: untilDeadline,
      on: replies('reviewed'),
    },
    reviewed: { always: [...halting, { guard: 'isChecked', target: 'testing' }, { target: 'nextPass' }] },
    testing: {
      entry: { type: 'ask', params: 'tester' },
      always: halting,
      after: untilDeadline,
      on: replies('tested'),
    },
    tested: { always: [...halting, { guard: 'isVerified', target: 'verified' }, { target: 'nextPass' }] },
    nextPass: { entry: 'nextPass', always: 'implementing' },
    stopped: { always: halting },
    asking: {
      tags: WAITING_TAG,
      entry: [{ type: 'tell', params: 'escalated' }, tellsParent.entry],
      exit: tellsParent.exit,
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) => questionFor(context),
        onDone: [
          onAnswer('implementing'),
          onAnswer('reviewing'),
          onAnswer('testing'),
          onAnswer('nextPass'),
          onEnd('accepted'),
          onEnd('cancelled'),
          { target: 'stopping', actions: { type: 'decide', params: ({ event }) => event.output } },
        ],
        onError: 'stopping',
      },
    },
    stopping,
    ...finalsThat('tell', 'tellParent'),
  },
  // The output of the final state that was reached.
  output: ({ context, event }) => outputOf(context, event.output as Verdict),
});
