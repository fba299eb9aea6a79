import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import type { AgentReply } from './agent-work.ts';
import { ask, choiceId, choicesOf, disagreementOf, inWords, noteReply } from './feedback-asks.ts';
import {
  beginRound,
  decide,
  effectOf,
  escalate,
  isAgreed,
  isAnswered,
  mayAskAgain,
  notify,
  type Round,
  recordRound,
  resolve,
} from './feedback-rules.ts';
import { type FeedbackState, initialFeedback } from './feedback-state.ts';
import { type Effect, FEEDBACK, type LoopInput, type Resolution } from './feedback-work.ts';
import { type QuestionInput, type QuestionOutput, questionMachine } from './question-machine.ts';
import { agentId, CONTEXT_ID, type RunMessage } from './run-messages.ts';
import { apply } from './run-pauses.ts';
import { workflow } from './workflow.ts';

export type FeedbackEvent =
  | AgentReply
  /** From its run. */
  | ({ type: 'feedback.triggered' } & Round)
  | { type: 'response.received'; target: string }
  | { type: 'fix.done'; target: string }
  | { type: 'resolution.complete' }
  | { type: 'resolution.failed'; reason: string }
  | { type: 'validation.passed' }
  /** With a round, the next one begins; else a person is needed. */
  | ({ type: 'validation.failed' } & Round)
  | { type: 'workflow.complete' }
  | { type: 'loop.pause' }
  | { type: 'loop.resume' }
  /** From the host, or a person. */
  | { type: 'feedback.resolve'; resolution: Json; by: string | null; note: string | null }
  | { type: 'feedback.escalate'; reason: string };

/** Who is told, unless the person is asked by the workflow's own words. */
const OPTIONS: QuestionInput['options'] = [
  { id: 'retry', label: 'Try again', impact: 'the targets are told again, for as many rounds as at first' },
  { id: 'accept', label: 'Take it as it is', impact: 'it stays open, as debt' },
  { id: 'resolve', label: 'I have resolved it', impact: 'say how in the value; everyone goes on with it' },
  { id: 'stop', label: 'End the run', impact: 'it ends where it is' },
];

/** The context of the run that the loop belongs to. */
const contextAddress = (): string => `${delivery().parent}/${CONTEXT_ID}`;

const isFromRun = (): boolean => delivery().from !== null && delivery().from === delivery().parent;

const setupFeedback = setup({
  types: {
    context: {} as FeedbackState,
    input: {} as LoopInput,
    events: {} as FeedbackEvent,
    emitted: {} as RunMessage,
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    begin: assign(({ context, event }) =>
      event.type === 'feedback.triggered' || event.type === 'validation.failed'
        ? beginRound(context, event)
        : {},
    ),
    record: enqueueActions(({ context, enqueue }) => {
      for (const message of recordRound(context, contextAddress())) enqueue.emit(message);
    }),
    notify: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, notify(context, contextAddress()));
    }),
    noteReply: enqueueActions(({ context, event, enqueue }) => {
      const role = roleOf(context, event);
      if (role !== undefined && (event.type === 'agent.done' || event.type === 'agent.failed'))
        apply(enqueue, noteReply(context, event, role));
    }),
    noteBegun: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'response.received') return;
      enqueue.assign({ begun: [...context.begun, event.target] });
      enqueue.emit({ type: 'feedback.acknowledged', round: context.round, target: event.target });
    }),
    noteFixed: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'fix.done')
        enqueue.emit({ type: 'feedback.fixed', round: context.round, target: event.target });
    }),
    askAgain: enqueueActions(({ context, enqueue }) => {
      const { round, said } = context;
      enqueue.emit({ type: 'feedback.disagreed', round, answers: said as unknown as Json });
      apply(enqueue, ask(context));
    }),
    decide: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, decide(context));
    }),
    askForValidation: enqueueActions(({ context, enqueue }) => {
      const resolution = context.resolution as unknown as Json;
      enqueue.emit({ type: 'loop.validate', to: '..', resolution });
    }),
    tellValidated: enqueueActions(({ context, enqueue }, passed: boolean) => {
      enqueue.emit({ type: 'feedback.validated', round: context.round, passed });
    }),
    resolve: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, resolve(context, contextAddress()));
    }),
    escalate: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, escalate(context, contextAddress()));
    }),
    becauseOfAnswers: assign(({ context }) => ({ reason: disagreementOf(context) })),
    because: assign((_, reason: string) => ({ reason })),
    becauseOf: assign(({ event, context }) =>
      'reason' in event && typeof event.reason === 'string'
        ? { reason: event.reason }
        : { reason: context.reason },
    ),
    resolveByHand: assign(({ context, event }) =>
      event.type === 'feedback.resolve' ? { resolution: byHand(context, event) } : {},
    ),
    resolveByAnswer: assign(({ context }, said: QuestionOutput) => ({ resolution: byAnswer(context, said) })),
    tellRetried: enqueueActions(({ enqueue }) => {
      enqueue.emit({ type: 'loop.retry', to: '..' });
    }),
    tellExpired: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      const isCancel = said.outcome === 'expired' && said.onExpiry === 'cancel';
      const met = context.met as unknown as Json;
      enqueue.emit({ type: 'loop.over', to: '..', isCancel, reason: context.reason ?? '', met });
    }),
    setPaused: enqueueActions(({ context, enqueue }, isPaused: boolean) => {
      enqueue.assign({ isPaused });
      for (const role of context.started)
        enqueue.emit({ type: isPaused ? 'agent.pause' : 'agent.resume', to: `./${agentId(role)}` });
    }),
    tellIdle: enqueueActions(({ enqueue }) => {
      enqueue.emit({ type: 'loop.idle', to: '..' });
    }),
  },
  guards: {
    isFromRun: ({ context }) => context !== undefined && isFromRun(),
    isExceeded: ({ event }) => 'met' in event && event.met !== null && isFromRun(),
    isNextRound: ({ event }) =>
      event.type === 'validation.failed' && event.met === null && event.reason == null && isFromRun(),
    isAwaited: ({ context, event }) => roleOf(context, event) !== undefined,
    isAnswered: ({ context }) => isAnswered(context),
    isAgreed: ({ context }) => isAgreed(context),
    mayAskAgain: ({ context }) => mayAskAgain(context),
    asks: ({ context }) => context.onLimit === 'ask',
    says: (_, { said, option }: { said: QuestionOutput; option: string }) =>
      said.outcome === 'answered' && said.option === option,
    isExpired: (_, said: QuestionOutput) => said.outcome === 'expired',
  },
  delays: { timeLimit: ({ context }) => context.feedback.timeMs },
});

