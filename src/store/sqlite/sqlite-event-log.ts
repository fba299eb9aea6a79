import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { runOf } from '../../events/address.ts';
import type { Address, RecordedEvent } from '../../events/event.ts';
import type { RecordedTurn, RunRecord } from '../../events/turn.ts';
import type {
  Batch,
  EventLog,
  EventQuery,
  Head,
  Loaded,
  LoadedActor,
  LoadOptions,
  OpenWork,
  RunFilter,
  SaveOptions,
  ScanQuery,
  StoredTurn,
  StoredView,
  TurnQuery,
  VerifyOptions,
  VerifyReport,
  ViewKey,
} from '../event-log.ts';
import { againstHead } from '../kept-head.ts';
import { queryLimit } from '../query-limit.ts';
import { Appender } from './appender.ts';
import { backupTo } from './backup.ts';
import { checkTail } from './chain-walk.ts';
import { EventReader } from './event-query.ts';
import { EventScanner } from './event-scan.ts';
import { explainFault } from './faults.ts';
import { type HeadFile, readHeadFile } from './head-file.ts';
import { createRunReader, type RunReader } from './run-table.ts';
import { createValueReader, createValueWriter } from './stored-values.ts';
import { StreamReader } from './stream-reader.ts';
import type { Transactions } from './transactions.ts';
import { TurnReader } from './turn-reader.ts';
import { verifyLog } from './verify-log.ts';
import { ViewQueue } from './view-queue.ts';
import { createWorkReader } from './work-tables.ts';
import type { WriterLock } from './writer-lock.ts';

/** What only the writer has. */
export interface WriterParts {
  readonly lock: WriterLock;
  readonly transactions: Transactions;
  /** Told of every commit. A connection that was prepared by hand may do without. */
  readonly heads?: HeadFile;
}

/**
 * A log on an open database, which it closes. Without the parts of a writer it reads only, and then opens a damaged log, too:
 * what is damaged is refused when it is read, and `verify` says where the damage begins.
 */
export function createSqliteLog(db: Database.Database, file: string, writer?: WriterParts): EventLog {
  try {
    return new SqliteLog(db, file, writer);
  } catch (error) {
    db.close();
    throw explainFault(error, { file, doing: 'reading' });
  }
}

class SqliteLog implements EventLog {
  readonly file: string;
  readonly #db: Database.Database;
  readonly #writer:
    | (WriterParts & { readonly appender: Appender; readonly values: ReturnType<typeof createValueWriter> })
    | undefined;
  readonly #turns: TurnReader;
  readonly #events: EventReader;
  readonly #scanner: EventScanner;
  readonly #streams: StreamReader;
  readonly #runs: RunReader;
  readonly #values: ReturnType<typeof createValueReader>;
  readonly #readWork: () => OpenWork;
  readonly #backups = new Set<Promise<void>>();
  readonly #views = new ViewQueue(() => this.#flushViews());
  /** Where the log ends; only the writer may know it by heart. */
  #head: Head | undefined;
  #isClosed = false;

