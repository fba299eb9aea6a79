import type Database from 'better-sqlite3';
import type { EventKind } from '../../events/event.ts';

/** What is read of a part of the log at once: plain arrays, so that another thread can hand them over cheaply. */
export interface ScannedRows {
  /** For each row the numbers of `ROW`. */
  readonly numbers: Float64Array;
  /** For each row its payload. */
  readonly data: readonly string[];
  /** For each turn the numbers of `TURN`, in order. There are turns without events. */
  readonly turns: Float64Array;
  /** Shapes that no row before this part had; they are numbered in the order in which they come. */
  readonly shapes: readonly ShapeRow[];
}

/** What many rows have in common. */
export interface ShapeRow {
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly machine: string;
  readonly machineVersion: number;
  readonly state: string;
}

/** Where the numbers of a row are. A sender or cause that is not there is 0: integers of both begin with 1. */
export const ROW = {
  position: 0,
  turn: 1,
  run: 2,
  actor: 3,
  version: 4,
  sender: 5,
  cause: 6,
  shape: 7,
} as const;
export const ROW_NUMBERS = 8;
export const TURN = { turn: 0, first: 1, atMs: 2 } as const;
export const TURN_NUMBERS = 3;

/**
 * A row of `events` alone: names are looked up elsewhere, since three joins for every row cost more than the row. What is the same
 * in many rows comes as one text, which is looked up, too: each text costs as much as all integers.
 */
type Row = readonly [
  position: number,
  turn: number,
  run: number,
  actor: number,
  version: number,
  sender: number,
  cause: number,
  data: string,
  shape: string,
];

/** The lengths keep two shapes apart whatever is in their texts. */
const SHAPE =
  "concat_ws(' ', length(kind), length(type), length(machine), type_version, machine_version, kind, type, machine, state)";

/** Reads the log part by part, in order of position, as quickly as it can be read. */
export class ScanReader {
  readonly #select: Database.Statement<[number, number, number], Row>;
  readonly #selectTurns: Database.Statement<[number, number], [turn: number, first: number, atMs: number]>;
  readonly #selectShape: Database.Statement<[number], ShapeRow>;
  readonly #shapes = new Map<string, number>();

  constructor(db: Database.Database) {
    this.#select = db
      .prepare<[number, number, number], Row>(
        `select position, turn, run, actor, version, ifnull(sender, 0), ifnull(cause, 0), data, ${SHAPE}
          from events where position > ? and position < ? order by position limit ?`,
      )
      .raw();
    this.#selectTurns = db
      .prepare<[number, number], [number, number, number]>(
        'select turn, first, at_ms from turns where turn between ? and ? order by turn',
      )
      .raw();
    this.#selectShape = db.prepare(
      `select kind, type, type_version as typeVersion, machine, machine_version as machineVersion, state
        from events where position = ?`,
    );
  }

  read({ after, before, limit }: Part): ScannedRows {
    const rows = this.#select.all(after, before, limit);
    const [first, last] = [rows[0], rows.at(-1)];
    const turns = first && last ? this.#selectTurns.all(first[1], last[1]) : [];
    const numbers = new Float64Array(rows.length * ROW_NUMBERS);
    const data: string[] = [];
    const shapes: ShapeRow[] = [];
    let at = 0;
    for (const row of rows) {
      for (let column = 0; column < ROW.shape; column += 1) numbers[at + column] = Number(row[column]);
      numbers[at + ROW.shape] = this.#shapeOf(row, shapes);
      data.push(row[7]);
      at += ROW_NUMBERS;
    }
    return { numbers, data, turns: Float64Array.from(turns.flat()), shapes };
  }

  #shapeOf([position, , , , , , , , key]: Row, fresh: ShapeRow[]): number {
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const number = this.#shapes.size;
    const shape = this.#selectShape.get(position);
    if (shape) fresh.push(shape);
    this.#shapes.set(key, number);
    return number;
  }
}

/** Which part of the log: positions after the one and before the other, at most so many. */
export interface Part {
  readonly after: number;
  readonly before: number;
  readonly limit: number;
}
