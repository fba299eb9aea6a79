import type { RecordedEvent } from '../events/event.ts';
import type { Partition } from './partition.ts';

/**
 * The partitions that are given each event as it is committed, and how far the committed events have come. An event costs
 * what it concerns: a partition that it does not belong to is not touched, and is known to be as far all the same.
 */
export class LivePartitions {
  /** The last event that was committed; undefined until one was, or the end of the log was asked for. */
  frontier: number | undefined;
  readonly #byRun = new Map<string, Set<Partition>>();
  readonly #ofLog = new Set<Partition>();

  /** Up to where a partition has everything. */
  positionOf({ isLive, position }: Partition): number {
    return isLive ? Math.max(position, this.frontier ?? 0) : position;
  }

  add(partition: Partition): void {
    partition.isLive = true;
    if (partition.projection.partition === 'log') {
      this.#ofLog.add(partition);
      return;
    }
    const ofRun = this.#byRun.get(partition.id) ?? new Set();
    this.#byRun.set(partition.id, ofRun.add(partition));
  }

  remove(partition: Partition): void {
    partition.position = this.positionOf(partition);
    partition.isLive = false;
    this.#ofLog.delete(partition);
    const ofRun = this.#byRun.get(partition.id);
    ofRun?.delete(partition);
    if (ofRun?.size === 0) this.#byRun.delete(partition.id);
  }

  /** Calls `fold` for each partition that the event belongs to. They may come and go meanwhile. */
  forEach({ run }: RecordedEvent, fold: (partition: Partition) => void): void {
    for (const partition of this.#byRun.get(run) ?? []) fold(partition);
    for (const partition of this.#ofLog) fold(partition);
  }

  all(): readonly Partition[] {
    return [...this.#ofLog, ...[...this.#byRun.values()].flatMap((ofRun) => [...ofRun])];
  }
}
