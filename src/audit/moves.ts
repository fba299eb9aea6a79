import { encode } from '../events/encode.ts';
import type { Address } from '../events/event.ts';
import type { Changes } from './rerun.ts';
import type { World } from './world.ts';

/** What is done to actors between two turns of the log. */
export type Moves = ReturnType<Changes['after']>;

/** A row that holds all of an actor, as a migration writes it: whoever folds its stream needs nothing else. */
export const moveOf = (
  world: World,
  actor: Address,
  { version, context }: { readonly version: number; readonly context: unknown },
): Moves[number] => {
  const record = world.actors.get(actor);
  const definition = record && world.registry.find(record.machine, record.machineVersion);
  const persisted = record?.snapshot && definition?.behavior.persist(record.snapshot);
  const { parent, childId, waits, machineVersion: from } = record ?? {};
  const { value, status, history } = persisted ?? {};
  const state = encode(
    { value, context, status, history, parent, childId, waits },
    { undefinedMembers: 'drop', root: 'state', limits: STATE_LIMITS },
  );
  return {
    version,
    stimulus: {
      kind: 'migrate',
      id: '',
      atMs: world.atMs,
      origin: 'runtime',
      by: null,
      cause: null,
      actor,
      from: from ?? version,
      state,
    },
  };
};

const STATE_LIMITS = { bytes: 16 * 1024 * 1024, depth: 128, keys: 1_000_000 };
