import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { EventKind, RecordedEvent, StateValue } from '../../events/event.ts';
import type { JsonObject } from '../../events/json.ts';
import type { ScanQuery } from '../event-log.ts';
import { ReadAhead } from './read-ahead.ts';
import {
  type Part,
  ROW,
  ROW_NUMBERS,
  type ScannedRows,
  ScanReader,
  type ShapeRow,
  TURN,
  TURN_NUMBERS,
} from './scan-reader.ts';

type Shape = Omit<ShapeRow, 'state'> & { readonly state: StateValue };

const ROWS_MAX = 10_000;

/** Reads all of a log for whoever folds it: see `EventLog.scan`. */
export class EventScanner {
  readonly #db: Database.Database;
  readonly #file: string;
  readonly #selectTurnId: Database.Statement<[number], string>;
  readonly runs: Names;
  readonly actors: Names;
  /** Whoever asks for one part after the other. */
  #course: Course | undefined;

  constructor(db: Database.Database, file: string) {
    this.#db = db;
    this.#file = file;
    this.#selectTurnId = db.prepare<[number], string>('select id from turns where turn = ?').pluck();
    this.runs = new Names(db, 'runs', 'name');
    this.actors = new Names(db, 'actors', 'address');
  }

  async scan({ after, before, limit = ROWS_MAX }: ScanQuery): Promise<readonly RecordedEvent[]> {
    const part = { after, before: before ?? Number.MAX_SAFE_INTEGER, limit: Math.min(limit, ROWS_MAX) };
    if (!this.#course?.goesOn(part)) {
      await this.end();
      this.#course = new Course(this.#db, part, before !== undefined);
    }
    const course = this.#course;
    const rows = await course.read(part);
    if (course.isOver) await this.end();
    return this.#eventsOf(rows, course.shapes, after);
  }

  /** Lets go of what reads ahead. */
  async end(): Promise<void> {
    const course = this.#course;
    this.#course = undefined;
    await course?.end();
  }

  turnId(turn: number): string {
    return this.#selectTurnId.get(turn) ?? '';
  }

  corrupt(position: number, problem: string): RuntimeError<'LOG_CORRUPT'> {
    return new RuntimeError('LOG_CORRUPT', { file: this.#file, position, problem });
  }

  #eventsOf(
    { numbers, data, turns }: ScannedRows,
    shapes: readonly Shape[],
    after: number,
  ): readonly RecordedEvent[] {
    const events: RecordedEvent[] = [];
    let nextTurn = 0;
    let place: Place = { scanner: this, turn: 0, first: 0, atMs: 0 };
    let expected = after + 1;
    for (let at = 0; at < numbers.length; at += ROW_NUMBERS) {
      const position = numberAt(numbers, at + ROW.position);
      // Positions have no gaps: a row that is gone is seen, even if nothing else of it is checked here.
      if (position !== expected) throw this.corrupt(expected, 'the row is missing');
      expected += 1;
      const turn = numberAt(numbers, at + ROW.turn);
      if (place.turn !== turn) {
        // There are turns without events.
        while (numberAt(turns, nextTurn + TURN.turn) < turn) nextTurn += TURN_NUMBERS;
        if (turns[nextTurn + TURN.turn] !== turn) throw this.corrupt(position, 'its turn is missing');
        const [first, atMs] = [numberAt(turns, nextTurn + TURN.first), numberAt(turns, nextTurn + TURN.atMs)];
        place = { scanner: this, turn, first, atMs };
      }
      const shape = shapes[numberAt(numbers, at + ROW.shape)] ?? missing(position, place);
      events.push(new ScannedEvent({ numbers, at, data: data[events.length] ?? '', shape, place }));
    }
    return events;
  }
}

const numberAt = (numbers: Float64Array, index: number): number => numbers[index] ?? Number.NaN;

/** One way through the log, part by part. */
class Course {
  readonly shapes: Shape[] = [];
  readonly #db: Database.Database;
  readonly #part: Part;
  #ahead: ReadAhead | undefined;
  #reader: ScanReader | undefined;
  #next: number;

  constructor(db: Database.Database, part: Part, hasEnd: boolean) {
    this.#db = db;
    this.#part = part;
    this.#next = part.after;
    this.#ahead = hasEnd ? ReadAhead.start(db.name, part) : undefined;
  }

  goesOn({ after, before, limit }: Part): boolean {
    return after === this.#next && before === this.#part.before && limit === this.#part.limit;
  }

