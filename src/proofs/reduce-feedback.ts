import type { Json } from '../events/json.ts';
import type { FeedbackState } from '../machines/feedback-state.ts';
import type { RunState } from '../machines/run-state.ts';
import { counted, near, type Reduce } from './reduce.ts';

/** What the guards of a feedback loop can see of it. */
export const reduceFeedback: Reduce = (given) => {
  const state = given as FeedbackState; // Kept for the machine of feedback loops only.
  const { feedback, budget, resolution } = state;
  return {
    feedback: [feedback.type, feedback.mode, feedback.rule],
    nth: state.nth,
    pending: Object.keys(state.pending).sort(),
    started: [...state.started].sort(),
    answers: state.answers
      .map(({ target, option, value, problem }) => JSON.stringify([target, option, value, problem !== null]))
      // Only the first counts if any may decide.
      .toSorted(feedback.rule === 'first' ? () => 0 : undefined),
    begun: [...state.begun].sort(),
    isPaused: state.isPaused,
    resolution: resolution && [resolution.option, resolution.effect as unknown as Json],
    met: state.met?.limit ?? null,
    budget: [near(budget.calls), budget.costUsd, budget.tokens],
  };
};

/** What a run's own guards and rules can see of its loops. */
export const reduceLoops = ({ loops, rounds, limits, debt }: RunState): Json => ({
  loops: Object.values(loops).map((loop) => [
    [loop.source, loop.feedback.type, loop.subject, loop.status, loop.phase],
    [
      loop.isReported,
      loop.isRetried,
      loop.isValidatedBySource,
      loop.isClosed,
      loop.isWaiting,
      loop.sourceStep,
    ],
    [loop.rerun, loop.kept, loop.begun, loop.fixed],
    loop.pauseReason !== null,
  ]),
  rounds: Object.entries(rounds).map(([pair, used]) => [pair, counted(limits.rounds, used)]),
  hasDebt: debt.length > 0,
});
