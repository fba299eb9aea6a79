import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { NOTHING_SPENT } from '../events/usage.ts';
import { startActor, WAITING_TAG } from '../events/vocabulary.ts';
import type { AgentReply, AgentSettings } from './agent-work.ts';
import { CONTEXT } from './context-machine.ts';
import { isKnown, rejectIssue } from './issues.ts';
import type { Limits } from './limits.ts';
import { breakDeadlock, settleLoops } from './loop-effects.ts';
import { decisions, finalsThat, stopping, tellsParent } from './loop-ends.ts';
import { isReasonOfLoop } from './loop-state.ts';
import { endMessage, type NestedEnd, waitsMessage } from './nested.ts';
import type { Plan } from './plan.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { CHECKER } from './run-checks.ts';
import { applyDecision, isContinuing, questionFor, verdictOf } from './run-decisions.ts';
import { dispatch, requestOf, withdrawAll } from './run-dispatch.ts';
import { halted, haltOf } from './run-halts.ts';
import { heard, type LoopEvent, loopOf } from './run-loop-events.ts';
import { holdLoops, noteGap } from './run-loops.ts';
import { CONTEXT_ID, chain, type RunMessage, toLoop } from './run-messages.ts';
import { outputOf, type RunOutput } from './run-output.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import { isClosed, isIdle, placeOf, recorded, waitsForDecision, waitsForPersons } from './run-replies.ts';
import { recordCheck, rerun } from './run-rules.ts';
import { isComplete, isFinished, nestedRuns, openRequests, type RunState } from './run-state.ts';

/** What a plan run is started with, as the log keeps it: plan and limits are fixed by it. */
export interface RunInput {
  readonly task: Json;
  readonly plan: Plan;
  readonly limits: Limits;
  /** Why a count that would end it is missing. */
  readonly unbounded: string | null;
  readonly cap: RunState['cap'];
  readonly onLimit: RunState['onLimit'];
  readonly questionLevels: RunState['questionLevels'];
  readonly onExpiry: RunState['onExpiry'];
  readonly roles: Readonly<Record<string, AgentSettings>>;
}

export type RunEvent =
  | AgentReply
  | LoopEvent
  /** A nested run has ended. */
  | ({ type: 'run.ended' } & NestedEnd)
  /** A nested run waits for a person, or does so no longer. */
  | { type: 'run.waits'; waits: boolean }
  /** Of the plan that it is a step of. */
  | { type: 'run.cancel' }
  | { type: 'context.values'; request: string; role: string; values: Json }
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string }
  /** Run a step again with what was found wrong with it, and then what depends on it and whose input has changed. */
  | { type: 'step.rerun'; step: string; issues: readonly Json[] }
  | { type: 'issue.reject'; fingerprint: string; note: string | null };

const initialState = (input: RunInput): RunState => ({
  ...input,
  started: [],
  steps: {},
  issues: {},
  spent: NOTHING_SPENT,
  feedbacks: 0,
  unchanged: 0,
  oscillations: 0,
  allowed: 0,
  deadlineMs: null,
  pauseReasons: [],
  waiting: [],
  halt: null,
  debt: [],
  loops: {},
  rounds: {},
  decidedBy: null,
});

/** Who sends a message from outside. */
const HOST = 'host';

