import { isRuntimeError } from '../errors.ts';
import { encode } from '../events/encode.ts';
import type { NewEvent, StateValue } from '../events/event.ts';
import type { Json, JsonObject } from '../events/json.ts';
import type { OpenCall, OpenTimer, Recorded, RunRecord, Turn } from '../events/turn.ts';
import type { Head, StoredEvent, StoredTurn } from './event-log.ts';
import { BadLine, checkedLine, isObject } from './line-shapes.ts';

/** The format of an export. A reader of ours reads this one and all before it. */
const FORMAT = 1;

/** What an import may hold in one value: far more than any runtime lets in, and far less than harms the process. */
const LIMITS = { bytes: 256 * 1024 * 1024, depth: 1_000, keys: 10_000_000 };

/** A row as people can read it in an export. Its position, turn and id follow from where it stands. */
interface EventLine extends Omit<NewEvent, 'data' | 'dataJson' | 'state' | 'stateJson'> {
  readonly data: Json;
  readonly state: Json;
}

interface TurnLine extends Omit<StoredTurn, 'events'> {
  readonly events: readonly EventLine[];
}

export type ExportLine =
  | { readonly loopwright: 'log'; readonly format: number; readonly head: Head }
  | TurnLine
  | { readonly run: RunRecord }
  | { readonly call: Recorded<OpenCall> }
  | { readonly timer: Recorded<OpenTimer> }
  | { readonly blob: { readonly hash: string; readonly text: string } };

export function headerLine(head: Head): ExportLine {
  return { loopwright: 'log', format: FORMAT, head };
}

export function turnLine({ events, ...header }: StoredTurn): ExportLine {
  const first = events[0]?.position ?? 0;
  return { ...header, events: events.map((event) => eventLine(event, first)) };
}

function eventLine(event: StoredEvent, first: number): EventLine {
  const { run, actor, version, kind, type, typeVersion, from, cause, machine, machineVersion } = event;
  return {
    run,
    actor,
    version,
    kind,
    type,
    typeVersion,
    // Both were hashed as texts in canonical form, which parsing and writing them again does not change.
    data: JSON.parse(event.dataJson) as Json,
    from,
    causedBy: cause === null || cause < first ? null : cause - first,
    machine,
    machineVersion,
    state: JSON.parse(event.stateJson) as Json,
  };
}

/** The turn of a line, ready to be appended, with the number and chain that it must get. */
export function toTurn(line: TurnLine): {
  readonly turn: Turn;
  readonly number: number;
  readonly chain: string;
} {
  const { turn: number, chain, events, ...header } = line;
  const nothing = { openedCalls: [], closedCalls: [], openedTimers: [], closedTimers: [], runs: [] };
  return { turn: { ...header, ...nothing, events: events.map(toEvent) }, number, chain };
}

function toEvent({ data, state, ...event }: EventLine): NewEvent {
  const { json: dataJson } = encoded(data);
  const { json: stateJson } = encoded(state);
  if (!isStateValue(state)) throw new BadLine('"state" is not a state value');
  // `data` was checked to be an object when the line was parsed.
  return { ...event, data: data as JsonObject, dataJson, state, stateJson };
}

function encoded(value: Json): { readonly json: string } {
  try {
    return encode(value, { limits: LIMITS });
  } catch (error) {
    throw isRuntimeError(error) ? new BadLine(error.message, { cause: error }) : error;
  }
}

function isStateValue(value: Json): value is StateValue {
  return (
    typeof value === 'string' ||
    (isObject(value) && Object.values(value).every((region) => isStateValue(region)))
  );
}

/** The line, or `{ end }` for the last one. Its shape is checked here; whether it fits the lines before it is not. */
export function parseLine(text: string): ExportLine | { readonly end: { readonly digest: string } } {
  // The members that the type says are the ones that were checked.
  const line = checkedLine(text) as unknown as ExportLine;
  if ('loopwright' in line && line.format > FORMAT) {
    throw new BadLine(`it has format ${line.format}; this version of Loopwright reads up to ${FORMAT}`);
  }
  return line;
}
