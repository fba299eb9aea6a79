import { isRuntimeError } from '../errors.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import { compileProjection } from '../projections/compiled-projection.ts';
import { OWN_PROJECTIONS } from '../projections/own-projections.ts';
import type { Projection } from '../projections/projection.ts';
import { wrongStoredView } from '../projections/stored-views.ts';
import type { EventLog, LoadedActor } from '../store/event-log.ts';
import type { ActorRecord } from './actor-record.ts';
import { foldActor, snapshotFits } from './fold.ts';
import type { Registry } from './registry.ts';

interface Problem {
  readonly position: number;
  readonly what: string;
}

interface ReplayedLog {
  readonly log: EventLog;
  /** The last position that was replayed. What came since is left to the next check. */
  readonly to: number;
}

/** Hash of all that makes up an actor; undefined if it has something that cannot be stored. */
export type StateHash = (record: ActorRecord) => string | undefined;

const ACTORS_AT_ONCE = 500;

/** The first actor that its snapshot makes another than all of its stream does. */
export const wrongSnapshot = async ({
  log,
  registry,
  actors,
  hash,
  to,
}: ReplayedLog & {
  readonly registry: Registry;
  readonly actors: ReadonlyMap<Address, ActorRecord>;
  readonly hash: StateHash;
}): Promise<Problem | undefined> => {
  const addresses = [...actors.keys()];
  for (let next = 0; next < addresses.length; next += ACTORS_AT_ONCE) {
    const { actors: loaded } = await log.load(addresses.slice(next, next + ACTORS_AT_ONCE));
    for (const [address, actor] of loaded) {
      const replayed = actors.get(address);
      if (!replayed || !isOfUse(registry, replayed, actor)) continue;
      if (hashOfLoaded(registry, upTo(actor, to), { replayed, hash }) === hash(replayed)) continue;
      return {
        position: 0,
        what: `the snapshot of "${address}" is not what its events come to: delete it, and they are folded`,
      };
    }
  }
  return undefined;
};

const upTo = (actor: LoadedActor, to: number): LoadedActor => ({
  ...actor,
  tail: actor.tail.filter(({ position }) => position <= to),
});

/** Whether an actor would be made from its snapshot: not if that is of another machine, or was taken since. */
const isOfUse = (registry: Registry, { version }: ActorRecord, { snapshot }: LoadedActor): boolean =>
  snapshot !== undefined && snapshot.version <= version && snapshotFits(registry, snapshot);

/** The hash of what an actor is loaded as; undefined if what comes after its snapshot does not follow from it. */
const hashOfLoaded = (
  registry: Registry,
  actor: LoadedActor,
  { replayed, hash }: { readonly replayed: ActorRecord; readonly hash: StateHash },
): string | undefined => {
  // Whoever says that a snapshot is of use has hashed its state.
  if (actor.snapshot?.version === replayed.version) return actor.snapshot.hash;
  try {
    return hash(foldActor(registry, actor));
  } catch (error) {
    if (isRuntimeError(error, 'REPLAY_DIVERGED')) return undefined;
    throw error;
  }
};

/** The first stored view that is not what its events come to. */
export const wrongView = async ({
  log,
  upcast,
  projections,
  to,
}: ReplayedLog & {
  readonly upcast: (event: RecordedEvent) => RecordedEvent;
  readonly projections: readonly Projection[];
}): Promise<Problem | undefined> => {
  const wrong = await wrongStoredView({
    source: {
      scan: async (query) => (await log.scan(query)).map(upcast),
      loadView: (key) => log.loadView(key),
    },
    projections: [...OWN_PROJECTIONS, ...projections].map(compileProjection),
    trusted: new Set(OWN_PROJECTIONS.map(({ name }) => name)),
    runs: (await log.runs({})).map(({ id }) => id),
    to,
  });
  if (!wrong) return undefined;
  const { projection, partition, position } = wrong;
  const what = `the view "${projection}" of "${partition}" is not what its events come to: rebuild the views`;
  return { position, what };
};
