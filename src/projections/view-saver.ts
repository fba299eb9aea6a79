import type { Partition } from './partition.ts';
import type { OnFault } from './projection-fault.ts';
import type { ProjectionSource } from './projection-source.ts';
import type { Folded } from './replay.ts';

/** A partition as it was when it was taken to be stored, and what to put back if that fails. */
interface Taken extends Folded {
  readonly partition: Partition;
  readonly unsaved: number;
  readonly savedPosition: number;
}

/**
 * Stores partitions, one batch after the other, so that an older state never replaces a newer one. A stored view only
 * saves time: if it cannot be written, that is reported, and tried again with the next.
 */
export class ViewSaver {
  readonly #source: ProjectionSource;
  readonly #onFault: OnFault;
  #last: Promise<void> = Promise.resolve();

  constructor(source: ProjectionSource, onFault: OnFault) {
    this.#source = source;
    this.#onFault = onFault;
  }

  /** Stores those that have changed, as they are now. Resolves when that is done or reported; never rejects. */
  save(partitions: readonly Partition[]): Promise<void> {
    const batch = partitions.filter(({ isDirty }) => isDirty).map(take);
    if (batch.length > 0) this.#last = this.#last.then(() => this.#write(batch));
    return this.#last;
  }

  async #write(batch: readonly Taken[]): Promise<void> {
    try {
      await this.#source.saveViews(batch.map(toView));
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
