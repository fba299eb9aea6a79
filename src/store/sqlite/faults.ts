import Database from 'better-sqlite3';
import { isRuntimeError, RuntimeError } from '../../errors.ts';

/** Where an error of SQLite came from: the file, and whether something was being written to it. */
export interface FaultPlace {
  readonly file: string;
  readonly doing: 'reading' | 'writing';
  /** The position that was being read, if it is known. */
  readonly position?: number;
}

/**
 * What an error of SQLite means to a caller. In every case but LOG_FAULT the transaction is rolled back, and nothing of it is
 * there. An error that is none of SQLite's, or that only a fault of ours can cause, comes back as it is.
 */
export function explainFault(error: unknown, { file, doing, position = 0 }: FaultPlace): unknown {
  if (isRuntimeError(error) || !(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  const problem = `${message} (${code})`;
  const options = { cause: error };
  if (code === 'SQLITE_FULL') return new RuntimeError('DISK_FULL', { file }, options);
  if (isFailedSync(error)) return new RuntimeError('LOG_FAULT', { file, problem }, options);
  if (isCorruption(code))
    return new RuntimeError('LOG_CORRUPT', { file, position, problem: message }, options);
  if (isOfTheSystem(code)) {
    return new RuntimeError(
      doing === 'writing' ? 'LOG_WRITE_FAILED' : 'LOG_READ_FAILED',
      { file, problem },
      options,
    );
  }
  return error;
}

/**
 * Whether the disk did not confirm a write. Trying again on the same handle would be told that all is well, since the system
 * reports such a failure only once: only a new handle, which reads what is really there, may go on.
 */
export function isFailedSync(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError &&
    (error.code === 'SQLITE_IOERR_FSYNC' || error.code === 'SQLITE_IOERR_DIR_FSYNC')
  );
}

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/** Whether someone died while writing, and only a writer can bring the file back to its last whole transaction. */
export function needsRecovery(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError && /^SQLITE_READONLY_(ROLLBACK|RECOVERY|CANTINIT)/.test(error.code)
  );
}

/** Whether a file is no database of SQLite at all. */
export function isNoDatabase(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_NOTADB';
}

/** A file that ends before a page that it should have is damaged, too: reading it again will not help. */
function isCorruption(code: string): boolean {
  return /^SQLITE_(CORRUPT|NOTADB|FORMAT|IOERR_SHORT_READ)/.test(code);
}

function isOfTheSystem(code: string): boolean {
  return /^SQLITE_(IOERR|READONLY|BUSY|LOCKED|CANTOPEN|PERM|AUTH|NOMEM|NOLFS|PROTOCOL|INTERRUPT|TOOBIG)/.test(
    code,
  );
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
