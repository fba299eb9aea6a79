import type { Step } from './changes.ts';
import type { LivePartitions } from './live-partitions.ts';
import type { Partition } from './partition.ts';
import { isProjectionFault, type OnFault } from './projection-fault.ts';

/** How those who watch partitions come in, are told, and are let go. One who throws is reported and harms nobody else. */
export class Watching {
  readonly #live: LivePartitions;
  readonly #onFault: OnFault;

  constructor(live: LivePartitions, onFault: OnFault) {
    this.#live = live;
    this.#onFault = onFault;
  }

  /** Lets those watch who have waited for the position at which the partition is. */
  admit(partition: Partition): void {
    const position = this.#live.positionOf(partition);
    const admitted = partition.waiting.filter(({ from }) => from <= position);
    partition.waiting = partition.waiting.filter(({ from }) => from > position);
    const isThere = partition.fault === undefined && position >= (this.#live.frontier ?? 0);
    const isWatched = partition.watchers.length > 0 || admitted.length > 0;
    if (isThere && isWatched && !partition.isLive) this.#live.add(partition);
    for (const watcher of admitted) {
      // Whoever was called before may have ended the subscription of this one.
      if (watcher.closed) continue;
      partition.watchers = [...partition.watchers, watcher];
      this.#call(partition, () => watcher.begin(partition.state));
    }
    if (partition.isLive && !partition.isWatched) this.#live.remove(partition);
  }

  /** Tells all who watch of a step, if there is one. */
  tell(partition: Partition, step: Step | undefined): void {
    if (step === undefined) return;
    for (const watcher of partition.watchers) this.#call(partition, () => watcher.next(step));
  }

  /** Ends all watching of a partition, since it cannot go on. A fault of a fold stays with it, to be told to whoever reads it. */
  drop(partition: Partition, error: unknown): void {
    if (error === partition.fault) return;
    if (isProjectionFault(error)) partition.fault = error;
    if (partition.isLive) this.#live.remove(partition);
    const everyone = partition.dismiss();
    this.#onFault(error, partition.projection.name, partition.id);
    for (const watcher of everyone) this.#call(partition, () => watcher.error(error));
  }

  /** Ends all watching of a partition, since nothing more will come. */
  complete(partition: Partition): void {
    if (partition.isLive) this.#live.remove(partition);
    for (const watcher of partition.dismiss()) this.#call(partition, () => watcher.complete());
  }

  #call(partition: Partition, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#onFault(error, partition.projection.name, partition.id);
    }
  }
}
