import { assign, emit, setup } from 'xstate';
import type { Json } from '../events/json.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import { workflow } from './workflow.ts';

/** One thing that a person may choose. */
export interface QuestionOption {
  readonly id: string;
  readonly label: string;
  readonly impact?: string;
  readonly effort?: string;
  /** Whether whoever reported something has proposed it: neither the workflow nor the runtime vouches for it. */
  readonly isProposed?: true;
}

/** Whom to ask, and for how long; null for as long as it takes. */
export interface QuestionLevel {
  readonly to: string | null;
  readonly expiresMs: number | null;
}

/** What a person is asked. */
export interface QuestionInput {
  readonly text: string;
  /** Why it is asked: a limit that was met, a step that is a person's. */
  readonly details: Json;
  readonly options: readonly QuestionOption[];
  /** Whether the answer may be a value of the person's own in place of an option. */
  readonly isFree: boolean;
  /** One after the other, each when the one before has expired. */
  readonly levels: readonly QuestionLevel[];
  /** What the loop does when the last one expires. Never accept or continue: those need a person. */
  readonly onExpiry: 'cancel' | 'stop';
}

/** What came of it. */
export type QuestionOutput =
  | {
      readonly outcome: 'answered';
      readonly option: string | null;
      readonly value: Json;
      readonly note: string | null;
      readonly by: string | null;
    }
  | { readonly outcome: 'expired'; readonly onExpiry: 'cancel' | 'stop' };

export interface AnswerEvent {
  readonly type: 'question.answer';
  /** Null for a free answer. */
  readonly option: string | null;
  readonly value: Json;
  readonly note: string | null;
  readonly by: string | null;
}

export interface QuestionContext extends QuestionInput {
  readonly level: number;
  readonly output: QuestionOutput | null;
}

/** Whether an answer is one that was asked for. */
export const isAsked = (
  { options, isFree }: Pick<QuestionInput, 'options' | 'isFree'>,
  { option }: Pick<AnswerEvent, 'option'>,
): boolean => (option === null ? isFree : options.some(({ id }) => id === option));

export const questionMachine = setup({
  types: {
    context: {} as QuestionContext,
    input: {} as QuestionInput,
    events: {} as AnswerEvent,
    emitted: {} as
      | ({ type: 'question.opened'; level: number; to: null } & Omit<QuestionInput, 'levels'> & {
            readonly askedOf: string | null;
            readonly expiresMs: number | null;
          })
      | { type: 'question.closed'; to: null; output: QuestionOutput | null },
    output: {} as QuestionOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actions: {
    tellOpened: emit(({ context: { text, details, options, isFree, onExpiry, level, levels } }) => ({
      type: 'question.opened' as const,
      to: null,
      text,
      details,
      options,
      isFree,
      onExpiry,
      level,
      askedOf: levels[level]?.to ?? null,
      expiresMs: levels[level]?.expiresMs ?? null,
    })),
    tellClosed: emit(({ context }) => ({
      type: 'question.closed' as const,
      to: null,
      output: context.output,
    })),
  },
  guards: {
    isAsked: ({ context, event }) => isAsked(context, event),
    hasNextLevel: ({ context }) => context.level + 1 < context.levels.length,
  },
  delays: { expiry: ({ context }) => context.levels[context.level]?.expiresMs ?? Number.POSITIVE_INFINITY },
}).createMachine({
  id: 'question',
  context: ({ input }) => ({ ...input, level: 0, output: null }),
  initial: 'open',
  states: {
    open: {
      tags: WAITING_TAG,
      entry: 'tellOpened',
      on: {
        'question.answer': {
          guard: 'isAsked',
          target: 'answered',
          actions: assign({
            // A message from outside may leave some of them out.
            output: ({ event: { option, value, note, by } }) => ({
              outcome: 'answered' as const,
              option,
              value: value ?? null,
              note: note ?? null,
              by: by ?? null,
            }),
          }),
        },
      },
      after: {
        expiry: [
          {
            guard: 'hasNextLevel',
            target: 'open',
            reenter: true,
            actions: assign({ level: ({ context }) => context.level + 1 }),
          },
          {
            target: 'expired',
            actions: assign({
              output: ({ context }) => ({ outcome: 'expired' as const, onExpiry: context.onExpiry }),
            }),
          },
        ],
      },
    },
    answered: { type: 'final', entry: 'tellClosed' },
    expired: { type: 'final', entry: 'tellClosed' },
  },
  // Both ways to an end set it.
  output: ({ context }) => context.output as QuestionOutput,
});

export const QUESTION = 'lw.question';
export const questionActor = workflow(QUESTION, questionMachine);
