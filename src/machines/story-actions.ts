import { RuntimeError } from '../errors.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import type { Spent } from '../events/usage.ts';
import type { StoryPhase, WorkPhase } from './story-phases.ts';

/** What can be done next with a story. */
export type StoryActionName = 'rework' | StoryPhase | 'manual-intervention';

export type StoryPriorities = Readonly<Record<StoryActionName, number>>;

/** Rework first, while the work is fresh; then what is nearest to its end. What waits for a person comes last. */
export const STORY_PRIORITIES: StoryPriorities = {
  rework: 450,
  'create-pr': 400,
  review: 350,
  implement: 300,
  plan: 200,
  research: 100,
  'manual-intervention': 10,
};

/** What decides about the next action of a story: all that a board knows of it. */
export interface StoryCard {
  /** Under which the board and its commands know it. */
  readonly key: string;
  readonly id: string;
  readonly title: string;
  readonly stage: 'unread' | 'idle' | 'busy' | 'asking' | 'ended';
  readonly complete: Readonly<Record<WorkPhase, boolean>>;
  readonly review: 'none' | 'rejected' | 'approved';
  /** Where the rejected review sends it. */
  readonly target: WorkPhase | null;
  readonly refinements: number;
  /** The limit in force; null without one. */
  readonly max: number | null;
  readonly verdict: Verdict | null;
  readonly isSkipped: boolean;
  /** It has ended in a way that ends the run. */
  readonly isFatal: boolean;
  readonly reason: string | null;
  readonly spent: Spent;
  /** What its phases have made, when it has ended and its board is a step of a plan. */
  readonly work?: Readonly<Partial<Record<StoryPhase, Json>>>;
}

export interface StoryAction {
  readonly story: string;
  readonly action: StoryActionName;
  readonly priority: number;
  /** The phase that a rework sends it back to. */
  readonly target: WorkPhase | null;
  readonly reason: string;
}

/** What can be done next with each story, the most urgent first; of the same urgency in the order of the stories. */
export const nextActions = (
  cards: readonly StoryCard[],
  priorities: StoryPriorities = STORY_PRIORITIES,
): readonly StoryAction[] =>
  cards
    .flatMap((card) => actionOf(card, priorities) ?? [])
    .map((action, index) => ({ action, index }))
    .sort((one, other) => other.action.priority - one.action.priority || one.index - other.index)
    .map(({ action }) => action);

const actionOf = (card: StoryCard, priorities: StoryPriorities): StoryAction | undefined => {
  const { key, stage, complete, review, refinements, max } = card;
  const make = (action: StoryActionName, reason: string): StoryAction => ({
    story: key,
    action,
    priority: priorities[action],
    target: action === 'rework' ? (card.target ?? 'implement') : null,
    reason,
  });
  if (stage === 'ended' || stage === 'busy' || stage === 'unread') return undefined;
  if (stage === 'asking') return make('manual-intervention', card.reason ?? 'a person is asked');
  if (review === 'approved') return make('create-pr', 'the review approved');
  if (review === 'rejected')
    return isAtLimit(card)
      ? make('manual-intervention', `${refinements} of ${max} refinements are used`)
      : make('rework', 'the review rejected');
  if (!complete.research) return make('research', 'nothing is known yet');
  if (!complete.plan) return make('plan', 'there is no plan');
  return complete.implement ? make('review', 'it is to be reviewed') : make('implement', 'it is to be made');
};

/** Whether a rejected story may not be refined any more. */
export const isAtLimit = ({ refinements, max }: Pick<StoryCard, 'refinements' | 'max'>): boolean =>
  max !== null && refinements >= max;

/** @throws {RuntimeError} BAD_OPTION */
export const checkedPriorities = (given: Partial<StoryPriorities>): StoryPriorities => {
  const wrong = Object.entries(given).filter(
    ([name, value]) => !Object.hasOwn(STORY_PRIORITIES, name) || !Number.isFinite(value),
  );
  if (wrong.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'priorities',
      found: wrong.map(([name, value]) => `${name}: ${String(value)}`).join(', '),
      expected: `numbers for ${Object.keys(STORY_PRIORITIES).join(', ')}`,
    });
  return { ...STORY_PRIORITIES, ...given };
};
