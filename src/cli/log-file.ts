import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RuntimeError } from '../errors.ts';

/** Where logs are, unless another place is named. */
export const FOLDER = '.loopwright';
const LOG = 'log.db';

/** Which log is meant: the one that was named, or of the environment, or of this folder. */
export const logFileOf = ({ db }: { readonly db?: string | undefined }): string => {
  if (db === '') throw wrong('--db is empty.', 'Give it the path of a log.');
  const { LOOPWRIGHT_DB = '' } = process.env;
  return db ?? (LOOPWRIGHT_DB === '' ? join(FOLDER, LOG) : LOOPWRIGHT_DB);
};

/** A log that must be there. @throws {RuntimeError} WRONG_USE if it is not */
export const existingLog = (options: { readonly db?: string | undefined }): string => {
  const file = logFileOf(options);
  if (existsSync(file)) return file;
  throw wrong(
    `There is no log at "${file}".`,
    'Start a run (loopwright run FILE), go to the folder where one was started, or name a log with --db.',
  );
};

/** A log that is made if it is not there: its folder is for its owner only. */
export const newOrExistingLog = (options: { readonly db?: string | undefined }): string => {
  const file = logFileOf(options);
  // Only our own folder is made: a path that somebody typed may be mistyped.
  if (dirname(file) === FOLDER) mkdirSync(FOLDER, { mode: 0o700, recursive: true });
  return file;
};

const wrong = (problem: string, instead: string): RuntimeError =>
  new RuntimeError('WRONG_USE', { problem, instead });
