import type { Json } from '../events/json.ts';
import { NOTHING_SPENT } from '../events/usage.ts';
import type { StepInputs } from './nested.ts';
import type { StoryCard, StoryPriorities } from './story-actions.ts';
import { storiesInTask } from './story-given.ts';
import type { AuthorsPart, StorySettings } from './story-state.ts';

/** A story of a run: where its file is, or what is in it. */
export interface BoardStory {
  readonly key: string;
  readonly file: string | null;
  readonly given: (AuthorsPart & { readonly id: string }) | null;
}

/** What a run of stories is started with, as the log keeps it. */
export interface StoriesInput extends StepInputs {
  /** Not there for a step of a plan, whose stories are in its task. */
  readonly stories?: readonly BoardStory[];
  /** What a step of a plan is given. */
  readonly task?: Json;
  readonly settings: StorySettings;
  readonly mode: 'auto' | 'manual';
  readonly priorities: StoryPriorities;
  /** How many stories may be at work at once. */
  readonly concurrency: number;
}

export interface BoardState extends Omit<StoriesInput, 'stories' | 'task'> {
  readonly stories: Readonly<Record<string, BoardStory>>;
  readonly order: readonly string[];
  readonly cards: Readonly<Record<string, StoryCard>>;
  /** Those whose actors are there. */
  readonly opened: readonly string[];
  /** Those of them whose files are being read for the first time. */
  readonly reading: readonly string[];
  /** In manual mode: actions that were asked for, each of any story (null) or of a certain one. */
  readonly wanted: readonly (string | null)[];
  /** A story has ended the run: nothing new begins. */
  readonly isStopping: boolean;
  readonly pauseReasons: readonly string[];
  /** How many calls each story that is at work was promised, if there is a cap. */
  readonly promised?: Readonly<Record<string, number>>;
  /** The plan that it is a step of has told it to end. */
  readonly isCancelled?: true;
  /** What is wrong with the stories that a step of a plan was given. */
  readonly refused?: string;
}

/** A board, with the stories that it is given or finds in what a step of a plan is given. */
export const newBoard = ({ stories, task, ...input }: StoriesInput): BoardState => {
  if (stories !== undefined || task === undefined) return boardOf(input, stories ?? []);
  const found = storiesInTask(task);
  const settings = { ...input.settings, task };
  return {
    ...boardOf({ ...input, settings }, found.stories),
    ...(found.problems.length > 0 && { refused: found.problems.join('; ') }),
  };
};

const boardOf = (
  input: Omit<StoriesInput, 'stories' | 'task'>,
  stories: readonly BoardStory[],
): BoardState => ({
  ...input,
  stories: Object.fromEntries(stories.map((story) => [story.key, story])),
  order: stories.map(({ key }) => key),
  cards: Object.fromEntries(stories.map((story) => [story.key, firstCard(story, input.settings)])),
  opened: [],
  reading: [],
  wanted: [],
  isStopping: false,
  pauseReasons: [],
});

/** What is known of a story before its actor is there: of one with a file, nothing. */
const firstCard = ({ key, given }: BoardStory, { limits }: StorySettings): StoryCard => ({
  key,
  id: given?.id ?? key,
  title: given?.title ?? key,
  stage: given ? 'idle' : 'unread',
  complete: { research: false, plan: false, implement: false },
  review: 'none',
  target: null,
  refinements: 0,
  max: limits.reworks === null ? null : (given?.max ?? limits.reworks),
  verdict: null,
  isSkipped: false,
  isFatal: false,
  reason: null,
  spent: NOTHING_SPENT,
});
