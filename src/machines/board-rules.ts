import type { Json } from '../events/json.ts';
import { startActor } from '../events/vocabulary.ts';
import { isHeldBack, promiseOf, withoutPromise } from './board-budget.ts';
import type { BoardState } from './board-state.ts';
import { type RunMessage } from './run-messages.ts';
import { nextActions, type StoryAction, type StoryCard } from './story-actions.ts';
import { STORY } from './story-machine.ts';

/** What a rule makes of a board. */
export interface BoardOutcome {
  readonly state: BoardState;
  readonly messages: readonly RunMessage[];
}

/** What a story is called among the children of its run. */
export const storyId = (key: string): string => `story:${key}`;

const cardsOf = ({ order, cards }: BoardState): readonly StoryCard[] =>
  order.flatMap((key) => cards[key] ?? []);

const isAt = (state: BoardState, stage: StoryCard['stage']): readonly string[] =>
  cardsOf(state)
    .filter((card) => card.stage === stage)
    .map(({ key }) => key);

/** Nothing is under way. */
export const isIdle = (state: BoardState): boolean => isAt(state, 'busy').length === 0;

/** The most urgent thing to do, of any story or of one; a person's part is none. */
const grantable = (state: BoardState, story: string | null): StoryAction | undefined => {
  if (state.isStopping) return undefined;
  return nextActions(cardsOf(state), state.priorities).find(
    ({ action, story: key }) => action !== 'manual-intervention' && (story === null || key === story),
  );
};

/** Whether a command for the next action makes sense: also while it is only found out what there is to do. */
export const isCommandable = (state: BoardState, story: string | null): boolean => {
  if (grantable(state, story)) return true;
  const unknown = [...isAt(state, 'unread'), ...state.reading];
  return story === null ? unknown.length > 0 : unknown.includes(story);
};

/** Lets as many stories begin as may. All files are read before the first action, so that the most urgent one is known. */
export const dispatch = (given: BoardState): BoardOutcome => {
  let state = given;
  const messages: RunMessage[] = [];
  const take = (next: BoardOutcome): void => {
    state = next.state;
    messages.push(...next.messages);
  };
  if (state.pauseReasons.length > 0 || state.isStopping) return { state, messages };
  const isFull = () => isAt(state, 'busy').length >= state.concurrency;
  for (const key of isAt(state, 'unread')) if (!isFull()) take(opened(state, key));
  if (isAt(state, 'unread').length > 0 || isReading(state)) return { state, messages };
  if (state.mode === 'manual') {
    // One for each command, however many are at work. A story that only begins now is given it when it is there.
    const left: (string | null)[] = [];
    for (const story of state.wanted) {
      const action = grantable(state, story);
      if (!action) continue;
      if (!state.opened.includes(action.story)) left.push(story);
      take(granted(state, action));
    }
    return { state: { ...state, wanted: left }, messages };
  }
  for (let action = grantable(state, null); action && !isFull(); action = grantable(state, null)) {
    if (!isIdle(state) && isHeldBack(state, action)) break;
    take(granted(state, action));
  }
  return { state, messages };
};

/** A story whose file has not been read is at nothing else. */
const isReading = (state: BoardState): boolean => state.reading.length > 0;

const opened = (state: BoardState, key: string): BoardOutcome => {
  const story = state.stories[key];
  if (!story || state.opened.includes(key)) return { state, messages: [] };
  const { settings } = state;
  return {
    state: {
      ...withStage(state, key, 'busy'),
      opened: [...state.opened, key],
      reading: story.file === null ? state.reading : [...state.reading, key],
    },
    messages: [
      startActor({ id: storyId(key), machine: STORY, input: { ...story, settings } as unknown as Json }),
      // One that is only started now has not heard of the pause.
      ...state.pauseReasons
        .slice(0, 1)
        .map((reason) => ({ type: 'run.pause', to: `./${storyId(key)}`, reason })),
    ],
  };
};

/** A story that is not there yet says when it is ready, and is chosen again. */
const granted = (state: BoardState, next: StoryAction): BoardOutcome => {
  const { story, action, priority, target } = next;
  if (!state.opened.includes(story)) return opened(state, story);
  const promise = promiseOf(state, next);
  const busy = withStage(state, story, 'busy');
  return {
    state: promise ? { ...busy, promised: { ...state.promised, [story]: promise.calls } } : busy,
    messages: [
      { type: 'stories.granted', story, action, priority, target },
      {
        type: 'story.act',
        to: `./${storyId(story)}`,
        action,
        ...(promise && { cap: { ...promise.cap } }),
      },
    ],
  };
};

const withStage = (state: BoardState, key: string, stage: StoryCard['stage']): BoardState => {
  const card = state.cards[key];
  return card ? { ...state, cards: { ...state.cards, [key]: { ...card, stage } } } : state;
};

/** What a story says of itself. */
export const noteCard = (state: BoardState, card: StoryCard): BoardOutcome => {
  const isFatal = card.verdict === 'failed' && card.isFatal;
  return {
    state: {
      ...withoutPromise(state, card.key),
      cards: { ...state.cards, [card.key]: card },
      reading: state.reading.filter((key) => key !== card.key),
      isStopping: state.isStopping || isFatal,
    },
    messages: isFatal ? [{ type: 'stories.stopping', story: card.key, reason: card.reason }] : [],
  };
};
