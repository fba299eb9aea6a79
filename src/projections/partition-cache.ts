import type { CompiledProjection } from './compiled-projection.ts';
import { Partition } from './partition.ts';

/**
 * The partitions in memory. Those in use stay; of the others the ones that were used last, up to a number in all. What
 * leaves is handed to `onLeave`, which may store it.
 */
export class PartitionCache {
  readonly #limit: number;
  readonly #onLeave: (partitions: readonly Partition[]) => void;
  readonly #used = new Map<string, Partition>();
  /** In the order in which they were left, the longest ago first. */
  readonly #idle = new Map<string, Partition>();

  constructor(limit: number, onLeave: (partitions: readonly Partition[]) => void) {
    this.#limit = limit;
    this.#onLeave = onLeave;
  }

  /** The partition, for use until it is released as often as it was taken. */
  take(projection: CompiledProjection, id: string): Partition {
    const key = keyOf(projection, id);
    const partition = this.#used.get(key) ?? this.#idle.get(key) ?? new Partition(projection, id);
    this.#idle.delete(key);
    this.#used.set(key, partition);
    partition.users += 1;
    return partition;
  }

  release(partition: Partition): void {
    partition.users -= 1;
    if (partition.users > 0) return;
    const key = keyOf(partition.projection, partition.id);
    this.#used.delete(key);
    this.#idle.set(key, partition);
    if (partition.hasRunEnded) this.drop(partition);
    this.#trim();
  }

  /** Undefined if it is not in memory. Does not count as use. */
  peek(projection: CompiledProjection, id: string): Partition | undefined {
    const key = keyOf(projection, id);
    return this.#used.get(key) ?? this.#idle.get(key);
  }

  /** Lets it leave memory, unless someone uses it. */
  drop(partition: Partition): void {
    if (this.#idle.delete(keyOf(partition.projection, partition.id))) this.#onLeave([partition]);
  }

  all(): readonly Partition[] {
    return [...this.#used.values(), ...this.#idle.values()];
  }

  #trim(): void {
    const leaving: Partition[] = [];
    for (const [key, partition] of this.#idle) {
      if (this.#used.size + this.#idle.size <= this.#limit) break;
      this.#idle.delete(key);
      leaving.push(partition);
    }
    if (leaving.length > 0) this.#onLeave(leaving);
  }
}

/** No name has a NUL in it: see `compileProjection`. */
const keyOf = ({ name }: CompiledProjection, id: string): string => `${name}\0${id}`;
