import type { RecordedEvent } from '../events/event.ts';

/** What projections need of a log. The `EventLog` is one. */
export interface ProjectionSource {
  /** Events in order of position, at most `limit`. */
  events(query: SourceQuery): Promise<readonly RecordedEvent[]>;
  /** Events in order of position, whose payloads may be parsed only when they are looked at. */
  scan(query: Pick<SourceQuery, 'after' | 'before' | 'limit'>): Promise<readonly RecordedEvent[]>;
  loadView(key: ViewKey): Promise<StoredView | undefined>;
  /**
   * Stores all of them or none: a position without its state would lose events for ever. What is given later replaces what was
   * given before, whichever of them was waited for.
   */
  saveViews(views: readonly (ViewKey & StoredView)[], options?: SaveOptions): Promise<void>;
  /** Forgets them, if they are there: whoever reads one folds it from the beginning. */
  dropViews(keys: readonly ViewKey[]): Promise<void>;
  /** Where the log ends. */
  head(): Promise<{ readonly position: number }>;
}

export interface SaveOptions {
  /** They may go along with the next commit of events, which costs less: nobody waits for them. */
  readonly mayWait?: boolean;
}

export interface SourceQuery {
  readonly run?: string;
  readonly types?: readonly string[];
  /** Positions greater than this. */
  readonly after: number;
  /** Positions less than this. */
  readonly before: number;
  readonly limit: number;
}

/** Names one partition of one version of a projection. */
export interface ViewKey {
  readonly projection: string;
  readonly version: number;
  readonly partition: string;
}

/** A partition's state, and the position up to which it is folded: they are stored together, or not at all. */
export interface StoredView {
  readonly position: number;
  /** JSON. */
  readonly state: string;
}
