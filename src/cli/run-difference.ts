import type { Json, RecordedEvent } from '../index.ts';

/** The first event at which two runs part. */
export interface RunDifference {
  /** How many events are the same before it. */
  readonly same: number;
  readonly what: 'row' | 'data';
  readonly one: RecordedEvent | null;
  readonly other: RecordedEvent | null;
}

/** Where two runs part; null if they do not. What differs in every run (ids, times) does not count. */
export const differenceOf = (
  one: readonly RecordedEvent[],
  other: readonly RecordedEvent[],
): RunDifference | null => {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const [left, right] = [one[index], other[index]];
    const isSameRow = left && right && rowOf(left) === rowOf(right);
    if (isSameRow && dataOf(left) === dataOf(right)) continue;
    return { same: index, what: isSameRow ? 'data' : 'row', one: left ?? null, other: right ?? null };
  }
  return null;
};

const rowOf = ({ actor, run, kind, type, state }: RecordedEvent): string =>
  JSON.stringify([actor.slice(run.length), kind, type, sorted(state as Json, '')]);

const dataOf = ({ data, run }: RecordedEvent): string => JSON.stringify(sorted(data, run));

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** With members in order, and without what belongs to one run only. */
const sorted = (value: Json, run: string): Json => {
  if (typeof value === 'string') return neutral(value, run);
  if (Array.isArray(value)) return value.map((each: Json) => sorted(each, run));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !/(?:Ms|At|_at)$/.test(name))
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member as Json, run)]),
  );
};

/** An id stands for itself only where it is a whole part of an address or path. */
const neutral = (text: string, run: string): string =>
  text
    .replaceAll(TIME, '<time>')
    .split('/')
    .map((part) => (run !== '' && part === run ? '<run>' : part))
    .join('/');