/** The target whose reply it is, if the loop waits for it. */
const roleOf = ({ pending }: FeedbackState, event: FeedbackEvent): string | undefined => {
  if (event.type !== 'agent.done' && event.type !== 'agent.failed') return undefined;
  const { from, self } = delivery();
  return Object.entries(pending).find(
    ([role, request]) => request === event.request && from === `${self}/${agentId(role)}`,
  )?.[0];
};

const NONE: Effect = { rerun: [], keep: false, debt: false };

/** What the host gives as a resolution: one of the options, or a value of its own. */
const byHand = (
  state: FeedbackState,
  { resolution, by, note }: Extract<FeedbackEvent, { type: 'feedback.resolve' }>,
): Resolution => {
  const given = isJsonObject(resolution ?? null)
    ? (resolution as JsonObject)
    : { option: resolution ?? null };
  const known = state.feedback.options.find(({ option }) => option === given['option']);
  return {
    option: known?.option ?? null,
    value: known ? (given['value'] ?? null) : (resolution ?? null),
    note: note ?? null,
    by: [by ?? 'host'],
    effect: known ? effectOf(state, known.option) : NONE,
    isManual: true,
  };
};

/** What a person says when a loop is escalated. */
const byAnswer = (state: FeedbackState, said: QuestionOutput): Resolution => {
  const answered = said.outcome === 'answered' ? said : undefined;
  const chosen = answered?.option ?? null;
  const proposed = state.feedback.options.find(({ option }) => choiceId(option, OPTIONS) === chosen);
  return {
    option: proposed?.option ?? chosen,
    value: answered?.value ?? null,
    note: answered?.note ?? null,
    by: [answered?.by ?? 'person'],
    effect: proposed ? effectOf(state, proposed.option) : { ...NONE, debt: chosen === 'accept' },
    isManual: true,
  };
};

const questionFor = (state: FeedbackState): QuestionInput => {
  const { feedback, reason, met, said, round, source, targets, questionLevels, onExpiry } = state;
  const about = inWords(feedback.description);
  return {
    text: `${about} (${reason})`,
    details: {
      loop: delivery().self,
      round,
      source,
      targets,
      reason,
      feedback: feedback as unknown as Json,
      answers: said as unknown as Json,
      // Whose limit it is: that of the loop itself, or of its run.
      halt: met && {
        met: met as unknown as Json,
        of: met.limit === 'rounds' ? delivery().self : delivery().parent,
      },
    },
    // What the runtime itself offers keeps its name and its place, whatever was proposed.
    options: [...OPTIONS, ...choicesOf(feedback, OPTIONS)],
    isFree: false,
    levels: questionLevels,
    onExpiry,
  };
};

const replies = {
  'agent.done': { guard: 'isAwaited', actions: 'noteReply' },
  'agent.failed': { guard: 'isAwaited', actions: 'noteReply' },
} as const;

