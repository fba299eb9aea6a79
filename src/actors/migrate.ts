import type { AnyStateMachine } from 'xstate';
import { isRuntimeError, RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import { type Encoded, encode } from '../events/encode.ts';
import { failureOf } from '../events/failure.ts';
import { type Migration, type Workflow, workflow } from '../machines/workflow.ts';
import type { LoadedActor } from '../store/event-log.ts';
import { isStateMachine } from './actor-logic.ts';
import type { ActorRecord, StoredActor } from './actor-record.ts';
import { foldActor, parseStored, restoreMigrated } from './fold.ts';
import { createRegistry, type Registry } from './registry.ts';

export interface Migrated {
  readonly record: ActorRecord;
  /** None if the actor has ended: it stays under its old machine, and is never moved again. */
  readonly migration?: { readonly from: number; readonly state: Encoded };
}

/**
 * Brings an actor whose machine is no longer registered into the newest version of it, if that has a migration. Undefined if
 * there is no need or no way to do so.
 *
 * @throws {RuntimeError} MACHINE_MISSING if the old state cannot be had, RUN_PARKED if the migration fails
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
  try {
    const record = await oldActor(actor, { migration, machine, from, wholeStream });
    // It is looked at only: what a snapshot has besides its value and context is not needed.
    if (record.status !== 'active') return { record: record as ActorRecord };
    const { parent, childId, waits } = record;
    const { value, context } = record.snapshot ?? {};
    const migrated = { ...migration.migrate({ value, context }), status: 'active' as const, history: {} };
    // All that makes up the actor: whoever folds its stream later need not know the old machine.
    const state = encode(
      { ...migrated, parent, childId, waits },
      { undefinedMembers: 'drop', root: 'state' },
    );
    return {
      record: { ...record, machineVersion: newest.version, snapshot: restoreMigrated(newest, state.value) },
      migration: { from, state },
    };
  } catch (error) {
    if (isRuntimeError(error) && !isRuntimeError(error, ...FAULTS_OF_MIGRATIONS)) throw error;
    const problem = `the migration of "${machine}" from version ${from} failed: ${failureOf(error).message}.`;
    throw new RuntimeError('RUN_PARKED', { run: runOf(actor.address), problem }, { cause: error });
  }
};

/** What a migration may do wrong itself. */
const FAULTS_OF_MIGRATIONS = [
  'PAYLOAD_UNSUPPORTED',
  'PAYLOAD_TOO_LARGE',
  'MACHINE_REFUSED',
  'BAD_OPTION',
] as const;

interface OldMachine {
  readonly migration: Migration;
  readonly machine: string;
  readonly from: number;
  readonly wholeStream: (actor: LoadedActor) => Promise<LoadedActor>;
}

const oldActor = async (
  actor: LoadedActor,
  { migration, machine, from, wholeStream }: OldMachine,
): Promise<ActorRecord | StoredActor> => {
  if (migration.from) {
    // A registry of its own: the old machine only folds, and nothing it invokes is started.
    const registry = createRegistry();
    registry.register([
      { name: machine, version: from, machine: migration.from, options: {} },
      ...childrenOf(migration.from),
    ]);
    return foldActor(registry, await wholeStream(actor));
  }
  const stored = actor.snapshot && parseStored(actor.snapshot);
  if (stored?.snapshot && actor.tail.length === 0) return stored;
  throw new RuntimeError('MACHINE_MISSING', { machine, version: from, known: [] });
};

/** The machines that it invokes, under names that do not matter: a fold only has to know that they are machines. */
const childrenOf = (machine: AnyStateMachine): readonly Workflow[] =>
  Object.entries(machine.implementations.actors).flatMap(([src, logic]: [string, unknown]) =>
    isStateMachine(logic) && logic !== machine ? [workflow(`${src}.child`, logic), ...childrenOf(logic)] : [],
  );
