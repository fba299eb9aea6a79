import type { EventObject } from 'xstate';
import type { Address } from '../events/event.ts';
import type { PersistedSnapshot, Snapshot } from './xstate-adapter.ts';

/** Everything that there is to know of an actor. Made from its stream alone; never changed in place. */
export interface ActorRecord {
  readonly address: Address;
  readonly run: string;
  readonly machine: string;
  readonly machineVersion: number;
  readonly parent: Address | null;
  /** Its id among its parent's children. */
  readonly childId: string | null;
  /** How many events its stream has. */
  readonly version: number;
  readonly status: ActorStatus;
  /** Null if it failed before it had a state. */
  readonly snapshot: Snapshot | null;
  readonly waits: Waits;
}

export type ActorStatus = 'active' | 'done' | 'failed' | 'stopped';

/** What an actor has opened and waits for. */
export interface Waits {
  /** Counts the calls, timers and children that it ever opened: what tells a late answer from one that is due. */
  readonly generation: number;
  readonly calls: Readonly<Record<string, number>>;
  readonly timers: Readonly<Record<string, Timer>>;
  readonly children: Readonly<Record<string, Address>>;
  /** How often each child id was used: a child that is started anew gets another address. */
  readonly childCounts: Readonly<Record<string, number>>;
}

export interface Timer {
  readonly generation: number;
  readonly dueMs: number;
  /** What the machine is given when it fires. */
  readonly event: EventObject;
}

/** An actor as a snapshot in the log holds it. */
export interface StoredActor extends Omit<ActorRecord, 'snapshot'> {
  readonly snapshot: PersistedSnapshot | null;
}

export const WAITS_FOR_NOTHING: Waits = {
  generation: 0,
  calls: {},
  timers: {},
  children: {},
  childCounts: {},
};

/** The actor one event later. Written out member by member: this runs for every event, and a spread costs ten times more. */
export const moved = (
  record: ActorRecord,
  { snapshot, status, waits }: Pick<ActorRecord, 'snapshot' | 'status' | 'waits'>,
): ActorRecord => ({
  address: record.address,
  run: record.run,
  machine: record.machine,
  machineVersion: record.machineVersion,
  parent: record.parent,
  childId: record.childId,
  version: record.version + 1,
  status,
  snapshot,
  waits,
});

/** The actor after a row that does not move it. */
export const noted = (record: ActorRecord): ActorRecord => moved(record, record);
