import { RuntimeError } from '../errors.ts';
import { checkId, childAddress } from '../events/address.ts';
import type { Address } from '../events/event.ts';
import { TYPE } from '../events/vocabulary.ts';
import { type ActorRecord, type ActorStatus, moved, type Timer, type Waits } from './actor-record.ts';
import type { Definition } from './registry.ts';
import type { EmittedEvent, Request, Step } from './xstate-adapter.ts';

/** What a step of an actor wants of the world around it, in the order in which its machine asked. */
export type Effect =
  | { readonly kind: 'send'; readonly to: string; readonly event: EmittedEvent }
  | { readonly kind: 'state'; readonly event: EmittedEvent }
  | {
      readonly kind: 'call';
      readonly call: string;
      readonly generation: number;
      readonly src: string;
      readonly input: unknown;
    }
  | { readonly kind: 'closeCall'; readonly call: string; readonly generation: number }
  | { readonly kind: 'timer'; readonly timer: string; readonly generation: number; readonly dueMs: number }
  | { readonly kind: 'closeTimer'; readonly timer: string; readonly generation: number }
  | {
      readonly kind: 'start';
      readonly child: string;
      readonly address: Address;
      readonly machine: string;
      /** The newest one if none is given. */
      readonly version: number | undefined;
      readonly input: unknown;
    }
  | { readonly kind: 'stop'; readonly address: Address };

export interface Advanced {
  readonly record: ActorRecord;
  readonly effects: readonly Effect[];
}

/**
 * The actor after one step, and what the step asks for. Live turns and the folding of a stream both come through here, so
 * that they cannot disagree; a fold has no use for the effects.
 */
export const advance = (
  record: ActorRecord,
  step: Step,
  { definition, atMs }: { readonly definition: Definition; readonly atMs: number },
): Advanced => {
  const status = statusOf(step);
  const waiting = new Waiting(record.waits);
  const effects: Effect[] = [];
  const early: Early[] = [];
  for (const request of step.requests) grant(request, { effects, early, waiting, record, definition, atMs });
  for (const { to, event } of early) effects.push({ kind: 'send', to, event });
  const next = moved(record, { snapshot: step.next, status, waits: waiting.result() });
  if (status === 'active') return { record: next, effects };
  const end = closed(next, status);
  effects.push(...end.effects);
  return { record: end.record, effects };
};

/** An actor that has ended, without a row of its own: it waits for nothing any more, and its children are to be stopped. */
export const closed = (record: ActorRecord, status: ActorStatus): Advanced => {
  const { calls, timers, children } = record.waits;
  return {
    record: { ...record, status, waits: { ...record.waits, calls: {}, timers: {}, children: {} } },
    effects: [
      ...Object.entries(calls).map(([call, generation]): Effect => ({ kind: 'closeCall', call, generation })),
      ...Object.entries(timers).map(
        ([timer, { generation }]): Effect => ({ kind: 'closeTimer', timer, generation }),
      ),
      ...Object.values(children).map((address): Effect => ({ kind: 'stop', address })),
    ],
  };
};

const statusOf = ({ next }: Step): ActorStatus => (next.status === 'error' ? 'failed' : next.status);

/** A message to a child that is not there (yet): entry actions run before the `invoke` of their state, whose child they may mean. */
interface Early {
  readonly child: string;
  /** The last child of that id: where the message goes if no other is invoked. */
  readonly to: Address;
  readonly event: EmittedEvent;
}

interface Grant {
  readonly effects: Effect[];
  readonly early: Early[];
  readonly waiting: Waiting;
  readonly record: ActorRecord;
  readonly definition: Definition;
  readonly atMs: number;
}

const grant = (request: Request, to: Grant): void => {
  const { effects, waiting, record } = to;
  switch (request.kind) {
    case 'emit':
      grantEmit(request.event, to);
      return;
    case 'invoke':
      grantInvoke(request, to);
      return;
    case 'leave':
      // What exit actions had to say was meant for the child that had the id until now.
      sendEarly(to, request.id, undefined);
      waiting.leave(request.id, effects);
      return;
    case 'timer':
      waiting.openTimer(request, { atMs: to.atMs, effects });
      return;
    case 'cancel':
      waiting.closeTimer(request.id, effects);
      return;
    default:
      throw new Error(`${record.address} asks for something unknown.`);
  }
};

const grantEmit = (emitted: EmittedEvent, { effects, early, waiting, record }: Grant): void => {
  const { to } = emitted;
  // A machine's emitted events are typed by its author; this is where they are first looked at.
  if (typeof emitted.type !== 'string')
    throw new RuntimeError('BAD_MESSAGE', { found: 'one without a type' });
  if (emitted.type === TYPE.start) {
    const { id, machine, input } = emitted as { id?: unknown; machine?: unknown; input?: unknown };
    if (typeof id !== 'string' || typeof machine !== 'string') {
      throw new RuntimeError('BAD_MESSAGE', { found: 'a start without the id and machine of the child' });
    }
    const address = waiting.openChild(record.address, id);
    effects.push({ kind: 'start', child: id, address, machine, version: undefined, input });
  } else if (emitted.type === TYPE.stop) {
    waiting.leave(String((emitted as { id?: unknown }).id), effects);
  } else if (to === undefined || to === null) {
    effects.push({ kind: 'state', event: emitted });
  } else if (typeof to === 'string' && to.startsWith('./') && !waiting.hasChild(to.slice(2))) {
    early.push({ child: to.slice(2), to: waiting.resolve(record, to), event: emitted });
  } else if (typeof to === 'string') {
    effects.push({ kind: 'send', to: waiting.resolve(record, to), event: emitted });
  } else {
    throw new RuntimeError('BAD_ADDRESS', { address: JSON.stringify(to), problem: 'an address is a string' });
  }
};

