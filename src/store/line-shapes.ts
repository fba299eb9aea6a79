import type { EventKind } from '../events/event.ts';
import { type Origin, VERDICTS } from '../events/turn.ts';

/** A line that cannot be imported; its message says why. */
export class BadLine extends Error {
  override readonly name = 'BadLine';
}

/** Parses a line of an export and checks that it has the members that its kind has, of their types, and no others. */
export function checkedLine(text: string): Readonly<Record<string, unknown>> {
  const value = parse(text);
  const shape = SHAPES.find(({ key }) => isObject(value) && key in value);
  if (!shape || !isObject(value)) throw new BadLine('it is not a line of an export');
  mustHave(value, shape.members, 'it');
  return value;
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

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
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
