import { isJsonObject, type Json } from '../events/json.ts';
import type { Redactor } from '../events/redact.ts';
import { isProgress, readProgress } from '../machines/tight-progress.ts';
import { excerptOf, IMPORT_LIMITS, parseRow, type ReadRows, withoutMark } from './rows.ts';

/** The progress file of a tight loop. */
export interface ProgressImport extends ReadRows {
  readonly format: 'progress';
  /** What of it can be taken: what a tight loop is started with as `progress`. */
  readonly progress: Json;
}

/** Reads a progress file. Its rows are the iterations, and whatever else it says of the loop. */
export const readProgressFile = (text: string, redactor?: Redactor): ProgressImport => {
  const { value, fault } = parsed(text);
  if (fault !== undefined || !isProgress(value))
    return {
      format: 'progress',
      progress: null,
      accepted: [],
      refused: [
        {
          place: 'the file',
          reason: fault ?? 'there is no "feedback_loop" in it',
          text: excerptOf(text, redactor),
        },
      ],
      notes: [],
    };
  const { parts, notes } = readProgress(value);
  const rows = parts.map((part) => {
    const json = JSON.stringify(part.value);
    const faults =
      json.length > IMPORT_LIMITS.row
        ? [...part.faults, `it has more than ${IMPORT_LIMITS.row} characters`]
        : json.includes('\\ud') && !part.faults.length && !isWellFormed(part.value)
          ? ['it has half a surrogate pair in it']
          : part.faults;
    return { place: part.path, value: part.value, faults, text: excerptOf(json, redactor) };
  });
  const taken = rows.filter(({ faults }) => faults.length === 0);
  return {
    format: 'progress',
    progress: taken.length === 0 ? null : progressOf(taken),
    accepted: taken.map(({ place, text: said }) => ({ place, text: said })),
    refused: rows
      .filter(({ faults }) => faults.length > 0)
      .map(({ place, faults, text: said }) => ({ place, reason: faults.join('; '), text: said })),
    notes: notes.map((note) => redactor?.text(note) ?? note),
  };
};

const parsed = (text: string): { readonly value?: Json; readonly fault?: string } =>
  text.length > IMPORT_LIMITS.file
    ? { fault: `it has more than ${IMPORT_LIMITS.file} characters` }
    : parseRow(withoutMark(text));

const isWellFormed = (value: Json): boolean =>
  typeof value === 'string'
    ? value.isWellFormed()
    : typeof value !== 'object' ||
      value === null ||
      Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));

/** What a loop is started with: what else the file says follows from its iterations. */
const MEMBERS = ['enabled', 'max_iterations'];

const progressOf = (taken: readonly { readonly place: string; readonly value: Json }[]): Json => {
  const members = taken.flatMap(({ place, value }) => {
    const name = /^feedback_loop\.([^[\]]+)$/.exec(place)?.[1];
    return name !== undefined && MEMBERS.includes(name) ? [[name, value] as const] : [];
  });
  const iterations = taken.flatMap(({ place, value }) =>
    /\.iterations\[\d+\]$/.test(place) && isJsonObject(value) ? [value] : [],
  );
  return { feedback_loop: { ...Object.fromEntries(members), iterations } };
};
