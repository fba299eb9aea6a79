import type { Address, EventKind, RecordedEvent } from '../events/event.ts';
import type { OpenCall, OpenTimer, Origin, Recorded, RecordedTurn, RunRecord, Turn } from '../events/turn.ts';

/**
 * The append-only log: the one source of truth. Everything else in it (snapshots, open calls, timers, runs, views) is
 * derived from its events and could be dropped and made again.
 *
 * Asynchronous in shape, so that another database fits; the SQLite log answers before it returns.
 */
export interface EventLog {
  /** Its path, or null if it lives in memory only. */
  readonly file: string | null;

  /**
   * Appends the turns in order, with what they opened and closed, in one transaction, and returns them as recorded. Once
   * it resolves they survive a power cut (unless durability was set to `normal`).
   *
   * Of each turn, all that it opened is put in place before anything that it closed is taken away, so that the order of the
   * two lists does not matter: opening a call or timer replaces an older one of the same name, and closing one takes away
   * only what has exactly its generation. A turn without events is recorded too: its stimulus is never repeated.
   *
   * Turns are checked one after the other, each for its id and then for its versions: the first that does not fit decides.
   *
   * @throws {RuntimeError} VERSION_CONFLICT if an actor's stream is not where a turn expects it, DUPLICATE_TURN if a turn's
   *   id is in the log already, DISK_FULL, DISK_LOW, LOG_WRITE_FAILED: nothing was written, the batch may be tried again.
   *   LOG_FAULT after a failed sync: whether the batch is on disk is unknown; this handle writes no more, open the log anew.
   */
  commit(batch: Batch): Promise<readonly RecordedTurn[]>;

  /**
   * What is stored of these actors and of their runs (the first segment of each address). Actors and runs that do not exist
   * are absent.
   */
  load(actors: readonly Address[], options?: LoadOptions): Promise<Loaded>;

  /** Every open call and timer, in the order in which they were opened. Costs what is open, not what was ever written. */
  openWork(): Promise<OpenWork>;

  /**
   * Events in order of position (or reversed), at most `limit` (1,000 unless set). Each row is checked by its digest.
   *
   * @throws {RuntimeError} LOG_CORRUPT if a row is not as it was written
   */
  events(query: EventQuery): Promise<readonly RecordedEvent[]>;

  /**
   * Events in order of position for whoever folds all of the log, at most `limit` (10,000 unless set): as `events` gives them, but
   * payloads are parsed when they are first looked at, and rows are not checked by their digests. `verify` does that.
   *
   * @throws {RuntimeError} LOG_CORRUPT if a row, its turn or a name in it is missing
   */
  scan(query: ScanQuery): Promise<readonly RecordedEvent[]>;

  /** The turn that this stimulus id made, if it was committed. */
  findTurn(
    id: string,
  ): Promise<{ readonly turn: number; readonly first: number; readonly last: number } | undefined>;

  /** Whole turns in order, with their texts as they were hashed: what an export needs. At most `limit` (100 unless set). */
  turns(query: TurnQuery): Promise<readonly StoredTurn[]>;

  /** What a run is, if it was ever recorded. Its number of turns is counted from its events. */
  run(id: string): Promise<RunRecord | undefined>;

  /** Runs in the order in which they began (or reversed), all of them unless a limit is set. */
  runs(filter: RunFilter): Promise<readonly RunRecord[]>;

