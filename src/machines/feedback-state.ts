import type { LoopInput, Resolution, TargetAnswer } from './feedback-work.ts';
import type { Budget, MetLimit } from './limits.ts';
import type { Feedback } from './loop-state.ts';
import type { RunMessage } from './run-messages.ts';

/** Everything that a feedback loop knows. */
export interface FeedbackState extends LoopInput {
  readonly round: number;
  readonly feedback: Feedback;
  readonly budget: Budget;
  /** How often the targets were asked, over all rounds, and in this one. */
  readonly asks: number;
  readonly nth: number;
  /** The request that is open with each target. */
  readonly pending: Readonly<Record<string, string>>;
  readonly started: readonly string[];
  /** Of the ask in hand, and all of this round. */
  readonly answers: readonly TargetAnswer[];
  readonly said: readonly TargetAnswer[];
  /** Targets that have taken up a fix. */
  readonly begun: readonly string[];
  /** Rounds of which the targets were told. */
  readonly notified: readonly number[];
  readonly resolution: Resolution | null;
  readonly reason: string | null;
  readonly met: MetLimit | null;
}

export interface LoopOutcome {
  readonly state: FeedbackState;
  readonly messages: readonly RunMessage[];
}

export const initialFeedback = (input: LoopInput): FeedbackState => ({
  ...input,
  round: 0,
  feedback: {
    type: '',
    mode: 'fix',
    severity: 'low',
    description: '',
    requirement: null,
    details: {},
    action: null,
    options: [],
    rule: 'unanimous',
    timeMs: Number.MAX_SAFE_INTEGER,
  },
  budget: { costUsd: null, tokens: null, calls: null },
  asks: 0,
  nth: 0,
  pending: {},
  started: [],
  answers: [],
  said: [],
  begun: [],
  notified: [],
  resolution: null,
  reason: null,
  met: null,
});
