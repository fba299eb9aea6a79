import type Database from 'better-sqlite3';
import { invariant } from '../../invariant.ts';

/** How many rows one statement writes. Larger ones measured no faster; the small ones are for what is left over. */
const ROWS_MAX = 32;
const SMALLER = [8, 1] as const;

export type Value = string | number | null;

type Insert = Database.Statement<Value[]>;

/** Writes rows many at a time: most of what a single insert costs is the call, not the row. */
export class RowInserter {
  readonly #columns: number;
  readonly #insertMost: Insert;
  readonly #insertFew: readonly { readonly size: number; readonly insert: Insert }[];
  /** Used again and again: a new one for each statement would be a third of what a commit leaves to the collector. */
  readonly #values: Value[];
  #length = 0;

  /** `into` is the beginning of the statement, up to the name of the table. */
  constructor(db: Database.Database, into: string, columns: readonly string[]) {
    const row = `(${columns.map(() => '?').join(', ')})`;
    const prepare = (rows: number): Insert =>
      db.prepare(`${into} (${columns.join(', ')}) values ${Array(rows).fill(row).join(', ')}`);
    this.#columns = columns.length;
    this.#values = Array<Value>(ROWS_MAX * columns.length).fill(null);
    this.#insertMost = prepare(ROWS_MAX);
    this.#insertFew = SMALLER.map((rows) => ({ size: rows * columns.length, insert: prepare(rows) }));
  }

  /** Takes a row; it is in the table by now, or when flushed. */
  add(row: readonly Value[]): void {
    invariant(row.length === this.#columns, 'a row has a value for each column');
    const values = this.#values;
    const start = this.#length;
    for (let index = 0; index < row.length; index += 1) values[start + index] = row[index] ?? null;
    this.#length = start + row.length;
    if (this.#length < values.length) return;
    // As arguments: the driver takes a fifth longer to get them out of an array.
    this.#insertMost.run(...values);
    this.#length = 0;
  }

  flush(): void {
    let written = 0;
    for (const { size, insert } of this.#insertFew) {
      for (; this.#length - written >= size; written += size)
        insert.run(...this.#values.slice(written, written + size));
    }
    this.#length = 0;
  }

  /** Forgets what waits: its transaction failed. */
  reset(): void {
    this.#length = 0;
  }
}
