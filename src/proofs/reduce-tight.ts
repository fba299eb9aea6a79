import { canonicalJson } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import { hashOf } from '../machines/plan.ts';
import type { RepeatState } from '../machines/repeat-loop.ts';
import { passesMax, type TightState } from '../machines/tight-state.ts';
import { budgetOf, counted, FRESH, isFresh, type Reduce } from './reduce.ts';

/** What the guards of a tight loop can see of it. */
export const reduceTight: Reduce = (given) => {
  const state = given as TightState; // Kept for the machine of tight loops only.
  const { limits, spent, halt, current, ran } = state;
  const max = passesMax(state);
  return {
    // What persons have allowed is more of the same.
    passes: counted(max, state.passes.length),
    // Of the last pass only whether it was good decides anything.
    wasGood: state.passes.at(-1)?.test?.passed ?? null,
    current: [current.review?.passed ?? null, current.test?.passed ?? null],
    repeat: state.repeats ? state.repeat : 0,
    pending: state.pending?.role ?? null,
    started: state.started,
    issues: Object.values(state.issues)
      .filter(({ status }) => status === 'open' || status === 'rejected')
      .map(
        ({ gate, category, fingerprint, inRow, status, lastPass }): Json => [
          category === FRESH ? FRESH : fingerprint,
          gate,
          counted(gate === 'review' ? limits.sameIssue : limits.sameFailure, inRow),
          status,
          Math.min(ran[gate === 'review' ? 'review' : 'test'] - lastPass, 1),
        ],
      )
      .map((issue) => canonicalJson(issue))
      .sort(),
    inRow: [
      counted(limits.failuresInRow, state.failedInRow.review),
      counted(limits.failuresInRow, state.failedInRow.test),
    ],
    artifacts: [state.artifacts.at(-1) ?? null, [...new Set(state.artifacts)].sort()],
    budget: budgetOf(limits, spent),
    counts: [counted(limits.unchanged, state.unchanged), counted(limits.oscillations, state.oscillations)],
    paused: state.pauseReasons,
    halt: halt && [halt.verdict, halt.met?.limit ?? null, state.resume],
  };
};

/** What the guards of a loop inside one task can see of it, and its parent if it is a step of a plan. */
export const reduceRepeat: Reduce = (given) => {
  const { limits, repeat, last, isDone, spent, halt, pauseReasons = [] } = given as RepeatState;
  return {
    // What persons have allowed is more of the same.
    repeats: counted(limits.repeats, repeat),
    last: isFresh(last) ? FRESH : hashOf(last),
    isDone,
    budget: budgetOf(limits, spent),
    paused: pauseReasons,
    halt: halt && [halt.verdict, halt.met?.limit ?? null],
  };
};
