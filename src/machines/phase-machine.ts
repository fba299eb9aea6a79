import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { NOTHING_SPENT } from '../events/usage.ts';
import { startActor, WAITING_TAG } from '../events/vocabulary.ts';
import type { AgentReply } from './agent-work.ts';
import { CONTEXT } from './context-machine.ts';
import { isKnown, rejectIssue } from './issues.ts';
import { decisions, finalsThat, stopping, tellsParent } from './loop-ends.ts';
import { isFromParent, tellEnd, tellWaits } from './nested.ts';
import { halted } from './phase-corrections.ts';
import {
  askedOf,
  decidePhases,
  isReclassifiable,
  type Reclassification,
  reclassify,
  withdraw,
} from './phase-decisions.ts';
import { advance, take } from './phase-rules.ts';
import { andThen, type Correction, nextPhase, type PhaseRunInput, type PhaseState } from './phase-state.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { isContinuing, verdictOf } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { agentId, CONTEXT_ID, type RunMessage } from './run-messages.ts';
import type { RunOutput } from './run-output.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import { openRequests } from './run-state.ts';

/** What a phase run gives at its end. */
export interface PhaseRunOutput extends RunOutput {
  /** Everything that was corrected, oldest first. */
  readonly corrections: readonly Correction[];
}

export type PhaseEvent =
  | AgentReply
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string }
  | { type: 'run.cancel' }
  | { type: 'issue.reject'; fingerprint: string; note: string | null }
  /** A person says that an issue is of other phases than its finder says. */
  | ({ type: 'issue.reclassify' } & Reclassification);

const initialState = (input: PhaseRunInput): PhaseState => ({
  ...input,
  started: [],
  steps: {},
  issues: {},
  spent: NOTHING_SPENT,
  corrections: [],
  held: null,
  work: null,
  failed: 0,
  rounds: {},
  failedWith: {},
  noted: {},
  kept: {},
  reclassified: {},
  unchanged: 0,
  oscillations: 0,
  allowed: {},
  isAlerted: false,
  deadlineMs: null,
  pauseReasons: [],
  halt: null,
  debt: [],
  decidedBy: null,
});

/** Only the agent that was asked may answer, and only what it was asked. */
const roleOf = (state: PhaseState, event: PhaseEvent): string | undefined => {
  if (event.type !== 'agent.done' && event.type !== 'agent.failed') return undefined;
  const { from, self } = delivery();
  return openRequests(state).find(
    ({ role, request }) => request === event.request && from === `${self}/${agentId(role)}`,
  )?.role;
};

const outputOf = (state: PhaseState, verdict: Verdict): PhaseRunOutput => ({
  verdict,
  outputs: Object.fromEntries(Object.entries(state.steps).map(([id, { output }]) => [id, output])),
  artifacts: Object.fromEntries(
    Object.entries(state.steps).flatMap(([id, { hash }]) => (hash === null ? [] : [[id, hash]])),
  ),
  reason: state.halt?.reason ?? null,
  limit: state.halt?.met ?? null,
  debt: state.debt,
  spent: state.spent,
  decidedBy: state.decidedBy,
  corrections: state.corrections,
});

