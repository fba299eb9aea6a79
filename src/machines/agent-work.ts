import type { Failure, Json } from '../events/json.ts';
import type { Spent, Usage } from '../events/usage.ts';
import type { Budget } from './limits.ts';
import type { QuestionInput, QuestionOutput } from './question-machine.ts';

/** One piece of work for an agent. */
export interface WorkRequest {
  /** Unique among those of its sender. */
  readonly id: string;
  readonly input: Json;
  /** What was found wrong with earlier results. */
  readonly feedback: readonly Json[];
  /** Earlier results of the same work, oldest first. */
  readonly history: readonly Json[];
  /** What else of the run it may know. */
  readonly context: Json;
  /** What all its attempts together may use. */
  readonly budget: Budget;
  /** What a person is asked, if it is not the same as always. */
  readonly question?: Pick<QuestionInput, 'text' | 'options' | 'isFree'>;
}

/** Types keep other values out; a message of some other actor is not kept by them. */
export const isWorkRequest = (given: unknown): given is WorkRequest => {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  return (
    isObject(given) &&
    'id' in given &&
    typeof given.id === 'string' &&
    'budget' in given &&
    isObject(given.budget)
  );
};

/** What the executor gives an agent: one attempt of a request. */
export interface Attempt {
  readonly role: string;
  readonly callId: string;
  readonly attempt: number;
  readonly work: Pick<WorkRequest, 'input' | 'feedback' | 'history' | 'context'>;
  /** Why the attempt before failed. */
  readonly failure: string | null;
}

/** What came back. One that was refused does not fit the agent's schema: a failed attempt that cost something. */
export interface Envelope {
  readonly output: Json;
  readonly issues?: Json;
  readonly usage?: Usage;
  readonly artifacts?: Json;
  readonly feedback?: Json;
  readonly refused?: string;
  /** The beginning and the end of its text, if the text is so large that the log keeps it elsewhere. */
  readonly excerpt?: string;
}

export interface AgentSettings {
  readonly role: string;
  /** How often a request is tried; 3 unless set. */
  readonly attempts: number;
  /** How long to wait before the second attempt; each further wait is twice as long, a minute at most. */
  readonly backoffMs: number;
  /** How long one attempt may run, from when it leaves the queue; null for no limit but the agent's own. */
  readonly timeLimitMs: number | null;
  /** Set if the role is a person's: then each request is a question. */
  readonly person: PersonSettings | null;
}

export type PersonSettings = Pick<QuestionInput, 'text' | 'options' | 'isFree' | 'levels'>;

export const AGENT_DEFAULTS = { attempts: 3, backoffMs: 1_000, timeLimitMs: null, person: null } as const;
export const BACKOFF_MAX_MS = 60_000;
/** Nobody waits longer than this before the next attempt, whatever a provider asks for. */
const RETRY_AFTER_MAX_MS = 60 * 60_000;

/** How long to wait after an attempt: longer from one to the next, and at least as long as whoever refused asked for. */
export const backoffAfter = (
  { backoffMs, attempt }: { readonly backoffMs: number; readonly attempt: number },
  failure: Failure | null,
): number =>
  Math.max(
    Math.min(backoffMs * 2 ** (attempt - 1), BACKOFF_MAX_MS),
    Math.min(failure?.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS),
  );

/** What a sender hears, once for each request. */
export type AgentReply =
  | {
      readonly type: 'agent.done';
      readonly request: string;
      readonly answer: Omit<Envelope, 'refused' | 'usage'>;
      readonly attempts: number;
      readonly spent: Spent;
    }
  | {
      readonly type: 'agent.failed';
      readonly request: string;
      readonly failure: Failure;
      readonly attempts: number;
      readonly spent: Spent;
    };

export type AgentReplyBody =
  | Pick<Extract<AgentReply, { type: 'agent.done' }>, 'type' | 'answer'>
  | Pick<Extract<AgentReply, { type: 'agent.failed' }>, 'type' | 'failure'>;

export const NO_BUDGET: Failure = {
  name: 'BudgetUsedUp',
  message: 'The budget was used up before the call.',
  code: 'BUDGET_USED_UP',
};
/** A failed attempt that would have been followed by another one. */
export const cutShort = ({ message }: Failure): Failure => ({
  ...NO_BUDGET,
  message: `The budget was used up before all attempts were made. The last one failed: ${message}`,
});
export const TIMED_OUT: Failure = {
  name: 'AttemptTimedOut',
  message: 'The attempt ran longer than its time limit.',
  code: 'ATTEMPT_TIMED_OUT',
};

export const refusal = (reason: string | undefined): Failure => ({
  name: 'AnswerRefused',
  message: reason ?? '',
  code: 'ANSWER_REFUSED',
});

export const answerOf = ({
  output,
  issues,
  artifacts,
  feedback,
  excerpt,
}: Envelope): Omit<Envelope, 'refused' | 'usage'> => ({
  output,
  ...(issues === undefined ? {} : { issues }),
  ...(artifacts === undefined ? {} : { artifacts }),
  ...(feedback === undefined ? {} : { feedback }),
  ...(excerpt === undefined ? {} : { excerpt }),
});

/** What a person said, as the answer of an agent. */
export const personAnswer = (said: QuestionOutput): AgentReplyBody =>
  said.outcome === 'answered'
    ? {
        type: 'agent.done',
        answer: {
          output: { option: said.option, value: said.value, note: said.note, by: said.by },
        },
      }
    : {
        type: 'agent.failed',
        failure: {
          name: 'QuestionExpired',
          message: 'Nobody answered in time.',
          code: 'QUESTION_EXPIRED',
        },
      };
