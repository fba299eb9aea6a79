import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { projection } from './projection.ts';

/** Something that happened to a story, as its history tells it. */
export interface StoryEntry {
  atMs: number;
  what: 'review' | 'unreviewed' | 'rework' | 'reset' | 'limit' | 'decision' | 'conflict' | 'halt' | 'end';
  text: string;
}

/** A story as people look at it. */
export interface StoryView {
  story: string;
  title: string;
  file: string | null;
  status: string;
  verdict: string | null;
  isSkipped: boolean;
  refinements: number;
  /** The limit that was in force when it was last looked at; null before, or without one. */
  max: number | null;
  lastError: string | null;
  /** How often each phase was worked on. */
  phases: Record<string, number>;
  /** How often each phase was at fault. */
  faults: Record<string, number>;
  reviews: number;
  conflicts: number;
  history: StoryEntry[];
}

/** The stories of a run, in the order in which they began. */
export interface StoriesView {
  mode: string;
  stories: Record<string, StoryView>;
}

const initial: StoriesView = { mode: '', stories: {} };

/** Only the machines of stories write such facts. */
const MACHINES = ['lw.story', 'lw.rework'];

type Note = (story: StoryView, data: JsonObject, event: RecordedEvent) => void;

const noting =
  (note: Note) =>
  (state: StoriesView, event: RecordedEvent): void => {
    if (event.kind !== 'fact' || !MACHINES.includes(event.machine)) return;
    const key = event.data['story'];
    // The names of stories are parts of addresses, which cannot reach a prototype.
    if (typeof key !== 'string') return;
    const known = Object.hasOwn(state.stories, key) ? state.stories[key] : undefined;
    const story = known ?? newView(key);
    if (!known) state.stories[key] = story;
    // Through the state, so that whoever watches it sees the change.
    note(state.stories[key] ?? story, event.data, event);
  };

const newView = (story: string): StoryView => ({
  story,
  title: story,
  file: null,
  status: 'ready',
  verdict: null,
  isSkipped: false,
  refinements: 0,
  max: null,
  lastError: null,
  phases: {},
  faults: {},
  reviews: 0,
  conflicts: 0,
  history: [],
});

const textOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);
const boundOf = (value: Json | undefined): number | null => (typeof value === 'number' ? value : null);

const addTo = (counts: Record<string, number>, name: string): void => {
  counts[name] = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + 1;
};

const entry = (story: StoryView, added: StoryEntry): void => {
  story.history.push(added);
};

/** All stories of a run with their histories: what `showStory` shows. */
export const storyView = projection({
  name: 'stories',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'stories.started': (state, { kind, actor, run, data }) => {
      if (kind === 'fact' && actor === run) state.mode = textOf(data['mode']);
    },
    'story.opened': noting((story, { file, title }) => {
      story.title = textOf(title);
      story.file = typeof file === 'string' ? file : null;
    }),
    'story.read': noting((story, { title }) => {
      story.title = textOf(title);
    }),
    'story.imported': noting((story, { fields }) => {
      if (isJsonObject(fields)) story.refinements = numberOf(fields['refinement_count']);
    }),
    'story.status': noting((story, { status }) => {
      story.status = textOf(status);
    }),
    'story.called': noting((story, { phase }) => {
      addTo(story.phases, textOf(phase));
    }),
    'story.reviewed': noting((story, { summary, target }, event) => {
      story.reviews += 1;
      story.lastError = null;
      if (typeof target === 'string') addTo(story.faults, target);
      const where = typeof target === 'string' ? `; at fault: ${target}` : '';
      entry(story, { atMs: event.atMs, what: 'review', text: `${textOf(summary)}${where}` });
    }),
    'story.unreviewed': noting((story, { reviewer, times, reason }, event) =>
      entry(story, {
        atMs: event.atMs,
        what: 'unreviewed',
        text: `${textOf(reviewer)} failed to review (${numberOf(times)}): ${textOf(reason)}`,
      }),
    ),
    'rework.begun': noting((story, { iteration, max, target }, event) => {
      story.refinements = numberOf(iteration);
      story.max = boundOf(max);
      const bound = boundOf(max);
      const count = `${numberOf(iteration)}${bound === null ? '' : ` of ${bound}`}`;
      entry(story, {
        atMs: event.atMs,
        what: 'rework',
        text: `refinement ${count}, back to ${textOf(target)}`,
      });
    }),
    'story.reset': noting((story, { was, max, by, note }, event) => {
      story.refinements = 0;
      story.max = boundOf(max);
      story.lastError = null;
      const who = typeof by === 'string' ? ` by ${by}` : '';
      const why = typeof note === 'string' ? `: ${note}` : '';
      entry(story, {
        atMs: event.atMs,
        what: 'reset',
        text: `count of refinements set back from ${numberOf(was)}${who}${why}`,
      });
    }),
    'story.limit': noting((story, { refinements, max }, event) => {
      story.max = boundOf(max);
      entry(story, {
        atMs: event.atMs,
        what: 'limit',
        text: `${numberOf(refinements)} of ${numberOf(max)} refinements used`,
      });
    }),
    'story.halted': noting((story, { reason, met }, event) => {
      story.lastError = textOf(reason);
      if (met === null) entry(story, { atMs: event.atMs, what: 'halt', text: textOf(reason) });
    }),
    'story.decided': noting((story, { option, by, note, max }, event) => {
      if (boundOf(max) !== null) story.max = boundOf(max);
      if (option === 'continue' || option === 'retry' || option === 'accept') story.lastError = null;
      const who = typeof by === 'string' ? ` by ${by}` : '';
      const why = typeof note === 'string' ? `: ${note}` : '';
      entry(story, { atMs: event.atMs, what: 'decision', text: `${textOf(option)}${who}${why}` });
    }),
    'story.conflict': noting((story, { changed, reason }, event) => {
      story.conflicts += 1;
      entry(story, { atMs: event.atMs, what: 'conflict', text: conflictIn(changed, reason) });
    }),
    'story.ended': noting((story, { verdict, isSkipped, reason }, event) => {
      story.verdict = textOf(verdict);
      story.isSkipped = isSkipped === true;
      story.lastError = typeof reason === 'string' ? reason : null;
      entry(story, {
        atMs: event.atMs,
        what: 'end',
        text: `${textOf(verdict)}${isSkipped === true ? ', skipped' : ''}`,
      });
    }),
  },
});

/** What of a file was changed by somebody else, in words. */
export const conflictIn = (changed: Json | undefined, reason: Json | undefined): string => {
  if (typeof reason === 'string') return `the file is left alone: ${reason}`;
  const fields = (Array.isArray(changed) ? changed : []).map((each: Json) =>
    isJsonObject(each) ? textOf(each['field']) : '',
  );
  return `changed by somebody else and put right: ${fields.join(', ')}`;
};
