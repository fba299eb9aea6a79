import { stripVTControlCharacters } from 'node:util';

/** A test that failed, or a part of the run that could not be carried out. */
export interface FailedTest {
  /** Its suites and its own name: the same from run to run. */
  readonly name: string;
  /** Where it is written, as the report says; null if it does not. */
  readonly file: string | null;
  readonly line: number | null;
  /** Why it failed, cut to a useful length. */
  readonly message: string;
}

/** What a test runner reports, whichever it is. */
export interface TestReport {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly FailedTest[];
}

/** A report that cannot be read. What is wrong with it is in words that end without a full stop. */
export class BadReport extends Error {
  override readonly name = 'BadReport';
}

/** How much of why a test failed is passed on: its beginning says what was expected. */
export const MESSAGE_LENGTH_MAX = 2_000;

/** It is cut between two words: half of a token would no longer be known as one when secrets are taken out. */
export const cutMessage = (text: string): string => {
  const plain = stripVTControlCharacters(text).trim();
  if (plain.length <= MESSAGE_LENGTH_MAX) return plain;
  const begins = plain.slice(0, MESSAGE_LENGTH_MAX).toWellFormed();
  return `${/\s/.test(plain.charAt(MESSAGE_LENGTH_MAX)) ? begins : begins.replace(/\S+$/, '')}…`;
};

export const fullName = (suites: readonly string[], name: string): string =>
  [...suites, name].filter((part) => part !== '').join(' > ') || 'a test without a name';

/** The line of the file that a message names first: `file.ts:12`. */
export const lineIn = (message: string, file: string | null): number | null => {
  const base = file?.slice(file.lastIndexOf('/') + 1) ?? '';
  if (base === '') return null;
  const found = message.indexOf(`${base}:`);
  const digits = found < 0 ? null : /^\d{1,7}/.exec(message.slice(found + base.length + 1));
  return digits ? Number(digits[0]) : null;
};
