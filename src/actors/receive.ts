import type { EventObject } from 'xstate';
import type { JsonObject } from '../events/json.ts';
import { CALL_BEGUN, TYPE } from '../events/vocabulary.ts';
import { invariant } from '../invariant.ts';
import type { ActorRecord, Waits } from './actor-record.ts';
import { without } from './advance.ts';

/**
 * What a row of kind `message` means to its actor: the event that its machine is given, and the record without the call,
 * timer or child that the row brings to an end. Live turns and folds share it.
 */
export const received = (
  record: ActorRecord,
  type: string,
  data: JsonObject,
): { readonly base: ActorRecord; readonly event: EventObject } => {
  switch (type) {
    case TYPE.callDone: {
      const id = nameIn(data, 'call');
      return {
        base: waitingFor(record, 'calls', id),
        event: doneEvent(id, data.output),
      };
    }
    case TYPE.callFailed: {
      const id = nameIn(data, 'call');
      return {
        base: waitingFor(record, 'calls', id),
        event: errorEvent(id, data.error),
      };
    }
    case TYPE.callBegun:
      return { base: record, event: { type: CALL_BEGUN, call: data.call } as EventObject };
    case TYPE.timerFired: {
      const id = nameIn(data, 'timer');
      const timer = record.waits.timers[id];
      invariant(timer, 'a timer is open when it fires');
      return {
        base: waitingFor(record, 'timers', id),
        event: timer.event,
      };
    }
    case TYPE.childDone: {
      const id = nameIn(data, 'child');
      return {
        base: waitingFor(record, 'children', id),
        event: doneEvent(id, data.output),
      };
    }
    case TYPE.childFailed: {
      const id = nameIn(data, 'child');
      return {
        base: waitingFor(record, 'children', id),
        event: errorEvent(id, data.error),
      };
    }
    default:
      return { base: record, event: messageEvent(type, data) };
  }
};

/** With a member after a spread V8 takes three times as long, and this runs for every message. */
const messageEvent = (type: string, data: JsonObject): EventObject => {
  const event = { ...data } as unknown as { type: string };
  event.type = type;
  return event;
};

const doneEvent = (id: string, output: unknown): EventObject =>
  ({ type: `xstate.done.actor.${id}`, output, actorId: id }) as EventObject;
const errorEvent = (id: string, error: unknown): EventObject =>
  ({ type: `xstate.error.actor.${id}`, error, actorId: id }) as EventObject;

/** The record without what it waited for. Written out member by member: this runs for every answer, and a spread costs more. */
const waitingFor = (record: ActorRecord, what: 'calls' | 'timers' | 'children', id: string): ActorRecord => {
  const { generation, calls, timers, children, childCounts } = record.waits;
  const waits: Waits = {
    generation,
    calls: what === 'calls' ? without(calls, id) : calls,
    timers: what === 'timers' ? without(timers, id) : timers,
    children: what === 'children' ? without(children, id) : children,
    childCounts,
  };
  return {
    address: record.address,
    run: record.run,
    machine: record.machine,
    machineVersion: record.machineVersion,
    parent: record.parent,
    childId: record.childId,
    version: record.version,
    status: record.status,
    snapshot: record.snapshot,
    waits,
  };
};

const nameIn = (data: JsonObject, key: string): string => {
  const name = data[key];
  invariant(typeof name === 'string', 'a row about a call, timer or child names it');
  return name;
};
