import type { RecordedEvent } from '../events/event.ts';
import type { ProjectionSource, SourceQuery } from './projection-source.ts';

const RUNS_MAX = 1_000;
const EVENTS_MAX = 8;

/**
 * The first events of runs that have just begun. Whoever starts a run looks at it next: what there is to fold of it is at hand,
 * and needs no query.
 */
export class RecentRuns {
  readonly #source: ProjectionSource;
  /** All events of a run so far, the longest begun first. */
  readonly #runs = new Map<string, RecordedEvent[]>();
  /** Up to where events were noted. */
  #position = 0;

  constructor(source: ProjectionSource) {
    this.#source = source;
  }

  /** Takes an event that was committed, in order. */
  note(event: RecordedEvent): void {
    const { run, actor, version, position } = event;
    // Events that were never told of may belong to any of them.
    if (position !== this.#position + 1) this.#runs.clear();
    this.#position = position;
    // A run begins with the first event of its root.
    if (actor === run && version === 1) return this.#begin(run, event);
    const events = this.#runs.get(run);
    if (!events) return;
    if (events.length < EVENTS_MAX) events.push(event);
    else this.#runs.delete(run);
  }

  /** The source, with what is at hand in place of queries. */
  source(): ProjectionSource {
    const source = this.#source;
    return {
      events: async (query) => this.#find(query) ?? source.events(query),
      // What may be stored of it is no more than what is at hand.
      loadView: async (key) => (this.#runs.has(key.partition) ? undefined : source.loadView(key)),
      scan: (query) => source.scan(query),
      saveViews: (views, options) => source.saveViews(views, options),
      dropViews: (keys) => source.dropViews(keys),
      head: () => source.head(),
    };
  }

  #begin(run: string, event: RecordedEvent): void {
    this.#runs.set(run, [event]);
    if (this.#runs.size <= RUNS_MAX) return;
    for (const oldest of this.#runs.keys()) return void this.#runs.delete(oldest);
  }

  #find({ run, types, after, before, limit }: SourceQuery): readonly RecordedEvent[] | undefined {
    const events = run === undefined || before > this.#position + 1 ? undefined : this.#runs.get(run);
    return events
      ?.filter(
        ({ position, type }) =>
          position > after && position < before && (types === undefined || types.includes(type)),
      )
      .slice(0, limit);
  }
}
