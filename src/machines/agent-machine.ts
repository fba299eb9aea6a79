import { assign, emit, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Address } from '../events/event.ts';
import { failureOf } from '../events/failure.ts';
import type { Failure } from '../events/json.ts';
import { NOTHING_SPENT, type Spent, spend, type Usage } from '../events/usage.ts';
import { CALL_BEGUN, WAITING_TAG } from '../events/vocabulary.ts';
import { agentCall } from './agent-call.ts';
import {
  type AgentReply,
  type AgentReplyBody,
  type AgentSettings,
  type Attempt,
  answerOf,
  backoffAfter,
  cutShort,
  type Envelope,
  isWorkRequest,
  NO_BUDGET,
  personAnswer,
  refusal,
  TIMED_OUT,
  type WorkRequest,
} from './agent-work.ts';
import { usedUp } from './limits.ts';
import { questionMachine } from './question-machine.ts';
import { workflow } from './workflow.ts';

export type AgentEvent =
  | { type: 'agent.request'; request: WorkRequest }
  /** Its sender no longer waits for it. */
  | { type: 'agent.cancel'; request: string }
  | { type: 'agent.pause' }
  | { type: 'agent.resume' }
  | { type: typeof CALL_BEGUN };

export interface Pending {
  readonly client: Address;
  readonly request: WorkRequest;
}

export interface AgentContext extends AgentSettings {
  readonly queue: readonly Pending[];
  readonly current: Pending | null;
  readonly attempt: number;
  readonly failure: Failure | null;
  /** By all attempts of the request in hand. */
  readonly spent: Spent;
  readonly paused: boolean;
  /** How the last request ended: where the agent rests. */
  readonly rest: 'idle' | 'failed' | 'cancelled';
}

const hasAttemptsLeft = ({ attempt, attempts, failure }: AgentContext): boolean =>
  attempt < attempts && failure?.final !== true;

const setupAgent = setup({
  types: {
    context: {} as AgentContext,
    input: {} as AgentSettings,
    events: {} as AgentEvent,
    emitted: {} as AgentReply & { readonly to: Address },
    tags: {} as typeof WAITING_TAG,
  },
  actors: {
    work: agentCall<Attempt, Envelope>({
      agent: ({ role }) => role,
      request: ({ callId, attempt }) => ({ callId, attempt }),
      announce: true,
    }),
    question: questionMachine,
  },
  actions: {
    enqueue: assign(({ context, event }) =>
      event.type === 'agent.request'
        ? { queue: [...context.queue, { client: delivery().from ?? '', request: event.request }] }
        : {},
    ),
    /** The next request, with its attempts still before it. */
    take: assign(({ context: { queue } }) => ({
      current: queue[0] ?? null,
      queue: queue.slice(1),
      attempt: 1,
      failure: null,
      spent: NOTHING_SPENT,
    })),
    tryAgain: assign({ attempt: ({ context }) => context.attempt + 1 }),
    noteFailure: assign((_, failure: Failure) => ({ failure })),
    note: assign(({ context }, usage: Usage | undefined) => ({ spent: spend(context.spent, usage) })),
    reply: emit(({ context }, answer: AgentReplyBody) => ({
      ...answer,
      to: context.current?.client ?? '',
      request: context.current?.request.id ?? '',
      attempts: context.attempt,
      spent: context.spent,
    })),
    giveUp: emit(({ context }) => ({
      type: 'agent.failed' as const,
      to: context.current?.client ?? '',
      request: context.current?.request.id ?? '',
      failure: context.failure ?? NO_BUDGET,
      attempts: context.attempt,
      spent: context.spent,
    })),
    rest: assign((_, rest: AgentContext['rest']) => ({ rest, current: null })),
    withdraw: assign(({ context, event }) =>
      event.type === 'agent.cancel'
        ? {
            queue: context.queue.filter(
              ({ client, request }) => !(client === delivery().from && request.id === event.request),
            ),
          }
        : {},
    ),
    setPaused: assign((_, paused: boolean) => ({ paused })),
  },
  guards: {
    /** From outside nobody waits for the reply, and anything may be in it. */
    isRequest: ({ event }) =>
      event.type === 'agent.request' && delivery().from !== null && isWorkRequest(event.request),
    hasWork: ({ context }) => context.queue.length > 0,
    isPaused: ({ context }) => context.paused,
    mayTryAgain: ({ context }) =>
      hasAttemptsLeft(context) &&
      context.current !== null &&
      usedUp(context.current.request.budget, context.spent) === undefined,
    hasAttemptsLeft: ({ context }) => hasAttemptsLeft(context),
    hasNoBudget: ({ context }) =>
      context.current !== null && usedUp(context.current.request.budget, NOTHING_SPENT) !== undefined,
    isRefused: (_, { refused }: { refused: string | undefined }) => refused !== undefined,
    isPerson: ({ context }) => context.person !== null,
    isCurrent: ({ context: { current }, event }) =>
      event.type === 'agent.cancel' &&
      current?.request.id === event.request &&
      current.client === delivery().from,
    isQueued: ({ context, event }) =>
      event.type === 'agent.cancel' &&
      context.queue.some(({ client, request }) => client === delivery().from && request.id === event.request),
    rests: ({ context }, rest: AgentContext['rest']) => context.rest === rest,
  },
  delays: {
    backoff: ({ context }) => backoffAfter(context, context.failure),
    timeLimit: ({ context }) => context.timeLimitMs ?? Number.POSITIVE_INFINITY,
  },
});

const acceptsWork = {
  'agent.request': { guard: 'isRequest', target: 'deciding', actions: 'enqueue' },
} as const;

