import { RuntimeError } from '../errors.ts';
import { hashText } from '../events/blob.ts';
import { during } from '../events/delivery.ts';
import { canonicalJson, encode } from '../events/encode.ts';
import type { RecordedEvent } from '../events/event.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import { invariant } from '../invariant.ts';
import type { LoadedActor, StoredSnapshot } from '../store/event-log.ts';
import { type ActorRecord, noted, type StoredActor, WAITS_FOR_NOTHING } from './actor-record.ts';
import { type Advanced, advance, closed } from './advance.ts';
import { received } from './receive.ts';
import type { Definition, Registry } from './registry.ts';
import type { PersistedSnapshot } from './xstate-adapter.ts';

/**
 * Makes an actor from what the log has of it: its snapshot, if that fits the machine in use, and the events after it.
 * Each event must lead to the state that was recorded with it.
 *
 * @throws {RuntimeError} MACHINE_MISSING, REPLAY_DIVERGED
 */
export const foldActor = (registry: Registry, loaded: LoadedActor): ActorRecord => {
  // A migrated row says all that there is to know: what came before it is the old machine's.
  const migratedAt = loaded.tail.findLastIndex(({ kind }) => kind === 'migrated');
  let record = migratedAt === -1 && loaded.snapshot ? fromStored(registry, loaded.snapshot) : undefined;
  for (const event of loaded.tail.slice(Math.max(0, migratedAt))) record = foldEvent(registry, record, event);
  invariant(record, `the stream of ${loaded.address} has events`);
  return record;
};

/** The actor after one more event of its stream. */
export const foldEvent = (
  registry: Registry,
  record: ActorRecord | undefined,
  event: RecordedEvent,
): ActorRecord => liveEvent(registry, record, event).record;

/** The same, with what its machine asked for then. */
export const liveEvent = (
  registry: Registry,
  record: ActorRecord | undefined,
  event: RecordedEvent,
): Advanced => {
  const lived =
    event.kind === 'migrated'
      ? { record: migrated(registry, event), effects: [] }
      : record
        ? folded(registry, record, event)
        : born(registry, event);
  const { record: next } = lived;
  invariant(
    next.version === event.version,
    `the stream of ${event.actor} has no gap before position ${event.position}`,
  );
  const state = next.snapshot?.value ?? '';
  if (canonicalJson(state) !== canonicalJson(event.state)) throw diverged(event, canonicalJson(state));
  return lived;
};

const folded = (registry: Registry, record: ActorRecord, event: RecordedEvent): Advanced => {
  switch (event.kind) {
    case 'message': {
      const definition = findDefinition(registry, event);
      const { base, event: message } = received(record, event.type, read(definition, event));
      const { snapshot } = record;
      invariant(snapshot, 'an actor that was given a message has a state');
      return stepped(base, event, { definition, run: () => definition.behavior.step(snapshot, message) });
    }
    case 'failed':
      return closed(noted(record), 'failed');
    case 'stopped':
      return closed(noted(record), 'stopped');
    default:
      return { record: noted(record), effects: [] };
  }
};

/** A `lw.migrated` row carries all of the actor: from there on the stream is the new machine's. */
const migrated = (registry: Registry, event: RecordedEvent): ActorRecord => {
  const definition = findDefinition(registry, event);
  // The row was written from an actor's record, and its digest was checked when it was read.
  const { parent, childId, waits } = event.data.state as unknown as Omit<StoredActor, 'snapshot'>;
  return {
    address: event.actor,
    run: event.run,
    machine: event.machine,
    machineVersion: event.machineVersion,
    parent,
    childId,
    version: event.version,
    status: 'active',
    snapshot: restoreMigrated(definition, event.data.state),
    waits,
  };
};

/** Throws if what a migration gave is no state of the machine. */
export const restoreMigrated = (definition: Definition, state: Json | undefined) => {
  // What a migration gives is typed by its machine, and checked where it is restored.
  const { value, context, status, history } = state as unknown as PersistedSnapshot;
  return definition.behavior.restore({ value, context, status, history });
};

