import { isJsonObject, type Json } from '../events/json.ts';
import type { Redactor } from '../events/redact.ts';
import { isProgress } from '../machines/tight-progress.ts';
import { type FeedbackImport, readFeedbackFile } from './feedback-file.ts';
import { type ProgressImport, readProgressFile } from './progress-file.ts';
import { IMPORT_LIMITS, type ImportFormat, parseRow, withoutMark } from './rows.ts';
import { readSettingsFile, type SettingsImport } from './settings-file.ts';
import { readStoryFiles, type StoriesImport } from './story-files.ts';

export type ReadImport = FeedbackImport | ProgressImport | StoriesImport | SettingsImport;

export interface ReadImportOptions {
  /** Found out from the text unless set. */
  readonly format?: ImportFormat;
  /** Its path: what a story is known by. */
  readonly path?: string;
  /** Takes secrets out of what is shown of rows; those of a known shape unless set. */
  readonly redactor?: Redactor;
}

/** Of which system a text is, by what is in it; null if it is like none of them. */
export const detectImport = (text: string): ImportFormat | null => {
  const given = withoutMark(text);
  if (/^---[ \t]*\r?\n/.test(given)) return 'stories';
  const whole = given.length > IMPORT_LIMITS.file ? undefined : parseRow(given).value;
  if (isProgress(whole) && !isSettings(whole)) return 'progress';
  if (isJsonObject(whole))
    return isFeedback(whole) ? 'feedback' : Object.keys(whole).length > 0 ? 'settings' : null;
  if (/^\s*\{\s*"feedback_loop"/.test(given)) return 'progress';
  return isLines(given) ? 'feedback' : null;
};

const MARKS = ['from_node', 'to_node', 'feedback_type', 'feedback_id'];

const isFeedback = (value: Json | undefined): boolean =>
  isJsonObject(value) && MARKS.some((name) => value[name] !== undefined);

/** A block of settings may have the name that a progress file has its loop under; it has no state. */
const isSettings = (value: Json): boolean => {
  const loop = isJsonObject(value) ? value['feedback_loop'] : undefined;
  const state = ['iterations', 'current_iteration', 'status'];
  return isJsonObject(loop) && !state.some((name) => loop[name] !== undefined);
};

/** Whether some line of it is a feedback: that of a broken file may not be the first. */
const isLines = (text: string): boolean =>
  text
    .split('\n')
    .some(
      (line) => line.length <= IMPORT_LIMITS.row && line.trim() !== '' && isFeedback(parseRow(line).value),
    );

/**
 * Reads a file of another system, as text or as bytes: which of its rows can be taken, and of each that cannot, why. Nothing is
 * written, and nothing in it is trusted. Null if it is of no format that is known.
 */
export const readImport = (
  given: string | Uint8Array,
  { format, path = 'story.md', redactor }: ReadImportOptions = {},
): ReadImport | null => {
  const { text, isWhole } = textOf(given);
  switch (format ?? detectImport(text)) {
    case 'feedback':
      return readFeedbackFile(text, redactor, isWhole);
    case 'progress':
      return readProgressFile(isWhole ? text : NO_TEXT, redactor);
    case 'stories':
      return readStoryFiles([isWhole ? { path, text } : { path, problem: 'it is not UTF-8' }], redactor);
    case 'settings':
      return readSettingsFile(isWhole ? text : NO_TEXT, redactor);
    default:
      return null;
  }
};

/** What is read in place of a file that is no text: no parser takes it. */
const NO_TEXT = '(not UTF-8)';

/** `isWhole` is false if some bytes of it are no text: each stands as U+FFFD. */
const textOf = (given: string | Uint8Array): { readonly text: string; readonly isWhole: boolean } => {
  if (typeof given === 'string') return { text: given, isWhole: true };
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(given);
  return { text, isWhole: Buffer.from(text).equals(given) };
};
