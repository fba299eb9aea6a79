import { isRuntimeError } from '../errors.ts';
import { hashText } from '../events/blob.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { Projection } from '../projections/projection.ts';
import type { EventLog, VerifyOptions } from '../store/event-log.ts';
import type { ActorRecord } from './actor-record.ts';
import { liveEvent, stateHash } from './fold.ts';
import type { Registry } from './registry.ts';
import { StatedFacts } from './stated-facts.ts';
import { type StateHash, wrongSnapshot, wrongView } from './stored-state.ts';
import { createUpcast } from './upcast.ts';

export interface ReplayReport {
  readonly ok: boolean;
  readonly events: number;
  readonly actors: number;
  /** Hash over the states of all actors: equal on every machine and every time. */
  readonly states: string;
  readonly problem: { readonly position: number; readonly what: string } | undefined;
}

export interface ReplayOptions extends VerifyOptions {
  /** Projections whose stored views are folded once more, beside those that come with every runtime. */
  readonly projections?: readonly Projection[];
}

const CHUNK = 1_000;

/**
 * Rebuilds every actor from the log alone, in the order in which things happened. Each event must lead to the state that
 * was recorded with it, each machine must state the facts that the log has, and the counters that workflows declare must equal what
 * the log says. So must what is stored to save folding: snapshots, and the views of these projections.
 */
export const replayLog = async (
  log: EventLog,
  registry: Registry,
  { onProgress, projections = [] }: ReplayOptions = {},
): Promise<ReplayReport> => {
  const actors = new Map<Address, ActorRecord>();
  const counts = createCounts(registry);
  const facts = new StatedFacts();
  const hash = remembered((record) => stateHash(registry, record));
  const upcast = createUpcast(registry);
  /** Actors of machines that are not registered: no problem if they were migrated to one that is. */
  const missing = new Map<Address, NonNullable<ReplayReport['problem']>>();
  let events = 0;
  let after = 0;
  const report = (problem: ReplayReport['problem']): ReplayReport => ({
    ok: problem === undefined,
    events,
    actors: actors.size,
    states: hashStates(registry, actors, hash),
    problem,
  });
  const replay = (event: RecordedEvent): ReplayReport['problem'] => {
    if (missing.has(event.actor) && event.kind !== 'migrated') return undefined;
    try {
      const { record, effects } = liveEvent(registry, actors.get(event.actor), event);
      missing.delete(event.actor);
      actors.set(event.actor, record);
      counts.count(event, record);
      return facts.check(upcast(event), effects);
    } catch (error) {
      if (!isRuntimeError(error, 'REPLAY_DIVERGED', 'MACHINE_MISSING')) throw error;
      const problem = { position: event.position, what: error.message };
      if (error.code === 'REPLAY_DIVERGED') return problem;
      missing.set(event.actor, problem);
      return undefined;
    }
  };
  for (;;) {
    const chunk = await log.events({ after, limit: CHUNK }).catch(damage);
    if ('what' in chunk) return report(chunk);
    for (const event of chunk) {
      const problem = replay(event);
      if (problem) return report(problem);
      events += 1;
      after = event.position;
    }
    onProgress?.(after);
    if (chunk.length < CHUNK) break;
  }
  const [first] = missing.values();
  const wrong = first ?? facts.end() ?? counts.firstWrong(actors);
  if (wrong) return report(wrong);
  return report(
    (await wrongSnapshot({ log, registry, actors, hash, to: after }).catch(damage)) ??
      (await wrongView({ log, upcast, projections, to: after }).catch(damage)),
  );
};

/** A log that cannot be read cannot be replayed: that is what was asked. Any other error means that nobody could look. */
const damage = (error: unknown): NonNullable<ReplayReport['problem']> => {
  if (!isRuntimeError(error, 'LOG_CORRUPT')) throw error;
  return { position: error.fields.position, what: error.fields.problem };
};

/** Hash over the states of actors: equal if and only if each of them is in the same state. */
export const hashStates = (
  registry: Registry,
  actors: ReadonlyMap<Address, ActorRecord>,
  hash: StateHash = (record) => stateHash(registry, record),
): string =>
  hashText(
    canonicalJson(
      [...actors.keys()].sort().map((address) => {
        const record = actors.get(address);
        return [address, (record && hash(record)) ?? null];
      }),
    ),
  );

/** States are large, and hashed for more than one reason. */
const remembered = (hash: StateHash): StateHash => {
  const known = new WeakMap<ActorRecord, string | undefined>();
  return (record) => {
    if (!known.has(record)) known.set(record, hash(record));
    return known.get(record);
  };
};

/** Counts, by a query of its own, what the counters of machines claim to count. */
const createCounts = (registry: Registry) => {
  const counts = new Map<Address, Map<string, number>>();
  const last = new Map<Address, number>();
  return {
    count(event: RecordedEvent, { snapshot }: ActorRecord) {
      const counters = registry.find(event.machine, event.machineVersion)?.workflow.options.counters;
      last.set(event.actor, event.position);
      for (const [name, { counts: isCounted, value }] of Object.entries(counters ?? {})) {
        const byName = counts.get(event.actor) ?? new Map<string, number>();
        const before = byName.get(name) ?? 0;
        // What a migration says was counted before it is taken as it is: the rows are of another machine.
        if (event.kind === 'migrated') byName.set(name, value(snapshot?.context));
        else byName.set(name, before + (isCounted(event) ? 1 : 0));
        counts.set(event.actor, byName);
      }
    },
    firstWrong(actors: ReadonlyMap<Address, ActorRecord>): ReplayReport['problem'] {
      for (const [address, byName] of counts) {
        const record = actors.get(address);
        const counters =
          record && registry.find(record.machine, record.machineVersion)?.workflow.options.counters;
        for (const [name, counted] of byName) {
          const value = record?.snapshot ? counters?.[name]?.value(record.snapshot.context) : counted;
          if (value === counted) continue;
          return {
            position: last.get(address) ?? 0,
            what: `the counter "${name}" of "${address}" says ${String(value)}, the log says ${counted}`,
          };
        }
      }
      return undefined;
    },
  };
};
