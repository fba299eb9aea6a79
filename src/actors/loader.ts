import { isRuntimeError, RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import type { Encoded } from '../events/encode.ts';
import type { Address } from '../events/event.ts';
import type { RunRecord } from '../events/turn.ts';
import type { EventLog, LoadedActor } from '../store/event-log.ts';
import type { ActorRecord } from './actor-record.ts';
import { foldActor, parseStored, snapshotFits } from './fold.ts';
import { migrateActor } from './migrate.ts';
import type { Registry } from './registry.ts';

/** Makes actors from what the log has of them: snapshot, then the tail of their stream. */
export interface Loader {
  /**
   * The actor, or null if there is none, and its run.
   *
   * @throws {RuntimeError} RUN_PARKED if its machine is not registered, or leads elsewhere than it did: its run waits, all
   *   others go on
   */
  load(address: Address): Promise<LoadedRecord>;
}

export interface LoadedRecord {
  readonly record: ActorRecord | null;
  /** The version that a snapshot in the log covers. */
  readonly storedVersion: number;
  readonly run: RunRecord | null;
  /** If it moves to a newer machine: what its `migrated` row must say before anything else happens to it. */
  readonly migration?: { readonly from: number; readonly state: Encoded };
}

export const createLoader = (log: EventLog, registry: Registry): Loader => {
  const fold = async (actor: LoadedActor): Promise<Omit<LoadedRecord, 'run'>> => {
    const ended = endedBefore(registry, actor);
    if (ended) return { record: ended, storedVersion: ended.version };
    const migrated = await migrateActor(registry, actor, wholeStream);
    if (migrated) return { ...migrated, storedVersion: 0 };
    if (!actor.snapshot || snapshotFits(registry, actor.snapshot)) {
      return { record: foldActor(registry, actor), storedVersion: actor.snapshot?.version ?? 0 };
    }
    return { record: foldActor(registry, await wholeStream(actor)), storedVersion: 0 };
  };
  const wholeStream = async (actor: LoadedActor): Promise<LoadedActor> =>
    (await log.load([actor.address], { wholeStreams: true })).actors.get(actor.address) ?? actor;

  return {
    async load(address) {
      const loaded = await log.load([address]);
      const id = runOf(address);
      const run = loaded.runs.get(id) ?? null;
      const actor = loaded.actors.get(address);
      if (!actor) return { record: null, storedVersion: 0, run };
      try {
        return { ...(await fold(actor)), run };
      } catch (error) {
        if (!isRuntimeError(error, 'MACHINE_MISSING', 'REPLAY_DIVERGED')) throw error;
        throw new RuntimeError('RUN_PARKED', { run: id, problem: error.message }, { cause: error });
      }
    },
  };
};

/** An actor that ended under a machine which is not registered any more, as it was stored then: it needs no machine. */
const endedBefore = (registry: Registry, { snapshot, tail }: LoadedActor): ActorRecord | undefined => {
  const stored = snapshot && tail.length === 0 ? parseStored(snapshot) : undefined;
  if (!stored || stored.status === 'active' || registry.find(stored.machine, stored.machineVersion))
    return undefined;
  // It is looked at and never moved: what a snapshot has besides its value and context is not needed.
  return { ...stored, snapshot: stored.snapshot as ActorRecord['snapshot'] };
};
