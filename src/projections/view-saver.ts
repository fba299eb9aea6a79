import type { Partition } from './partition.ts';
import type { OnFault } from './projection-fault.ts';
import type { ProjectionSource, SaveOptions } from './projection-source.ts';
import type { Folded } from './replay.ts';

/** A partition as it was when it was taken to be stored, and what to put back if that fails. */
interface Taken extends Folded {
  readonly partition: Partition;
  readonly unsaved: number;
  readonly savedPosition: number;
}

/**
 * Stores partitions, in the order in which they are given, so that an older state never replaces a newer one. A stored view
 * only saves time: if it cannot be written, that is reported, and tried again with the next.
 */
export class ViewSaver {
  readonly #source: ProjectionSource;
  readonly #onFault: OnFault;
  readonly #writing = new Set<Promise<void>>();

  constructor(source: ProjectionSource, onFault: OnFault) {
    this.#source = source;
    this.#onFault = onFault;
  }

  /** Stores those that have changed, as they are now. Resolves when that is done or reported; never rejects. */
  async save(partitions: readonly Partition[]): Promise<void> {
    await Promise.all([this.#begin(partitions, { mayWait: false }), ...this.#writing]);
  }

  /** The same in passing: nobody waits for it. */
  saveSoon(partitions: readonly Partition[]): void {
    void this.#begin(partitions, { mayWait: true });
  }

  async #begin(partitions: readonly Partition[], options: SaveOptions): Promise<void> {
    const batch = partitions.filter(({ isDirty }) => isDirty).map(take);
    if (batch.length === 0) return;
    const writing = this.#write(batch, options);
    this.#writing.add(writing);
    await writing;
    this.#writing.delete(writing);
  }

  async #write(batch: readonly Taken[], options: SaveOptions): Promise<void> {
    try {
      await this.#source.saveViews(batch.map(toView), options);
    } catch (error) {
      for (const { partition, unsaved, savedPosition } of batch) {
        partition.unsaved += unsaved;
        partition.savedPosition = Math.min(partition.savedPosition, savedPosition);
      }
      for (const { partition } of batch.slice(0, 1)) {
        this.#onFault(error, partition.projection.name, partition.id);
      }
    }
  }
}

function take(partition: Partition): Taken {
  const { state, position, unsaved, savedPosition } = partition;
  partition.unsaved = 0;
  partition.savedPosition = position;
  return { partition, state, position, unsaved, savedPosition };
}

const toView = ({ partition: { projection, id }, state, position }: Taken) => ({
  projection: projection.name,
  version: projection.version,
  partition: id,
  position,
  state: JSON.stringify(state),
});
