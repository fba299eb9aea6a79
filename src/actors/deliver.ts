import type { EventObject } from 'xstate';
import { RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import { during } from '../events/delivery.ts';
import type { Encoded } from '../events/encode.ts';
import { encodeOwn } from '../events/encode-own.ts';
import type { Address } from '../events/event.ts';
import { failureOf } from '../events/failure.ts';
import { joined, plain } from '../events/join.ts';
import type { Failure, Json, JsonObject } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { isReservedType, SYSTEM_TYPE_VERSION, TYPE } from '../events/vocabulary.ts';
import { invariant } from '../invariant.ts';
import { type ActorRecord, noted, WAITS_FOR_NOTHING } from './actor-record.ts';
import { advance } from './advance.ts';
import { current, type PreparedEffect, perform, prepare } from './effects.ts';
import { ended, fail, stop } from './endings.ts';
import { received } from './receive.ts';
import type { Definition, Registry } from './registry.ts';
import type { Outcome } from './stimulus.ts';
import type { Row, Workspace } from './workspace.ts';
import type { Step } from './xstate-adapter.ts';

/** One message on its way to one actor, within a turn. */
export type Delivery = {
  readonly to: Address;
  readonly from: Address | null;
  readonly causedBy: number | null;
} & (
  | {
      readonly kind: 'start';
      readonly machine: string;
      readonly version: number | undefined;
      readonly input: Encoded;
      /** Its id among the children of `from`; null for the root of a run. */
      readonly child: string | null;
    }
  | { readonly kind: 'message'; readonly type: string; readonly data: Encoded }
  | {
      readonly kind: 'answer';
      readonly call: string;
      readonly generation: number;
      readonly outcome: Outcome;
    }
  | { readonly kind: 'begun'; readonly call: string; readonly generation: number }
  | { readonly kind: 'fired'; readonly timer: string; readonly generation: number }
  | { readonly kind: 'childEnded'; readonly child: string; readonly outcome: Outcome }
  | { readonly kind: 'stop'; readonly reason: string; readonly verdict: Verdict | undefined }
);

/** What became of a delivery. */
export type Delivered = 'taken' | 'undelivered' | 'failed' | 'dropped';

/** What deliveries work with: the turn in the making, and where further ones are put. */
export interface Desk {
  readonly work: Workspace;
  readonly registry: Registry;
  readonly queue: Delivery[];
}

/** Hands one message to its actor, and queues or records what comes of it. */
export const deliver = (desk: Desk, message: Delivery): Delivered => {
  if (message.kind === 'start') return start(desk, message);
  const record = desk.work.actor(message.to);
  switch (message.kind) {
    case 'message':
      return deliverMessage(desk, record, message);
    case 'answer':
      return deliverAnswer(desk, record, message);
    case 'begun':
      if (record?.status !== 'active' || record.waits.calls[message.call] !== message.generation)
        return 'dropped';
      return move(
        desk,
        record,
        toRow(message, TYPE.callBegun, numbered('call', message.call, message.generation)),
      );
    case 'fired':
      if (
        record?.status !== 'active' ||
        record.waits.timers[message.timer]?.generation !== message.generation
      )
        return 'dropped';
      desk.work.closeTimer(record.address, message.timer, message.generation);
      return move(
        desk,
        record,
        toRow(message, TYPE.timerFired, numbered('timer', message.timer, message.generation)),
      );
    case 'childEnded':
      // A parent that let go of the child, or ended, in this very turn has no more use for its result.
      if (record?.status !== 'active' || record.waits.children[message.child] !== message.from)
        return 'dropped';
      return deliverChildEnd(desk, record, message);
    case 'stop':
      return stop(desk, record, message);
    default:
      throw new Error('There is no such delivery.');
  }
};

/** A call or timer and its generation, with the keys in canonical order. */
const numbered = (key: 'call' | 'timer', name: string, generation: number): Encoded =>
  key === 'call'
    ? joined([
        ['call', plain(name)],
        ['generation', plain(generation)],
      ])
    : joined([
        ['generation', plain(generation)],
        ['timer', plain(name)],
      ]);

/** The same with what the agent answered, which is not encoded again. */
const answerOf = (call: string, generation: number, output: Encoded): Encoded =>
  joined([
    ['call', plain(call)],
    ['generation', plain(generation)],
    ['output', output],
  ]);

const toRow = (
  { from, causedBy }: Pick<Delivery, 'from' | 'causedBy'>,
  type: string,
  data: Encoded,
): MessageRow => ({ type, data, from, causedBy });

const deliverMessage = (
  desk: Desk,
  record: ActorRecord | null,
  message: Delivery & { kind: 'message' },
): Delivered => {
  if (record === null) {
    const sender = message.from === null ? null : desk.work.actor(message.from);
    invariant(sender, 'a message to nobody has a sender, or was refused at the door');
    return undelivered(desk, sender, { to: message.to, row: message, reason: 'no such actor' });
  }
  if (record.status !== 'active') {
    return undelivered(desk, record, {
      to: message.to,
      row: message,
      reason: `the actor has ended (${record.status})`,
    });
  }
  return move(desk, record, message);
};

const deliverAnswer = (
  desk: Desk,
  record: ActorRecord | null,
  message: Delivery & { kind: 'answer' },
): Delivered => {
  invariant(record, 'the actor of a call exists');
  const { call, generation, outcome } = message;
  const isDone = 'output' in outcome;
  const data = isDone
    ? answerOf(call, generation, outcome.output)
    : encodeOwn({ call, error: outcome.failure, generation }, 'answer');
  const row = toRow(message, isDone ? TYPE.callDone : TYPE.callFailed, data);
  if (record.status !== 'active' || record.waits.calls[call] !== generation) {
    desk.work.append(noted(record), { ...row, kind: 'late', typeVersion: SYSTEM_TYPE_VERSION });
    return 'dropped';
  }
  desk.work.closeCall(record.address, call, generation);
  return move(desk, record, row);
};

const deliverChildEnd = (
  desk: Desk,
  record: ActorRecord,
  message: Delivery & { kind: 'childEnded' },
): Delivered => {
  const { child, outcome } = message;
  const row =
    'output' in outcome
      ? toRow(
          message,
          TYPE.childDone,
          joined([
            ['child', plain(child)],
            ['output', outcome.output],
          ]),
        )
      : toRow(
          message,
          TYPE.childFailed,
          joined([
            ['child', plain(child)],
            ['error', encodeOwn(outcome.failure, 'error')],
          ]),
        );
  return move(desk, record, row);
};

const start = (desk: Desk, message: Delivery & { kind: 'start' }): Delivered => {
  const { to: address, from, child, input, causedBy } = message;
  const definition = findDefinition(desk.registry, message);
  if (definition instanceof RuntimeError) {
    invariant(from !== null && child !== null, 'the door refuses a run of an unknown workflow');
    desk.queue.push({
      kind: 'childEnded',
      to: from,
      from: address,
      causedBy,
      child,
      outcome: { failure: failureOf(definition) },
    });
    return 'failed';
  }
  const unborn: ActorRecord = {
    address,
    run: runOf(address),
    machine: definition.name,
    machineVersion: definition.version,
    parent: from,
    childId: child,
    version: 0,
    status: 'active',
    snapshot: null,
    waits: WAITS_FOR_NOTHING,
  };
  const data = joined([
    ['child', plain(child)],
    ['input', input],
    ['parent', plain(from)],
  ]);
  const row: Row = {
    kind: 'started',
    type: TYPE.started,
    typeVersion: SYSTEM_TYPE_VERSION,
    data,
    from,
    causedBy,
  };
  return step(desk, unborn, { row, definition, input: input.value });
};

/** What `move` needs of a message: what its row will say. */
type MessageRow = Pick<Row, 'type' | 'data' | 'from' | 'causedBy'>;

/** Gives an active actor one event, as the row that will stand for it says. */
const move = (desk: Desk, record: ActorRecord, { type, data, from, causedBy }: MessageRow): Delivered => {
  const definition = desk.registry.find(record.machine, record.machineVersion);
  invariant(definition, 'the machine of a loaded actor is registered');
  const { base, event } = received(record, type, data.value as JsonObject); // Rows are made from objects only.
  const typeVersion = isReservedType(type)
    ? SYSTEM_TYPE_VERSION
    : (definition.workflow.options.eventVersions?.[type] ?? 1);
  invariant(record.snapshot, 'an active actor has a state');
  const row: Row = { kind: 'message', type, typeVersion, data, from, causedBy };
  return step(desk, base, { row, definition, event });
};

const NO_OUTPUT = plain(null);

/** A step to be taken: with its first input, or with an event. */
type StepPlan = { readonly row: Row; readonly definition: Definition } & (
  | { readonly input: Json; readonly event?: never }
  | { readonly event: EventObject }
);

const taken = ({ snapshot }: ActorRecord, plan: StepPlan): Step => {
  const { behavior } = plan.definition;
  if (plan.event === undefined) return behavior.initial(plan.input);
  invariant(snapshot, 'an active actor has a state');
  return behavior.step(snapshot, plan.event);
};

/** Runs a machine's step. Whatever it throws fails its actor, never the turn. */
const step = (desk: Desk, base: ActorRecord, plan: StepPlan): Delivered => {
  const { work } = desk;
  const { row, definition } = plan;
  let next: ActorRecord;
  let effects: readonly PreparedEffect[];
  let output: Encoded;
  try {
    const { functions = {} } = definition.workflow.options;
    const at = { self: base.address, parent: base.parent, from: row.from, atMs: work.atMs, functions };
    const stepped = during(at, () => taken(base, plan));
    if (stepped.next === base.snapshot && stepped.requests.length === 0 && !isReservedType(row.type)) {
      return undelivered(desk, base, { to: base.address, row, reason: 'not taken in this state' });
    }
    const advanced = advance(base, stepped, { definition, atMs: work.atMs });
    next = advanced.record;
    effects = advanced.effects.map((effect) => prepare(next, definition, effect));
    output = next.status === 'done' ? encodeOwn(stepped.next.output ?? null, 'output') : NO_OUTPUT;
  } catch (error) {
    return failStep(desk, base, { error, row });
  }
  const index = work.append(next, row);
  for (const effect of effects) perform(desk, next, { effect, index });
  if (next.status === 'done') ended(desk, next, { outcome: { output }, index });
  if (next.status !== 'failed') return 'taken';
  fail(desk, current(work, next.address), { error: next.snapshot?.error, row: undefined, causedBy: index });
  return 'failed';
};

/** An answer that its machine cannot digest is a failed attempt: the machine hears of it as one, and its limits hold. */
const failStep = (
  desk: Desk,
  base: ActorRecord,
  { error, row }: { error: unknown; row: StepPlan['row'] },
): Delivered => {
  if (row.type !== TYPE.callDone) {
    fail(desk, base, { error, row, causedBy: row.causedBy });
    return 'failed';
  }
  const { output: answer, ...rest } = row.data.value as JsonObject; // encodeObject made it from an object
  const refused: Failure = { ...failureOf(error), name: 'AnswerRefused' };
  return move(desk, base, {
    ...row,
    type: TYPE.callFailed,
    data: encodeOwn({ ...rest, error: refused, answer }, 'answer'),
  });
};

/** Keeps a message that nobody took. */
const undelivered = (
  desk: Desk,
  holder: ActorRecord,
  { to, row, reason }: { to: Address; row: MessageRow; reason: string },
): Delivered => {
  const { type, from, causedBy } = row;
  const data = joined([
    ['message', row.data],
    ['reason', plain(reason)],
    ['to', plain(to)],
  ]);
  desk.work.append(noted(holder), { kind: 'undelivered', type, typeVersion: 1, data, from, causedBy });
  return 'undelivered';
};

const findDefinition = (
  registry: Registry,
  { machine, version }: { machine: string; version: number | undefined },
): Definition | RuntimeError => {
  const definition = version === undefined ? registry.newest(machine) : registry.find(machine, version);
  return definition ?? new RuntimeError('UNKNOWN_WORKFLOW', { workflow: machine, known: registry.names() });
};
