import type { RecordedEvent } from '../events/event.ts';
import { TYPE } from '../events/vocabulary.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import { GuardedState } from './guarded-state.ts';
import type { Fold } from './projection.ts';
import { WHOLE_LOG } from './projection-registry.ts';
import type { ProjectionSource, StoredView, ViewKey } from './projection-source.ts';
import { isJsonTree, type StateData } from './state-data.ts';

export interface RebuildOptions {
  readonly source: ProjectionSource;
  readonly projections: readonly CompiledProjection[];
  /** Projections whose folds are known to do the same on plain data as on drafts: they need no guards. */
  readonly trusted: ReadonlySet<string>;
  /** Up to and including this position. */
  readonly to: number;
}

/** A partition that could not be folded here, and has to be folded by itself. */
export interface Left {
  readonly projection: CompiledProjection;
  readonly id: string;
}

export interface Rebuilt {
  readonly events: number;
  readonly partitions: number;
  readonly left: readonly Left[];
}

/** Few enough that what is read is gone before it gets old: the collector of garbage is good at that. */
const CHUNK_EVENTS = 2_000;
const ENDED_KEPT = 1_000;
const SAVED_AT_ONCE = 1_000;

/**
 * Folds all projections from the beginning of the log, in one pass over it, and stores what comes of it. Run by run it would be
 * read as often as there are projections. A run that has ended leaves memory soon after.
 */
export const rebuildAll = async (options: RebuildOptions): Promise<Rebuilt> => new Rebuild(options).run();

/** One partition under way: plain data, with or without guards. */
interface Partition {
  readonly root: StateData;
  readonly guarded: GuardedState | undefined;
}

class Rebuild {
  readonly #options: RebuildOptions;
  readonly #folding: readonly Folding[];
  #events = 0;
  #partitions = 0;
  readonly #ended: string[] = [];
  /** Those that have something to do with each type, and what they do. */
  readonly #concerned = new Map<string, readonly Concerned[]>();

  constructor(options: RebuildOptions) {
    this.#options = options;
    this.#folding = options.projections.map((each) => new Folding(each, options.trusted.has(each.name)));
  }

  async run(): Promise<Rebuilt> {
    const { source, to } = this.#options;
    for (let after = 0; after < to; ) {
      const events = await source.scan({
        after,
        before: to + 1,
        limit: CHUNK_EVENTS,
      });
      const last = events.at(-1);
      if (!last) break;
      for (const event of events) this.#fold(event);
      this.#events += events.length;
      after = last.position;
      // What comes late for a run that has ended comes soon, if at all: the latest are kept for a while.
      const gone =
        this.#ended.length < 2 * ENDED_KEPT ? [] : this.#ended.splice(0, this.#ended.length - ENDED_KEPT);
      for (const folding of this.#folding) await this.#save(folding, gone, after);
    }
    for (const folding of this.#folding) await this.#save(folding, [...folding.ids()], to);
    return {
      events: this.#events,
      partitions: this.#partitions,
      left: this.#folding.flatMap((each) => each.left()),
    };
  }

  #fold(event: RecordedEvent): void {
    let concerned = this.#concerned.get(event.type);
    if (concerned === undefined) {
      concerned = this.#folding.flatMap((folding) => {
        const fold = folding.foldOf(event.type);
        return fold ? [{ folding, fold }] : [];
      });
      this.#concerned.set(event.type, concerned);
    }
    for (const { folding, fold } of concerned) folding.fold(event, fold);
    if (event.type === TYPE.runEnded && event.actor === event.run) this.#ended.push(event.run);
  }

  async #save(folding: Folding, ids: readonly string[], position: number): Promise<void> {
    for (let next = 0; next < ids.length; next += SAVED_AT_ONCE) {
      const { changed, unchanged } = folding.finished(ids.slice(next, next + SAVED_AT_ONCE), position);
      this.#partitions += changed.length + unchanged.length;
      if (changed.length > 0) await this.#options.source.saveViews(changed);
      if (unchanged.length > 0) await this.#options.source.dropViews(unchanged);
    }
  }
}

