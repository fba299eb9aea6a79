import { RuntimeError } from '../errors.ts';
import { checkId } from '../events/address.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { BoardStory } from './board-state.ts';
import type { StartPlace } from './workflow.ts';

/** A story that a run is started with: the path of its file, or what is in it. */
export type GivenStory =
  | string
  | { readonly file: string }
  | {
      readonly id: string;
      readonly title?: string;
      readonly body?: string;
      /** 0 is a value: it is never sent back. */
      readonly max_refinement_attempts?: number;
    };

/**
 * The stories that a run is started with.
 *
 * @throws {RuntimeError} BAD_STORIES with everything that is wrong
 */
export const storiesOf = (given: unknown, at?: StartPlace): readonly BoardStory[] => {
  const listed = isJsonObject(given as Json) ? (given as JsonObject)['stories'] : given;
  const { stories, problems } = readStories(listed, at);
  if (problems.length > 0) throw new RuntimeError('BAD_STORIES', { problems });
  return stories;
};

/** Stories, or all that is wrong with them. */
interface ReadStories {
  readonly stories: readonly BoardStory[];
  readonly problems: readonly string[];
}

const readStories = (listed: unknown, at?: StartPlace): ReadStories => {
  const list: readonly Json[] = Array.isArray(listed) ? listed : [];
  const problems: string[] = list.length === 0 ? ['there is no story: give { stories: […] }'] : [];
  const stories = list.map((each, index) => {
    const story = storyOf(each, at);
    if (typeof story !== 'string') return story;
    problems.push(`story ${index + 1}: ${story}`);
    return undefined;
  });
  const known = new Set<string>();
  for (const story of stories) {
    if (story && known.has(story.key)) problems.push(`there are two stories "${story.key}"`);
    if (story) known.add(story.key);
  }
  return { stories: problems.length > 0 ? [] : stories.flatMap((story) => story ?? []), problems };
};

/**
 * The stories of a step of a plan: those that the plan says for it, else those that a step which it needs has made, the last of
 * them first; else what it is given is one story.
 */
export const storiesInTask = (task: Json): ReadStories => {
  const { input } = objectOf(task);
  const { with: said, inputs, task: about = null } = objectOf(input);
  const planned = objectOf(said)['stories'];
  if (planned !== undefined) return readStories(planned);
  const made = Object.values(objectOf(inputs)).findLast((output) => 'stories' in objectOf(output));
  if (made === undefined) return { stories: [storyFor(about, input ?? null)], problems: [] };
  const { stories, problems } = readStories(objectOf(made)['stories']);
  // We write to the files of stories: which they are is for persons to say.
  const files = stories.flatMap(({ key, file }) => (file === null ? [] : `"${key}" names a file`));
  return { stories, problems: [...problems, ...files] };
};

const objectOf = (value: Json | undefined): JsonObject =>
  value !== undefined && isJsonObject(value) ? value : {};

const TITLE_LENGTH_MAX = 80;

/** What a step is given, as one story. */
const storyFor = (about: Json, input: Json): BoardStory => {
  const body = typeof about === 'string' ? about : JSON.stringify(input);
  const [line = ''] = typeof about === 'string' ? about.split('\n') : ['story'];
  // A cut may go through a surrogate pair, and half of one cannot be written.
  const title = line.slice(0, TITLE_LENGTH_MAX).toWellFormed();
  return { key: 'story', file: null, given: { id: 'story', title, body, fields: {}, max: null } };
};

/** A story, or what is wrong with it. */
const storyOf = (given: Json, at?: StartPlace): BoardStory | string => {
  const file = typeof given === 'string' ? given : isJsonObject(given) ? given['file'] : undefined;
  if (file !== undefined) {
    if (typeof file !== 'string' || file === '' || file.includes('\0')) return 'its file is no path';
    const strangers = isJsonObject(given) ? Object.keys(given).filter((name) => name !== 'file') : [];
    if (strangers.length > 0)
      return `beside its file, ${strangers.join(', ')} cannot be given: it is read from there`;
    const name = (file.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '');
    const key = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '-');
    const path = file.startsWith('/') || at === undefined ? file : `${at.cwd}/${file}`;
    return badKey(key) ?? { key, file: path, given: null };
  }
  if (!isJsonObject(given)) return 'it is neither a path nor an object';
  const { id, title = id, body = '', max_refinement_attempts: max = null, ...strangers } = given;
  const problems = [
    ...(typeof id === 'string' ? [badKey(id) ?? []].flat() : ['it has no id']),
    ...(title === undefined || typeof title === 'string' ? [] : ['its title is no text']),
    ...(typeof body === 'string' ? [] : ['its body is no text']),
    ...(isAttempts(max) ? [] : ['its max_refinement_attempts is no count']),
    ...Object.keys(strangers).map((name) => `"${name}" is not known`),
  ];
  if (problems.length > 0) return problems.join(', ');
  // Each was looked at just now.
  const author = { id, title, body, fields: {}, max } as NonNullable<BoardStory['given']>;
  return { key: author.id, file: null, given: author };
};

const isAttempts = (max: Json): boolean =>
  max === null || (typeof max === 'number' && Number.isSafeInteger(max) && max >= 0);

const UNSAFE = ['__proto__', 'constructor', 'prototype'];

/** It is part of the address of its actor. */
const badKey = (key: string): string | undefined => {
  try {
    checkId(`story:${key}`);
    if (UNSAFE.includes(key)) return `"${key}" is a name that every object has`;
    return key === '' ? 'it has no name' : undefined;
  } catch {
    return `"${key}" cannot be part of an address: use letters, digits, ".", "_" and "-"`;
  }
};
