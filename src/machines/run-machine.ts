import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { NOTHING_SPENT, type Spent } from '../events/usage.ts';
import { startActor, WAITING_TAG } from '../events/vocabulary.ts';
import type { AgentReply, AgentSettings } from './agent-work.ts';
import { CONTEXT } from './context-machine.ts';
import { type IssueRecord, isKnown, rejectIssue } from './issues.ts';
import type { Limits, MetLimit } from './limits.ts';
import type { Plan } from './plan.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { applyDecision, isContinuing, questionFor, verdictOf } from './run-decisions.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import {
  agentId,
  CONTEXT_ID,
  dispatch,
  halted,
  haltOf,
  type NestedEnd,
  type Outcome,
  type RunMessage,
  record,
  replyOf,
  requestOf,
  rerun,
  withdrawAll,
} from './run-rules.ts';
import { isComplete, isFinished, openRequests, type RunState } from './run-state.ts';

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

/** What a plan run gives at its end. */
export interface RunOutput {
  readonly verdict: Verdict;
  readonly outputs: Readonly<Record<string, Json>>;
  /** Hash of what each step made. */
  readonly artifacts: Readonly<Record<string, string>>;
  readonly reason: string | null;
  readonly limit: MetLimit | null;
  /** What was open when a person took the result as it is. */
  readonly debt: readonly IssueRecord[];
  readonly spent: Spent;
  readonly decidedBy: string | null;
}

export type RunEvent =
  | AgentReply
  /** A nested run has ended. */
  | ({ type: 'run.ended' } & NestedEnd)
  /** A nested run waits for a person, or does so no longer. */
  | { type: 'run.waits'; waits: boolean }
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
  decidedBy: null,
});

/** Only the agent itself may speak for it: from outside, an answer could be forged. */
const isFrom = ({ role, isNested }: { readonly role: string; readonly isNested: boolean }): boolean => {
  const { from, self } = delivery();
  // A run of a step that is begun again has another number behind its address.
  if (isNested) return from === `${self}/${role}` || from?.startsWith(`${self}/${role}~`) === true;
  return from === `${self}/${agentId(role)}`;
};

/** Who sends a message from outside. */
const HOST = 'host';

const isIdle = (state: RunState): boolean => openRequests(state).length === 0;