/** Sends what was held back for a child: to the one at this address, or to the last one that there was. */
const sendEarly = ({ effects, early }: Grant, id: string, address: Address | undefined): void => {
  for (const message of early.splice(0)) {
    if (message.child === id) effects.push({ kind: 'send', to: address ?? message.to, event: message.event });
    else early.push(message);
  }
};

const grantInvoke = (
  { id, src, input, replaces }: Extract<Request, { kind: 'invoke' }>,
  granting: Grant,
): void => {
  const { effects, waiting, record, definition } = granting;
  const source = definition.sources.get(src);
  if (!source)
    throw new Error(
      `The machine "${definition.name}" invokes "${src}", which is neither an agent nor a machine.`,
    );
  // XState may enter a state that it has not left (by way of a history state): what that state invoked before is over.
  if (replaces) waiting.leave(id, effects);
  if (source.kind === 'call') {
    effects.push({ kind: 'call', call: id, generation: waiting.openCall(id), src, input });
    return;
  }
  const { machine, version } = source;
  const address = waiting.openChild(record.address, id);
  effects.push({ kind: 'start', child: id, address, machine, version, input });
  if (replaces) sendEarly(granting, id, address);
};

/** What an actor waits for, while it is being changed. What is not changed is shared with the record before. */
class Waiting {
  #generation: number;
  #calls: Record<string, number>;
  #timers: Record<string, Timer>;
  #children: Record<string, Address>;
  #childCounts: Record<string, number>;
  readonly #before: Waits;

  constructor(before: Waits) {
    this.#before = before;
    this.#generation = before.generation;
    this.#calls = before.calls;
    this.#timers = before.timers;
    this.#children = before.children;
    this.#childCounts = before.childCounts;
  }

  result(): Waits {
    const before = this.#before;
    const isSame =
      this.#generation === before.generation &&
      this.#calls === before.calls &&
      this.#timers === before.timers &&
      this.#children === before.children;
    if (isSame) return before;
    return {
      generation: this.#generation,
      calls: this.#calls,
      timers: this.#timers,
      children: this.#children,
      childCounts: this.#childCounts,
    };
  }

  openCall(id: string): number {
    this.#refuseSecond(id);
    this.#generation += 1;
    this.#calls = { ...this.#calls, [id]: this.#generation };
    return this.#generation;
  }

  openChild(self: Address, id: string): Address {
    this.#refuseSecond(id);
    const nth = (this.#childCounts[id] ?? 0) + 1;
    const address = childAddress(self, checkId(id), nth);
    this.#childCounts = { ...this.#childCounts, [id]: nth };
    this.#children = { ...this.#children, [id]: address };
    return address;
  }

  openTimer(
    { id, delayMs, event }: Extract<Request, { kind: 'timer' }>,
    { atMs, effects }: { readonly atMs: number; readonly effects: Effect[] },
  ): void {
    this.#generation += 1;
    const timer = id ?? `timer-${this.#generation}`;
    this.closeTimer(timer, effects);
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const dueMs = Math.min(atMs + Math.ceil(delayMs), Number.MAX_SAFE_INTEGER);
    this.#timers = { ...this.#timers, [timer]: { generation: this.#generation, dueMs, event } };
    effects.push({ kind: 'timer', timer, generation: this.#generation, dueMs });
  }

  closeTimer(timer: string, effects: Effect[]): void {
    const open = this.#timers[timer];
    if (!open) return;
    this.#timers = without(this.#timers, timer);
    effects.push({ kind: 'closeTimer', timer, generation: open.generation });
  }

  /** Lets go of a call or a child, whichever has this id. */
  leave(id: string, effects: Effect[]): void {
    const generation = this.#calls[id];
    const address = this.#children[id];
    if (generation !== undefined) {
      this.#calls = without(this.#calls, id);
      effects.push({ kind: 'closeCall', call: id, generation });
    } else if (address !== undefined) {
      this.#children = without(this.#children, id);
      const start = effects.findIndex((effect) => effect.kind === 'start' && effect.address === address);
      // As in XState, a child that is let go of in the step that asks for it never starts.
      if (start === -1) effects.push({ kind: 'stop', address });
      else effects.splice(start, 1);
    }
  }

  hasChild(id: string): boolean {
    return this.#children[id] !== undefined;
  }

  /** `./id` is a child, `..` the parent, anything else an address from the root. */
  resolve({ address, parent }: ActorRecord, to: string): Address {
    if (to.startsWith('./')) {
      const id = to.slice(2);
      return this.#children[id] ?? childAddress(address, id, this.#childCounts[id] ?? 1);
    }
    if (to !== '..') return to;
    if (parent === null)
      throw new RuntimeError('BAD_ADDRESS', { address: to, problem: 'the root of a run has no parent' });
    return parent;
  }

  #refuseSecond(id: string): void {
    if (id in this.#calls || id in this.#children) {
      throw new Error(`"${id}" is open already: give each call and child of a machine an id of its own.`);
    }
  }
}

export const without = <Value>(
  values: Readonly<Record<string, Value>>,
  id: string,
): Record<string, Value> => {
  const rest: Record<string, Value> = {};
  // An object with one member left out by destructuring costs five times as much, and pairs of key and value twice.
  for (const key of Object.keys(values)) if (key !== id) rest[key] = values[key] as Value; // It is one of its keys.
  return rest;
};