const agentMachine = setupAgent.createMachine({
  id: 'agent',
  context: ({ input }) => ({
    ...input,
    queue: [],
    current: null,
    attempt: 0,
    failure: null,
    spent: NOTHING_SPENT,
    paused: false,
    rest: 'idle',
  }),
  initial: 'idle',
  on: {
    'agent.request': { guard: 'isRequest', actions: 'enqueue' },
    'agent.cancel': [
      {
        guard: 'isCurrent',
        target: '.deciding',
        actions: { type: 'rest', params: 'cancelled' },
      },
      { guard: 'isQueued', actions: 'withdraw' },
    ],
    'agent.pause': { actions: { type: 'setPaused', params: true } },
    'agent.resume': { actions: { type: 'setPaused', params: false } },
  },
  states: {
    idle: { on: acceptsWork },
    /** The last request failed for good; the next one is taken all the same. */
    failed: { on: acceptsWork },
    cancelled: { on: acceptsWork },
    deciding: {
      always: [
        { guard: 'isPaused', target: 'paused' },
        { guard: 'hasWork', target: 'beginning', actions: 'take' },
        { guard: { type: 'rests', params: 'failed' }, target: 'failed' },
        { guard: { type: 'rests', params: 'cancelled' }, target: 'cancelled' },
        { target: 'idle' },
      ],
    },
    /** No call starts; what waits, waits. A request that was begun is held with its attempts. */
    paused: {
      initial: 'resting',
      states: {
        resting: {
          on: {
            'agent.resume': { target: '#agent.deciding', actions: { type: 'setPaused', params: false } },
          },
        },
        holding: {
          on: { 'agent.resume': { target: '#agent.working', actions: { type: 'setPaused', params: false } } },
        },
      },
    },
    beginning: {
      always: [
        {
          guard: 'hasNoBudget',
          target: 'deciding',
          actions: ['giveUp', { type: 'rest', params: 'failed' }],
        },
        { guard: 'isPerson', target: 'asking' },
        { target: 'working' },
      ],
    },
    working: {
      initial: 'queued',
      invoke: {
        id: 'work',
        src: 'work',
        input: ({ context: { role, current, attempt, failure } }) => {
          const {
            id = '',
            input = null,
            feedback = [],
            history = [],
            context = null,
          } = current?.request ?? {};
          return {
            role,
            callId: `${delivery().self}:${current?.client}#${id}`,
            attempt,
            work: { input, feedback, history, context },
            failure: failure?.message ?? null,
          };
        },
        onDone: [
          {
            guard: { type: 'isRefused', params: ({ event }) => ({ refused: event.output.refused }) },
            target: 'attemptFailed',
            actions: [
              { type: 'note', params: ({ event }) => event.output.usage },
              { type: 'noteFailure', params: ({ event }) => refusal(event.output.refused) },
            ],
          },
          {
            target: 'deciding',
            actions: [
              { type: 'note', params: ({ event }) => event.output.usage },
              {
                type: 'reply',
                params: ({ event }) => ({ type: 'agent.done' as const, answer: answerOf(event.output) }),
              },
              { type: 'rest', params: 'idle' },
            ],
          },
        ],
        onError: {
          target: 'attemptFailed',
          actions: [
            { type: 'note', params: () => undefined },
            { type: 'noteFailure', params: ({ event }) => failureOf(event.error) },
          ],
        },
      },
      states: {
        queued: {
          on: {
            [CALL_BEGUN]: 'running',
            // A call that has not begun is taken back, and made again after the pause.
            'agent.pause': {
              target: '#agent.paused.holding',
              actions: { type: 'setPaused', params: true },
            },
          },
        },
        running: {
          after: {
            timeLimit: {
              target: '#agent.attemptFailed',
              actions: [
                { type: 'note', params: () => undefined },
                { type: 'noteFailure', params: () => TIMED_OUT },
              ],
            },
          },
        },
      },
    },
    attemptFailed: {
      always: [
        { guard: 'mayTryAgain', target: 'backingOff' },
        {
          guard: 'hasAttemptsLeft',
          target: 'deciding',
          actions: [
            { type: 'noteFailure', params: ({ context }) => cutShort(context.failure ?? NO_BUDGET) },
            'giveUp',
            { type: 'rest', params: 'failed' },
          ],
        },
        { target: 'deciding', actions: ['giveUp', { type: 'rest', params: 'failed' }] },
      ],
    },
    backingOff: { after: { backoff: { target: 'retrying', actions: 'tryAgain' } } },
    retrying: { always: [{ guard: 'isPaused', target: 'paused.holding' }, { target: 'working' }] },
    asking: {
      tags: WAITING_TAG,
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context: { person, current, role } }) => ({
          text: person?.text ?? '',
          details: {
            role,
            ...(current && { input: current.request.input, feedback: current.request.feedback }),
          },
          options: person?.options ?? [],
          isFree: person?.isFree ?? true,
          ...current?.request.question,
          levels: person?.levels ?? [],
          onExpiry: 'stop' as const,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.outcome === 'answered',
            target: 'deciding',
            actions: [
              { type: 'reply', params: ({ event }) => personAnswer(event.output) },
              { type: 'rest', params: 'idle' },
            ],
          },
          {
            target: 'deciding',
            actions: [
              { type: 'reply', params: ({ event }) => personAnswer(event.output) },
              { type: 'rest', params: 'failed' },
            ],
          },
        ],
        onError: {
          target: 'deciding',
          actions: [
            { type: 'noteFailure', params: ({ event }) => failureOf(event.error) },
            'giveUp',
            { type: 'rest', params: 'failed' },
          ],
        },
      },
    },
  },
});

export const AGENT = 'lw.agent';
export const agentActor = workflow(AGENT, agentMachine);