const setupRun = setup({
  types: {
    context: {} as RunState,
    input: {} as RunInput,
    events: {} as RunEvent,
    emitted: {} as RunMessage,
    output: {} as RunOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    begin: enqueueActions(({ enqueue }) => {
      enqueue.emit(startActor({ id: CONTEXT_ID, machine: CONTEXT, input: null }));
    }),
    dispatch: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, chain(dispatch(context), settleLoops, breakDeadlock));
    }),
    record: enqueueActions(({ context, event, enqueue }) => {
      apply(enqueue, chain(recorded(context, event), settleLoops));
    }),
    request: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'context.values') return;
      const gap = noteGap(context, event);
      if (gap) return apply(enqueue, gap);
      const open = openRequests(context).find(
        ({ request, role }) => request === event.request && role === event.role,
      );
      const step = context.plan.steps.find(({ id }) => id === open?.step);
      if (open?.role === CHECKER && step)
        apply(enqueue, chain(recordCheck(context, step, event.values), dispatch, settleLoops));
      else if (open && step)
        enqueue.emit(requestOf(context, step, { role: open.role, id: open.request, context: event.values }));
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause')
        apply(enqueue, holdLoops(context, paused(context, event.reason, nestedRuns(context))));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume')
        apply(enqueue, holdLoops(context, resumed(context, event.reason, nestedRuns(context))));
    }),
    hear: enqueueActions(({ context, event, enqueue }) => {
      apply(enqueue, chain(heard(context, event as LoopEvent), settleLoops));
    }),
    closeLoops: enqueueActions(({ context, enqueue }) => {
      for (const id of Object.keys(context.loops)) enqueue.emit(toLoop(id, { type: 'workflow.complete' }));
    }),
    rerun: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'step.rerun') return;
      const feedback = { from: delivery().from ?? HOST, pass: context.feedbacks + 1, issues: event.issues };
      apply(enqueue, rerun(context, event.step, feedback));
    }),
    rejectIssue: assign(({ context, event }) =>
      event.type === 'issue.reject'
        ? { issues: rejectIssue(context.issues, event.fingerprint, event.note ?? null) }
        : {},
    ),
    timeIsUp: enqueueActions(({ context, enqueue }) => {
      const bound = context.limits.timeMs ?? 0;
      const withdrawn = withdrawAll(context);
      const met = { limit: 'timeMs', bound, used: bound, evidence: [] } as const;
      apply(enqueue, halted(withdrawn.state, withdrawn.messages, haltOf(met, null)));
    }),
    decide: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      apply(enqueue, applyDecision(context, said, delivery().atMs));
    }),
    tellParent: enqueueActions(({ context, enqueue }, verdict: Verdict) => {
      if (delivery().parent === null) return;
      const { outputs, spent, reason } = outputOf(context, verdict);
      enqueue.emit(endMessage({ verdict, outputs, spent, reason }));
    }),
    tellWaits: enqueueActions(({ enqueue }, waits: boolean) => {
      if (delivery().parent !== null) enqueue.emit(waitsMessage(waits));
    }),
    noteWaits: assign(({ context, event }) => {
      const step = placeOf(context, event)?.step;
      if (event.type !== 'run.waits' || step === undefined) return {};
      const others = context.waiting.filter((id) => id !== step);
      return { waiting: event.waits ? [...others, step] : others };
    }),
    tellLimits: enqueueActions(({ context, enqueue }) => {
      const { limits, unbounded } = context;
      enqueue.emit({ type: 'run.limits', limits: limits as unknown as Json, unbounded });
    }),
  },
  guards: {
    isFromParent: ({ event }) =>
      event.type === 'run.cancel' && delivery().parent !== null && delivery().from === delivery().parent,
    isAwaited: ({ context, event }) => placeOf(context, event) !== undefined,
    isFromContext: ({ event }) =>
      event.type === 'context.values' && delivery().from === `${delivery().self}/${CONTEXT_ID}`,
    isComplete: ({ context }) => context.halt === null && isComplete(context),
    isOfLoop: ({ context }) => loopOf(context) !== undefined,
    isTrigger: ({ event }) => event.type === 'feedback.trigger' && typeof event.source === 'string',
    isCancelledByLoop: ({ context, event }) =>
      event.type === 'loop.over' && event.isCancel && loopOf(context) !== undefined,
    isClosedWithDebt: ({ context }) => isClosed(context) && context.debt.length > 0,
    isClosed: ({ context }) => isClosed(context),
    isUnpaused: ({ context }) => context.pauseReasons.length === 0,
    waitsForDecision: ({ context }) => waitsForDecision(context),
    waitsNoMore: ({ context }) => !waitsForDecision(context),
    /** Whoever sends it from outside may leave it out, and then nobody could take it back. */
    hasText: ({ event }) =>
      event.type === 'run.pause' && typeof event.reason === 'string' && !isReasonOfLoop(event.reason),
    isPaused: ({ context }) => context.pauseReasons.length > 0,
    /** What a loop has paused for ends with the loop. */
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' &&
      context.pauseReasons.includes(event.reason) &&
      !isReasonOfLoop(event.reason),
    isFinished: ({ context, event }) =>
      event.type === 'step.rerun' && Array.isArray(event.issues) && isFinished(context, event.step),
    isKnownIssue: ({ context, event }) =>
      event.type === 'issue.reject' && isKnown(context.issues, event.fingerprint),
    asks: ({ context }) => context.halt !== null && isIdle(context) && context.onLimit === 'ask',
    stops: ({ context }) => context.halt !== null && isIdle(context),
    waitsForPersons: ({ context }) => waitsForPersons(context),
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

const fromLoops = {
  'loop.apply': { guard: 'isOfLoop', actions: 'hear' },
  'loop.validate': { guard: 'isOfLoop', actions: 'hear' },
  'loop.resolved': { guard: 'isOfLoop', actions: 'hear' },
  'loop.escalated': { guard: 'isOfLoop', actions: 'hear' },
  'loop.retry': { guard: 'isOfLoop', actions: 'hear' },
  'loop.spent': { guard: 'isOfLoop', actions: 'hear' },
  'loop.waits': { guard: 'isOfLoop', actions: 'hear' },
  'loop.report': { guard: 'isOfLoop', actions: 'hear' },
  'feedback.trigger': { guard: 'isTrigger', actions: 'hear' },
} as const;

/** The same where work goes on: what has changed may let steps begin. */
const thenWork = <On extends Readonly<Record<string, object>>>(on: On) =>
  Object.fromEntries(Object.entries(on).map(([type, does]) => [type, { ...does, target: '.working' }])) as {
    readonly [Type in keyof On]: On[Type] & { readonly target: '.working' };
  };

/** While nothing new may begin, what comes in is noted all the same. */
const notes = {
  'agent.done': { guard: 'isAwaited', actions: 'record' },
  'agent.failed': { guard: 'isAwaited', actions: 'record' },
  'run.ended': { guard: 'isAwaited', actions: 'record' },
  'run.waits': { guard: 'isAwaited', actions: 'noteWaits' },
  'step.rerun': { guard: 'isFinished', actions: 'rerun' },
  ...fromLoops,
  'run.pause': { guard: 'hasText', actions: 'pause' },
  'run.resume': { guard: 'hasReason', actions: 'resume' },
} as const;

/** More time than at first is counted where something may go on: not while a person is asked whether it may. */
const untilDeadline = { deadline: { target: 'working', actions: 'timeIsUp' } } as const;

export const runMachine = setupRun.createMachine({
  id: 'run',
  context: ({ input }) => initialState(input),
  entry: ['begin', 'tellLimits'],
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
    'run.ended': { guard: 'isAwaited', target: '.working', actions: 'record' },
    'run.waits': { guard: 'isAwaited', target: '.working', actions: 'noteWaits' },
    'context.values': { guard: 'isFromContext', actions: 'request' },
    'step.rerun': { guard: 'isFinished', target: '.working', actions: 'rerun' },
    'run.pause': { guard: 'hasText', target: '.paused', actions: 'pause' },
    ...thenWork(fromLoops),
    'loop.over': [
      { guard: 'isCancelledByLoop', target: '.cancelled' },
      { guard: 'isOfLoop', target: '.stopping', actions: 'hear' },
    ],
    'issue.reject': { guard: 'isKnownIssue', actions: 'rejectIssue' },
    'run.cancel': { guard: 'isFromParent', target: '.cancelled' },
  },
  states: {
    working: {
      entry: 'dispatch',
      after: untilDeadline,
      always: [
        { guard: 'isComplete', target: 'closing' },
        { guard: 'asks', target: 'asking' },
        { guard: 'stops', target: 'stopping' },
        { guard: 'isPaused', target: 'paused' },
        { guard: 'waitsForPersons', target: 'waiting' },
      ],
    },
    /** All that is open is open with persons. */
    waiting: { tags: WAITING_TAG, ...tellsParent, after: untilDeadline },
    paused: {
      after: untilDeadline,
      on: notes,
      always: [
        { guard: 'isUnpaused', target: 'working' },
        { guard: 'waitsForDecision', target: 'escalated' },
      ],
    },
    /** Paused, and nothing goes on before a person has said something. */
    escalated: {
      tags: WAITING_TAG,
      ...tellsParent,
      after: untilDeadline,
      on: notes,
      always: [
        { guard: 'isUnpaused', target: 'working' },
        { guard: 'waitsNoMore', target: 'paused' },
      ],
    },
    /** All is done: the loops are told. */
    closing: {
      entry: 'closeLoops',
      on: { 'loop.idle': { guard: 'isOfLoop', actions: 'hear' } },
      always: [
        { guard: 'isClosedWithDebt', target: 'accepted' },
        { guard: 'isClosed', target: 'verified' },
      ],
    },
    asking: {
      tags: WAITING_TAG,
      ...tellsParent,
      on: notes,
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) => questionFor(context),
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
