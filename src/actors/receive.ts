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
        base: waitingFor(record, { ...record.waits, calls: without(record.waits.calls, id) }),
        event: doneEvent(id, data.output),
      };
    }
    case TYPE.callFailed: {
      const id = nameIn(data, 'call');
      return {
        base: waitingFor(record, { ...record.waits, calls: without(record.waits.calls, id) }),
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
        base: waitingFor(record, { ...record.waits, timers: without(record.waits.timers, id) }),
        event: timer.event,
      };
    }
    case TYPE.childDone: {
      const id = nameIn(data, 'child');
      return {
        base: waitingFor(record, { ...record.waits, children: without(record.waits.children, id) }),
        event: doneEvent(id, data.output),
      };
    }
    case TYPE.childFailed: {
      const id = nameIn(data, 'child');
      return {
        base: waitingFor(record, { ...record.waits, children: without(record.waits.children, id) }),
        event: errorEvent(id, data.error),
      };
    }
    default:
      return { base: record, event: { ...data, type } };
  }
};

const doneEvent = (id: string, output: unknown): EventObject =>
  ({ type: `xstate.done.actor.${id}`, output, actorId: id }) as EventObject;
const errorEvent = (id: string, error: unknown): EventObject =>
  ({ type: `xstate.error.actor.${id}`, error, actorId: id }) as EventObject;

const waitingFor = (record: ActorRecord, waits: Waits): ActorRecord => ({ ...record, waits });

const nameIn = (data: JsonObject, key: string): string => {
  const name = data[key];
  invariant(typeof name === 'string', 'a row about a call, timer or child names it');
  return name;
};
