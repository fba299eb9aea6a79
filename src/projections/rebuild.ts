import { freeze } from 'immer';
import type { RecordedEvent } from '../events/event.ts';
import { TYPE } from '../events/vocabulary.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import { GuardedState } from './guarded-state.ts';
import { WHOLE_LOG } from './projection-registry.ts';
import type { ProjectionSource, StoredView, ViewKey } from './projection-source.ts';
import { checkData, isTree, type StateData } from './state-data.ts';

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
  /** Those that have something to do with each type. */
  readonly #concerned = new Map<string, readonly Folding[]>();

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
      concerned = this.#folding.filter((folding) => folding.reads(event.type));
      this.#concerned.set(event.type, concerned);
    }
    for (const folding of concerned) folding.fold(event);
    if (event.type === TYPE.runEnded && event.actor === event.run) this.#ended.push(event.run);
  }

  async #save(folding: Folding, ids: readonly string[], position: number): Promise<void> {
    for (let next = 0; next < ids.length; next += SAVED_AT_ONCE) {
      const views = ids
        .slice(next, next + SAVED_AT_ONCE)
        .flatMap((id) => folding.finished(id, position) ?? []);
      this.#partitions += views.length;
      if (views.length > 0) await this.#options.source.saveViews(views);
    }
  }
}

/** One projection with all its partitions. */
class Folding {
  readonly #projection: CompiledProjection;
  readonly #isTrusted: boolean;
  /** As a text: a copy of it is made for every run. */
  readonly #initial: string;
  readonly #partitions = new Map<string, Partition>();
  /** Those that are stored already, and those that cannot be folded here. */
  readonly #stored = new Set<string>();
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

  reads(type: string): boolean {
    return this.#projection.foldOf(type) !== undefined;
  }

  fold(event: RecordedEvent): void {
    const fold = this.#projection.foldOf(event.type);
    if (fold === undefined) return;
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

  /** The view of a partition, which is over now; undefined if there is none, or it has to be made in another way. */
  finished(id: string, position: number): (ViewKey & StoredView) | undefined {
    const partition = this.#partitions.get(id);
    if (!partition) return undefined;
    this.#partitions.delete(id);
    const state = partition.guarded?.release() ?? partition.root;
    try {
      if (!isTree(state)) throw new Error('something stands in two places of it');
      checkData(state);
    } catch {
      this.#left.add(id);
      return undefined;
    }
    this.#stored.add(id);
    const { name, version } = this.#projection;
    return { projection: name, version, partition: id, position, state: JSON.stringify(freeze(state)) };
  }

  #begin(id: string): Partition | undefined {
    if (this.#left.has(id)) return undefined;
    // An answer that came very late: the view is there, and the rest is folded when it is read.
    if (this.#stored.has(id)) return undefined;
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
