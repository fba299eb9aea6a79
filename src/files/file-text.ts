import { LineCounter, parseDocument } from 'yaml';
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
  const lines = new LineCounter();
  const placeOf = placesIn(text, lines);
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      // Compared pair by pair, they would take a time that grows with the square of their number: the walk does it.
      uniqueKeys: false,
      merge: false,
      schema: 'core',
    });
    const faults = [...document.errors, ...document.warnings].map(({ message, pos: [start] }) =>
      problemAt(placeOf(start), [], { problem: message }),
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
    const place = placeOf(0);
    return {
      value: null,
      valueAt: () => place,
      keyAt: () => place,
      problems: [problemAt(place, [], TOO_DEEP)],
    };
  }
};

/** Offsets of a parser may lie one behind the end. */
const placesIn = (text: string, lines: LineCounter) => {
  return (offset: number): Place => {
    const { line, col } = lines.linePos(Math.max(0, Math.min(offset, text.length)));
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
};
