import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { Origin } from '../../events/turn.ts';
import { EMPTY_CHAIN, turnChain } from '../chain.ts';
import type { Head, StoredEvent, StoredTurn } from '../event-log.ts';
import {
  EVENT_COLUMNS,
  EVENT_NAMES,
  type EventRow,
  namedRow,
  type RawEventRow,
  storedEvent,
} from './event-rows.ts';
import { createEndReader, type LogEnd } from './log-end.ts';

/** A row of `turns`. */
export interface TurnRow {
  readonly turn: number;
  readonly id: string;
  readonly first: number;
  readonly last: number;
  readonly at_ms: number;
  readonly origin: Origin;
  readonly by: string | null;
  readonly cause: number | null;
  readonly chain: string;
}

/** Whether all values have the types that they were written with: a text that became a blob would be hashed the same. */
export function hasItsTypes({ id, first, last, at_ms, origin, by, cause, chain }: TurnRow): boolean {
  const isText = (value: unknown) => typeof value === 'string';
  const isNumber = (value: unknown) => typeof value === 'number';
  return (
    [id, origin, chain].every(isText) &&
    [first, last, at_ms].every(isNumber) &&
    (by === null || isText(by)) &&
    (cause === null || isNumber(cause))
  );
}

const TURN_COLUMNS = 'turn, id, first, last, at_ms, origin, by, cause, chain';

/** Reads whole turns. What it gives was checked against its digests and its chain. */
export class TurnReader {
  readonly #file: string;
  readonly #selectTurns: Database.Statement<[number, number], TurnRow>;
  readonly #selectById: Database.Statement<[string], TurnRow>;
  readonly #selectLast: Database.Statement<[], TurnRow>;
  readonly #selectChain: Database.Statement<[number], string>;
  readonly #readEnd: () => LogEnd;
  readonly #selectRows: Database.Statement<[number, number], RawEventRow>;

  constructor(db: Database.Database, file: string) {
    this.#file = file;
    this.#readEnd = createEndReader(db, file);
    this.#selectTurns = db.prepare(`select ${TURN_COLUMNS} from turns where turn > ? order by turn limit ?`);
    this.#selectById = db.prepare(`select ${TURN_COLUMNS} from turns where id = ?`);
    this.#selectLast = db.prepare(`select ${TURN_COLUMNS} from turns order by turn desc limit 1`);
    this.#selectChain = db.prepare<[number], string>('select chain from turns where turn = ?').pluck();
    this.#selectRows = db
      .prepare<[number, number], RawEventRow>(
        `select ${EVENT_COLUMNS} from events e left join turns t on t.turn = e.turn ${EVENT_NAMES}
           where e.position > ? order by e.position limit ?`,
      )
      .raw();
  }

  head(): Head {
    const row = this.#selectLast.get();
    if (!row) return { position: 0, turn: 0, chain: EMPTY_CHAIN, atMs: 0 };
    return { position: row.last, turn: row.turn, chain: row.chain, atMs: row.at_ms };
  }

  /** The same, after a look at the last turn: for those who did not check it when they opened the log. */
  checkedHead(): Head {
    this.#readEnd();
    const row = this.#selectLast.get();
    if (row) this.#checked(row);
    return this.head();
  }

  /** The rows of `turns` and `events` as they are in the file, unchecked. For those who check. */
  turnRows(after: number, limit: number): readonly TurnRow[] {
    return this.#selectTurns.all(after, limit);
  }

  eventRows(after: number, limit: number): readonly EventRow[] {
    return this.#selectRows.all(after, limit).map(namedRow);
  }

  find(id: string): { readonly turn: number; readonly first: number; readonly last: number } | undefined {
    const row = this.#selectById.get(id);
    if (!row) return undefined;
    this.#checked(row);
    return { turn: row.turn, first: row.first, last: row.last };
  }

  turns(after: number, limit: number): readonly StoredTurn[] {
    const most = Math.max(0, Math.min(limit, this.#readEnd().turn - after));
    const rows = this.#selectTurns.all(after, most);
    for (let index = 0; index < most; index += 1) {
      const turn = after + index + 1;
      if (rows[index]?.turn !== turn)
        throw this.#damaged((rows[index - 1]?.last ?? 0) + 1, `turn ${turn} is missing`);
    }
    return rows.map((row) => this.#checked(row));
  }

  #checked(row: TurnRow): StoredTurn {
    const { turn, id, first, last, at_ms: atMs, origin, by, cause, chain } = row;
    const events = this.#eventsOf(row);
    const before = turn === 1 ? EMPTY_CHAIN : this.#selectChain.get(turn - 1);
    const digests = events.map(({ digest }) => digest);
    const isWhole = hasItsTypes(row) && events.length === last - first + 1 && before !== undefined;
    if (!isWhole || turnChain(before, { turn, id, atMs, origin, by, cause }, digests) !== chain) {
      throw this.#damaged(first, 'the turn does not match its chain');
    }
    return { turn, id, atMs, origin, by, cause, chain, events: events.map(({ event }) => event) };
  }

  #eventsOf({
    turn,
    first,
    last,
  }: TurnRow): readonly { readonly event: StoredEvent; readonly digest: string }[] {
    // A damaged header may claim any number of rows: no more are read than have its number.
    const events: { event: StoredEvent; digest: string }[] = [];
    for (let after = first - 1; after < last; ) {
      const rows = this.eventRows(after, Math.min(1_000, last - after)).filter((row) => row.turn === turn);
      if (rows.length === 0) break;
      for (const row of rows) events.push({ event: storedEvent(row, this.#file), digest: row.digest });
      after += rows.length;
    }
    return events;
  }

  #damaged(position: number, problem: string): RuntimeError {
    return new RuntimeError('LOG_CORRUPT', { file: this.#file, position, problem });
  }
}
