import type { Observable } from 'rxjs';
import type { RecordedEvent } from '../events/event.ts';
import type { Change } from './changes.ts';
import { PartitionEngine } from './partition-engine.ts';
import type { Projection } from './projection.ts';
import type { OnFault } from './projection-fault.ts';
import type { Which } from './projection-registry.ts';
import type { ProjectionSource } from './projection-source.ts';

export interface ProjectionEngineOptions {
  readonly source: ProjectionSource;
  readonly projections: readonly Projection[];
  /** Names of those whose folds are known to do the same on plain data as on drafts. */
  readonly trusted?: ReadonlySet<string>;
  /** How many partitions are kept in memory, besides those that are watched: 1,000 unless set. */
  readonly cached?: number;
  /** Told of a fold that throws, of a watcher that does, and of views that cannot be stored. */
  readonly onFault: OnFault;
}

/**
 * Keeps projections up to date, each partition on its own: nothing is folded before someone wants to know it, and a fold that
 * throws stops its own partition only. At every position, what is read, what is watched, and what a rebuild gives are equal.
 *
 * Every state that it hands out is frozen. Its observables are plain ones: whoever passes them on to strangers makes them safe.
 */
export interface ProjectionEngine {
  /** Takes the events of a commit, in order. Folds partitions that somebody watches; others catch up when they are read. */
  committed(events: readonly RecordedEvent[]): void;

  /**
   * The state of a partition at the end that the log had when this was called, or later. The partition is the id of a run; a
   * projection of the whole log needs none.
   *
   * @throws {RuntimeError} PROJECTION_FAULT if its fold could not take an event; UNKNOWN_PROJECTION, BAD_OPTION, RUNTIME_CLOSED, or what the log throws
   */
  read<State>(which: Which<State>, partition?: string): Promise<State>;

  /** The state of a partition, then each state that is another. No state is left out that came after the subscription. */
  state$<State>(which: Which<State>, partition?: string): Observable<State>;

  /**
   * What changes at paths that match the pattern (see `compilePattern`) after the subscription, event by event: see `changesIn`.
   *
   * @throws {RuntimeError} BAD_PATTERN
   */
  watch<State>(which: Which<State>, partition: string | undefined, pattern: string): Observable<Change>;

  /** Folds a partition from the beginning of the log, and replaces what was stored of it. Mends one that was faulty, if it can. */
  rebuild<State>(which: Which<State>, partition?: string): Promise<State>;

  /**
   * Folds every partition of every projection from the beginning of the log, and replaces what was stored of them.
   * Gives how many events and partitions there were.
   */
  rebuildAll(): Promise<{ readonly events: number; readonly partitions: number }>;

  /** The run's partitions leave memory as soon as nobody watches them. */
  runEnded(run: string): void;

  /** Completes all observables and stores what was not stored yet. Nothing can be read afterwards. */
  close(): Promise<void>;
}

/** @throws {RuntimeError} BAD_OPTION or PAYLOAD_UNSUPPORTED if a projection or option is not what it should be */
export const createProjectionEngine = (options: ProjectionEngineOptions): ProjectionEngine =>
  new PartitionEngine(options);
