import { Observable, type Subscriber } from 'rxjs';
import { RuntimeError } from '../errors.ts';
import type { RecordedEvent } from '../events/event.ts';
import { CatchUp } from './catch-up.ts';
import { type Change, changesIn } from './changes.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import type { ProjectionEngine, ProjectionEngineOptions } from './engine.ts';
import { LivePartitions } from './live-partitions.ts';
import type { Partition, Watcher } from './partition.ts';
import { PartitionCache } from './partition-cache.ts';
import { compilePattern } from './path-pattern.ts';
import type { OnFault } from './projection-fault.ts';
import { ProjectionRegistry, type Which } from './projection-registry.ts';
import type { ProjectionSource } from './projection-source.ts';
import { rebuildAll } from './rebuild.ts';
import { RecentRuns } from './recent-runs.ts';
import type { Subject } from './replay.ts';
import { ViewSaver } from './view-saver.ts';
import { Watching } from './watching.ts';

const CACHED_PARTITIONS = 1_000;

/** The engine's parts put together. Its contract is that of `ProjectionEngine`. */
export class PartitionEngine implements ProjectionEngine {
  readonly #source: ProjectionSource;
  readonly #trusted: ReadonlySet<string>;
  readonly #registry: ProjectionRegistry;
  readonly #live = new LivePartitions();
  readonly #saver: ViewSaver;
  readonly #cache: PartitionCache;
  readonly #watching: Watching;
  readonly #catchUp: CatchUp;
  readonly #recent: RecentRuns;
  readonly #committed: (readonly RecordedEvent[])[] = [];
  #isFolding = false;
  #isClosed = false;