interface Concerned {
  readonly folding: Folding;
  readonly fold: Fold<unknown>;
}

interface Finished {
  readonly changed: readonly (ViewKey & StoredView)[];
  readonly unchanged: readonly ViewKey[];
}

/** One projection with all its partitions, on plain data. */
export class Folding {
  readonly #projection: CompiledProjection;
  readonly #isTrusted: boolean;
  /** As a text: a copy of it is made for every run. */
  readonly #initial: string;
  readonly #partitions = new Map<string, Partition>();
  /** Those that are over, and those that cannot be folded here. */
  readonly #done = new Set<string>();
  readonly #left = new Set<string>();

  constructor(projection: CompiledProjection, isTrusted: boolean) {
    this.#projection = projection;
    this.#isTrusted = isTrusted;
    this.#initial = JSON.stringify(projection.initial);
  }

  ids(): Iterable<string> {
    return this.#partitions.keys();
  }

  left(): readonly Left[] {
    return [...this.#left].map((id) => ({ projection: this.#projection, id }));
  }

  foldOf(type: string): Fold<unknown> | undefined {
    return this.#projection.foldOf(type);
  }

  fold(event: RecordedEvent, fold: Fold<unknown>): void {
    const id = this.#projection.partition === 'run' ? event.run : WHOLE_LOG;
    const partition = this.#partitions.get(id) ?? this.#begin(id);
    if (!partition) return;
    try {
      const returned: unknown = fold(partition.root, event);
      if (returned instanceof Promise || partition.guarded?.settle() === false) this.#leave(id);
    } catch {
      this.#leave(id);
    }
  }

  /**
   * The views of these partitions, which are over now; not of those that have to be made in another way. What is as it began
   * is not stored: most projections have nothing to say of most runs, and whoever asks folds nothing all the same.
   */
  finished(ids: readonly string[], position: number): Finished {
    const { name: projection, version } = this.#projection;
    const changed: (ViewKey & StoredView)[] = [];
    const unchanged: ViewKey[] = [];
    for (const partition of ids) {
      const state = this.#textOf(partition);
      if (state === undefined) continue;
      this.#done.add(partition);
      if (state === this.#initial) unchanged.push({ projection, version, partition });
      else changed.push({ projection, version, partition, position, state });
    }
    return { changed, unchanged };
  }

  /** The state of a partition as it is stored, which is over with that; undefined if it cannot be folded here. */
  take(id: string): string | undefined {
    if (this.#left.has(id)) return undefined;
    return this.#partitions.has(id) ? this.#textOf(id) : this.#initial;
  }

  /** The state of a partition as it is stored; undefined if there is none, or none that can be. */
  #textOf(id: string): string | undefined {
    const partition = this.#partitions.get(id);
    if (!partition) return undefined;
    this.#partitions.delete(id);
    const state = partition.guarded?.release() ?? partition.root;
    // What trusted folds make is JSON, as they are known to do.
    if (this.#isTrusted || isJsonTree(state)) return JSON.stringify(state);
    this.#left.add(id);
    return undefined;
  }

  #begin(id: string): Partition | undefined {
    if (this.#left.has(id)) return undefined;
    // An answer that came very late: the view has its position, and the rest is folded when it is read.
    if (this.#done.has(id)) return undefined;
    const plain = JSON.parse(this.#initial) as StateData; // It was made from one, and checked to be JSON.
    const guarded = this.#isTrusted ? undefined : new GuardedState(plain);
    const partition = { root: guarded?.root ?? plain, guarded };
    this.#partitions.set(id, partition);
    return partition;
  }

  #leave(id: string): void {
    this.#partitions.delete(id);
    this.#left.add(id);
  }
}