  get isOver(): boolean {
    return this.#next >= this.#part.before - 1;
  }

  async read(part: Part): Promise<ScannedRows> {
    this.#next = part.after + part.limit;
    const rows = (await this.#ahead?.next()) ?? this.#readHere(part);
    for (const shape of rows.shapes)
      this.shapes.push({ ...shape, state: deepFrozen(JSON.parse(shape.state) as StateValue) }); // The kernel wrote it.
    return rows;
  }

  async end(): Promise<void> {
    await this.#ahead?.end();
  }

  #readHere(part: Part): ScannedRows {
    if (!this.#reader) {
      // Whoever reads numbers the shapes: those of a thread that failed are of no use.
      this.shapes.length = 0;
      this.#ahead = undefined;
      this.#reader = new ScanReader(this.#db);
    }
    return this.#reader.read(part);
  }
}

/** The names of runs or actors by their integers, in memory once they were met. */
class Names {
  readonly #select: Database.Statement<[number], [number, string]>;
  #names: (string | undefined)[] = [];

  constructor(db: Database.Database, table: 'runs' | 'actors', column: 'name' | 'address') {
    this.#select = db
      .prepare<[number], [number, string]>(
        `select id, ${column} from ${table} where id >= ? order by id limit 1000`,
      )
      .raw();
  }

  of(id: number): string | undefined {
    const known = this.#names[id];
    if (known !== undefined) return known;
    // Integers are given in the order in which names come up: whoever reads the log in order needs the next ones soon.
    if (this.#names.length > NAMES_MAX) this.#names = [];
    for (const [each, name] of this.#select.all(id)) this.#names[each] = name;
    return this.#names[id];
  }
}

const NAMES_MAX = 2_000_000;

interface Place {
  readonly scanner: EventScanner;
  readonly turn: number;
  /** Position of the first event of its turn. */
  readonly first: number;
  readonly atMs: number;
}

interface ScannedRow {
  readonly numbers: Float64Array;
  /** Where its numbers begin. */
  readonly at: number;
  readonly data: string;
  readonly shape: Shape;
  readonly place: Place;
}

/** A row whose payload and id are read when they are first looked at. */
class ScannedEvent implements RecordedEvent {
  readonly position: number;
  readonly turn: number;
  readonly atMs: number;
  readonly run: string;
  readonly actor: string;
  readonly version: number;
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly from: string | null;
  readonly cause: number | null;
  readonly machine: string;
  readonly machineVersion: number;
  readonly state: StateValue;
  readonly #place: Place;
  /** A text until it is looked at. */
  #data: string | JsonObject;

  constructor({ numbers, at, data, shape, place }: ScannedRow) {
    const { runs, actors } = place.scanner;
    const position = numberAt(numbers, at + ROW.position);
    const sender = numberAt(numbers, at + ROW.sender);
    const cause = numberAt(numbers, at + ROW.cause);
    this.position = position;
    this.turn = place.turn;
    this.atMs = place.atMs;
    this.run = runs.of(numberAt(numbers, at + ROW.run)) ?? missing(position, place);
    this.actor = actors.of(numberAt(numbers, at + ROW.actor)) ?? missing(position, place);
    this.version = numberAt(numbers, at + ROW.version);
    this.kind = shape.kind;
    this.type = shape.type;
    this.typeVersion = shape.typeVersion;
    this.from = sender === 0 ? null : (actors.of(sender) ?? missing(position, place));
    this.cause = cause === 0 ? null : cause;
    this.machine = shape.machine;
    this.machineVersion = shape.machineVersion;
    this.state = shape.state;
    this.#place = place;
    this.#data = data;
  }

  get id(): string {
    const { scanner, first } = this.#place;
    return `${scanner.turnId(this.turn)}/${this.position - first}`;
  }

  get data(): JsonObject {
    // The kernel gave the text with a value of this type.
    if (typeof this.#data === 'string') this.#data = deepFrozen(JSON.parse(this.#data) as JsonObject);
    return this.#data;
  }
}

const missing = (position: number, { scanner }: Place): never => {
  throw scanner.corrupt(position, 'a name in it is missing');
};

/** Others may read the same object: nobody may change it. */
const deepFrozen = <Value>(value: Value): Value => {
  if (typeof value !== 'object' || value === null) return value;
  for (const child of Object.values(value)) deepFrozen(child);
  return Object.freeze(value);
};
