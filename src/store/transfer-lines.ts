import { isRuntimeError } from '../errors.ts';
import { encode } from '../events/encode.ts';
import type { EventKind, NewEvent, StateValue } from '../events/event.ts';
import type { Json, JsonObject } from '../events/json.ts';
import {
  type OpenCall,
  type OpenTimer,
  type Origin,
  type Recorded,
  type RunRecord,
  type Turn,
  VERDICTS,
} from '../events/turn.ts';
import type { Head, StoredEvent, StoredTurn } from './event-log.ts';

/** The format of an export. A reader of ours reads this one and all before it. */
const FORMAT = 1;

/** What an import may hold in one value: far more than any runtime lets in, and far less than harms the process. */
const LIMITS = { bytes: 256 * 1024 * 1024, depth: 1_000, keys: 10_000_000 };

/** A line that cannot be imported; its message says why. */
export class BadLine extends Error {
  override readonly name = 'BadLine';
}

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
  const value = parse(text);
  const shape = SHAPES.find(({ key }) => isObject(value) && key in value);
  if (!shape) throw new BadLine('it is not a line of an export');
  mustHave(value, shape.members, 'it');
  // The members that the type says are the ones that were checked.
  const line = value as ExportLine;
  if ('loopwright' in line && line.format > FORMAT) {
    throw new BadLine(`it has format ${line.format}; this version of Loopwright reads up to ${FORMAT}`);
  }
  return line;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadLine('it is not JSON');
  }
}

/** Says what is wrong with a value, or nothing. */
type Check = (value: unknown, what: string) => void;
type Members = Readonly<Record<string, Check>>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const check =
  (fits: (value: unknown) => boolean, expected: string): Check =>
  (value, what) => {
    if (!fits(value)) throw new BadLine(`${what} is not ${expected}`);
  };

const text = check((value) => typeof value === 'string' && value.isWellFormed(), 'a text');
const whole = check((value) => Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number');
const flag = check((value) => typeof value === 'boolean', 'true or false');
const object = check(isObject, 'an object');
const anything = check((value) => value !== undefined, 'there');
const jsonText: Check = (value, what) => {
  text(value, what);
  parse(String(value));
};
const orNull =
  (inner: Check): Check =>
  (value, what) => {
    if (value !== null) inner(value, what);
  };
const oneOf = (known: readonly string[]): Check =>
  check((value) => typeof value === 'string' && known.includes(value), `one of ${known.join(', ')}`);
const having =
  (members: Members): Check =>
  (value, what) =>
    mustHave(value, members, what);
const listOf =
  (inner: Check): Check =>
  (value, what) => {
    if (!Array.isArray(value)) throw new BadLine(`${what} is not a list`);
    value.forEach((item: unknown, index) => inner(item, `${what}[${index}]`));
  };

/** Nothing may be missing, and nothing may be there that an import would drop. */
function mustHave(value: unknown, members: Members, what: string): void {
  if (!isObject(value)) throw new BadLine(`${what} is not an object`);
  const extra = Object.keys(value).find((key) => !Object.hasOwn(members, key));
  if (extra !== undefined) throw new BadLine(`${what} has a member "${extra}" that is not known`);
  for (const [key, inner] of Object.entries(members)) inner(value[key], `"${key}"`);
}

const KINDS: readonly EventKind[] = [
  'started',
  'message',
  'fact',
  'undelivered',
  'late',
  'failed',
  'stopped',
  'migrated',
];
const ORIGINS: readonly Origin[] = ['host', 'inbox', 'agent', 'timer', 'runtime'];

const HEAD: Members = { position: whole, turn: whole, chain: text, atMs: whole };
const EVENT: Members = {
  run: text,
  actor: text,
  version: whole,
  kind: oneOf(KINDS),
  type: text,
  typeVersion: whole,
  data: object,
  from: orNull(text),
  causedBy: orNull(whole),
  machine: text,
  machineVersion: whole,
  state: anything,
};
const RUN: Members = {
  id: text,
  workflow: text,
  workflowVersion: whole,
  startedAtMs: whole,
  turns: whole,
  verdict: orNull(oneOf(VERDICTS)),
  endedAtMs: orNull(whole),
  result: orNull(jsonText),
};
const CALL: Members = {
  run: text,
  actor: text,
  call: text,
  generation: whole,
  agent: text,
  machine: text,
  machineVersion: whole,
  callId: text,
  attempt: whole,
  input: jsonText,
  announce: flag,
  openedAt: whole,
};
const TIMER: Members = {
  run: text,
  actor: text,
  timer: text,
  generation: whole,
  dueMs: whole,
  openedAt: whole,
};

/** The kinds of lines, each known by one of its members. */
const SHAPES: readonly { readonly key: string; readonly members: Members }[] = [
  { key: 'loopwright', members: { loopwright: oneOf(['log']), format: whole, head: having(HEAD) } },
  {
    key: 'turn',
    members: {
      turn: whole,
      id: text,
      atMs: whole,
      origin: oneOf(ORIGINS),
      by: orNull(text),
      cause: orNull(whole),
      chain: text,
      events: listOf(having(EVENT)),
    },
  },
  { key: 'run', members: { run: having(RUN) } },
  { key: 'call', members: { call: having(CALL) } },
  { key: 'timer', members: { timer: having(TIMER) } },
  { key: 'blob', members: { blob: having({ hash: text, text }) } },
  { key: 'end', members: { end: having({ digest: text }) } },
];
