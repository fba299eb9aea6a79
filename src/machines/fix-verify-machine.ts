import { assign, emit, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import type { MetLimit } from './limits.ts';
import {
  type QuestionLevel,
  type QuestionOption,
  type QuestionOutput,
  questionMachine,
} from './question-machine.ts';
import { workflow } from './workflow.ts';

/** What may follow on a round that did not settle a feedback: known by the coordinator, which counts for all of them. */
export interface Ways {
  /** Whether the two nodes may have another round. */
  readonly hasRounds: boolean;
  /** The planner that it can be put before; null if there is none, or none that may still be asked. */
  readonly up: string | null;
  /** Why it is not settled, in words and, if a limit says so, with that limit. */
  readonly reason: string;
  readonly met: MetLimit | null;
  /** What a person is shown of it. */
  readonly about: Json;
}

export interface FixInput extends Ways {
  readonly id: string;
  /** Delivered already, or refused before that by a limit. */
  readonly begin: 'fixing' | 'deciding';
  readonly onLimit: 'ask' | 'stop';
  readonly questionLevels: readonly QuestionLevel[];
  readonly onExpiry: 'cancel' | 'stop';
}

/** How a feedback ended. */
export type FixOutcome = 'resolved' | 'up' | 'accepted' | 'cancelled' | 'stopped';

export type FixEvent =
  | { type: 'fix.delivered' }
  | { type: 'fix.fixed' }
  | ({ type: 'fix.unfixed' } & Ways)
  | { type: 'fix.verified' }
  | ({ type: 'fix.unverified' } & Ways);

/** What it tells the coordinator. */
export type FixReport =
  | { type: 'fix.verifying'; id: string }
  | { type: 'fix.again'; id: string; more: number; met: MetLimit | null; by: string | null }
  | { type: 'fix.asks'; id: string; reason: string; met: MetLimit | null }
  | {
      type: 'fix.ended';
      id: string;
      outcome: FixOutcome;
      /** The planner that it was put before. */
      up: string | null;
      reason: string;
      met: MetLimit | null;
      by: string | null;
      note: string | null;
    };

interface FixContext extends FixInput {
  readonly by: string | null;
  readonly note: string | null;
}

const OPTIONS: readonly QuestionOption[] = [
  { id: 'continue', label: 'Let it go on', impact: 'one more round, or as many as you give as the value' },
  { id: 'accept', label: 'Take it as it is', impact: 'the node that sent it goes on; the feedback is debt' },
  { id: 'stop', label: 'End the run', impact: 'it ends exhausted' },
  { id: 'cancel', label: 'Cancel the run', impact: 'nothing of it is taken' },
];

const isSaid = (said: QuestionOutput, option: string): boolean =>
  said.outcome === 'answered' ? said.option === option : option === 'cancel' && said.onExpiry === 'cancel';

const moreOf = (said: QuestionOutput): number =>
  said.outcome === 'answered' &&
  typeof said.value === 'number' &&
  Number.isSafeInteger(said.value) &&
  said.value > 0
    ? said.value
    : 1;

interface Answered {
  readonly event: { readonly output: QuestionOutput };
}

/** One feedback on its way: fix, verification, and what follows if that does not settle it. */
const fixVerifyMachine = setup({
  types: {
    context: {} as FixContext,
    input: {} as FixInput,
    events: {} as FixEvent,
    emitted: {} as FixReport & { readonly to: '..' },
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    note: assign(({ event }) => {
      if (event.type !== 'fix.unfixed' && event.type !== 'fix.unverified') return {};
      const { hasRounds, up, reason, met, about } = event;
      return { hasRounds, up, reason, met, about };
    }),
    tellVerifying: emit(({ context: { id } }) => ({ type: 'fix.verifying' as const, to: '..' as const, id })),
    tellAgain: emit(({ context: { id, met, by } }, more: number) => ({
      type: 'fix.again' as const,
      to: '..' as const,
      id,
      more,
      met,
      by,
    })),
    tellAsks: emit(({ context: { id, reason, met } }) => ({
      type: 'fix.asks' as const,
      to: '..' as const,
      id,
      reason,
      met,
    })),
    tellEnded: emit(({ context: { id, up, reason, met, by, note } }, outcome: FixOutcome) => ({
      type: 'fix.ended' as const,
      to: '..' as const,
      id,
      outcome,
      up: outcome === 'up' ? up : null,
      // What is resolved has no limit against it.
      reason: outcome === 'resolved' ? '' : reason,
      met: outcome === 'resolved' ? null : met,
      by,
      note,
    })),
    noteAnswer: assign((_, said: QuestionOutput) =>
      said.outcome === 'answered' ? { by: said.by, note: said.note } : {},
    ),
  },
  guards: {
    isFromCoordinator: ({ event }) => event.type.startsWith('fix.') && delivery().from === delivery().parent,
    isDelivered: ({ context }) => context.begin === 'fixing',
    hasRounds: ({ context }) => context.hasRounds,
    canGoUp: ({ context }) => context.up !== null,
    asks: ({ context }) => context.onLimit === 'ask',
    isSaid: (_, { said, option }: { said: QuestionOutput; option: string }) => isSaid(said, option),
  },
}).createMachine({
  id: 'fixVerify',
  context: ({ input }) => ({ ...input, by: null, note: null }),
  initial: 'beginning',
  states: {
    beginning: { always: [{ guard: 'isDelivered', target: 'fixing' }, { target: 'deciding' }] },
    /** Waits for its target, once more. */
    queued: { on: { 'fix.delivered': { guard: 'isFromCoordinator', target: 'fixing' } } },
    fixing: {
      on: {
        'fix.fixed': { guard: 'isFromCoordinator', target: 'verifying' },
        'fix.unfixed': { guard: 'isFromCoordinator', target: 'deciding', actions: 'note' },
      },
    },
    verifying: {
      entry: 'tellVerifying',
      on: {
        'fix.verified': { guard: 'isFromCoordinator', target: 'resolved' },
        'fix.unverified': { guard: 'isFromCoordinator', target: 'deciding', actions: 'note' },
      },
    },
    deciding: {
      always: [
        { guard: 'hasRounds', target: 'queued', actions: { type: 'tellAgain', params: 0 } },
        { guard: 'canGoUp', target: 'goneUp' },
        { guard: 'asks', target: 'asking' },
        { target: 'stopped' },
      ],
    },
    asking: {
      tags: WAITING_TAG,
      entry: 'tellAsks',
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context: { reason, met, about, questionLevels, onExpiry } }) => ({
          text: reason,
          // Rounds are counted by the coordinator, for a pair.
          details: {
            feedback: about,
            limit: met as unknown as Json,
            halt: met && { met: met as unknown as Json, of: delivery().parent },
          },
          options: OPTIONS,
          isFree: false,
          levels: questionLevels,
          onExpiry,
        }),
        onDone: [
          {
            guard: {
              type: 'isSaid',
              params: ({ event }: Answered) => ({ said: event.output, option: 'continue' }),
            },
            target: 'queued',
            actions: [
              { type: 'noteAnswer', params: ({ event }) => event.output },
              { type: 'tellAgain', params: ({ event }) => moreOf(event.output) },
            ],
          },
          {
            guard: {
              type: 'isSaid',
              params: ({ event }: Answered) => ({ said: event.output, option: 'accept' }),
            },
            target: 'accepted',
            actions: { type: 'noteAnswer', params: ({ event }) => event.output },
          },
          {
            guard: {
              type: 'isSaid',
              params: ({ event }: Answered) => ({ said: event.output, option: 'cancel' }),
            },
            target: 'cancelled',
            actions: { type: 'noteAnswer', params: ({ event }) => event.output },
          },
          { target: 'stopped', actions: { type: 'noteAnswer', params: ({ event }) => event.output } },
        ],
        onError: 'stopped',
      },
    },
    resolved: { type: 'final', entry: { type: 'tellEnded', params: 'resolved' } },
    goneUp: { type: 'final', entry: { type: 'tellEnded', params: 'up' } },
    accepted: { type: 'final', entry: { type: 'tellEnded', params: 'accepted' } },
    cancelled: { type: 'final', entry: { type: 'tellEnded', params: 'cancelled' } },
    stopped: { type: 'final', entry: { type: 'tellEnded', params: 'stopped' } },
  },
});

export const FIX_VERIFY = 'lw.fix-verify';
export const fixVerifyActor = workflow(FIX_VERIFY, fixVerifyMachine);