const born = (registry: Registry, event: RecordedEvent): Advanced => {
  const { parent, child, input } = event.data;
  const unborn: ActorRecord = {
    address: event.actor,
    run: event.run,
    machine: event.machine,
    machineVersion: event.machineVersion,
    parent: typeof parent === 'string' ? parent : null,
    childId: typeof child === 'string' ? child : null,
    version: 0,
    status: 'active',
    snapshot: null,
    waits: WAITS_FOR_NOTHING,
  };
  // It threw before it had a state.
  if (event.kind === 'failed') return { record: { ...unborn, version: 1, status: 'failed' }, effects: [] };
  invariant(event.type === TYPE.started, `the stream of ${event.actor} begins with its start`);
  const definition = findDefinition(registry, event);
  return stepped(unborn, event, { definition, run: () => definition.behavior.initial(input ?? null) });
};

const stepped = (
  base: ActorRecord,
  event: RecordedEvent,
  { definition, run }: { definition: Definition; run: () => ReturnType<Definition['behavior']['step']> },
): Advanced => {
  try {
    const { functions = {} } = definition.workflow.options;
    const at = { self: base.address, parent: base.parent, from: event.from, atMs: event.atMs, functions };
    return advance(base, during(at, run), { definition, atMs: event.atMs });
  } catch (error) {
    throw diverged(event, `an error: ${error instanceof Error ? error.message : String(error)}`);
  }
};

const read = (definition: Definition, event: RecordedEvent): JsonObject =>
  definition.read(event.type, event.typeVersion, event.data).data;

const findDefinition = (registry: Registry, { machine, machineVersion }: RecordedEvent): Definition => {
  const definition = registry.find(machine, machineVersion);
  if (definition) return definition;
  throw new RuntimeError('MACHINE_MISSING', {
    machine,
    version: machineVersion,
    known: registry.versions(machine),
  });
};

const diverged = ({ actor, position, state }: RecordedEvent, computed: string) =>
  new RuntimeError('REPLAY_DIVERGED', { address: actor, position, recorded: canonicalJson(state), computed });

/** An actor as the log keeps it, or undefined if its context has something that cannot be stored: then it is folded. */
export const toStored = (registry: Registry, record: ActorRecord): StoredSnapshot | undefined => {
  const definition = registry.find(record.machine, record.machineVersion);
  if (!definition) return undefined;
  const stored = storedActor(definition, record);
  const hash = hashOf(stored);
  if (hash === undefined) return undefined;
  return {
    actor: record.address,
    version: record.version,
    machineVersion: record.machineVersion,
    structure: definition.behavior.structure,
    // Not in canonical order: a machine that goes through the keys of its context must find them as it left them.
    state: JSON.stringify(stored),
    hash,
  };
};

/** An actor with its state as plain data. */
export const storedActor = ({ behavior }: Definition, record: ActorRecord): StoredActor => ({
  ...record,
  snapshot: record.snapshot && behavior.persist(record.snapshot),
});

/** Hash of everything that makes up an actor: equal if and only if two actors are in the same state. */
export const stateHash = (registry: Registry, record: ActorRecord): string | undefined =>
  toStored(registry, record)?.hash;

const hashOf = (stored: StoredActor): string | undefined => {
  try {
    return hashText(encode(stored, { undefinedMembers: 'drop', limits: SNAPSHOT_LIMITS }).json);
  } catch {
    return undefined;
  }
};

const SNAPSHOT_LIMITS = { bytes: 16 * 1024 * 1024, depth: 128, keys: 1_000_000 };

/** Whether a snapshot is whole and of the machine in use. One that is not is dropped, and the stream folded in its place. */
export const snapshotFits = (registry: Registry, stored: StoredSnapshot): boolean => {
  const actor = parseStored(stored);
  const definition = actor && registry.find(actor.machine, stored.machineVersion);
  return definition?.behavior.structure === stored.structure;
};

export const parseStored = (stored: StoredSnapshot): StoredActor | undefined => {
  try {
    // toStored wrote it: its hash says so.
    const actor = JSON.parse(stored.state) as StoredActor;
    return hashOf(actor) === stored.hash ? actor : undefined;
  } catch {
    return undefined;
  }
};

const fromStored = (registry: Registry, stored: StoredSnapshot): ActorRecord => {
  const actor = parseStored(stored);
  const definition = actor && registry.find(actor.machine, stored.machineVersion);
  invariant(definition, `the snapshot of ${stored.actor} fits`);
  return { ...actor, snapshot: actor.snapshot && definition.behavior.restore(actor.snapshot) };
};
