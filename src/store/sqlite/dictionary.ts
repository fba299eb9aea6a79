import type Database from 'better-sqlite3';
import { RowInserter } from './row-inserter.ts';

/** How many names one generation of the cache holds. */
const GENERATION_SIZE = 100_000;

/** The version of a stream that nobody has looked at yet. */
export const UNKNOWN_VERSION = -1;

/** A run or an actor that the writer has met. */
export interface Entry {
  readonly id: number;
  /** Of an actor: the version of its stream, if someone has looked. */
  version: number;
  /** The last turn that touched it, as far as the writer has seen. */
  turn: number;
}

/**
 * The integers that stand for names, and what the writer knows of each. It is kept in memory since only the one writer
 * changes it; it is bounded: a name that was used neither in this generation nor in the last one is looked up again.
 */
export class Dictionary {
  readonly #select: Database.Statement<[string], number>;
  readonly #rows: RowInserter;
  readonly #selectLast: Database.Statement<[], number | null>;
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  #lastId: number | undefined;

  constructor(db: Database.Database, table: 'actors' | 'runs') {
    const name = table === 'actors' ? 'address' : 'name';
    this.#select = db.prepare<[string], number>(`select id from ${table} where ${name} = ?`).pluck();
    this.#rows = new RowInserter(db, `insert into ${table}`, ['id', name]);
    this.#selectLast = db.prepare<[], number | null>(`select max(id) from ${table}`).pluck();
  }

  /** The entry of a name that the log has, or undefined. */
  find(name: string): Entry | undefined {
    const known = this.#young.get(name);
    if (known) return known;
    const old = this.#old.get(name);
    if (old) return this.#keep(name, old);
    const id = this.#select.get(name);
    return id === undefined ? undefined : this.#keep(name, { id, version: UNKNOWN_VERSION, turn: 0 });
  }

  /**
   * The entry of a name, which is written down, when flushed, if it is new. Call it inside a transaction, and `forget` if that
   * fails.
   */
  enter(name: string): Entry {
    const known = this.#young.get(name) ?? this.find(name);
    if (known) return known;
    const id = (this.#lastId ?? this.#selectLast.get() ?? 0) + 1;
    this.#rows.add([id, name]);
    this.#lastId = id;
    return this.#keep(name, { id, version: 0, turn: 0 });
  }

  /** Writes down the names that are new. */
  flush(): void {
    this.#rows.flush();
  }

  /** Drops everything: after a failed transaction nobody knows which of it is in the file. */
  forget(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#lastId = undefined;
    this.#rows.reset();
  }

  #keep(name: string, entry: Entry): Entry {
    if (this.#young.size >= GENERATION_SIZE) {
      // What leaves memory is looked up in the table.
      this.flush();
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, entry);
    return entry;
  }
}
