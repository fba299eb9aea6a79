import { RuntimeError } from '../errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { VERDICTS } from '../events/turn.ts';
import { type EarlierPass, isGood, readEarlier } from './tight-earlier.ts';

/** A part of a progress file that was taken, or everything that is wrong with it. */
export interface ProgressPart {
  readonly path: string;
  readonly value: Json;
  readonly faults: readonly string[];
}

/** How far a tight loop is, as a progress file says. */
export interface ReadProgress {
  readonly enabled: boolean;
  /** How many passes there may be; null if the file does not say. */
  readonly passesMax: number | null;
  readonly passes: readonly EarlierPass[];
  /** Every member and every iteration of it. */
  readonly parts: readonly ProgressPart[];
  /** What is none of our business, or is known better. */
  readonly notes: readonly string[];
}

const LOOP = 'feedback_loop';
const OVER = ['accepted', 'cancelled'];
const STATUSES = ['in_progress', 'escalated', 'IMPLEMENTATION_VERIFIED', ...VERDICTS];

/** Whether a value is a progress file that has been parsed. */
export const isProgress = (given: Json | undefined): given is JsonObject =>
  isJsonObject(given) && isJsonObject(given[LOOP]);

/** Reads a progress file, part by part. Whoever wrote it is another program, so that nothing about it is sure. */
export const readProgress = (given: JsonObject): ReadProgress => {
  const loop = given[LOOP] as JsonObject; // isProgress() says so.
  const { iterations = [], ...members } = loop;
  const passes: EarlierPass[] = [];
  const rows = (Array.isArray(iterations) ? iterations : []).map((value: Json, index): ProgressPart => {
    const read = readEarlier(value, passes.at(-1));
    if (read.pass) passes.push(read.pass);
    return { path: `${LOOP}.iterations[${index}]`, value, faults: read.faults ?? [] };
  });
  const header = Object.entries(members).map(
    ([name, value]): ProgressPart => ({
      path: `${LOOP}.${name}`,
      value,
      faults: problemsOf(name, value, passes),
    }),
  );
  const isTaken = (name: string): boolean =>
    header.some(({ path, faults }) => path === `${LOOP}.${name}` && faults.length === 0);
  const over = OVER.find((status) => status === loop['status']);
  const parts = [
    ...header,
    ...(Array.isArray(iterations)
      ? rows
      : [{ path: `${LOOP}.iterations`, value: iterations, faults: ['it is not a list'] }]),
  ];
  return {
    enabled: loop['enabled'] !== false,
    passesMax: isTaken('max_iterations') ? Number(loop['max_iterations']) : null,
    passes: over === undefined ? passes : [],
    parts:
      over === undefined
        ? parts
        : parts.map((part) => withFault(part, `the loop was ${over}: it cannot go on`)),
    notes: [...strangersIn(given), ...renumbered(passes), ...resetIn(loop, passes)],
  };
};

const withFault = (part: ProgressPart, fault: string): ProgressPart => ({
  ...part,
  faults: [...part.faults, fault],
});

const problemsOf = (name: string, value: Json, passes: readonly EarlierPass[]): readonly string[] => {
  const last = passes.at(-1);
  switch (name) {
    case 'enabled':
      return typeof value === 'boolean' ? [] : ['it is neither true nor false'];
    case 'max_iterations':
      return isCount(value) && value >= 1
        ? []
        : ['it is not an integer from 1: the limit of the workflow holds'];
    case 'status':
      if (!STATUSES.some((status) => status === value)) return [`it is none of ${STATUSES.join(', ')}`];
      return (value === 'IMPLEMENTATION_VERIFIED' || value === 'verified') && !(last && isGood(last))
        ? ['no pass with which the loop would have ended so can be taken']
        : [];
    case 'current_iteration':
      if (!isCount(value)) return ['it is not a count'];
      return value === last?.number || value === (last?.number ?? 0) + 1
        ? []
        : [`it is ${value}, but the iterations that can be taken end with ${last?.number ?? 0}`];
    case 'consecutive_review_failures':
    case 'consecutive_test_failures':
      if (!isCount(value)) return ['it is not a count'];
      return value <= inRow(name, passes)
        ? []
        : [`it is ${value}, but the iterations that can be taken say ${inRow(name, passes)}`];
    default:
      return ['a progress file has no such member'];
  }
};

const isCount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** How often in a row a check has failed, up to the last time that it ran. */
const inRow = (name: string, passes: readonly EarlierPass[]): number => {
  const ran = passes.flatMap(({ review, test }) =>
    name === 'consecutive_review_failures' ? [review] : test ? [test] : [],
  );
  return ran.length - 1 - ran.findLastIndex(({ passed }) => passed);
};

const strangersIn = (given: JsonObject): readonly string[] =>
  Object.keys(given)
    .filter((name) => name !== LOOP)
    .map((name) => `"${name.slice(0, 80)}" is not of the loop, and was left out`);

const renumbered = (passes: readonly EarlierPass[]): readonly string[] =>
  passes.flatMap(({ number }, index) =>
    number === index + 1 ? [] : [`iteration ${number} is pass ${index + 1} of the run`],
  );

const resetIn = (loop: JsonObject, passes: readonly EarlierPass[]): readonly string[] =>
  ['consecutive_review_failures', 'consecutive_test_failures'].flatMap((name) => {
    const [said, counted] = [loop[name], inRow(name, passes)];
    return isCount(said) && said < counted
      ? [`"${name}" is ${said}; the run counts ${counted}, as the iterations say`]
      : [];
  });

/** What a tight loop is started with: a task, or one that is under way already. */
export const startOf = (
  given: unknown,
): { readonly task: Json; readonly progress: ReadProgress | undefined } => {
  const value = (given ?? null) as Json; // The door refuses what is not JSON.
  if (!isStarted(value)) return { task: value, progress: undefined };
  const progress = readProgress(value.progress);
  const wrong = progress.parts.filter(({ faults }) => faults.length > 0);
  if (wrong.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'progress',
      found: wrong.map(({ path, faults }) => `${path}: ${faults.join('; ')}`).join('. '),
      expected: 'a progress file of which every part can be taken: readImport() tells which they are',
    });
  return { task: value.task, progress };
};

const isStarted = (value: Json): value is JsonObject & { task: Json; progress: JsonObject } =>
  isJsonObject(value) &&
  Object.keys(value).length === 2 &&
  value['task'] !== undefined &&
  isProgress(value['progress']);
