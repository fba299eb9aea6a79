import { RuntimeError } from '../errors.ts';
import { checkId } from '../events/address.ts';
import type { Admitted, Door } from '../events/door.ts';
import type { Address } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import { isReservedType } from '../events/vocabulary.ts';
import type { EventLog } from '../store/event-log.ts';
import type { Incoming } from './host.ts';
import type { Registry } from './registry.ts';

/** What a host, or another process through the inbox, may ask of a runtime. */
export type Command =
  | { readonly kind: 'start'; readonly workflow: string; readonly run: string; readonly input: unknown }
  | {
      readonly kind: 'send';
      readonly to: Address;
      readonly message: unknown;
      readonly expectedVersion?: number;
    }
  | { readonly kind: 'cancel'; readonly run: string; readonly reason?: string }
  /** Answers a question with one of its options, or with a value if it takes one. */
  | {
      readonly kind: 'answer';
      readonly question: Address;
      readonly option?: string | null;
      readonly value?: Json;
      readonly note?: string | null;
      /** Refuse it unless the question shows what has this fingerprint: see `questionFingerprint`. */
      readonly expect?: string;
    }
  /** Sends a dead letter again, to whom it was meant for. */
  | { readonly kind: 'resend'; readonly position: number };

export interface CommandHeader {
  readonly id: string;
  readonly origin: 'host' | 'inbox';
  readonly by: string | null;
  /** The run that the command starts has an id which was made for it, here and now. */
  readonly isFresh?: boolean;
}

export interface CommandPorts {
  readonly door: Door;
  readonly registry: Registry;
  readonly log: EventLog;
  /** Where the files of runs are; null if there are none. */
  readonly runsFolder: string | null;
}

/**
 * Takes a command in through the door: checked, redacted, and made a stimulus. Nothing is written if it is wrong. It waits only
 * for what must be stored or read first: with many loops in flight, promises were a sixth of what a message cost.
 */
export const toStimulus = (
  ports: CommandPorts,
  command: Exclude<Command, { kind: 'answer' }>,
  { id, origin, by: givenBy, isFresh = false }: CommandHeader,
): Incoming | Promise<Incoming> => {
  const { door } = ports;
  checkText('id', id, NAME_LENGTH_MAX);
  if (door.text(id) !== id) throw secretIn('id');
  if (givenBy !== null) checkText('by', givenBy, NAME_LENGTH_MAX);
  const by = givenBy === null ? null : door.text(givenBy);
  switch (command.kind) {
    case 'start':
      return toStart(ports, command, { id, origin, by, isFresh });
    case 'send': {
      const { type, payload } = checkMessage(ports, command.message);
      const to = checkAddress(ports, command.to);
      const { expectedVersion } = command;
      return admit(ports, { value: payload, root: type }, (data) => ({
        id,
        origin,
        by,
        cause: null,
        kind: 'message',
        to,
        type,
        data,
        expectedVersion,
      }));
    }
    case 'cancel': {
      const { run, reason = 'cancelled' } = command;
      checkText('reason', reason, REASON_LENGTH_MAX);
      return {
        id,
        origin,
        by,
        cause: null,
        kind: 'end',
        run,
        verdict: 'cancelled',
        reason: door.text(reason),
      };
    }
    case 'resend':
      return resend(ports, command.position, { id, origin, by });
  }
};

const toStart = (
  ports: CommandPorts,
  command: Extract<Command, { kind: 'start' }>,
  { id, origin, by, isFresh }: Required<CommandHeader>,
): Incoming | Promise<Incoming> => {
  const definition = ports.registry.newest(command.workflow);
  if (!definition)
    throw new RuntimeError('UNKNOWN_WORKFLOW', {
      workflow: command.workflow,
      known: ports.registry.names(),
    });
  const { prepare } = definition.workflow.options;
  const run = checkId(checkAddress(ports, command.run));
  const folder = ports.runsFolder === null ? null : `${ports.runsFolder}/${run}`;
  const given = prepare
    ? prepare(command.input, { run, folder, cwd: process.cwd() })
    : (command.input ?? null);
  const { name: workflow, version } = definition;
  return admit(ports, { value: given, root: 'input' }, (input) => ({
    id,
    origin,
    by,
    cause: null,
    kind: 'start',
    run,
    workflow,
    version,
    input,
    isFresh,
  }));
};

