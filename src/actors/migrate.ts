import type { AnyStateMachine } from 'xstate';
import { RuntimeError } from '../errors.ts';
import { type Encoded, encode } from '../events/encode.ts';
import { type Migration, type Workflow, workflow } from '../machines/workflow.ts';
import type { LoadedActor } from '../store/event-log.ts';
import { isStateMachine } from './actor-logic.ts';
import type { ActorRecord } from './actor-record.ts';
import { foldActor, parseStored } from './fold.ts';
import { createRegistry, type Definition, type Registry } from './registry.ts';
import type { PersistedSnapshot } from './xstate-adapter.ts';

export interface Migrated {
  readonly record: ActorRecord;
  readonly migration: { readonly from: number; readonly state: Encoded };
}

/**
 * Brings an actor whose machine is no longer registered into the newest version of it, if that has a migration. Undefined if
 * there is no need or no way to do so.
 *
 * @throws {RuntimeError} MACHINE_MISSING if the old state cannot be had
 */
export const migrateActor = async (
  registry: Registry,
  actor: LoadedActor,
  wholeStream: (actor: LoadedActor) => Promise<LoadedActor>,
): Promise<Migrated | undefined> => {
  const last = actor.tail.at(-1);
  const stored = actor.snapshot && parseStored(actor.snapshot);
  const machine = last?.machine ?? stored?.machine;
  const from = last?.machineVersion ?? stored?.machineVersion;
  if (machine === undefined || from === undefined || registry.find(machine, from)) return undefined;
  const newest = registry.newest(machine);
  const migration = newest?.workflow.options.migrations?.[from];
  if (!newest || !migration) return undefined;
  const old = await oldActor(actor, { migration, machine, from, wholeStream });
  const state = { ...migration.migrate(old.snapshot), status: 'active' as const, history: {} };
  const encoded = encode(state, { undefinedMembers: 'drop', root: `migration of ${actor.address}` });
  return {
    record: { ...old.record, machineVersion: newest.version, snapshot: restore(newest, encoded) },
    migration: { from, state: encoded },
  };
};

interface OldMachine {
  readonly migration: Migration;
  readonly machine: string;
  readonly from: number;
  readonly wholeStream: (actor: LoadedActor) => Promise<LoadedActor>;
}

const oldActor = async (
  actor: LoadedActor,
  { migration, machine, from, wholeStream }: OldMachine,
): Promise<{ record: Omit<ActorRecord, 'snapshot'>; snapshot: { value: unknown; context: unknown } }> => {
  if (migration.from) {
    // A registry of its own: the old machine only folds, and nothing it invokes is started.
    const registry = createRegistry();
    registry.register([
      { name: machine, version: from, machine: migration.from, options: {} },
      ...childrenOf(migration.from),
    ]);
    const record = foldActor(registry, await wholeStream(actor));
    return { record, snapshot: { value: record.snapshot?.value, context: record.snapshot?.context } };
  }
  const stored = actor.snapshot && parseStored(actor.snapshot);
  if (stored?.snapshot && actor.tail.length === 0) return { record: stored, snapshot: stored.snapshot };
  throw new RuntimeError('MACHINE_MISSING', { machine, version: from, known: [] });
};

/** The machines that it invokes, under names that do not matter: a fold only has to know that they are machines. */
const childrenOf = (machine: AnyStateMachine): readonly Workflow[] =>
  Object.entries(machine.implementations.actors).flatMap(([src, logic]: [string, unknown]) =>
    isStateMachine(logic) && logic !== machine ? [workflow(`${src}.child`, logic), ...childrenOf(logic)] : [],
  );

const restore = (definition: Definition, { value }: Encoded) =>
  // It has just been made from what the migration gave; `restore` throws if that is no state of the machine.
  definition.behavior.restore(value as unknown as PersistedSnapshot);