  constructor(db: Database.Database, file: string, writer: WriterParts | undefined) {
    this.#db = db;
    this.file = file;
    this.#turns = new TurnReader(db, file);
    if (writer) checkTail(db, this.#turns, file);
    writer?.heads?.begin(this.#turns);
    this.#events = new EventReader(db, file);
    this.#scanner = new EventScanner(db, file);
    this.#values = createValueReader(db, file);
    this.#streams = new StreamReader(db, file, (actor, id) => this.#values.snapshot(actor, id));
    this.#runs = createRunReader(db, file);
    this.#readWork = createWorkReader(db, file);
    this.#writer = writer && { ...writer, appender: new Appender(db), values: createValueWriter(db) };
    this.#head = writer && this.#turns.head();
  }

  async commit(batch: Batch): Promise<readonly RecordedTurn[]> {
    const { appender, transactions, heads } = this.#mustWrite('commit');
    if (batch.turns.length === 0 && batch.snapshots.length === 0) return [];
    const head = this.#head ?? this.#turns.head();
    try {
      const appended = this.#withViews((write) =>
        transactions.run(() => {
          write();
          return appender.append(batch, head);
        }),
      );
      this.#head = appended.head;
      if (batch.turns.length > 0) heads?.keep(appended.head);
      return appended.turns;
    } catch (error) {
      appender.forget();
      throw appender.explain(error, batch.turns);
    }
  }

  async load(actors: readonly Address[], options: LoadOptions = {}): Promise<Loaded> {
    return this.#read('load', () => {
      const loaded = new Map<Address, LoadedActor>();
      const runs = new Map<string, RunRecord>();
      for (const address of actors) {
        const id = runOf(address);
        const run = runs.get(id) ?? this.#runs.run(id);
        if (run) runs.set(id, run);
        const actor = this.#streams.load(address, options);
        if (!actor) continue;
        loaded.set(address, actor);
        const last = actor.tail.at(-1);
        if (last) this.#writer?.appender.learn(address, { version: last.version, turn: last.turn });
      }
      return { actors: loaded, runs };
    });
  }

  async openWork(): Promise<OpenWork> {
    return this.#read('openWork', this.#readWork);
  }

  async events(query: EventQuery): Promise<readonly RecordedEvent[]> {
    return this.#read('events', () => this.#events.events(query));
  }

  async scan(query: ScanQuery): Promise<readonly RecordedEvent[]> {
    this.#mustBeOpen('scan');
    try {
      return await this.#scanner.scan(query);
    } catch (error) {
      throw explainFault(error, { file: this.file, doing: 'reading' });
    }
  }

  async findTurn(
    id: string,
  ): Promise<{ readonly turn: number; readonly first: number; readonly last: number } | undefined> {
    return this.#read('findTurn', () => this.#turns.find(id));
  }

  async turns({ after = 0, limit }: TurnQuery): Promise<readonly StoredTurn[]> {
    return this.#read('turns', () => this.#turns.turns(Math.max(0, after), queryLimit(limit, 100)));
  }

  async run(id: string): Promise<RunRecord | undefined> {
    return this.#read('run', () => this.#runs.run(id));
  }

  async runs(filter: RunFilter): Promise<readonly RunRecord[]> {
    return this.#read('runs', () => this.#runs.runs(filter));
  }

  async putBlobs(blobs: ReadonlyMap<string, string>): Promise<void> {
    const { transactions, values } = this.#mustWrite('putBlobs');
    if (blobs.size === 0) return;
    transactions.run(() => {
      for (const [hash, text] of blobs) values.blob(hash, text);
    });
  }

  async blobs(hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#read('blobs', () => {
      const found = new Map<string, string>();
      for (const hash of hashes) {
        const text = this.#values.blob(hash);
        if (text !== undefined) found.set(hash, text);
      }
      return found;
    });
  }

  async blobHashes({
    after = '',
    limit,
  }: {
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly string[]> {
    return this.#read('blobHashes', () => this.#values.blobHashes(after, queryLimit(limit, 1_000)));
  }

  async loadView(key: ViewKey): Promise<StoredView | undefined> {
    return this.#read('loadView', () => this.#values.view(key));
  }

  async saveViews(
    views: readonly (ViewKey & StoredView)[],
    { mayWait = false }: SaveOptions = {},
  ): Promise<void> {
    this.#mustWrite('saveViews');
    if (views.length === 0) return;
    const stored = this.#views.add(views);
    if (!mayWait) this.#flushViews();
    await stored;
  }

  async dropViews(keys: readonly ViewKey[]): Promise<void> {
    const { transactions, values } = this.#mustWrite('dropViews');
    if (keys.length === 0) return;
    this.#withViews((write) =>
      transactions.run(() => {
        write();
        for (const key of keys) values.dropView(key);
      }),
    );
  }

  async head(): Promise<Head> {
    return this.#read('head', () => this.#head ?? this.#turns.checkedHead());
  }

  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    this.#mustBeOpen('verify');
    const report = await verifyLog({
      ...options,
      db: this.#db,
      file: this.file,
      kept: readHeadFile(this.#db.name),
      turns: this.#turns,
      runs: this.#runs,
      values: this.#values,
      readWork: this.#readWork,
      mustBeOpen: () => this.#mustBeOpen('verify'),
    });
    return againstHead(this, report, options.head);
  }

  async backup(file: string): Promise<void> {
    this.#mustBeOpen('backup');
    const backup = backupTo(this.#db, file);
    this.#backups.add(backup);
    try {
      await backup;
    } finally {
      this.#backups.delete(backup);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled([...this.#backups, this.#scanner.end(), this.#writer?.heads?.close()]);
    this.#flushViews();
    try {
      this.#db.close();
    } finally {
      this.#writer?.lock.release();
    }
  }

  /** Does a transaction, in which `write` stores the views that wait for one. */
  #withViews<Result>(transact: (write: () => void) => Result): Result {
    const { views, settled } = this.#views.take();
    try {
      const result = transact(() => {
        for (const view of views) this.#writer?.values.view(view);
      });
      settled();
      return result;
    } catch (error) {
      settled(error);
      throw error;
    }
  }

  #flushViews(): void {
    if (this.#views.isEmpty) return;
    try {
      this.#withViews((write) => this.#writer?.transactions.run(write));
    } catch {
      // Whoever waits for them is told.
    }
  }

  #read<Result>(action: string, read: () => Result): Result {
    this.#mustBeOpen(action);
    try {
      return read();
    } catch (error) {
      throw explainFault(error, { file: this.file, doing: 'reading' });
    }
  }

  #mustWrite(action: string) {
    this.#mustBeOpen(action);
    if (this.#writer) return this.#writer;
    throw new RuntimeError('LOG_WRITE_FAILED', {
      file: this.file,
      problem: 'it was opened for reading only',
    });
  }

  #mustBeOpen(action: string): void {
    if (this.#isClosed) throw new RuntimeError('RUNTIME_CLOSED', { action });
  }
}
