import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { runOf } from '../../events/address.ts';
import type { RecordedEvent } from '../../events/event.ts';
import type { EventQuery } from '../event-log.ts';
import { queryLimit } from '../query-limit.ts';
import {
  EVENT_COLUMNS,
  EVENT_NAMES,
  type EventRow,
  namedRow,
  type RawEventRow,
  recordedEvent,
} from './event-rows.ts';
import { createEndReader, type LogEnd } from './log-end.ts';
import type { Value } from './row-inserter.ts';

/** A stretch of the log to look through: the rows from `low` to `high`, of one run if one is given. */
interface Stretch {
  readonly low: number;
  readonly high: number;
  readonly run: string | undefined;
}

/** Conditions on single rows, as SQL and the values in it. */
interface Filter {
  readonly conditions: readonly string[];
  readonly values: readonly Value[];
}

interface Order {
  readonly limit: number;
  readonly reverse: boolean;
}

/** Answers queries on events. Statements are kept by their text, of which there are few: lists go in as one JSON value. */
export class EventReader {
  readonly #db: Database.Database;
  readonly #file: string;
  readonly #statements = new Map<string, Database.Statement<[readonly Value[]], RawEventRow>>();
  readonly #selectTurn: Database.Statement<
    [number],
    { readonly first: number; readonly last: number; readonly at_ms: number }
  >;
  readonly #selectTurnOf: Database.Statement<[number], number>;
  readonly #selectRunOf: Database.Statement<[number], string | null>;
  readonly #readEnd: () => LogEnd;

  constructor(db: Database.Database, file: string) {
    this.#db = db;
    this.#file = file;
    this.#selectTurn = db.prepare('select first, last, at_ms from turns where turn = ?');
    this.#selectTurnOf = db.prepare<[number], number>('select turn from events where position = ?').pluck();
    this.#selectRunOf = db
      .prepare<[number], string | null>(
        'select r.name from events e left join runs r on r.id = e.run where e.position = ?',
      )
      .pluck();
    this.#readEnd = createEndReader(db, file);
  }

  events(query: EventQuery): readonly RecordedEvent[] {
    const limit = queryLimit(query.limit, 1_000);
    const reverse = query.reverse ?? false;
    const filter = filterOf(query);
    const stretches = this.#stretches(query);
    const found: RecordedEvent[] = [];
    for (const stretch of reverse ? stretches.toReversed() : stretches) {
      const rows = this.#select(stretch, filter, { limit: limit - found.length, reverse });
      if (filter.conditions.length === 0) this.#mustBeWhole(rows, stretch, { limit, reverse });
      for (const row of rows) found.push(recordedEvent(row, this.#file));
    }
    return found;
  }

  /** Where to look, in order of position. Nothing is left out that could fit; what does not fit is left to the filter. */
  #stretches(query: EventQuery): readonly Stretch[] {
    const { low, high } = this.#bounds(query);
    const run = query.run ?? (query.actor === undefined ? undefined : runOf(query.actor));
    if (query.cause === undefined) return [{ low, high, run }];
    const causedIn = this.#turnOf(query.cause);
    const turn = causedIn === undefined ? undefined : this.#selectTurn.get(causedIn);
    const causedRun = this.#selectRunOf.get(query.cause);
    if (!turn || causedRun === undefined || causedRun === null) return [];
    // What an event causes is in its own turn, or goes through a call or timer of its actor to a later turn of its run.
    const here = { low: Math.max(low, query.cause + 1), high: Math.min(high, turn.last), run: undefined };
    const later = { low: Math.max(low, turn.last + 1), high, run: causedRun };
    return [here, later];
  }

  #bounds({ after = 0, before = Number.MAX_SAFE_INTEGER, turn, fromMs, toMs }: EventQuery): {
    low: number;
    high: number;
  } {
    const end = this.#readEnd();
    let low = Math.max(1, after + 1);
    let high = Math.min(end.last, before - 1);
    if (turn !== undefined) {
      const bounds = this.#selectTurn.get(turn) ?? { first: 1, last: 0 };
      low = Math.max(low, bounds.first);
      high = Math.min(high, bounds.last);
    }
    if (fromMs !== undefined) low = Math.max(low, this.#firstAt(fromMs, end));
    if (toMs !== undefined) high = Math.min(high, this.#firstAt(toMs, end) - 1);
    return { low, high };
  }

  /** Position of the first event at this time or later. Turns are numbered without gaps and never go back in time. */
  #firstAt(atMs: number, end: LogEnd): number {
    let low = 1;
    let high = end.turn + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#selectTurn.get(middle)?.at_ms ?? 0) >= atMs) high = middle;
      else low = middle + 1;
    }
    return this.#selectTurn.get(low)?.first ?? end.last + 1;
  }

