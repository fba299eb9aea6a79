import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { EventKind, RecordedEvent, StateValue } from '../../events/event.ts';
import type { JsonObject } from '../../events/json.ts';
import type { ScanQuery } from '../event-log.ts';

/**
 * A row of `events` alone: names are looked up here, since three joins for every row cost more than the row. What is the same in
 * many rows (kind, type, machine, state) comes as one text, which is looked up, too: each text costs as much as all integers.
 */
type ScannedRow = readonly [
  position: number,
  turn: number,
  run: number,
  actor: number,
  version: number,
  sender: number | null,
  cause: number | null,
  data: string,
  shape: string,
];

/** What many rows have in common. The lengths keep two shapes apart whatever is in their texts. */
const SHAPE = `length(kind) || ' ' || length(type) || ' ' || length(machine) || ' ' || type_version || ' ' || machine_version || ' '
  || kind || type || machine || state`;

interface Shape {
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly machine: string;
  readonly machineVersion: number;
  readonly state: StateValue;
}

type ShapeRow = Omit<Shape, 'state'> & { readonly state: string };

const ROWS_MAX = 10_000;
const SHAPES_MAX = 100_000;

/** Reads all of a log for whoever folds it: see `EventLog.scan`. */
export class EventScanner {
  readonly #file: string;
  readonly #select: Database.Statement<[number, number, number], ScannedRow>;
  readonly #selectTurns: Database.Statement<[number, number], [turn: number, first: number, atMs: number]>;
  readonly #selectTurnId: Database.Statement<[number], string>;
  readonly #selectShape: Database.Statement<[number], ShapeRow>;
  readonly #shapes = new Map<string, Shape>();
  readonly runs: Names;
  readonly actors: Names;

  constructor(db: Database.Database, file: string) {
    this.#select = db
      .prepare<[number, number, number], ScannedRow>(
        `select position, turn, run, actor, version, sender, cause, data, ${SHAPE}
          from events where position > ? and position < ? order by position limit ?`,
      )
      .raw();
    this.#file = file;
    this.#selectTurns = db
      .prepare<[number, number], [number, number, number]>(
        'select turn, first, at_ms from turns where turn between ? and ? order by turn',
      )
      .raw();
    this.#selectTurnId = db.prepare<[number], string>('select id from turns where turn = ?').pluck();
    this.#selectShape = db.prepare(
      `select kind, type, type_version as typeVersion, machine, machine_version as machineVersion, state
        from events where position = ?`,
    );
    this.runs = new Names(db, 'runs', 'name');
    this.actors = new Names(db, 'actors', 'address');
  }

  scan({ after, before = Number.MAX_SAFE_INTEGER, limit = ROWS_MAX }: ScanQuery): readonly RecordedEvent[] {
    const rows = this.#select.all(after, before, Math.min(limit, ROWS_MAX));
    const [first, last] = [rows[0], rows.at(-1)];
    const turns = first && last ? this.#selectTurns.all(first[1], last[1]) : [];
    const events: RecordedEvent[] = [];
    let index = 0;
    let place: Place = { scanner: this, turn: 0, first: 0, atMs: 0 };
    let expected = after + 1;
    for (const row of rows) {
      // Positions have no gaps: a row that is gone is seen, even if nothing else of it is checked here.
      if (row[0] !== expected) throw this.corrupt(expected, 'the row is missing');
      expected += 1;
      if (place.turn !== row[1]) {
        // There are turns without events.
        while ((turns[index]?.[0] ?? row[1]) < row[1]) index += 1;
        const turn = turns[index];
        if (turn?.[0] !== row[1]) throw this.corrupt(row[0], 'its turn is missing');
        place = { scanner: this, turn: turn[0], first: turn[1], atMs: turn[2] };
      }
      events.push(new ScannedEvent(row, this.#shapeOf(row), place));
    }
    return events;
  }

  turnId(turn: number): string {
    return this.#selectTurnId.get(turn) ?? '';
  }

  corrupt(position: number, problem: string): RuntimeError<'LOG_CORRUPT'> {
    return new RuntimeError('LOG_CORRUPT', { file: this.#file, position, problem });
  }

  #shapeOf([position, , , , , , , , key]: ScannedRow): Shape {
    const known = this.#shapes.get(key);
    if (known) return known;
    const row = this.#selectShape.get(position);
    if (!row) throw this.corrupt(position, 'the row is missing');
    const shape = { ...row, state: deepFrozen(JSON.parse(row.state) as StateValue) }; // The kernel wrote it.
    if (this.#shapes.size >= SHAPES_MAX) this.#shapes.clear();
    this.#shapes.set(key, shape);
    return shape;
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

  constructor(row: ScannedRow, shape: Shape, place: Place) {
    const { runs, actors } = place.scanner;
    const sender = row[5];
    this.position = row[0];
    this.turn = row[1];
    this.atMs = place.atMs;
    this.run = runs.of(row[2]) ?? missing(row[0], place);
    this.actor = actors.of(row[3]) ?? missing(row[0], place);
    this.version = row[4];
    this.kind = shape.kind;
    this.type = shape.type;
    this.typeVersion = shape.typeVersion;
    this.from = sender === null ? null : (actors.of(sender) ?? missing(row[0], place));
    this.cause = row[6];
    this.machine = shape.machine;
    this.machineVersion = shape.machineVersion;
    this.state = shape.state;
    this.#place = place;
    this.#data = row[7];
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
