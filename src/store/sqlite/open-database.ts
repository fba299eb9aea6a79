import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { invariant } from '../../invariant.ts';
import { explainFault, isBusy, messageOf, needsRecovery } from './faults.ts';
import { createPrivateFile } from './private-files.ts';
import { migrate, readSchemaVersion, SCHEMA_VERSION } from './schema.ts';

/** Below this, a database that is written and read at once can be corrupted (the WAL-reset bug). */
const OLDEST_SQLITE = '3.51.3';
const SYNCHRONOUS = { full: 2, normal: 1 } as const;

export type Durability = keyof typeof SYNCHRONOUS;

export interface DatabaseOptions {
  /** The real path: see `realFile`. */
  readonly path: string;
  /** The path as the caller wrote it, for messages. */
  readonly file: string;
  readonly durability: Durability;
  /** Keep everyone else out, readers too: then a full disk cannot kill the process. */
  readonly exclusive: boolean;
}

/**
 * Opens a log for its one writer, creating it if need be; call it with the writer's lock in hand. The file and all files that
 * SQLite makes beside it can be read by their owner only.
 */
export function openForWriting({ path, file, durability, exclusive }: DatabaseOptions): Database.Database {
  requireSqlite();
  createPrivateFile(path, file);
  return connect({ path, file, readonly: false, timeout: 1_000 }, (db) => {
    // Before anything is read: at the first look SQLite decides whether it needs the shared memory that others would see.
    if (exclusive) db.pragma('locking_mode = EXCLUSIVE');
    readSchemaVersion(db, file);
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${durability}`);
    // Checkpoints are made by the log itself: one that SQLite makes inside a commit hides a failed sync.
    db.pragma('wal_autocheckpoint = 0');
    db.pragma('journal_size_limit = 67108864');
    setSafeDefaults(db);
    migrate(db, file);
    requireDurability(db, durability);
  });
}

/** Opens a log for reading only, beside its writer if there is one. */
export function openForReading(path: string, file: string): Database.Database {
  requireSqlite();
  const size = fileSize(path, file);
  if (size === undefined) throw new RuntimeError('LOG_NOT_FOUND', { file });
  if (size === 0) throw new RuntimeError('NOT_A_LOG', { file, problem: 'it is empty' });
  return connect({ path, file, readonly: true, timeout: 1_000 }, (db) => {
    const version = readSchemaVersion(db, file);
    if (version === 0) throw new RuntimeError('NOT_A_LOG', { file, problem: 'it is empty' });
    if (version < SCHEMA_VERSION) {
      const problem = `it has schema ${version}: open it once for writing, which brings it to schema ${SCHEMA_VERSION}`;
      throw new RuntimeError('NOT_A_LOG', { file, problem });
    }
    setSafeDefaults(db);
  });
}

/**
 * Refuses a file that is no log, or a newer one, before anything is made beside it or written to it. What is locked by its
 * owner at this moment is left to the lock to judge, and what an owner left half-made when it was killed to its new writer.
 */
export function refuseForeignFile(path: string, file: string): void {
  requireSqlite();
  if (!fileSize(path, file)) return;
  try {
    connect({ path, file, readonly: true, timeout: 100 }, (db) => readSchemaVersion(db, file)).close();
  } catch (error) {
    if (!(error instanceof RuntimeError && (isBusy(error.cause) || needsRecovery(error.cause)))) throw error;
  }
}

/**
 * SQLite opens WAL databases at NORMAL unless told otherwise, and on a new file drops to it at the first write: so it is asked
 * after opening, and again after the first commit.
 */
export function requireDurability(db: Database.Database, durability: Durability): void {
  const found = db.pragma('synchronous', { simple: true });
  invariant(found === SYNCHRONOUS[durability], `synchronous is ${durability}`);
}

/** @throws {RuntimeError} SQLITE_TOO_OLD */
export function requireSqlite(found: string = sqliteVersion()): void {
  const order = found.localeCompare(OLDEST_SQLITE, 'en', { numeric: true });
  if (order < 0) throw new RuntimeError('SQLITE_TOO_OLD', { found, needed: OLDEST_SQLITE });
}

let knownVersion: string | undefined;

/** Which SQLite comes with better-sqlite3 here. */
export function sqliteVersion(): string {
  if (knownVersion === undefined) {
    const db = new Database(':memory:');
    knownVersion = String(db.prepare('select sqlite_version()').pluck().get());
    db.close();
  }
  return knownVersion;
}

/** A damaged page is noticed where it is read; nothing in the schema of a file runs code; a vanished page never kills us. */
function setSafeDefaults(db: Database.Database): void {
  db.pragma('cell_size_check = ON');
  db.pragma('trusted_schema = OFF');
  db.pragma('mmap_size = 0');
}

interface ConnectOptions {
  readonly path: string;
  readonly file: string;
  readonly readonly: boolean;
  /** How long to wait for a lock, in milliseconds. */
  readonly timeout: number;
}

/** An open connection on which `prepare` has succeeded: if it fails, nothing stays open. */
function connect(
  { path, file, ...options }: ConnectOptions,
  prepare: (db: Database.Database) => void,
): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { fileMustExist: true, ...options });
    prepare(db);
    return db;
  } catch (error) {
    db?.close();
    throw explainFault(error, { file, doing: options.readonly ? 'reading' : 'writing' });
  }
}

function fileSize(path: string, file: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size;
  } catch (error) {
    throw new RuntimeError('LOG_READ_FAILED', { file, problem: messageOf(error) }, { cause: error });
  }
}