const NAME_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 4_000;
const ADDRESS_LENGTH_MAX = 2_000;

/** Whether a text can be a column of the log: SQLite would change half of a surrogate pair, and the row's digest not fit. */
const isText = (text: unknown, lengthMax: number): boolean =>
  typeof text === 'string' && text !== '' && text.length <= lengthMax && text.isWellFormed();

const checkText = (option: string, text: string, lengthMax: number): void => {
  if (isText(text, lengthMax)) return;
  const found = typeof text === 'string' ? 'empty, too long, or not well-formed' : `a ${typeof text}`;
  throw new RuntimeError('BAD_OPTION', { option, found, expected: `a text of 1 to ${lengthMax} characters` });
};

const secretIn = (option: string): RuntimeError =>
  new RuntimeError('BAD_OPTION', { option, found: 'a text with a secret in it', expected: 'one without' });

const checkAddress = ({ door }: CommandPorts, address: Address): Address => {
  if (isText(address, ADDRESS_LENGTH_MAX)) {
    if (door.text(address) !== address) throw secretIn('address');
    return address;
  }
  const shown = typeof address === 'string' ? address.slice(0, 80) : typeof address;
  throw new RuntimeError('BAD_ADDRESS', { address: shown, problem: 'it is no text, or empty, or too long' });
};

/** Large strings of a value are stored before it is. */
const admit = (
  { door, log }: CommandPorts,
  { value, root }: { readonly value: unknown; readonly root: string },
  make: (admitted: Admitted) => Incoming,
): Incoming | Promise<Incoming> => {
  const admitted = door.admit(value, root);
  return admitted.blobs.size === 0 ? make(admitted) : log.putBlobs(admitted.blobs).then(() => make(admitted));
};

const checkMessage = ({ door }: CommandPorts, message: unknown) => {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new RuntimeError('BAD_MESSAGE', {
      found: message === null ? 'null' : Array.isArray(message) ? 'an array' : `a ${typeof message}`,
    });
  }
  const { type, ...payload } = message as { type?: unknown };
  if (typeof type !== 'string' || type === '')
    throw new RuntimeError('BAD_MESSAGE', { found: 'one without a type' });
  if (!isText(type, NAME_LENGTH_MAX))
    throw new RuntimeError('BAD_MESSAGE', { found: 'one with a type that is too long or not well-formed' });
  if (door.text(type) !== type) throw secretIn('type');
  if (isReservedType(type)) throw new RuntimeError('RESERVED_EVENT', { type });
  return { type, payload };
};

const resend = async (
  ports: CommandPorts,
  position: number,
  header: Pick<CommandHeader, 'id' | 'origin' | 'by'>,
): Promise<Incoming> => {
  const [letter] = Number.isSafeInteger(position)
    ? await ports.log.events({ after: position - 1, before: position + 1 })
    : [];
  if (letter?.kind !== 'undelivered') {
    throw new RuntimeError('BAD_OPTION', {
      option: 'position',
      found: `${position}`,
      expected: 'the position of a dead letter',
    });
  }
  const { to, message } = letter.data;
  return admit(ports, { value: message ?? {}, root: letter.type }, (data) => ({
    ...header,
    cause: position,
    kind: 'message',
    to: typeof to === 'string' ? to : letter.actor,
    type: letter.type,
    data,
    expectedVersion: undefined,
  }));
};

/** Reads a command that another process wrote. What it carries is checked by the door, like everything from outside. */
export const parseCommand = (body: string): Command => {
  const command: unknown = JSON.parse(body);
  if (isCommand(command)) return command;
  throw new RuntimeError('BAD_MESSAGE', { found: 'a command that this version does not know' });
};

const isCommand = (value: unknown): value is Command => {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  const has = (key: string, type: string) =>
    key in value && typeof (value as Record<string, unknown>)[key] === type;
  switch (value.kind) {
    case 'start':
      return has('workflow', 'string') && has('run', 'string');
    case 'send':
      return has('to', 'string');
    case 'cancel':
      return has('run', 'string');
    case 'answer':
      return has('question', 'string');
    case 'resend':
      return has('position', 'number');
    default:
      return false;
  }
};
