import { RuntimeError } from '../errors.ts';
import type { Encoded } from '../events/encode.ts';
import { encodeOwn, encodeOwnWithout } from '../events/encode-own.ts';
import type { Address } from '../events/event.ts';
import { isReservedType } from '../events/vocabulary.ts';
import { invariant } from '../invariant.ts';
import { type ActorRecord, noted } from './actor-record.ts';
import type { Effect } from './advance.ts';
import type { Desk } from './deliver.ts';
import type { Definition } from './registry.ts';
import type { Workspace } from './workspace.ts';
import type { EmittedEvent } from './xstate-adapter.ts';

/** An effect whose payload is encoded: nothing can go wrong with it any more. */
export type PreparedEffect =
  | Exclude<Effect, { kind: 'send' | 'state' | 'call' | 'start' }>
  | { readonly kind: 'send'; readonly to: Address; readonly type: string; readonly data: Encoded }
  | { readonly kind: 'state'; readonly type: string; readonly typeVersion: number; readonly data: Encoded }
  | (Extract<Effect, { kind: 'start' }> & { readonly encoded: Encoded })
  | {
      readonly kind: 'call';
      readonly call: string;
      readonly generation: number;
      readonly encoded: Encoded;
      readonly agent: string;
      readonly announce: boolean;
      readonly callId: string;
      readonly attempt: number;
    };

/** Closing an actor asks for nothing that has a payload. */
export const prepareClosing = (effect: Effect): PreparedEffect => {
  invariant(
    effect.kind === 'closeCall' || effect.kind === 'closeTimer' || effect.kind === 'stop',
    'closing an actor only closes',
  );
  return effect;
};

/** Encodes what an effect carries. Throws if it cannot be stored, or if a function of the machine's author throws. */
export const prepare = (record: ActorRecord, definition: Definition, effect: Effect): PreparedEffect => {
  switch (effect.kind) {
    case 'send': {
      const { type, data } = encodeEvent(effect.event);
      return { kind: 'send', to: effect.to, type, data };
    }
    case 'state': {
      const { type, data } = encodeEvent(effect.event);
      return {
        kind: 'state',
        type,
        typeVersion: definition.workflow.options.eventVersions?.[type] ?? 1,
        data,
      };
    }
    case 'start':
      return { ...effect, encoded: encodeOwn(effect.input ?? null, `input of ${effect.child}`) };
    case 'call':
      return prepareCall(record, definition, effect);
    default:
      return effect;
  }
};

const prepareCall = (
  record: ActorRecord,
  definition: Definition,
  effect: Extract<Effect, { kind: 'call' }>,
): PreparedEffect => {
  const { call, generation, src } = effect;
  const source = definition.sources.get(src);
  invariant(source?.kind === 'call', 'a call is of a source that is one');
  const encoded = encodeOwn(effect.input ?? null, `input of ${call}`);
  // What the options take is what the machine's author declared as the call's input.
  const input = encoded.value as never;
  const { agent, announce = false, request } = source.options;
  const { callId, attempt } = request?.(input) ?? {
    callId: `${record.address}#${call}.${generation}`,
    attempt: 1,
  };
  const name = agent?.(input) ?? src;
  mustBeText('callId', callId);
  mustBeText('agent', name);
  if (!Number.isSafeInteger(attempt) || attempt < 1) {
    throw new RuntimeError('BAD_OPTION', {
      option: `attempt of ${call}`,
      found: String(attempt),
      expected: 'an integer from 1',
    });
  }
  return { kind: 'call', call, generation, encoded, agent: name, announce, callId, attempt };
};

const TEXT_LENGTH_MAX = 4_000;

/** A column of the log: the database would change half of a surrogate pair, and the row could not be read again. */
const mustBeText = (option: string, text: string): void => {
  if (typeof text === 'string' && text !== '' && text.length <= TEXT_LENGTH_MAX && text.isWellFormed())
    return;
  const found = typeof text === 'string' ? 'empty, too long, or not well-formed' : `a ${typeof text}`;
  throw new RuntimeError('BAD_OPTION', {
    option,
    found,
    expected: `a text of 1 to ${TEXT_LENGTH_MAX} characters`,
  });
};

/** Where a message goes, and of which type it is, stands beside what it says. */
const NO_DATA: ReadonlySet<string> = new Set(['to', 'type']);

/** What a message says. */
export const encodeData = (event: EmittedEvent): Encoded => encodeOwnWithout(event, NO_DATA, event.type);

const encodeEvent = (event: EmittedEvent): { readonly type: string; readonly data: Encoded } => {
  const { type } = event;
  if (isReservedType(type)) throw new RuntimeError('RESERVED_EVENT', { type });
  mustBeText('type', type);
  return { type, data: encodeData(event) };
};

/** Writes down what an actor asked for, or queues it for the actor that it is meant for. */
export const perform = (
  { work, queue }: Desk,
  record: ActorRecord,
  { effect, index }: { readonly effect: PreparedEffect; readonly index: number },
): void => {
  const { address, run } = record;
  switch (effect.kind) {
    case 'send': {
      const { to, type, data } = effect;
      queue.push({ kind: 'message', to, from: address, causedBy: index, type, data });
      return;
    }
    case 'state': {
      const { type, typeVersion, data } = effect;
      const fact = { kind: 'fact', type, typeVersion, data, from: null, causedBy: index } as const;
      work.append(noted(current(work, address)), fact);
      return;
    }
    case 'start': {
      const { address: to, machine, version, encoded: input, child } = effect;
      queue.push({ kind: 'start', to, from: address, causedBy: index, machine, version, input, child });
      return;
    }
    case 'stop': {
      const reason = 'its parent let go of it';
      queue.push({
        kind: 'stop',
        to: effect.address,
        from: address,
        causedBy: index,
        reason,
        verdict: undefined,
      });
      return;
    }
    case 'call':
      work.openCall(toOpenCall(record, effect, index));
      return;
    case 'closeCall':
      work.closeCall(address, effect.call, effect.generation);
      return;
    case 'timer': {
      const { timer, generation, dueMs } = effect;
      work.openTimer({ run, actor: address, timer, generation, dueMs, openedBy: index });
      return;
    }
    case 'closeTimer':
      work.closeTimer(address, effect.timer, effect.generation);
  }
};

const toOpenCall = (
  { address: actor, run, machine, machineVersion }: ActorRecord,
  { call, generation, agent, announce, encoded, callId, attempt }: Extract<PreparedEffect, { kind: 'call' }>,
  openedBy: number,
) => {
  const input = encoded.json;
  return {
    run,
    actor,
    call,
    generation,
    agent,
    machine,
    machineVersion,
    callId,
    attempt,
    input,
    announce,
    openedBy,
  };
};

/** The actor as the turn has it now: facts that it stated have moved its stream on. */
export const current = (work: Workspace, address: Address): ActorRecord => {
  const record = work.actor(address);
  invariant(record, 'an actor that was in this turn exists');
  return record;
};
