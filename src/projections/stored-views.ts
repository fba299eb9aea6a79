import { canonicalJson } from '../events/encode.ts';
import type { RecordedEvent } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import type { Fold } from './projection.ts';
import { WHOLE_LOG } from './projection-registry.ts';
import type { ProjectionSource, StoredView, ViewKey } from './projection-source.ts';
import { Folding, type RebuildOptions } from './rebuild.ts';

export interface StoredViewsOptions extends Omit<RebuildOptions, 'source'> {
  readonly source: Pick<ProjectionSource, 'scan' | 'loadView'>;
  /** The ids of all runs: of what nothing has happened to nothing may be stored. */
  readonly runs: readonly string[];
}

/** A stored view that is not what its events come to. */
export interface WrongView extends ViewKey {
  readonly position: number;
}

const CHUNK_EVENTS = 2_000;

/**
 * Folds every stored view once more, up to the position that it is stored for, and gives the first that is another. Views that are
 * stored meanwhile are left to the next check, and so are those whose folds cannot be run on plain data.
 */
export const wrongStoredView = async (options: StoredViewsOptions): Promise<WrongView | undefined> =>
  new StoredViews(options).firstWrong();

/** A stored view while it is folded again. */
interface Due {
  readonly stored: StoredView;
  isOver: boolean;
}

class StoredViews {
  readonly #options: StoredViewsOptions;
  readonly #checked: readonly Checked[];

  constructor(options: StoredViewsOptions) {
    this.#options = options;
    this.#checked = options.projections.map((projection) => ({
      projection,
      folding: new Folding(projection, options.trusted.has(projection.name)),
      due: new Map(),
    }));
  }

  async firstWrong(): Promise<WrongView | undefined> {
    const { source, to, runs } = this.#options;
    for (let after = 0; after < to; ) {
      const events = await source.scan({ after, before: to + 1, limit: CHUNK_EVENTS });
      const last = events.at(-1);
      if (!last) break;
      for (const event of events) {
        const wrong = await this.#fold(event);
        if (wrong) return wrong;
      }
      after = last.position;
    }
    for (const checked of this.#checked) {
      for (const id of checked.projection.partition === 'run' ? runs : [WHOLE_LOG]) {
        const due = await this.#dueOf(checked, id);
        const wrong = due && wrongOf(checked, id, due);
        if (wrong) return wrong;
      }
    }
    return undefined;
  }

  async #fold(event: RecordedEvent): Promise<WrongView | undefined> {
    for (const checked of this.#checked) {
      const { projection, folding } = checked;
      const fold: Fold<unknown> | undefined = projection.foldOf(event.type);
      if (fold === undefined) continue;
      const id = projection.partition === 'run' ? event.run : WHOLE_LOG;
      const known = checked.due.get(id);
      const due = known === undefined ? await this.#dueOf(checked, id) : known;
      if (due === null || due.isOver) continue;
      if (event.position <= due.stored.position) folding.fold(event, fold);
      else {
        const wrong = wrongOf(checked, id, due);
        if (wrong) return wrong;
      }
    }
    return undefined;
  }

  /** Null if nothing is stored of the partition that could be looked at. */
  async #dueOf({ projection, due }: Checked, partition: string): Promise<Due | null> {
    const known = due.get(partition);
    if (known !== undefined) return known;
    const { name, version } = projection;
    const stored = await this.#options.source.loadView({ projection: name, version, partition });
    const found = stored && stored.position <= this.#options.to ? { stored, isOver: false } : null;
    due.set(partition, found);
    return found;
  }
}

interface Checked {
  readonly projection: CompiledProjection;
  readonly folding: Folding;
  readonly due: Map<string, Due | null>;
}

/** Says once of each whether it is wrong. */
const wrongOf = ({ projection, folding }: Checked, partition: string, due: Due): WrongView | undefined => {
  if (due.isOver) return undefined;
  due.isOver = true;
  const { stored } = due;
  const folded = folding.take(partition);
  if (folded === undefined || folded === stored.state || isSame(folded, stored.state)) return undefined;
  const { name, version } = projection;
  return { projection: name, version, partition, position: stored.position };
};

/** Views that were folded from where they stood may have their keys in another order. */
const isSame = (one: string, other: string): boolean =>
  canonicalJson(JSON.parse(one) as Json) === canonicalJson(JSON.parse(other) as Json); // Both are JSON: they are stored so.