  /** Large values by hash: see `BlobRef`. Writing one that is there already does nothing. */
  putBlobs(blobs: ReadonlyMap<string, string>): Promise<void>;
  blobs(hashes: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /** The hashes of all large values, sorted, after this one: what an export needs. */
  blobHashes(query: { readonly after?: string; readonly limit?: number }): Promise<readonly string[]>;

  /** Stored state of one partition of a projection, with the position up to which it is folded. */
  loadView(key: ViewKey): Promise<StoredView | undefined>;
  saveViews(views: readonly (ViewKey & StoredView)[], options?: SaveOptions): Promise<void>;
  /** Forgets them, if they are there. */
  dropViews(keys: readonly ViewKey[]): Promise<void>;

  head(): Promise<Head>;

  /** Checks every row, the chain and the derived tables. Reads all of the log. */
  verify(options?: VerifyOptions): Promise<VerifyReport>;

  /**
   * Copies the log to a new file while it is in use: a consistent prefix with everything acknowledged before.
   *
   * @throws {RuntimeError} FILE_EXISTS if there is a file already, BAD_OPTION if the log lives in memory only
   */
  backup(file: string): Promise<void>;

  /** Releases the lock. What was committed stays; a closed log refuses everything with RUNTIME_CLOSED. */
  close(): Promise<void>;
}

export interface Batch {
  readonly turns: readonly Turn[];
  readonly snapshots: readonly StoredSnapshot[];
}

/** A cache of an actor's folded stream. One that does not fit the machine in use is dropped, and the stream folded. */
export interface StoredSnapshot {
  readonly actor: Address;
  /** The version of its stream that it was taken at. */
  readonly version: number;
  readonly machineVersion: number;
  /** Hash of the machine's structure. */
  readonly structure: string;
  /** JSON of the actor's record. */
  readonly state: string;
  /** Hash of the canonical form of `state`. */
  readonly hash: string;
}

export interface LoadedActor {
  readonly address: Address;
  readonly snapshot: StoredSnapshot | undefined;
  /** The events after the snapshot, or all of them, in order. */
  readonly tail: readonly RecordedEvent[];
}

export interface Loaded {
  readonly actors: ReadonlyMap<Address, LoadedActor>;
  readonly runs: ReadonlyMap<string, RunRecord>;
}

export interface LoadOptions {
  /** Ignore snapshots: the whole stream is the tail. */
  readonly wholeStreams?: boolean;
}

export interface OpenWork {
  readonly calls: readonly Recorded<OpenCall>[];
  readonly timers: readonly Recorded<OpenTimer>[];
}

export interface EventQuery {
  readonly run?: string;
  readonly actor?: Address;
  readonly types?: readonly string[];
  readonly kinds?: readonly EventKind[];
  /** Effects of the event at this position: in its own turn, and in later turns of its run. */
  readonly cause?: number;
  readonly turn?: number;
  /** Positions greater than this. */
  readonly after?: number;
  /** Positions less than this. */
  readonly before?: number;
  /** Recorded at this time or later. */
  readonly fromMs?: number;
  /** Recorded before this time. */
  readonly toMs?: number;
  readonly limit?: number;
  /** Newest first. */
  readonly reverse?: boolean;
}

export interface SaveOptions {
  /** They may go along with the next commit, which costs less: nobody waits for them. */
  readonly mayWait?: boolean;
}

export interface ScanQuery {
  /** Positions greater than this. */
  readonly after: number;
  /** Positions less than this. */
  readonly before?: number;
  readonly limit?: number;
}

export interface RunFilter {
  readonly status?: 'open' | 'ended';
  readonly workflow?: string;
  readonly limit?: number;
  /** Newest first. */
  readonly reverse?: boolean;
}

export interface TurnQuery {
  /** Turns with a greater number than this. */
  readonly after?: number;
  readonly limit?: number;
}

/** A turn with everything that its chain covers. */
export interface StoredTurn {
  readonly turn: number;
  readonly id: string;
  readonly atMs: number;
  readonly origin: Origin;
  readonly by: string | null;
  readonly cause: number | null;
  /** The chain of the log after this turn. Hex. */
  readonly chain: string;
  readonly events: readonly StoredEvent[];
}

/** A row with its payloads as texts. */
export interface StoredEvent extends Omit<RecordedEvent, 'data' | 'state'> {
  readonly dataJson: string;
  readonly stateJson: string;
}

export interface ViewKey {
  readonly projection: string;
  readonly version: number;
  readonly partition: string;
}

export interface StoredView {
  readonly position: number;
  /** JSON. */
  readonly state: string;
}

/** Where the log ends. Two logs with an equal head hold the same events. */
export interface Head {
  readonly position: number;
  readonly turn: number;
  /** Hex; 64 zeros for an empty log. */
  readonly chain: string;
  /** Time of the last turn: no later one is earlier. */
  readonly atMs: number;
}

export interface VerifyOptions {
  /** Told now and then up to which position the log has been checked. */
  readonly onProgress?: (position: number) => void;
  /** A head of the log that was kept elsewhere, by its turn or its position: that tail must be there. */
  readonly head?: KeptHead;
}

/** What is kept of a head: `Head` itself will do. */
export type KeptHead = Pick<Head, 'chain'> & (Pick<Head, 'turn'> | Pick<Head, 'position'>);

export interface VerifyReport {
  readonly ok: boolean;
  readonly events: number;
  readonly head: Head;
  /** The first thing that is wrong, if anything is; its position is 0 if it is not in a row of the log. */
  readonly problem: { readonly position: number; readonly what: string } | undefined;
}