  #turnOf(position: number): number | undefined {
    return this.#selectTurnOf.get(position);
  }

  #select({ low, high, run }: Stretch, filter: Filter, order: Order): EventRow[] {
    if (low > high || order.limit === 0) return [];
    const limit = order.limit === Number.POSITIVE_INFINITY ? -1 : order.limit;
    const direction = order.reverse ? 'desc' : 'asc';
    const conditions = filter.conditions.map((condition) => ` and ${condition}`).join('');
    const bounds = 'e.position between ? and ?';
    if (run === undefined) {
      const from = `from events e left join turns t on t.turn = e.turn ${EVENT_NAMES}`;
      const sql = `select ${EVENT_COLUMNS} ${from} where ${bounds}${conditions} order by e.position ${direction} limit ?`;
      return this.#rows(sql, [low, high, ...filter.values, limit]);
    }
    const from = `from run_turns w cross join turns t on t.turn = w.turn
      cross join events e on e.position between t.first and t.last ${EVENT_NAMES}`;
    const where = `where w.run = (select id from runs where name = ?) and w.turn between ? and ? and e.run = w.run`;
    const sql = `select ${EVENT_COLUMNS} ${from} ${where} and ${bounds}${conditions}
      order by w.turn ${direction}, e.position ${direction} limit ?`;
    const turns = [this.#turnOf(low) ?? 0, this.#turnOf(high) ?? Number.MAX_SAFE_INTEGER];
    return this.#rows(sql, [run, ...turns, low, high, ...filter.values, limit]);
  }

  /** Positions have no gaps, so that a row which is gone, or has been given another position, is seen at once. */
  #mustBeWhole(rows: readonly EventRow[], { low, high }: Stretch, { limit, reverse }: Order): void {
    const expected = Math.max(0, Math.min(high - low + 1, limit));
    for (let index = 0; index < expected; index += 1) {
      const position = reverse ? high - index : low + index;
      if (rows[index]?.position !== position) {
        throw new RuntimeError('LOG_CORRUPT', { file: this.#file, position, problem: 'the row is missing' });
      }
    }
  }

  #rows(sql: string, values: readonly Value[]): EventRow[] {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare<[readonly Value[]], RawEventRow>(sql).raw();
      this.#statements.set(sql, statement);
    }
    return statement.all(values).map(namedRow);
  }
}

function filterOf({ run, actor, types, kinds, cause }: EventQuery): Filter {
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (condition: string, value: Value) => {
    conditions.push(condition);
    values.push(value);
  };
  // The run of an actor is where to look for it; a run that was asked for beside it may be another one.
  if (run !== undefined) add('r.name = ?', run);
  if (actor !== undefined) add('e.actor = (select id from actors where address = ?)', actor);
  if (types !== undefined) add('e.type in (select value from json_each(?))', JSON.stringify(types));
  if (kinds !== undefined) add('e.kind in (select value from json_each(?))', JSON.stringify(kinds));
  if (cause !== undefined) add('e.cause = ?', cause);
  return { conditions, values };
}
