import type { RecordedEvent } from '../../src/events/event.ts';
import type { JsonObject } from '../../src/events/json.ts';
import type {
  ProjectionSource,
  SourceQuery,
  StoredView,
  ViewKey,
} from '../../src/projections/projection-source.ts';

const keyOf = ({ projection, version, partition }: ViewKey): string =>
  JSON.stringify([projection, version, partition]);

/** What a test says of an event; the rest does not matter to it. */
export type EventSketch = Pick<RecordedEvent, 'type'> & Partial<RecordedEvent>;

/** A log for tests: events and views in memory, and a count of what was asked of it. */
export class MemorySource implements ProjectionSource {
  readonly log: RecordedEvent[] = [];
  readonly views = new Map<string, StoredView>();
  readonly queries: SourceQuery[] = [];
  savedViews = 0;

  /** Appends events as a commit would, and returns them as recorded. */
  append(...sketches: readonly EventSketch[]): readonly RecordedEvent[] {
    const recorded = sketches.map((sketch, index) => recordedEvent(sketch, this.log.length + 1 + index));
    this.log.push(...recorded);
    return recorded;
  }

  async events(query: SourceQuery): Promise<readonly RecordedEvent[]> {
    this.queries.push(query);
    const { run, types, after, before, limit } = query;
    return this.log
      .slice(after, before - 1)
      .filter((event) => run === undefined || event.run === run)
      .filter((event) => types === undefined || types.includes(event.type))
      .slice(0, limit);
  }

  async scan({ after, before, limit }: SourceQuery): Promise<readonly RecordedEvent[]> {
    return this.events({ after, before, limit });
  }

  async loadView(key: ViewKey): Promise<StoredView | undefined> {
    return this.views.get(keyOf(key));
  }

  async saveViews(views: readonly (ViewKey & StoredView)[]): Promise<void> {
    for (const view of views) {
      this.views.set(keyOf(view), { position: view.position, state: view.state });
      this.savedViews += 1;
    }
  }

  async dropViews(keys: readonly ViewKey[]): Promise<void> {
    for (const key of keys) this.views.delete(keyOf(key));
  }

  async head(): Promise<{ readonly position: number }> {
    return { position: this.log.length };
  }
}

const NO_DATA: JsonObject = {};

function recordedEvent(sketch: EventSketch, position: number): RecordedEvent {
  const run = sketch.run ?? 'run-1';
  return {
    run,
    actor: run,
    version: position,
    kind: 'message',
    typeVersion: 1,
    data: NO_DATA,
    from: null,
    machine: 'machine',
    machineVersion: 1,
    state: 'idle',
    id: `e-${position}`,
    turn: position,
    atMs: 1_000 * position,
    cause: null,
    ...sketch,
    position,
  };
}

/**
 * The same source as one process sees it: every answer is what was true when it was asked for, comes some promises later, and
 * does not come at all once the process was killed.
 */
export class ProcessSource implements ProjectionSource {
  readonly #source: ProjectionSource;
  readonly #delay: () => number;
  isKilled = false;

  constructor(source: ProjectionSource, delay: () => number) {
    this.#source = source;
    this.#delay = delay;
  }

  events = (query: SourceQuery) => this.#answer(() => this.#source.events(query));
  scan = (query: SourceQuery) => this.#answer(() => this.#source.scan(query));
  loadView = (key: ViewKey) => this.#answer(() => this.#source.loadView(key));
  saveViews = (views: readonly (ViewKey & StoredView)[]) => this.#answer(() => this.#source.saveViews(views));
  dropViews = (keys: readonly ViewKey[]) => this.#answer(() => this.#source.dropViews(keys));
  head = () => this.#answer(() => this.#source.head());

  async #answer<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    if (this.isKilled) return new Promise<Answer>(() => undefined);
    const answer = ask();
    for (let ticks = this.#delay(); ticks > 0; ticks -= 1) await Promise.resolve();
    return this.isKilled ? new Promise<Answer>(() => undefined) : answer;
  }
}
