import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { DiskBrake } from './disk-brake.ts';
import { explainFault, isFailedSync } from './faults.ts';
import { type Durability, requireDurability } from './open-database.ts';

/** A checkpoint is made once the WAL has this many pages. */
const CHECKPOINT_PAGES = 4_000;

export interface TransactionOptions {
  readonly db: Database.Database;
  readonly file: string;
  readonly durability: Durability;
  readonly brake: DiskBrake;
}

/**
 * Runs writes as transactions of their own: all or nothing, and on disk when it returns. After a failed sync it refuses every
 * further write, since the system would not report the loss a second time.
 */
export class Transactions {
  readonly #options: TransactionOptions;
  readonly #immediate: (work: () => void) => void;
  readonly #walPages: Database.Statement<[], { readonly log: number }>;
  #hasWritten = false;
  #fault: RuntimeError<'LOG_FAULT'> | undefined;

  constructor(options: TransactionOptions) {
    this.#options = options;
    const { db } = options;
    const transaction = db.transaction((work: () => void) => work());
    this.#immediate = (work) => transaction.immediate(work);
    this.#walPages = db.prepare('pragma wal_checkpoint(noop)');
  }

  run<Result>(work: () => Result): Result {
    const { db, file, durability, brake } = this.#options;
    if (this.#fault) throw this.#fault;
    brake.check();
    let results: [Result] | undefined;
    try {
      this.#immediate(() => {
        results = [work()];
      });
    } catch (error) {
      throw this.#explain(error, file);
    }
    if (!this.#hasWritten) requireDurability(db, durability);
    this.#hasWritten = true;
    this.#checkpoint();
    // The transaction has run the work, or has thrown.
    return (results as [Result])[0];
  }

  /**
   * Moves the WAL into the database when it has grown. What was committed is safe in the WAL whatever happens here; but a
   * failed sync still means that this handle cannot be trusted, and SQLite's own checkpoints would not tell.
   */
  #checkpoint(): void {
    const { db, file } = this.#options;
    try {
      if ((this.#walPages.get()?.log ?? 0) >= CHECKPOINT_PAGES) db.pragma('wal_checkpoint(passive)');
    } catch (error) {
      if (isFailedSync(error)) this.#explain(error, file);
      // Anything else (no room for the pages, say) is tried again after the next commit: the WAL just grows till then.
    }
  }

  #explain(error: unknown, file: string): unknown {
    const explained = explainFault(error, { file, doing: 'writing' });
    if (isFailedSync(error) && explained instanceof RuntimeError) {
      this.#fault = explained;
    }
    return explained;
  }
}
