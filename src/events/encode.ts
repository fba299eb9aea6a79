import { RuntimeError } from '../errors.ts';
import { isLongerThan } from './bytes.ts';
import { Walk } from './encode-walk.ts';
import type { Json } from './json.ts';
import { inOrder, UNSAFE_KEYS } from './members.ts';

/** How large a value may be. One that is larger is refused while it is walked, before it costs more. */
export interface EncodeLimits {
  /** Bytes of its canonical text in UTF-8. */
  readonly bytes: number;
  /** How many arrays and objects may stand inside one another. */
  readonly depth: number;
  /** Members of all its objects together. An array or object that is an item of an array counts as one, too. */
  readonly keys: number;
}

export const DEFAULT_LIMITS: EncodeLimits = { bytes: 1024 * 1024, depth: 64, keys: 10_000 };

/** A value that reads back exactly as it is, and its text. Nothing of it is shared with what was given. */
export interface Encoded {
  readonly value: Json;
  /** Canonical: equal values have equal texts. It is what `JSON.stringify(value)` gives. */
  readonly json: string;
}

/** If a hook throws PAYLOAD_UNSUPPORTED or PAYLOAD_TOO_LARGE, its path is set to that of the value it was given. */
export interface EncodeOptions {
  readonly limits?: EncodeLimits;
  /**
   * `refuse` (default): a member that is undefined is an error. `drop`: it is left out, since machines' own
   * messages often have them. Array items that are undefined are refused either way.
   */
  readonly undefinedMembers?: 'refuse' | 'drop';
  /** What the path in an error begins with; "payload" unless set. */
  readonly root?: string;
  /** Called for every string, with its key if it is a member's value. What it gives takes the string's place. */
  readonly onString?: (text: string, key: string | undefined) => Json;
  /** Called for every member. What it gives takes the place of the whole value; undefined leaves it. */
  readonly onMember?: (key: string, value: unknown) => Json | undefined;
}

const NO_OPTIONS: EncodeOptions = {};

/**
 * Checks and copies a value of unknown origin. What JSON would change or lose is refused, with its path. No getter
 * and no `toJSON` is called; whatever the value does while it is read, only a `RuntimeError` comes out.
 *
 * @throws {RuntimeError} PAYLOAD_UNSUPPORTED, PAYLOAD_TOO_LARGE
 */
export const encode = (value: unknown, options: EncodeOptions = NO_OPTIONS): Encoded =>
  new Walk(options, options.limits ?? DEFAULT_LIMITS).run(value);

/** The canonical text of a value that is known to be JSON: the same that `encode` gives for it. */
export const canonicalJson = (value: Json): string => JSON.stringify(inOrder(value));

/**
 * Reads a text that `encode` wrote. With a limit, a longer text is refused before it is parsed: give one for every
 * text from outside.
 *
 * @throws {RuntimeError} PAYLOAD_UNSUPPORTED if it is not JSON, or has a key that could reach a prototype;
 *   PAYLOAD_TOO_LARGE
 */
export const decode = (json: string, limits?: Pick<EncodeLimits, 'bytes'>): Json => {
  if (limits !== undefined && isLongerThan(json, limits.bytes)) {
    throw new RuntimeError('PAYLOAD_TOO_LARGE', { path: 'payload', what: 'bytes', limit: limits.bytes });
  }
  const value = parse(json);
  // A \u escape can spell any word, so a text that has one is looked through as well.
  if (json.includes('proto') || json.includes('constructor') || json.includes('\\u')) refuseUnsafeKeys(value);
  return value;
};

const parse = (json: string): Json => {
  try {
    return JSON.parse(json);
  } catch {
    throw new RuntimeError('PAYLOAD_UNSUPPORTED', { path: 'payload', found: 'a text that is not JSON' });
  }
};

/** Keeps a stack of its own, since a text may be nested a million deep. */
const refuseUnsafeKeys = (root: Json): void => {
  const open: Json[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (UNSAFE_KEYS.has(key)) {
        throw new RuntimeError('PAYLOAD_UNSUPPORTED', {
          path: 'payload',
          found: `an object with a member "${key}"`,
        });
      }
      open.push(child);
    }
  }
};