/** The runs of steps that are under way. */
const nestedRuns = (state: RunState): readonly string[] =>
  openRequests(state).flatMap(({ role, isNested }) => (isNested ? role : []));

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
      apply(enqueue, dispatch(context));
    }),
    record: enqueueActions(({ context, event, enqueue }) => {
      apply(enqueue, recorded(context, event));
    }),
    request: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'context.values') return;
      const open = openRequests(context).find(
        ({ request, role }) => request === event.request && role === event.role,
      );
      const step = context.plan.steps.find(({ id }) => id === open?.step);
      if (open && step)
        enqueue.emit(requestOf(context, step, { role: open.role, id: open.request, context: event.values }));
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause') apply(enqueue, paused(context, event.reason, nestedRuns(context)));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume') apply(enqueue, resumed(context, event.reason, nestedRuns(context)));
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
      const output = { verdict, outputs, spent: { ...spent }, reason };
      enqueue.emit({ type: 'run.ended', to: '..', output });
    }),
    tellWaits: enqueueActions(({ enqueue }, waits: boolean) => {
      if (delivery().parent !== null) enqueue.emit({ type: 'run.waits', to: '..', waits });
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
    isAwaited: ({ context, event }) => placeOf(context, event) !== undefined,
    isFromContext: ({ event }) =>
      event.type === 'context.values' && delivery().from === `${delivery().self}/${CONTEXT_ID}`,
    isComplete: ({ context }) => context.halt === null && isComplete(context),
    /** Whoever sends it from outside may leave it out, and then nobody could take it back. */
    hasText: ({ event }) => event.type === 'run.pause' && typeof event.reason === 'string',
    isPaused: ({ context }) => context.pauseReasons.length > 0,
    isLastReason: ({ context, event }) =>
      event.type === 'run.resume' && resumed(context, event.reason).state.pauseReasons.length === 0,
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' && context.pauseReasons.includes(event.reason),
    isFinished: ({ context, event }) =>
      event.type === 'step.rerun' && Array.isArray(event.issues) && isFinished(context, event.step),
    isKnownIssue: ({ context, event }) =>
      event.type === 'issue.reject' && isKnown(context.issues, event.fingerprint),
    asks: ({ context }) => context.halt !== null && isIdle(context) && context.onLimit === 'ask',
    stops: ({ context }) => context.halt !== null && isIdle(context),
    waitsForPersons: ({ context }) => {
      const open = openRequests(context);
      return (
        open.length > 0 &&
        open.every(({ step, role, isNested }) =>
          isNested ? context.waiting.includes(step) : context.roles[role]?.person != null,
        )
      );
    },
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

/** The step and role that a reply is for, if the run waits for it. A nested run is known by its address. */
const placeOf = (state: RunState, event: RunEvent) => {
  if (event.type === 'run.ended' || event.type === 'run.waits')
    return openRequests(state).find((open) => open.isNested && isFrom(open));
  if (event.type !== 'agent.done' && event.type !== 'agent.failed') return undefined;
  return openRequests(state).find((open) => open.request === event.request && isFrom(open));
};

const recorded = (state: RunState, event: RunEvent): Outcome => {
  const place = placeOf(state, event);
  if (place && event.type === 'run.ended') return record(state, replyOf(place.request, event), place);
  if (place && (event.type === 'agent.done' || event.type === 'agent.failed'))
    return record(state, event, place);
  return { state, messages: [] };
};

/** While nothing new may begin, what comes in is noted all the same. */
const notes = {
  'agent.done': { guard: 'isAwaited', actions: 'record' },
  'agent.failed': { guard: 'isAwaited', actions: 'record' },
  'run.ended': { guard: 'isAwaited', actions: 'record' },
  'run.waits': { guard: 'isAwaited', actions: 'noteWaits' },
  'step.rerun': { guard: 'isFinished', actions: 'rerun' },
} as const;

/** Whoever waits for a nested run that waits for a person, waits for that person. */
const tellsParent = {
  entry: { type: 'tellWaits', params: true },
  exit: { type: 'tellWaits', params: false },
} as const;

/** More time than at first is counted where something may go on: not while a person is asked whether it may. */
const untilDeadline = { deadline: { target: 'working', actions: 'timeIsUp' } } as const;

const outputOf = (context: RunState, verdict: Verdict): RunOutput => ({
  verdict,
  outputs: Object.fromEntries(Object.entries(context.steps).map(([id, { output }]) => [id, output])),
  artifacts: Object.fromEntries(
    Object.entries(context.steps).flatMap(([id, { hash }]) => (hash === null ? [] : [[id, hash]])),
  ),
  reason: context.halt?.reason ?? null,
  limit: context.halt?.met ?? null,
  debt: context.debt,
  spent: context.spent,
  decidedBy: context.decidedBy,
});

/** A nested run tells its parent; the root of a run has none. */
const final = <Name extends Verdict>(verdict: Name) =>
  ({ type: 'final', output: verdict, entry: { type: 'tellParent', params: verdict } }) as const;

const finals = {
  verified: final('verified'),
  accepted: final('accepted'),
  exhausted: final('exhausted'),
  stalled: final('stalled'),
  cancelled: final('cancelled'),
  failed: final('failed'),
};

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
    'issue.reject': { guard: 'isKnownIssue', actions: 'rejectIssue' },
  },
  states: {
    working: {
      entry: 'dispatch',
      after: untilDeadline,
      always: [
        { guard: 'isComplete', target: 'verified' },
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
      on: {
        ...notes,
        'run.pause': { guard: 'hasText', actions: 'pause' },
        'run.resume': { guard: 'hasReason', actions: 'resume' },
      },
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) => questionFor(context),
        onDone: [
          {
            guard: { type: 'goesOn', params: ({ event }) => event.output },
            target: 'working',
            actions: { type: 'decide', params: ({ event }) => event.output },
          },
          {
            guard: { type: 'ends', params: ({ event }) => ({ said: event.output, verdict: 'accepted' }) },
            target: 'accepted',
            actions: { type: 'decide', params: ({ event }) => event.output },
          },
          {
            guard: { type: 'ends', params: ({ event }) => ({ said: event.output, verdict: 'cancelled' }) },
            target: 'cancelled',
            actions: { type: 'decide', params: ({ event }) => event.output },
          },
          { target: 'stopping', actions: { type: 'decide', params: ({ event }) => event.output } },
        ],
        onError: 'stopping',
      },
    },
    stopping: {
      always: [
        { guard: { type: 'isHaltedAs', params: 'exhausted' }, target: 'exhausted' },
        { guard: { type: 'isHaltedAs', params: 'stalled' }, target: 'stalled' },
        { target: 'failed' },
      ],
    },
    ...finals,
  },
  // The output of the final state that was reached.
  output: ({ context, event }) => outputOf(context, event.output as Verdict),
});
