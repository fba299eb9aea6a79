import { RuntimeError } from '../errors.ts';

export type PathKey = string | number;

/**
 * How far a path has come in a pattern: the keys of the pattern that may be next. None means that nothing below this path
 * can match.
 */
export type Places = readonly number[];

/**
 * A pattern of paths into JSON data, such as `agents.*.status`. Matching follows all ways through the pattern at once, so
 * that its time is bounded by the length of the path times that of the pattern, whatever both hold: nothing is tried
 * twice, and a pattern of a stranger can be matched safely.
 */
export interface PathPattern {
  readonly text: string;
  readonly start: Places;
  step(places: Places, key: PathKey): Places;
  isMatch(places: Places): boolean;
  matches(path: readonly PathKey[]): boolean;
}

const PATTERN_LENGTH_MAX = 1_000;

/** Names that reach behind an object: no state has them as keys, so that a pattern with one is a mistake or worse. */
const FORBIDDEN_KEYS = ['__proto__', 'constructor', 'prototype'];

const ANY_KEYS = '**';

/** One key of a pattern; `undefined` stands for any number of keys. */
type KeyTest = ((key: string) => boolean) | undefined;

/**
 * Reads a pattern: keys with dots between them, `*` for any one key or any part of one (`dev*`), `**` for any number of
 * keys, also none. A key that has a dot in it is matched with a `*` in the dot's place.
 *
 * @throws {RuntimeError} BAD_PATTERN if it is longer than 1,000 characters, or has a key that is empty or forbidden
 */
export const compilePattern = (text: string): PathPattern => {
  const tests = readKeys(text).map(testOf);
  /** A place before `**` is a place after it too, since `**` may stand for no key at all. */
  const enter = (place: number, into: number[]): void => {
    add(place, into);
    if (place < tests.length && tests[place] === undefined) add(place + 1, into);
  };
  const step = (places: Places, key: PathKey): Places => {
    const name = String(key);
    const next: number[] = [];
    for (const place of places) {
      if (place === tests.length) continue;
      const test = tests[place];
      if (test === undefined) enter(place, next);
      else if (test(name)) enter(place + 1, next);
    }
    return next;
  };
  const start: number[] = [];
  enter(0, start);
  const isMatch = (places: Places): boolean => places.includes(tests.length);
  return { text, start, step, isMatch, matches: (path) => isMatch(path.reduce(step, start)) };
};

/** Places come in order, and no two `**` stand side by side: one that is not greater than the last is there already. */
const add = (place: number, into: number[]): void => {
  if (place > (into.at(-1) ?? -1)) into.push(place);
};

const readKeys = (text: string): readonly string[] => {
  const refuse = (problem: string): never => {
    throw new RuntimeError('BAD_PATTERN', { pattern: text.slice(0, 80), problem });
  };
  if (text.length > PATTERN_LENGTH_MAX) refuse(`it has more than ${PATTERN_LENGTH_MAX} characters`);
  const keys = text.split('.');
  for (const key of keys) {
    if (key === '') refuse('a key in it is empty');
    if (FORBIDDEN_KEYS.includes(key)) refuse(`"${key}" cannot be a key`);
    if (key !== ANY_KEYS && key.includes(ANY_KEYS))
      refuse(`"${ANY_KEYS}" is a key of its own, not a part of "${key}"`);
  }
  return keys.filter((key, index) => key !== ANY_KEYS || keys[index - 1] !== ANY_KEYS);
};

const testOf = (key: string): KeyTest => {
  if (key === ANY_KEYS) return undefined;
  const [prefix = '', ...rest] = key.split('*');
  const suffix = rest.pop();
  if (suffix === undefined) return (name) => name === key;
  return (name) => {
    const end = name.length - suffix.length;
    if (end < prefix.length || !name.startsWith(prefix) || !name.endsWith(suffix)) return false;
    // The leftmost place of each part leaves the most room for those after it: no other place need be tried.
    let from = prefix.length;
    for (const part of rest) {
      const found = name.indexOf(part, from);
      if (found === -1) return false;
      from = found + part.length;
    }
    return from <= end;
  };
};
