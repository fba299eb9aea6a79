import Database from 'better-sqlite3';
import { RuntimeError } from '../errors.ts';
import { explainFault } from './sqlite/faults.ts';
import { requireSqlite } from './sqlite/open-database.ts';
import { createPrivateFile, realFile } from './sqlite/private-files.ts';

/** A command that a process other than the owner of a log gives to the owner. */
export interface InboxCommand {
  /** Given by the sender; the same id twice is the same command. */
  readonly id: string;
  readonly kind: string;
  /** JSON. */
  readonly body: string;
  /** Who gives it; null if nobody said. */
  readonly by: string | null;
  readonly atMs: number;
}

/**
 * Commands on their way to the owner of a log, and what became of them. Many processes may post at once; what was posted stays
 * until the owner has settled it, also over crashes of either.
 */
export interface Inbox {
  post(command: InboxCommand): void;

  /** The oldest commands that are not settled, in the order in which they were posted. */
  pending(limit: number): readonly InboxCommand[];

  /**
   * Keeps what became of a command (JSON) for its sender. The first outcome stays: a command is done once. Outcomes that are
   * older than seven days are dropped.
   */
  settle(id: string, outcome: string, atMs: number): void;

  /** What became of a command; undefined while it waits, or if there is none of this id. */
  outcome(id: string): string | undefined;

  /** Whether another process has written since the last time this was asked; true the first time. Reads no table. */
  changed(): boolean;

  close(): void;
}

/** Marks a SQLite file as one of our inboxes ("LoIn"). */
const APPLICATION_ID = 0x4c_6f_49_6e;
const SCHEMA_VERSION = 1;
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

const SCHEMA = `
  create table commands (
    seq integer primary key autoincrement, id text not null unique, kind text not null, body text not null, by text,
    at_ms integer not null, outcome text, settled_at_ms integer
  ) strict;
  create index pending on commands (seq) where outcome is null;
  create index settled on commands (settled_at_ms) where outcome is not null;
`;

/** Opens the inbox of the log at `file`, beside it, and creates it if need be. */
export function openInbox(file: string): Inbox {
  requireSqlite();
  const path = `${realFile(file)}.inbox`;
  createPrivateFile(path, `${file}.inbox`);
  return guarded(`${file}.inbox`, () => {
    const db = new Database(path, { fileMustExist: true, timeout: 5_000 });
    try {
      prepareInbox(db, `${file}.inbox`);
      return new SqliteInbox(db, `${file}.inbox`);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Several processes may come first: whoever gets the lock makes the table, the others find it there. */
function prepareInbox(db: Database.Database, file: string): void {
  const number = (pragma: string) => Number(db.pragma(pragma, { simple: true }));
  // Not WAL: on a full disk its shared memory can kill the process, and exclusive mode promises that nothing does.
  db.pragma('journal_mode = DELETE');
  db.pragma('synchronous = FULL');
  db.pragma('trusted_schema = OFF');
  db.transaction(() => {
    if (number('application_id') === APPLICATION_ID) return;
    if (db.prepare('select 1 from sqlite_schema').get() !== undefined) {
      throw new RuntimeError('NOT_A_LOG', { file, problem: 'it is a SQLite database of another program' });
    }
    db.exec(SCHEMA);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  }).immediate();
  const found = number('user_version');
  if (found > SCHEMA_VERSION)
    throw new RuntimeError('NEWER_SCHEMA', { file, found, supported: SCHEMA_VERSION });
}

class SqliteInbox implements Inbox {
  readonly #db: Database.Database;
  readonly #file: string;
  readonly #insert: Database.Statement<InboxCommand>;
  readonly #selectPending: Database.Statement<[number], InboxCommand>;
  readonly #update: Database.Statement<[string, number, string]>;
  readonly #prune: Database.Statement<[number]>;
  readonly #selectOutcome: Database.Statement<[string], string | null>;
  readonly #dataVersion: Database.Statement<[], number>;
  #seenVersion: number | undefined;

  constructor(db: Database.Database, file: string) {
    this.#db = db;
    this.#file = file;
    this.#insert = db.prepare(
      'insert or ignore into commands (id, kind, body, by, at_ms) values (@id, @kind, @body, @by, @atMs)',
    );
    this.#selectPending = db.prepare(
      'select id, kind, body, by, at_ms as atMs from commands where outcome is null order by seq limit ?',
    );
    this.#update = db.prepare(
      'update commands set outcome = ?, settled_at_ms = ? where id = ? and outcome is null',
    );
    this.#prune = db.prepare('delete from commands where outcome is not null and settled_at_ms < ?');
    this.#selectOutcome = db
      .prepare<[string], string | null>('select outcome from commands where id = ?')
      .pluck();
    this.#dataVersion = db.prepare<[], number>('pragma data_version').pluck();
  }

  post(command: InboxCommand): void {
    this.#do('post', () => this.#insert.run(command));
  }

  pending(limit: number): readonly InboxCommand[] {
    return this.#do('pending', () => this.#selectPending.all(limit));
  }

  settle(id: string, outcome: string, atMs: number): void {
    this.#do('settle', () =>
      this.#db
        .transaction(() => {
          this.#update.run(outcome, atMs, id);
          this.#prune.run(atMs - KEPT_MS);
        })
        .immediate(),
    );
  }

  outcome(id: string): string | undefined {
    return this.#do('outcome', () => this.#selectOutcome.get(id) ?? undefined);
  }

  changed(): boolean {
    const version = this.#do('changed', () => this.#dataVersion.get());
    const hasChanged = version !== this.#seenVersion;
    this.#seenVersion = version;
    return hasChanged;
  }

  close(): void {
    this.#db.close();
  }

  #do<Result>(action: string, work: () => Result): Result {
    if (!this.#db.open) throw new RuntimeError('RUNTIME_CLOSED', { action });
    return guarded(this.#file, work);
  }
}

function guarded<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw explainFault(error, { file, doing: 'writing' });
  }
}