const setupPhases = setup({
  types: {
    context: {} as PhaseState,
    input: {} as PhaseRunInput,
    events: {} as PhaseEvent,
    emitted: {} as RunMessage,
    output: {} as PhaseRunOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      const { plan, phases, limits, unbounded, guideline, alertAbove } = context;
      enqueue.emit(startActor({ id: CONTEXT_ID, machine: CONTEXT, input: null }));
      enqueue.emit({
        type: 'pipeline.started',
        phases: plan.steps.map(({ id, needs }) => ({ id, needs, ...phases[id] })) as unknown as Json,
        limits: limits as unknown as Json,
        unbounded,
        guideline,
        alertAbove,
      });
    }),
    advance: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, advance(context));
    }),
    take: enqueueActions(({ context, event, enqueue }) => {
      const role = roleOf(context, event);
      if (role !== undefined && (event.type === 'agent.done' || event.type === 'agent.failed'))
        apply(enqueue, take(context, event, role));
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
    reclassify: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'issue.reclassify') apply(enqueue, reclassify(context, event));
    }),
    timeIsUp: enqueueActions(({ context, enqueue }) => {
      const bound = context.limits.timeMs ?? 0;
      const met = { limit: 'timeMs', bound, used: bound, evidence: [] } as const;
      apply(
        enqueue,
        andThen(withdraw(context), (state) => halted({ state, messages: [] }, haltOf(met, null))),
      );
    }),
    decide: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      apply(enqueue, decidePhases(context, said, delivery().atMs));
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
    isAwaited: ({ context, event }) => roleOf(context, event) !== undefined,
    isComplete: ({ context }) => context.halt === null && nextPhase(context) === undefined,
    isUnpaused: ({ context }) => context.pauseReasons.length === 0,
    isPaused: ({ context }) => context.pauseReasons.length > 0,
    /** Whoever sends it from outside may leave it out, and then nobody could take it back. */
    hasText: ({ event }) => event.type === 'run.pause' && typeof event.reason === 'string',
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' && context.pauseReasons.includes(event.reason),
    isKnownIssue: ({ context, event }) =>
      event.type === 'issue.reject' && isKnown(context.issues, event.fingerprint),
    isReclassifiable: ({ context, event }) =>
      event.type === 'issue.reclassify' && isReclassifiable(context, event),
    isHalted: ({ context }) => context.halt !== null,
    asks: ({ context }) => context.halt !== null && context.onLimit === 'ask',
    waitsForPersons: ({ context }) => {
      const open = openRequests(context);
      return open.length > 0 && open.every(({ role }) => context.roles[role]?.person != null);
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

/** More time than at first is counted where something may go on: not while a person is asked whether it may. */
const untilDeadline = { deadline: { target: 'working', actions: 'timeIsUp' } } as const;

const pausable = {
  'run.pause': { guard: 'hasText', actions: 'pause' },
  'run.resume': { guard: 'hasReason', actions: 'resume' },
} as const;

export const phaseMachine = setupPhases.createMachine({
  id: 'phases',
  context: ({ input }) => initialState(input),
  entry: 'begin',
  initial: 'working',
  after: {
    timeLimit: [
      // The question that is open stays. Should the person let it go on, this one is asked next.
      { guard: 'isHalted', actions: assign({ deadlineMs: () => delivery().atMs }) },
      { target: '.working', actions: 'timeIsUp' },
    ],
  },
  on: {
    'agent.done': { guard: 'isAwaited', target: '.working', actions: 'take' },
    'agent.failed': { guard: 'isAwaited', target: '.working', actions: 'take' },
    'run.pause': { guard: 'hasText', target: '.paused', actions: 'pause' },
    'issue.reject': { guard: 'isKnownIssue', actions: 'rejectIssue' },
    'issue.reclassify': { guard: 'isReclassifiable', target: '.working', actions: 'reclassify' },
    'run.cancel': { guard: 'isFromParent', target: '.cancelled' },
  },
  states: {
    working: {
      entry: 'advance',
      after: untilDeadline,
      always: [
        { guard: 'asks', target: 'asking' },
        { guard: 'isHalted', target: 'stopping' },
        { guard: 'isComplete', target: 'verified' },
        { guard: 'isPaused', target: 'paused' },
        { guard: 'waitsForPersons', target: 'waiting' },
      ],
    },
    /** All that is open is open with persons. */
    waiting: { tags: WAITING_TAG, ...tellsParent, after: untilDeadline },
    paused: {
      after: untilDeadline,
      on: {
        ...pausable,
        'agent.done': { guard: 'isAwaited', actions: 'take' },
        'agent.failed': { guard: 'isAwaited', actions: 'take' },
        'issue.reclassify': { guard: 'isReclassifiable', actions: 'reclassify' },
      },
      always: { guard: 'isUnpaused', target: 'working' },
    },
    asking: {
      tags: WAITING_TAG,
      ...tellsParent,
      on: {
        ...pausable,
        'issue.reclassify': { guard: 'isReclassifiable', actions: 'reclassify' },
      },
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) => askedOf(context),
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
