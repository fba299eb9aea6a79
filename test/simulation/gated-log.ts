import type { RuntimeError } from '../../src/errors.ts';
import type { Address } from '../../src/events/event.ts';
import type { RecordedTurn } from '../../src/events/turn.ts';
import type {
  Batch,
  EventLog,
  EventQuery,
  Loaded,
  LoadOptions,
  RunFilter,
  ScanQuery,
  StoredView,
  TurnQuery,
  ViewKey,
} from '../../src/store/event-log.ts';

/** A commit that a process asked for, and that nobody has carried out yet. */
export interface PendingCommit {
  readonly batch: Batch;
  readonly resolve: (recorded: readonly RecordedTurn[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The log as one process sees it. Its commits wait until someone carries them out, or lets them fail; once the process is
 * dead, nothing that is left of it reaches the log, and nothing in the log reaches it.
 */
export class GatedLog implements EventLog {
  readonly file = null;
  readonly pending: PendingCommit[] = [];
  /** Counts what the process asked for: whether it is still busy. */
  calls = 0;
  /** What its next reading of actors fails with, if it fails. */
  readonly loadFault: () => Error | undefined;
  readonly #log: EventLog;
  #isDead = false;
  #fault: RuntimeError | undefined;

  constructor(log: EventLog, loadFault: () => Error | undefined) {
    this.#log = log;
    this.loadFault = loadFault;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** This handle writes no more. */
  fail(fault: RuntimeError): void {
    this.#fault = fault;
    for (const { reject } of this.pending.splice(0)) reject(fault);
  }

  die(): void {
    this.#isDead = true;
    this.pending.length = 0;
  }

  commit(batch: Batch): Promise<readonly RecordedTurn[]> {
    this.calls += 1;
    if (this.#fault && !this.#isDead) return Promise.reject(this.#fault);
    return new Promise((resolve, reject) => {
      if (!this.#isDead) this.pending.push({ batch, resolve, reject });
    });
  }

  load(actors: readonly Address[], options?: LoadOptions): Promise<Loaded> {
    const fault = this.#isDead ? undefined : this.loadFault();
    return fault ? Promise.reject(fault) : this.#alive(() => this.#log.load(actors, options));
  }

  openWork = () => this.#alive(() => this.#log.openWork());
  events = (query: EventQuery) => this.#alive(() => this.#log.events(query));
  scan = (query: ScanQuery) => this.#alive(() => this.#log.scan(query));
  findTurn = (id: string) => this.#alive(() => this.#log.findTurn(id));
  turns = (query: TurnQuery) => this.#alive(() => this.#log.turns(query));
  run = (id: string) => this.#alive(() => this.#log.run(id));
  runs = (filter: RunFilter) => this.#alive(() => this.#log.runs(filter));
  putBlobs = (blobs: ReadonlyMap<string, string>) => this.#alive(() => this.#log.putBlobs(blobs));
  blobs = (hashes: readonly string[]) => this.#alive(() => this.#log.blobs(hashes));
  blobHashes = (query: Parameters<EventLog['blobHashes']>[0]) =>
    this.#alive(() => this.#log.blobHashes(query));
  loadView = (key: ViewKey) => this.#alive(() => this.#log.loadView(key));
  saveViews = (views: readonly (ViewKey & StoredView)[]) => this.#alive(() => this.#log.saveViews(views));
  dropViews = (keys: readonly ViewKey[]) => this.#alive(() => this.#log.dropViews(keys));
  head = () => this.#alive(() => this.#log.head());
  verify = () => this.#alive(() => this.#log.verify());
  backup = (file: string) => this.#alive(() => this.#log.backup(file));

  /** The process lets go of it; the log itself stays for the next one. */
  close(): Promise<void> {
    return this.#alive(async () => undefined);
  }

  #alive<Result>(work: () => Promise<Result>): Promise<Result> {
    this.calls += 1;
    return this.#isDead ? new Promise(() => undefined) : work();
  }
}
