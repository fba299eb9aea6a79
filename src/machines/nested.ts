import { delivery } from '../events/delivery.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import type { Spent } from '../events/usage.ts';
import type { AgentReply } from './agent-work.ts';
import { type Budget, type Limits, nestedLimits } from './limits.ts';
import type { RunMessage } from './run-messages.ts';
import type { EarlierResult, Feedback } from './run-state.ts';

/** What a loop that is a step of a plan works on: what an agent of that step would be given. */
export interface StepTask {
  /** The task of the plan, what the plan says for this step, and what the steps that it needs have made. */
  readonly input: Json;
  /** What gates found wrong with its earlier results. */
  readonly feedback: readonly Feedback[];
  readonly history: readonly EarlierResult[];
}

/** What a plan adds to what a loop is started with. The root of a run has none of it, and nobody to tell anything. */
export interface StepInputs {
  /** What the loop may use at most, whatever persons allow it: what was left of its parent's budget. */
  readonly cap?: Budget;
}

/** What the loop of a step is started with. One without limits for the whole keeps within the cap by itself. */
export const stepInput = (asStep: JsonObject, task: StepTask, cap: Budget): JsonObject => {
  const own = asStep['limits'];
  // fixLimits made them.
  const limits = isJsonObject(own) && { limits: { ...nestedLimits(own as unknown as Limits, cap) } };
  // What a step is given came through the door.
  return { ...asStep, ...limits, cap: { ...cap }, task: task as unknown as Json };
};

/** How a loop that is a step ended. */
export interface StepEnd {
  readonly verdict: Verdict;
  /** What it made. */
  readonly outputs: Readonly<Record<string, Json>>;
  readonly spent: Spent;
  readonly reason: string | null;
  /** Said of outputs that are words about the work: the same words need not mean the same work. */
  readonly isComparable?: false;
}

/** What a nested loop tells its parent at its end. */
export interface NestedEnd {
  readonly output: StepEnd;
}

export const endMessage = ({ verdict, outputs, spent, reason, isComparable }: StepEnd): RunMessage => ({
  type: 'run.ended',
  to: '..',
  output: { verdict, outputs, spent: { ...spent }, reason, ...(isComparable === false && { isComparable }) },
});

export const waitsMessage = (waits: boolean): RunMessage => ({ type: 'run.waits', to: '..', waits });

/** What a plan tells a loop that is a step of it (`child`) when there is no more time. */
export const cancelMessage = (child: string): RunMessage => ({ type: 'run.cancel', to: `./${child}` });

/** Only a step has someone to tell. */
const isStep = ({ cap }: StepInputs): boolean => cap !== undefined;

/** Whether what a loop was sent comes from the plan that it is a step of. */
export const isFromParent = (state: StepInputs): boolean =>
  isStep(state) && delivery().from === delivery().parent;

/** What XState gives to an action that enqueues others. */
interface Emits {
  emit(message: RunMessage): void;
}

/** Tells the parent of a step how it ended. */
export const tellEnd = (enqueue: Emits, state: StepInputs, end: StepEnd): void => {
  if (isStep(state)) enqueue.emit(endMessage(end));
};

/** Whoever waits for a loop that waits for a person, waits for that person. */
export const tellWaits = (enqueue: Emits, state: StepInputs, waits: boolean): void => {
  if (isStep(state)) enqueue.emit(waitsMessage(waits));
};

/** How a nested loop ended, as the reply of an agent: whoever waits for a step need not know who worked on it. */
export const replyOf = (
  { request, run }: { readonly request: string; readonly run: number },
  { output }: NestedEnd,
): AgentReply => {
  const { verdict, outputs, spent, reason, isComparable } = output;
  return verdict === 'verified' || verdict === 'accepted'
    ? {
        type: 'agent.done',
        request,
        // Without something to compare, what each run made is something new.
        answer: { output: { verdict, outputs, ...(isComparable === false && { run }) } },
        attempts: 1,
        spent,
      }
    : {
        type: 'agent.failed',
        request,
        failure: {
          name: 'NestedRun',
          message: `Its run ended ${verdict}. ${reason ?? ''}`.trim(),
          code: verdict,
        },
        attempts: 1,
        spent,
      };
};
