import type { Json } from '../events/json.ts';
import { capLeft } from '../machines/board-budget.ts';
import type { BoardState } from '../machines/board-state.ts';
import { phaseAtFault } from '../machines/story-phases.ts';
import { limitsInForce, maxOf, type StoryState } from '../machines/story-state.ts';
import { budgetOf, counted, near, type Reduce } from './reduce.ts';

/** What the guards of a story can see of it. */
export const reduceStory: Reduce = (given) => {
  const state = given as StoryState; // Kept under the name of its machine only.
  const { settings, spent, halt, sync } = state;
  const { faults } = settings;
  const limits = limitsInForce(settings);
  return {
    open: state.isOpen,
    complete: { ...state.complete },
    // Where it was sent is forgotten when it is there.
    review: [state.review, state.review === 'rejected' ? state.target : null],
    refinements: [counted(maxOf(state), state.refinements), maxOf(state), state.fixed !== null],
    at: [state.action, state.phase, state.afterSync],
    pending: Object.keys(state.pending).sort(),
    answers: Object.entries(state.answers)
      .map(([role, { decision, issues }]) => `${role} ${decision} ${phaseAtFault(issues, faults)}`)
      .sort(),
    failures: Object.entries(state.failures)
      .map(([role, { times }]) => `${role} ${limits.reviewRetries === null ? 'any' : times}`)
      .sort(),
    started: [...state.started].sort(),
    budget: budgetOf(limits, spent),
    paused: state.pauseReasons,
    halt: halt && [halt.verdict, halt.met?.limit ?? null, halt.step],
    end: [state.verdict, state.isSkipped, state.isAccepted],
    file: [sync.intended !== null, counted(limits.fileTries, sync.tries)],
  };
};

/** What the guards of a board can see of it. */
export const reduceBoard: Reduce = (given) => {
  const state = given as BoardState;
  const left = capLeft(state);
  return {
    cards: state.order.map((key): Json => {
      const card = state.cards[key];
      if (!card) return null;
      const { stage, complete, review, target, refinements, max, verdict, isFatal } = card;
      // How a story that has ended got there decides nothing.
      if (stage === 'ended') return [stage, verdict, isFatal];
      return [
        stage,
        { ...complete },
        review,
        review === 'rejected' ? target : null,
        counted(max, refinements),
        max,
      ];
    }),
    opened: [...state.opened].sort(),
    reading: [...state.reading].sort(),
    wanted: state.wanted,
    mode: state.mode,
    isStopping: state.isStopping,
    paused: state.pauseReasons,
    left: left ? [near(left.calls), left.costUsd, left.tokens] : null,
  };
};
