import { isJsonObject, type Json } from '../events/json.ts';
import type { Redactor } from '../events/redact.ts';
import { type FeedbackRow, parseFeedback } from '../events/tree-feedback-lines.ts';
import { isReservedType } from '../events/vocabulary.ts';
import { type AcceptedRow, excerptOf, IMPORT_LIMITS, parseRow, type ReadRows, withoutMark } from './rows.ts';

/** A feedback file: a line for each feedback. */
export interface FeedbackImport extends ReadRows {
  readonly format: 'feedback';
  /** Those that were accepted, in the order of the file; each with its line. */
  readonly rows: readonly { readonly line: number; readonly row: FeedbackRow }[];
}

/**
 * Reads a feedback file. A line that is empty is none. If the text is not whole, lines with U+FFFD in them had bytes that are no
 * text.
 */
export const readFeedbackFile = (text: string, redactor?: Redactor, isWhole = true): FeedbackImport => {
  const lines = withoutMark(text).split('\n');
  const faults = new Map<number, string>();
  let count = 0;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    count += 1;
    const fault = !isWhole && line.includes('\uFFFD') ? 'it is not UTF-8' : problemOf(line, count);
    if (fault !== undefined) faults.set(index, fault);
  }
  // An empty line in the place of one that is refused already: the others keep their numbers.
  const rest = lines.map((line, index) => (faults.has(index) ? '' : line));
  const read = parseFeedback(rest.join('\n'));
  for (const { line, faults: found } of read.refused) faults.set(line - 1, found.join('; '));
  const taken = lines.flatMap((line, index) => (line.trim() === '' || faults.has(index) ? [] : [index + 1]));
  const rows = read.rows.map((row, nth) => ({ line: taken[nth] ?? 0, row }));
  return {
    format: 'feedback',
    rows,
    accepted: rows.map(acceptedOf),
    refused: [...faults]
      .sort(([one], [other]) => one - other)
      .map(([index, reason]) => ({
        place: `line ${index + 1}`,
        reason: redactor?.text(reason) ?? reason,
        text: excerptOf(lines[index] ?? '', redactor),
      })),
    notes: rows.flatMap(({ line, row }) => strangersIn(lines[line - 1] ?? '', line, row)),
  };
};

const acceptedOf = ({ line, row }: FeedbackImport['rows'][number]): AcceptedRow => ({
  place: `line ${line}`,
  text: `${row.feedback_id} ${row.feedback_type} ${row.from_node} → ${row.to_node} (${row.status})`,
});

/** What is wrong with a line before it is looked at as feedback. */
const problemOf = (line: string, nth: number): string | undefined => {
  if (nth > IMPORT_LIMITS.rows) return `a file may have ${IMPORT_LIMITS.rows} rows`;
  if (line.length > IMPORT_LIMITS.row) return `it has more than ${IMPORT_LIMITS.row} characters`;
  if (!line.isWellFormed()) return 'it has half a surrogate pair in it';
  const { value, fault } = parseRow(line);
  if (fault !== undefined || !isJsonObject(value)) return fault ?? 'it is not a JSON object';
  const reserved = NAMES.find((name) => isReserved(value[name]));
  return reserved === undefined
    ? undefined
    : `"${reserved}" begins like what only the runtime may say (xstate., @xstate., lw.)`;
};

const NAMES = ['type', 'feedback_type', 'from_node', 'to_node', 'routed_to', 'feedback_id', 'caused_by'];

const isReserved = (value: Json | undefined): boolean => typeof value === 'string' && isReservedType(value);

const strangersIn = (line: string, number: number, row: FeedbackRow): readonly string[] => {
  const { value } = parseRow(line);
  const names = isJsonObject(value)
    ? Object.keys(value).filter((name) => value[name] !== null && !Object.hasOwn(row, name))
    : [];
  return names.length === 0
    ? []
    : [`line ${number}: ${names.map((name) => `"${name.slice(0, 80)}"`).join(', ')} left out`];
};
