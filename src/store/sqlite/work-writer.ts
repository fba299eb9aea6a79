import type Database from 'better-sqlite3';
import type { Address } from '../../events/event.ts';
import type { OpenCall, OpenTimer, Recorded, RecordedTurn } from '../../events/turn.ts';
import type { Dictionary } from './dictionary.ts';
import { RowInserter, type Value } from './row-inserter.ts';
import { callDigest, timerDigest } from './work-tables.ts';

interface Names {
  readonly actors: Dictionary;
  readonly runs: Dictionary;
}

/**
 * Keeps the tables of what is open. What a batch opens is held back until its end: a call that was opened and closed in the
 * same batch never gets a row.
 */
export class WorkWriter {
  readonly #calls: WorkTable<Recorded<OpenCall>>;
  readonly #timers: WorkTable<Recorded<OpenTimer>>;

  constructor(db: Database.Database, names: Names) {
    this.#calls = new WorkTable(db, names, {
      table: 'calls',
      name: 'call',
      columns: [
        'generation',
        'agent',
        'machine',
        'machine_version',
        'call_id',
        'attempt',
        'input',
        'announce',
        'opened_at',
        'nth',
        'digest',
      ],
      values: (call, nth) => [
        call.generation,
        call.agent,
        call.machine,
        call.machineVersion,
        call.callId,
        call.attempt,
        call.input,
        call.announce ? 1 : 0,
        call.openedAt,
        nth,
        callDigest(call, nth),
      ],
    });
    this.#timers = new WorkTable(db, names, {
      table: 'timers',
      name: 'timer',
      columns: ['generation', 'due_ms', 'opened_at', 'nth', 'digest'],
      values: (timer, nth) => [timer.generation, timer.dueMs, timer.openedAt, nth, timerDigest(timer, nth)],
    });
  }

  /** Of a turn, all that it opened comes before what it closed: see the port. */
  take({ openedCalls, openedTimers, closedCalls, closedTimers }: WorkOfTurn): void {
    for (const [nth, call] of openedCalls.entries()) this.#calls.open(call.call, call, nth);
    for (const [nth, timer] of openedTimers.entries()) this.#timers.open(timer.timer, timer, nth);
    for (const { actor, call, generation } of closedCalls)
      this.#calls.close({ actor, name: call, generation });
    for (const { actor, timer, generation } of closedTimers)
      this.#timers.close({ actor, name: timer, generation });
  }

  flush(): void {
    this.#calls.flush();
    this.#timers.flush();
  }

  reset(): void {
    this.#calls.reset();
    this.#timers.reset();
  }
}

type WorkOfTurn = Pick<RecordedTurn, 'openedCalls' | 'openedTimers' | 'closedCalls' | 'closedTimers'>;

interface Work {
  readonly run: string;
  readonly actor: Address;
  readonly generation: number;
}

interface TableShape<Item> {
  readonly table: string;
  /** The column that names the work within its actor. */
  readonly name: string;
  readonly columns: readonly string[];
  values(item: Item, nth: number): readonly Value[];
}

interface Held<Item> {
  readonly name: string;
  readonly actor: Address;
  readonly nth: number;
  /** Null if it was closed again in this batch. */
  readonly item: Item | null;
}

class WorkTable<Item extends Work> {
  readonly #names: Names;
  readonly #shape: TableShape<Item>;
  readonly #rows: RowInserter;
  readonly #deleteGeneration: Database.Statement<[number, string, number]>;
  readonly #delete: Database.Statement<[number, string]>;
  readonly #held = new Map<string, Held<Item>>();

  constructor(db: Database.Database, names: Names, shape: TableShape<Item>) {
    const { table, name, columns } = shape;
    this.#names = names;
    this.#shape = shape;
    this.#rows = new RowInserter(db, `insert or replace into ${table}`, ['run', 'actor', name, ...columns]);
    this.#delete = db.prepare<[number, string]>(`delete from ${table} where actor = ? and ${name} = ?`);
    this.#deleteGeneration = db.prepare<[number, string, number]>(
      `delete from ${table} where actor = ? and ${name} = ? and generation = ?`,
    );
  }

  open(name: string, item: Item, nth: number): void {
    this.#held.set(`${item.actor}\n${name}`, { name, actor: item.actor, nth, item });
  }

  close({
    actor,
    name,
    generation,
  }: {
    readonly actor: Address;
    readonly name: string;
    readonly generation: number;
  }): void {
    const key = `${actor}\n${name}`;
    const held = this.#held.get(key);
    if (!held) {
      const entry = this.#names.actors.find(actor);
      if (entry) this.#deleteGeneration.run(entry.id, name, generation);
    } else if (held.item?.generation === generation) {
      this.#held.set(key, { ...held, item: null });
    }
  }

  flush(): void {
    const { actors, runs } = this.#names;
    for (const { name, actor, nth, item } of this.#held.values()) {
      const { id } = actors.enter(actor);
      if (item) this.#rows.add([runs.enter(item.run).id, id, name, ...this.#shape.values(item, nth)]);
      else this.#delete.run(id, name);
    }
    this.#rows.flush();
    this.#held.clear();
  }

  reset(): void {
    this.#rows.reset();
    this.#held.clear();
  }
}
