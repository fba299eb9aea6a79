import { statSync } from 'node:fs';
import { RuntimeError } from '../../errors.ts';
import type { EventLog } from '../event-log.ts';
import { DiskBrake } from './disk-brake.ts';
import { isBusy } from './faults.ts';
import { forgetLostLog, HeadFile } from './head-file.ts';
import { type Durability, openForReading, openForWriting, refuseForeignFile } from './open-database.ts';
import { realFile } from './private-files.ts';
import { createSqliteLog } from './sqlite-event-log.ts';
import { Transactions } from './transactions.ts';
import { nameOwner, takeWriterLock } from './writer-lock.ts';

/** For a log on a connection that someone has prepared otherwise: tests let it run out of room. */
export { createSqliteLog };

export interface SqliteLogOptions {
  readonly file: string;
  /** `full` (default): what was acknowledged survives a power cut. `normal`: it survives only the end of the process. */
  readonly durability?: Durability | undefined;
  /** Keep every other process out, readers too. Then not even a full disk can kill the process. */
  readonly exclusive?: boolean | undefined;
  /** Write nothing when the disk has less room than this: 64 MiB unless set. */
  readonly reserveBytes?: number | undefined;
  /** How much room the disk has; asks the file system unless given. */
  readonly freeBytes?: (() => number) | undefined;
  /** It was put in place of another on purpose, from a backup say: it may be shorter than what was written here last. */
  readonly restored?: boolean | undefined;
  /** `write` (default) makes this process the one writer; `read` takes no lock and refuses to write. */
  readonly mode?: 'write' | 'read' | undefined;
}

/**
 * Opens a log, or creates it; a log that is opened for reading must be there.
 *
 * @throws {RuntimeError} LOG_LOCKED, NOT_A_LOG, LOG_NOT_FOUND, NEWER_SCHEMA, LOG_CORRUPT, LOG_NOT_AS_LEFT, SQLITE_TOO_OLD,
 *   LOG_WRITE_FAILED
 */
export async function openSqliteLog(options: SqliteLogOptions): Promise<EventLog> {
  const { file, durability = 'full', exclusive = false, mode = 'write' } = options;
  if (typeof file !== 'string' || file === '') {
    throw new RuntimeError('BAD_OPTION', {
      option: 'file',
      found: JSON.stringify(file),
      expected: 'the path of a log',
    });
  }
  const path = realFile(file);
  if (isDirectory(path)) throw new RuntimeError('NOT_A_LOG', { file, problem: 'it is a directory' });
  if (mode === 'read') return openReader(path, file);
  // Reading takes shared memory, which exclusive mode does without: there, the opening itself refuses what is no log.
  if (!exclusive) refuseForeignFile(path, file);
  const lock = await takeWriterLock(path, file);
  try {
    forgetLostLog(path);
    const db = openForWriting({ path, file, durability, exclusive });
    const brake = new DiskBrake({
      file: path,
      reserveBytes: options.reserveBytes,
      freeBytes: options.freeBytes,
    });
    return createSqliteLog(db, file, {
      lock,
      heads: new HeadFile({
        path,
        file,
        isKept: durability === 'full',
        isRestored: options.restored ?? false,
      }),
      transactions: new Transactions({ db, file, durability, brake }),
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What cannot be looked at is refused by the opening itself, with the reason. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}

async function openReader(path: string, file: string): Promise<EventLog> {
  try {
    return createSqliteLog(openForReading(path, file), file);
  } catch (error) {
    // Only a writer in exclusive mode keeps readers out.
    if (!(error instanceof RuntimeError) || !isBusy(error.cause)) throw error;
    throw new RuntimeError('LOG_LOCKED', { file, owner: await nameOwner(path) }, { cause: error });
  }
}
