import type { Json, JsonObject, RecordedEvent } from '../../index.ts';
import { excerpt } from '../escape.ts';

type Lines = (data: JsonObject) => readonly string[];

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const membersOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** A value of the log on one line: agents wrote it. */
const shown = (value: Json | undefined): string =>
  excerpt(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** Where a finding is, and what it says. */
const finding = (issue: Json): string => {
  const { description, details, file, line } = membersOf(issue);
  const place = { file, line, ...membersOf(details) };
  const at =
    place.file === undefined
      ? ''
      : `${shown(place.file)}${place.line === undefined ? '' : `:${shown(place.line)}`} `;
  return `${at}${shown(description)}`;
};

const checked = (what: string, result: Json | undefined): readonly string[] => {
  if (!isObject(result)) return [];
  const issues = listOf(result['issues']).map(finding);
  return [`${what} ${result['passed'] === true ? 'pass' : `FAIL: ${issues.join('; ')}`}`];
};

const choice = ({ option, value, note }: JsonObject): string =>
  `${shown(option ?? value)}${typeof note === 'string' ? ` ("${shown(note)}")` : ''}`;

const RUNS: Readonly<Record<string, string>> = {
  correction: ' again, with what was found',
  review: ' again',
};

/** What a person is told of each kind of fact. Those that are not here are in the log all the same. */
const LINES: Readonly<Record<string, Lines>> = {
  'loop.pass': ({ number, implementation, review, test }) => [
    `pass ${shown(number)}: the developer ${shown(implementation)}`,
    ...[...checked('review:', review), ...checked('tests:', test)].map((line) => `  ${line}`),
  ],
  'step.done': ({ step, run }) => [`step "${shown(step)}" is done${Number(run) > 1 ? ' (begun again)' : ''}`],
  'feedback.sent': ({ source, targets }) => [
    `${shown(source)} cannot go on, and tells ${listOf(targets).map(shown).join(' and ')}`,
  ],
  'feedback.opened': ({ feedback }) => [`  "${shown(membersOf(feedback)['description'])}"`],
  'run.paused': () => ['  the run pauses'],
  'feedback.answered': (data) => [`  ${shown(data['target'])} says ${choice(data)}`],
  'feedback.disagreed': () => ['  they do not agree, and are asked again'],
  'feedback.decided': ({ resolution }) => [`  decided: ${shown(membersOf(resolution)['option'])}`],
  'run.resumed': () => ['  the run goes on'],
  'story.opened': ({ title }) => [`story "${shown(title)}"`],
  'story.phase': ({ phase, iteration }) => [
    `  ${shown(phase)}${iteration === 0 ? '' : `, refinement ${shown(iteration)}`}`,
  ],
  'story.reviewed': ({ decision, issues, target }) => [
    `  review: ${shown(decision)}${listOf(issues).length === 0 ? '' : `: ${listOf(issues).map(finding).join('; ')}`}`,
    ...(typeof target === 'string' ? [`  the fault lies in "${target}": back to it`] : []),
  ],
  'phase.begun': ({ phase, as }) => [`${shown(phase)}${typeof as === 'string' ? (RUNS[as] ?? '') : ''}`],
  'correction.opened': ({ defects }) =>
    listOf(defects).map(
      (defect) => `  FAIL: ${finding(defect)} (made in ${shown(membersOf(defect)['injected'])})`,
    ),
  'correction.closed': ({ attempts }) => [
    `  corrected by ${Object.keys(membersOf(attempts)).toSorted().join(' and ')}`,
  ],
  'node.done': ({ node, run }) => [`${shown(node)} has worked${Number(run) > 1 ? ' again' : ''}`],
  'feedback.queued': ({ source, target, item }) => [
    `${shown(source)} to ${shown(target)}: "${shown(membersOf(item)['message'])}"`,
    `  suggests: ${shown(membersOf(item)['suggested_fix'])}`,
  ],
  'feedback.resolved': ({ id, subject }) => [`the feedback ${shown(id ?? subject)} is resolved`],
};

/** What says how often the work was done. */
const COUNTS: Readonly<Record<string, (data: JsonObject) => Json | undefined>> = {
  'loop.pass': ({ number }) => number,
  'step.done': ({ run }) => run,
  'story.reviewed': ({ iteration }) => (typeof iteration === 'number' ? iteration + 1 : undefined),
  'phase.done': ({ run }) => run,
  'node.done': ({ run }) => run,
};

const ownOf = <Value>(
  table: Readonly<Record<string, Value>>,
  { kind, type }: RecordedEvent,
): Value | undefined => (kind === 'fact' && Object.hasOwn(table, type) ? table[type] : undefined);

/** A run as a story: what its events say, and nothing else. */
export const storyOf = (events: readonly RecordedEvent[]): readonly string[] =>
  events.flatMap((event) => ownOf(LINES, event)?.(event.data) ?? []);

/** How often the work that is corrected was done. */
export const iterationsIn = (events: readonly RecordedEvent[]): number =>
  Math.max(0, ...events.map((event) => Number(ownOf(COUNTS, event)?.(event.data) ?? 0)));