/** What the host may do with a loop that is not resolved. */
const byHost = {
  'feedback.resolve': { target: '#feedback.resolved', actions: 'resolveByHand' },
  'feedback.escalate': { target: '#feedback.escalating', actions: 'becauseOf' },
} as const;

const timeIsUp = {
  timeLimit: {
    target: '#feedback.escalating',
    actions: { type: 'because', params: 'not everyone has answered in time' },
  },
} as const;

const triggered = {
  'feedback.triggered': [
    { guard: 'isExceeded', target: 'escalating', actions: ['begin', 'record'] },
    { guard: 'isFromRun', target: 'notifying', actions: 'begin' },
  ],
} as const;

const fixes = {
  'fix.done': { guard: 'isFromRun', actions: 'noteFixed' },
  'resolution.failed': { guard: 'isFromRun', target: '#feedback.escalating', actions: 'becauseOf' },
} as const;

const feedbackMachine = setupFeedback.createMachine({
  id: 'feedback',
  context: ({ input }) => initialFeedback(input),
  initial: 'idle',
  on: {
    'loop.pause': { guard: 'isFromRun', actions: { type: 'setPaused', params: true } },
    'loop.resume': { guard: 'isFromRun', actions: { type: 'setPaused', params: false } },
  },
  states: {
    idle: { on: triggered },
    /** Everyone concerned is told, in one go. */
    notifying: { entry: 'notify', always: 'waitingResponse' },
    waitingResponse: {
      on: {
        ...replies,
        ...byHost,
        ...fixes,
        'response.received': { guard: 'isFromRun', actions: 'noteBegun' },
      },
      always: { guard: 'isAnswered', target: 'resolving' },
      after: timeIsUp,
    },
    resolving: {
      initial: 'coordinating',
      on: { ...byHost, ...fixes },
      states: {
        coordinating: {
          always: [
            { guard: 'isAgreed', target: 'applying', actions: 'decide' },
            { guard: 'mayAskAgain', target: 'askingAgain', actions: 'askAgain' },
            { target: '#feedback.escalating', actions: 'becauseOfAnswers' },
          ],
        },
        /** They have not agreed: each sees what the others chose. */
        askingAgain: {
          on: replies,
          always: { guard: 'isAnswered', target: 'coordinating' },
          after: timeIsUp,
        },
        /** The run does what was decided. */
        applying: { on: { 'resolution.complete': { guard: 'isFromRun', target: '#feedback.validating' } } },
      },
    },
    validating: {
      entry: 'askForValidation',
      on: {
        ...byHost,
        'validation.passed': {
          guard: 'isFromRun',
          target: 'resolved',
          actions: { type: 'tellValidated', params: true },
        },
        'validation.failed': [
          {
            guard: 'isNextRound',
            target: 'notifying',
            actions: [{ type: 'tellValidated', params: false }, 'begin'],
          },
          {
            guard: 'isExceeded',
            target: 'escalating',
            actions: [{ type: 'tellValidated', params: false }, 'begin'],
          },
          {
            guard: 'isFromRun',
            target: 'escalating',
            actions: [{ type: 'tellValidated', params: false }, 'becauseOf'],
          },
        ],
      },
    },
    /** New feedback of the same kind is its next round. */
    resolved: {
      entry: 'resolve',
      on: { ...triggered, 'workflow.complete': { guard: 'isFromRun', target: 'idle', actions: 'tellIdle' } },
    },
    escalating: {
      entry: 'escalate',
      initial: 'deciding',
      on: {
        'feedback.resolve': byHost['feedback.resolve'],
        'feedback.triggered': triggered['feedback.triggered'],
      },
      states: {
        deciding: { always: [{ guard: 'asks', target: 'asking' }, { target: 'stopped' }] },
        asking: {
          tags: WAITING_TAG,
          invoke: {
            id: 'question',
            src: 'question',
            input: ({ context }) => questionFor(context),
            onDone: [
              {
                guard: { type: 'says', params: ({ event }) => ({ said: event.output, option: 'retry' }) },
                target: 'stopped',
                actions: 'tellRetried',
              },
              {
                guard: { type: 'says', params: ({ event }) => ({ said: event.output, option: 'stop' }) },
                target: 'stopped',
                actions: { type: 'tellExpired', params: ({ event }) => event.output },
              },
              {
                guard: { type: 'isExpired', params: ({ event }) => event.output },
                target: 'stopped',
                actions: { type: 'tellExpired', params: ({ event }) => event.output },
              },
              {
                target: '#feedback.resolved',
                actions: { type: 'resolveByAnswer', params: ({ event }) => event.output },
              },
            ],
            onError: 'stopped',
          },
        },
        /** The run ends, or begins the next round. */
        stopped: {},
      },
    },
  },
});

export const feedbackActor = workflow(FEEDBACK, feedbackMachine);
