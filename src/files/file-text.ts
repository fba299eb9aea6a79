import { type ErrorCode, parseDocument } from 'yaml';
import type { FileProblem } from '../errors.ts';
import type { Json } from '../events/json.ts';
import { DocumentWalk, TOO_DEEP } from './document-walk.ts';
import { type Path, type Place, problemAt } from './place.ts';

/** What a text says, and where each of its values stands. */
export interface FileText {
  readonly value: Json;
  /** Where a value begins; if it is not there, where the nearest begins that holds its place. */
  readonly valueAt: (path: Path) => Place;
  /** Where the key of a member stands. */
  readonly keyAt: (path: Path) => Place;
  readonly problems: readonly FileProblem[];
}

/** Reads YAML, of which JSON is a part. It never throws, and evaluates nothing. */
export const readFileText = (text: string): FileText => {
  const placeOf = placesIn(text);
  if (isFarTooDeep(text)) return refusedAt(placeOf(0));
  try {
    const document = parseDocument(text, {
      prettyErrors: false,
      // Compared pair by pair, they would take a time that grows with the square of their number: the walk does it.
      uniqueKeys: false,
      merge: false,
      schema: 'core',
    });
    const faults = [...document.errors, ...document.warnings].map(({ code, message, pos: [start] }) =>
      problemAt(placeOf(start), [], IN_OUR_WORDS[code] ?? { problem: message }),
    );
    const walk = new DocumentWalk(placeOf);
    const value = faults.length === 0 ? walk.read(document.contents) : null;
    return {
      value,
      valueAt: (path) => walk.valueAt(path),
      keyAt: (path) => walk.keyAt(path),
      problems: [...faults, ...walk.problems],
    };
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
    return refusedAt(placeOf(0));
  }
};

const refusedAt = (place: Place): FileText => ({
  value: null,
  valueAt: () => place,
  keyAt: () => place,
  problems: [problemAt(place, [], TOO_DEEP)],
});

/** The parser takes hundreds of megabytes before it gives up. No text that means something opens so many and closes none. */
const OPEN_MAX = 1_000;

const isFarTooDeep = (text: string): boolean => {
  let open = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open = bracket === '[' || bracket === '{' ? open + 1 : Math.max(0, open - 1);
    if (open > OPEN_MAX) return true;
  }
  return false;
};

/** Where the words of the parser are for programmers. */
const IN_OUR_WORDS: Partial<Record<ErrorCode, { readonly problem: string; readonly allowed: string }>> = {
  MULTIPLE_DOCS: { problem: 'here a second document begins', allowed: 'one document in a file' },
  TAG_RESOLVE_FAILED: {
    problem: 'there is a tag',
    allowed: 'a value without a tag: nothing in a file is evaluated',
  },
  RESOURCE_EXHAUSTION: TOO_DEEP,
};

/** The parser's own counter misses lines after some errors. Offsets may lie one behind the end. */
const placesIn = (text: string) => {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (offset: number): Place => {
    const at = Math.max(0, Math.min(offset, text.length));
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - (starts[low] ?? 0) + 1 };
  };
};
