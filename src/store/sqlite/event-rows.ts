import { RuntimeError } from '../../errors.ts';
import type { EventKind, RecordedEvent, StateValue } from '../../events/event.ts';
import type { JsonObject } from '../../events/json.ts';
import { rowDigest } from '../chain.ts';
import type { StoredEvent } from '../event-log.ts';

/** A row of `events` with the names that its integers stand for. What a damaged file lacks is null. */
export interface EventRow {
  readonly position: number;
  readonly turn: number;
  readonly turnId: string | null;
  readonly first: number | null;
  readonly atMs: number | null;
  readonly run: string | null;
  readonly actor: string | null;
  readonly version: number;
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly data: string;
  readonly sender: string | null;
  readonly cause: number | null;
  readonly machine: string;
  readonly machineVersion: number;
  readonly state: string;
  readonly digest: string;
}

/** The columns of a `RawEventRow`, for tables named as in `EVENT_NAMES`. */
export const EVENT_COLUMNS = `e.position, e.turn, t.id, t.first, t.at_ms, r.name, a.address, e.version, e.kind, e.type,
  e.type_version, e.data, s.address, e.cause, e.machine, e.machine_version, e.state, e.digest`;

/** Joins that never drop a row: one whose name or turn is gone must be seen as damaged, not pass as absent. */
export const EVENT_NAMES = `left join runs r on r.id = e.run left join actors a on a.id = e.actor
  left join actors s on s.id = e.sender`;

/** A row as an array: the driver takes half the time to make it that an object with as many keys takes. */
export type RawEventRow = readonly [
  position: number,
  turn: number,
  turnId: string | null,
  first: number | null,
  atMs: number | null,
  run: string | null,
  actor: string | null,
  version: number,
  kind: EventKind,
  type: string,
  typeVersion: number,
  data: string,
  sender: string | null,
  cause: number | null,
  machine: string,
  machineVersion: number,
  state: string,
  digest: string,
];

export function namedRow(row: RawEventRow): EventRow {
  return {
    position: row[0],
    turn: row[1],
    turnId: row[2],
    first: row[3],
    atMs: row[4],
    run: row[5],
    actor: row[6],
    version: row[7],
    kind: row[8],
    type: row[9],
    typeVersion: row[10],
    data: row[11],
    sender: row[12],
    cause: row[13],
    machine: row[14],
    machineVersion: row[15],
    state: row[16],
    digest: row[17],
  };
}

/** The row as it was written, or undefined if any of its columns is not as it was then. */
export function checkedRow(row: EventRow): StoredEvent | undefined {
  const { turnId, first, atMs, run, actor, data, state } = row;
  if (turnId === null || first === null || atMs === null || run === null || actor === null) return undefined;
  if (!hasItsTypes(row)) return undefined;
  const event: StoredEvent = {
    position: row.position,
    id: `${turnId}/${row.position - first}`,
    turn: row.turn,
    atMs,
    run,
    actor,
    version: row.version,
    kind: row.kind,
    type: row.type,
    typeVersion: row.typeVersion,
    from: row.sender,
    cause: row.cause,
    machine: row.machine,
    machineVersion: row.machineVersion,
    dataJson: data,
    stateJson: state,
  };
  return rowDigest(event, event) === row.digest ? event : undefined;
}

/**
 * Whether all values have the types that they were written with. A flipped bit can turn a text into a blob of the same bytes,
 * which would be hashed like the text.
 */
function hasItsTypes(row: EventRow): boolean {
  const { turnId, run, actor, sender, kind, type, data, machine, state, digest } = row;
  const { position, turn, first, atMs, version, typeVersion, cause, machineVersion } = row;
  return (
    [turnId, run, actor, kind, type, data, machine, state, digest].every(isText) &&
    [position, turn, first, atMs, version, typeVersion, machineVersion].every(isNumber) &&
    (sender === null || isText(sender)) &&
    (cause === null || isNumber(cause))
  );
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';

/** @throws {RuntimeError} LOG_CORRUPT with the position of the row, if it is not as it was written */
export function storedEvent(row: EventRow, file: string): StoredEvent {
  const event = checkedRow(row);
  if (event) return event;
  throw new RuntimeError('LOG_CORRUPT', {
    file,
    position: row.position,
    problem: 'the row does not match its digest',
  });
}

/** The row for those who use it. Only a row that matches its digest is ever parsed. */
export function recordedEvent(row: EventRow, file: string): RecordedEvent {
  const event = storedEvent(row, file);
  return {
    position: event.position,
    id: event.id,
    turn: event.turn,
    atMs: event.atMs,
    run: event.run,
    actor: event.actor,
    version: event.version,
    kind: event.kind,
    type: event.type,
    typeVersion: event.typeVersion,
    // Both casts hold since the digest does: the texts are those that the kernel gave with values of these types.
    data: JSON.parse(event.dataJson) as JsonObject,
    from: event.from,
    cause: event.cause,
    machine: event.machine,
    machineVersion: event.machineVersion,
    state: JSON.parse(event.stateJson) as StateValue,
  };
}
