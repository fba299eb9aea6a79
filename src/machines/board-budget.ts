import { addSpent, NOTHING_SPENT } from '../events/usage.ts';
import type { BoardState } from './board-state.ts';
import { type Budget, budgetLeft } from './limits.ts';
import type { StoryAction } from './story-actions.ts';

/**
 * What of the cap of a board is left: without what stories have used, and without the calls that those at work were promised.
 * Undefined without a cap: then each story has limits of its own, and the board has none.
 */
export const capLeft = ({ cap, cards, promised = {} }: BoardState): Budget | undefined => {
  if (!cap) return undefined;
  const spent = Object.values(cards).reduce((sum, card) => addSpent(sum, card.spent), NOTHING_SPENT);
  const left = budgetLeft(cap, spent);
  const taken = Object.values(promised).reduce((sum, calls) => sum + calls, 0);
  return { ...left, calls: left.calls === null ? null : Math.max(0, left.calls - taken) };
};

/** How many calls an action can take at most: every attempt of its agent, or every try of each reviewer. */
const callsOf = ({ settings }: BoardState, { action, target }: StoryAction): number => {
  const { reviewers, limits, roles } = settings;
  if (action === 'review') return reviewers.length * (1 + (limits.reviewRetries ?? Number.POSITIVE_INFINITY));
  return roles[target ?? action]?.attempts ?? 1;
};

/** Whether there is not enough left for an action while others are at work, who may not use all that they were promised. */
export const isHeldBack = (state: BoardState, action: StoryAction): boolean => {
  const left = capLeft(state);
  if (!left) return false;
  const { calls, costUsd, tokens } = left;
  return (calls !== null && calls < callsOf(state, action)) || costUsd === 0 || tokens === 0;
};

/** What a story may have used when an action of it is over, and how many calls that promises it. */
export const promiseOf = (
  state: BoardState,
  action: StoryAction,
): { readonly cap: Budget; readonly calls: number } | undefined => {
  const left = capLeft(state);
  const spent = state.cards[action.story]?.spent ?? NOTHING_SPENT;
  if (!left) return undefined;
  const calls = left.calls === null ? null : Math.min(left.calls, callsOf(state, action));
  const upTo = (used: number, more: number | null): number | null => (more === null ? null : used + more);
  return {
    cap: {
      calls: upTo(spent.calls, calls),
      costUsd: upTo(spent.costUsd, left.costUsd),
      tokens: upTo(spent.tokens, left.tokens),
    },
    calls: calls ?? 0,
  };
};

/** A story that says where it is has said what it used. */
export const withoutPromise = (state: BoardState, key: string): BoardState => {
  if (!state.promised) return state;
  const { [key]: _, ...promised } = state.promised;
  return { ...state, promised };
};
