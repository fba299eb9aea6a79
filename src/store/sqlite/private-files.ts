import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { RuntimeError } from '../../errors.ts';
import { messageOf } from './faults.ts';

/**
 * The one real path of a file that may not exist yet. A log has files beside it, the lock among them: were it reached through
 * a symbolic link under another name, two writers would each hold a lock of their own.
 */
export function realFile(file: string): string {
  const path = resolve(file);
  try {
    return realpathSync(path);
  } catch {
    try {
      return join(realpathSync(dirname(path)), basename(path));
    } catch {
      return path;
    }
  }
}

/**
 * Creates an empty file that only its owner may read, with its directory if need be; says whether it was there already.
 * SQLite gives the files that it makes beside a database the mode of the database, so this has to come before SQLite.
 *
 * A file that exists is not opened: closing any descriptor of it would drop every lock that this process holds on it.
 */
export function createPrivateFile(path: string, file: string = path): 'created' | 'exists' {
  const directory = dirname(path);
  try {
    if (!existsSync(directory)) mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (existsSync(path)) return 'exists';
    closeSync(openSync(path, 'wx', 0o600));
    syncDirectory(directory);
    return 'created';
  } catch (error) {
    if (isSystemError(error, 'EEXIST') && existsSync(path)) return 'exists';
    throw explainSystemError(error, file);
  }
}

/** Makes sure that the names of new and renamed files in a directory survive a power cut. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** What a failure to write a file means to a caller; nothing of it is there. */
export function explainSystemError(error: unknown, file: string): RuntimeError {
  const isFull = isSystemError(error, 'ENOSPC') || isSystemError(error, 'EDQUOT');
  if (isFull) return new RuntimeError('DISK_FULL', { file }, { cause: error });
  return new RuntimeError('LOG_WRITE_FAILED', { file, problem: messageOf(error) }, { cause: error });
}

export function isSystemError(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
