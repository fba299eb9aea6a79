import type { Json, RecordedEvent } from '../index.ts';

/** The first events at which two runs say, or do, something else; null if they never do. */
export interface RunDifference {
  readonly data: {
    readonly positions: readonly [number, number];
    readonly path: string;
    readonly one: Json | undefined;
    readonly other: Json | undefined;
  } | null;
  readonly row: {
    /** How many events go the same way before it. */
    readonly same: number;
    readonly one: RecordedEvent | null;
    readonly other: RecordedEvent | null;
  } | null;
}

/** Where two runs part. What differs in every run (ids, times) does not count. */
export const differenceOf = (
  one: readonly RecordedEvent[],
  other: readonly RecordedEvent[],
): RunDifference => {
  let data: RunDifference['data'] = null;
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const [left, right] = [one[index], other[index]];
    if (!left || !right || rowOf(left) !== rowOf(right))
      return { data, row: { same: index, one: left ?? null, other: right ?? null } };
    const found = firstOther(sorted(left.data, left.run), sorted(right.data, right.run), '');
    data ??= found ? { positions: [left.position, right.position], ...found } : null;
  }
  return { data, row: null };
};

type Other = Pick<NonNullable<RunDifference['data']>, 'path' | 'one' | 'other'>;

/** The first place at which two values are not the same. */
const firstOther = (one: Json | undefined, other: Json | undefined, path: string): Other | undefined => {
  if (JSON.stringify(one) === JSON.stringify(other)) return undefined;
  if (!isContainer(one) || !isContainer(other) || Array.isArray(one) !== Array.isArray(other))
    return { path: path === '' ? 'all of it' : path, one, other };
  const [left, right]: readonly [Members, Members] = [one as Members, other as Members]; // Lists have members by number.
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const found = firstOther(left[name], right[name], path === '' ? name : `${path}.${name}`);
    if (found) return found;
  }
  return undefined;
};

type Members = Readonly<Record<string, Json | undefined>>;

const isContainer = (value: Json | undefined): boolean => typeof value === 'object' && value !== null;

const rowOf = ({ actor, run, kind, type, state }: RecordedEvent): string =>
  JSON.stringify([actor.slice(run.length), kind, type, sorted(state, '')]);

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** With members in order, and without what belongs to one run only. */
const sorted = (value: Json, run: string): Json => {
  if (typeof value === 'string') return neutral(value, run);
  if (Array.isArray(value)) return value.map((each: Json) => sorted(each, run));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !/^(?:at|due|deadline|elapsed|took)Ms$|AtMs$|At$|_at$/.test(name))
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member, run)]),
  );
};

/** An id stands for itself only where it is a whole part of an address or path. */
const neutral = (text: string, run: string): string =>
  text
    .replaceAll(TIME, '<time>')
    .split('/')
    .map((part) => (run !== '' && part === run ? '<run>' : part))
    .join('/');
