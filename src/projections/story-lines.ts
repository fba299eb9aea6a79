import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { conflictIn, type StoryView } from './story-view.ts';

/** What a terminal takes for a command, or turns letters around with: control, format and separator characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Texts of agents and files cannot move the cursor, or begin a line of their own. */
const shown = (value: Json | undefined): string =>
  (typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value)
  ).replaceAll(UNSAFE, ' ');

type Lines = (data: RecordedEvent['data']) => readonly string[];

const LINES: Readonly<Record<string, Lines>> = {
  'rework.begun': ({ story, iteration, max, target }) => [
    `⟳ ${shown(story)}: refinement ${shown(iteration)}${max === null ? '' : ` of ${shown(max)}`}, back to ${shown(target)}`,
  ],
  'rework.recorded': ({ record }) => [
    `  · attempt ${isJsonObject(record) ? shown(record['iteration']) : ''} is on record`,
  ],
  'rework.noted': ({ iteration }) => [`  · notes on refinement ${shown(iteration)} added`],
  'rework.reset': ({ flag }) => [`  · ${shown(flag)} set back`],
  'story.called': ({ isRefinement, role }) =>
    isRefinement === true ? [`  ↳ ${shown(role)} called again`] : [],
  'story.limit': ({ story, refinements, max, policy }) => [
    `■ ${shown(story)}: ${shown(refinements)} of ${shown(max)} refinements used`,
    `  ${AT_LIMIT[shown(policy)] ?? ''}`,
  ],
  'story.reset': ({ story, was, by }) => [
    `↺ ${shown(story)}: count of refinements set back from ${shown(was)}${by === null ? '' : ` by ${shown(by)}`}`,
  ],
  'story.conflict': ({ story, changed, reason }) => [
    `! ${shown(story)}: ${shown(conflictIn(changed, reason))}`,
  ],
  'story.unwritten': ({ story, reason }) => [
    `! ${shown(story)}: the file could not be written: ${shown(reason)}`,
  ],
  'story.busy': ({ story }) => [`! ${shown(story)}: the file is being changed, and is written later`],
};

const AT_LIMIT: Readonly<Record<string, string>> = {
  manual: 'a person is needed',
  error: 'the run ends failed',
  skip: 'the story is skipped',
};

/** What a terminal shows of an event: nothing, for most. */
export const storyLines = ({ kind, machine, type, data }: RecordedEvent): readonly string[] => {
  if (kind !== 'fact' || (machine !== 'lw.story' && machine !== 'lw.rework')) return [];
  const lines = Object.hasOwn(LINES, type) ? LINES[type] : undefined;
  return lines ? lines(data) : [];
};

/** A story and all that happened to it, line by line. */
export const showStory = (story: StoryView): readonly string[] => {
  const { refinements, max, lastError, history } = story;
  const end = story.verdict === null ? '' : ` (${story.verdict}${story.isSkipped ? ', skipped' : ''})`;
  return [
    `${shown(story.title)} [${shown(story.story)}]`,
    `status: ${shown(story.status)}${end}`,
    `refinements: ${refinements}${max === null ? '' : ` of ${max}`}`,
    ...(story.file === null ? [] : [`file: ${shown(story.file)}`]),
    ...(lastError === null ? [] : [`last error: ${shown(lastError)}`]),
    ...history.map(({ atMs, text }) => `  ${new Date(atMs).toISOString()} ${shown(text)}`),
  ];
};
