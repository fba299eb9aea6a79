import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { projection } from './projection.ts';

/** What refining the stories of a run took. */
export interface StoryAnalytics {
  /** By story. */
  stories: Record<
    string,
    { refinements: number; reviews: number; rejections: number; phases: Record<string, number> }
  >;
  /** How often each phase was at fault. */
  phases: Record<string, number>;
  /** Findings by their category, of reviews that rejected. */
  categories: Record<string, number>;
}

const initial: StoryAnalytics = { stories: {}, phases: {}, categories: {} };

type Stories = StoryAnalytics['stories'];

/** Which stories and phases of a run need most refinement. */
export const storyAnalytics = projection({
  name: 'story-analytics',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'story.reviewed': (state, event) => {
      const story = storyIn(state.stories, event, 'lw.story');
      if (!story) return;
      story.reviews += 1;
      if (event.data['decision'] !== 'rejected') return;
      story.rejections += 1;
      const { issues } = event.data;
      for (const issue of Array.isArray(issues) ? issues : []) addTo(state.categories, categoryOf(issue));
    },
    'rework.begun': (state, event) => {
      const story = storyIn(state.stories, event, 'lw.rework');
      if (!story) return;
      const target = typeof event.data['target'] === 'string' ? event.data['target'] : '';
      story.refinements += 1;
      addTo(story.phases, target);
      addTo(state.phases, target);
    },
  },
});

const storyIn = (
  stories: Stories,
  { kind, machine, data }: RecordedEvent,
  by: string,
): Stories[string] | undefined => {
  const key = data['story'];
  if (kind !== 'fact' || machine !== by || typeof key !== 'string') return undefined;
  if (!Object.hasOwn(stories, key)) stories[key] = { refinements: 0, reviews: 0, rejections: 0, phases: {} };
  return stories[key];
};

/** A name that every object has would not be counted. */
const categoryOf = (issue: Json): string => {
  const category = isJsonObject(issue) ? issue['category'] : undefined;
  const name = typeof category === 'string' ? category.trim().toLowerCase() : '';
  return name === '' || UNSAFE.includes(name) ? '(none)' : name;
};

const UNSAFE = ['__proto__', 'constructor', 'prototype'];

const addTo = (counts: Record<string, number>, name: string): void => {
  counts[name] = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + 1;
};

/** One line of a ranking. */
export interface Ranked {
  readonly name: string;
  readonly count: number;
}

/** Stories, phases and categories, those that needed most refinement first; of the same count by name. */
export const refinementRanking = ({ stories, phases, categories }: StoryAnalytics) => ({
  stories: ranked(
    Object.fromEntries(Object.entries(stories).map(([name, story]) => [name, story.refinements])),
  ),
  phases: ranked(phases),
  categories: ranked(categories),
});

const ranked = (counts: Readonly<Record<string, number>>): readonly Ranked[] =>
  Object.entries(counts)
    .map(([name, count]) => ({ name, count }))
    .sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1));
