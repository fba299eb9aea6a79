import { freeze } from 'immer';
import { changesNothing } from './changes.ts';
import type { LivePartitions } from './live-partitions.ts';
import type { Partition } from './partition.ts';
import { isProjectionFault } from './projection-fault.ts';
import type { ProjectionSource } from './projection-source.ts';
import { chunksOf, createReplay, type Folded, type Replay, type Replayed } from './replay.ts';
import { isContainer } from './state-data.ts';
import type { ViewSaver } from './view-saver.ts';
import type { Watching } from './watching.ts';

const SAVE_EVERY_EVENTS = 200;

interface CatchUpOptions {
  readonly source: ProjectionSource;
  readonly saver: ViewSaver;
  readonly live: LivePartitions;
  readonly watching: Watching;
}

/**
 * Moves partitions by reading the log: when one is read, and until one that is watched has everything that was committed.
 * At most one task reads for a partition at a time, and all who wait for it share it. What is folded is decided by position
 * alone, so that events which are committed meanwhile are neither lost nor folded twice.
 */
export class CatchUp {
  readonly #source: ProjectionSource;
  readonly #saver: ViewSaver;
  readonly #live: LivePartitions;
  readonly #watching: Watching;
  readonly #replay: Replay;

  constructor({ source, saver, live, watching }: CatchUpOptions) {
    this.#source = source;
    this.#saver = saver;
    this.#live = live;
    this.#watching = watching;
    this.#replay = createReplay(source);
  }

  /** Resolves once everything up to `target` is in the partition. @throws {RuntimeError} PROJECTION_FAULT if it is or becomes faulty */
  async reach(partition: Partition, target: number): Promise<void> {
    while (partition.fault === undefined && this.#live.positionOf(partition) < target) {
      await this.#alone(partition, () => this.#advance(partition, target));
    }
    if (partition.fault !== undefined) throw partition.fault;
  }

  /** Folds the partition anew from the beginning of the log, whatever was in memory or stored. */
  async rebuild(partition: Partition): Promise<void> {
    while (partition.work !== undefined) await partition.work.catch(() => undefined);
    await this.#alone(partition, () => this.#startOver(partition));
  }

  /** Sees to it that a watched partition gets to where the log is, and stays there. Reports what goes wrong, and never rejects. */
  async pursue(partition: Partition): Promise<void> {
    if (partition.isPursued) return;
    partition.isPursued = true;
    try {
      while (partition.isWatched && !partition.isLive) {
        const wanted = partition.waiting.map(({ from }) => from);
        await this.reach(partition, Math.max(this.#live.frontier ?? 0, ...wanted));
        this.#watching.admit(partition);
      }
    } catch (error) {
      this.#watching.drop(partition, error);
    } finally {
      partition.isPursued = false;
    }
  }

  /** Stores those of these partitions in which enough has changed. */
  saveDue(partitions: Iterable<Partition>): void {
    const due = [...partitions].filter(({ unsaved }) => unsaved >= SAVE_EVERY_EVENTS);
    if (due.length > 0) this.#saver.saveSoon(due);
  }

  /** Waits for the task that is under way, or else makes this one that task. */
  #alone(partition: Partition, task: () => Promise<void>): Promise<void> {
    partition.work ??= task().finally(() => {
      partition.work = undefined;
    });
    return partition.work;
  }

  /** One stretch: to the target, or to a position at which someone waits to watch. */
  async #advance(partition: Partition, target: number): Promise<void> {
    try {
      if (!partition.isLoaded) await this.#load(partition);
      this.#watching.admit(partition);
      const to = this.#stopBefore(partition, target);
      if (partition.watchers.length > 0) await this.#foldWatched(partition, to);
      else await this.#foldAside(partition, to);
    } catch (error) {
      if (!isProjectionFault(error)) throw error;
      this.#watching.drop(partition, error);
    }
    this.#watching.admit(partition);
    this.saveDue([partition]);
  }

  /** How far to go in one stretch: whoever waits to watch from a position must see the state at that position. */
  #stopBefore(partition: Partition, target: number): number {
    const position = this.#live.positionOf(partition);
    const stops = partition.waiting.map(({ from }) => from).filter((from) => from > position);
    return Math.max(position, Math.min(target, ...stops));
  }

  async #load(partition: Partition): Promise<void> {
    const { projection, id } = partition;
    const key = { projection: projection.name, version: projection.version, partition: id };
    const [view, head] = await Promise.all([this.#source.loadView(key), this.#source.head()]);
    const stored = view && view.position <= head.position ? parse(view.state) : undefined;
    if (stored !== undefined) partition.state = stored;
    partition.position = stored !== undefined && view !== undefined ? view.position : 0;
    partition.savedPosition = partition.position;
  }

  /** With nobody watching. If someone has begun to meanwhile, what was made is of no use: they must be told of each step. */
  async #foldAside(partition: Partition, to: number): Promise<void> {
    const replayed = await this.#replay(partition, partition, to);
    const isNews = replayed.position > this.#live.positionOf(partition);
    if (isNews && partition.watchers.length === 0) partition.adopt(replayed);
  }

  async #foldWatched(partition: Partition, to: number): Promise<void> {
    const after = this.#live.positionOf(partition);
    for await (const events of chunksOf(this.#source, partition, { after, to })) {
      for (const event of events) {
        if (partition.fault === undefined) this.#watching.tell(partition, partition.fold(event));
      }
    }
    if (partition.fault === undefined) partition.position = Math.max(partition.position, to);
  }

  async #startOver(partition: Partition): Promise<void> {
    const { initial } = partition.projection;
    let folded: Replayed = { state: initial, position: 0, events: 0 };
    try {
      do {
        const head = await this.#source.head();
        const to = this.#stopBefore(partition, head.position);
        const { events, ...next } = await this.#replay(partition, folded, to);
        folded = { ...next, events: folded.events + events };
        // Whoever watches is told of each step on the way, as ever.
        if (partition.watchers.length > 0) await this.#foldWatched(partition, folded.position);
      } while (folded.position < this.#live.positionOf(partition));
    } catch (error) {
      if (isProjectionFault(error)) this.#watching.drop(partition, error);
      throw error;
    }
    this.#replace(partition, folded);
    await this.#saver.save([partition]);
  }

  /** Puts what was rebuilt in the place of what was there. Whoever watches is told what is different, which should be nothing. */
  #replace(partition: Partition, folded: Replayed): void {
    const step = { before: partition.state, after: folded.state, position: folded.position };
    partition.fault = undefined;
    // Stored even if there was nothing to fold: what is stored may be what was wrong.
    partition.adopt({ ...folded, events: folded.events + 1 });
    if (partition.watchers.length > 0 && !changesNothing(step)) this.#watching.tell(partition, step);
    this.#watching.admit(partition);
  }
}

/** A view that cannot be read is one that is not there: the log has everything. */
function parse(text: string): Folded['state'] | undefined {
  try {
    const state: unknown = JSON.parse(text);
    return isContainer(state) ? freeze(state, true) : undefined;
  } catch {
    return undefined;
  }
}