  constructor({
    source,
    projections,
    trusted = new Set(),
    cached = CACHED_PARTITIONS,
    onFault,
  }: ProjectionEngineOptions) {
    if (!Number.isSafeInteger(cached) || cached < 0) {
      throw new RuntimeError('BAD_OPTION', {
        option: 'cached',
        found: String(cached),
        expected: 'a whole number from 0 on',
      });
    }
    const report: OnFault = (error, name, partition) => {
      try {
        onFault(error, name, partition);
      } catch {
        // Nobody is left who could be told.
      }
    };
    this.#source = source;
    this.#trusted = trusted;
    this.#registry = new ProjectionRegistry(projections);
    this.#saver = new ViewSaver(source, report);
    this.#cache = new PartitionCache(cached, (leaving) => {
      // What leaves while we close is stored with all the rest.
      if (!this.#isClosed) this.#saver.saveSoon(leaving);
    });
    this.#watching = new Watching(this.#live, report);
    this.#recent = new RecentRuns(source);
    this.#catchUp = new CatchUp({
      source: this.#recent.source(),
      saver: this.#saver,
      live: this.#live,
      watching: this.#watching,
    });
  }

  committed(events: readonly RecordedEvent[]): void {
    if (this.#isClosed) return;
    this.#committed.push(events);
    // Whoever is told of a change may cause the next commit before the rest of this one is folded: that one waits.
    if (this.#isFolding) return;
    const folded = new Set<Partition>();
    try {
      this.#isFolding = true;
      for (let batch = this.#committed.shift(); batch !== undefined; batch = this.#committed.shift()) {
        for (const event of batch) this.#fold(event, folded);
      }
    } finally {
      this.#isFolding = false;
    }
    this.#catchUp.saveDue(folded);
  }

  async read<State>(which: Which<State>, partition?: string): Promise<State> {
    return this.#using<State>(this.#registry.find(which, partition), async (taken) => {
      const { position } = await this.#source.head();
      await this.#catchUp.reach(taken, position);
    });
  }

  async rebuild<State>(which: Which<State>, partition?: string): Promise<State> {
    return this.#using<State>(this.#registry.find(which, partition), async (taken) => {
      const { position } = await this.#source.head();
      await this.#catchUp.rebuild(taken);
      await this.#catchUp.reach(taken, position);
    });
  }

  async rebuildAll(): Promise<{ readonly events: number; readonly partitions: number }> {
    if (this.#isClosed) throw new RuntimeError('RUNTIME_CLOSED', { action: 'rebuilding views' });
    const { position: to } = await this.#source.head();
    const projections = [...this.#registry.all()];
    const rebuilt = await rebuildAll({ source: this.#source, projections, trusted: this.#trusted, to });
    // What is in memory is folded by itself, as are those whose folds need drafts.
    const inMemory = this.#cache.all().map(({ projection, id }) => ({ projection, id }));
    for (const { projection, id } of [...rebuilt.left, ...inMemory])
      await this.rebuild(projection.name, partitionOf(projection, id));
    return { events: rebuilt.events, partitions: rebuilt.partitions + rebuilt.left.length };
  }

  state$<State>(which: Which<State>, partition?: string): Observable<State> {
    // A projection's state is what its own folds made of its own initial state: the cast only gives it its name back.
    return this.#observe<State>(this.#registry.find(which, partition), (subscriber) => ({
      begin: (state) => subscriber.next(state as State),
      next: ({ after }) => subscriber.next(after as State),
    }));
  }

  watch<State>(which: Which<State>, partition: string | undefined, pattern: string): Observable<Change> {
    const compiled = compilePattern(pattern);
    return this.#observe<Change>(this.#registry.find(which, partition), (subscriber) => ({
      begin: () => undefined,
      next: (step) => {
        for (const change of changesIn(step, compiled)) subscriber.next(change);
      },
    }));
  }

  runEnded(run: string): void {
    for (const projection of this.#registry.all()) {
      const partition = projection.partition === 'run' ? this.#cache.peek(projection, run) : undefined;
      if (partition === undefined) continue;
      partition.hasRunEnded = true;
      this.#cache.drop(partition);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const partitions = this.#cache.all();
    for (const partition of partitions) this.#watching.complete(partition);
    await Promise.allSettled(partitions.map(({ work }) => work ?? Promise.resolve()));
    await this.#saver.save(partitions);
  }

  #fold(event: RecordedEvent, folded: Set<Partition>): void {
    const { frontier } = this.#live;
    if (frontier !== undefined && event.position <= frontier) return;
    this.#recent.note(event);
    const lapsed = frontier !== undefined && event.position > frontier + 1 ? this.#live.all() : [];
    for (const partition of lapsed) this.#live.remove(partition);
    this.#live.forEach(event, (partition) => {
      folded.add(partition);
      try {
        this.#watching.tell(partition, partition.fold(event));
      } catch (error) {
        this.#watching.drop(partition, error);
      }
    });
    this.#live.frontier = event.position;
    // Events are missing before this one: those who watch are told of them from the log.
    for (const partition of lapsed) void this.#catchUp.pursue(partition);
  }

  async #using<State>(
    { projection, id }: Subject,
    task: (partition: Partition) => Promise<void>,
  ): Promise<State> {
    if (this.#isClosed) throw new RuntimeError('RUNTIME_CLOSED', { action: `reading "${projection.name}"` });
    const partition = this.#cache.take(projection, id);
    try {
      await task(partition);
      // See `state$`.
      return partition.state as State;
    } finally {
      this.#cache.release(partition);
    }
  }

  #observe<Value>({ projection, id }: Subject, connect: Connect<Value>): Observable<Value> {
    return new Observable<Value>((subscriber) => {
      if (this.#isClosed) return subscriber.complete();
      const partition = this.#cache.take(projection, id);
      let watcher: Watcher | undefined;
      const enlist = (from: number): void => {
        if (subscriber.closed) return;
        watcher = watcherOf(subscriber, from, connect);
        this.#enlist(partition, watcher);
      };
      const { frontier } = this.#live;
      if (frontier === undefined) this.#askForEnd().then(enlist, (error: unknown) => subscriber.error(error));
      else enlist(frontier);
      return () => {
        if (watcher) partition.leave(watcher);
        if (!partition.isWatched && partition.isLive) this.#live.remove(partition);
        this.#cache.release(partition);
      };
    });
  }

  #enlist(partition: Partition, watcher: Watcher): void {
    if (partition.fault !== undefined) return watcher.error(partition.fault);
    partition.waiting = [...partition.waiting, watcher];
    this.#watching.admit(partition);
    if (!partition.isLive) void this.#catchUp.pursue(partition);
  }

  /** Nothing was committed yet since the start: whatever is, comes after the end that the log has now. */
  async #askForEnd(): Promise<number> {
    const { position } = await this.#source.head();
    this.#live.frontier = Math.max(this.#live.frontier ?? 0, position);
    return position;
  }
}

const partitionOf = ({ partition }: CompiledProjection, id: string): string | undefined =>
  partition === 'run' ? id : undefined;

type Connect<Value> = (subscriber: Subscriber<Value>) => Pick<Watcher, 'begin' | 'next'>;

const watcherOf = <Value>(subscriber: Subscriber<Value>, from: number, connect: Connect<Value>): Watcher => ({
  from,
  ...connect(subscriber),
  error: (error) => subscriber.error(error),
  complete: () => subscriber.complete(),
  get closed() {
    return subscriber.closed;
  },
});
