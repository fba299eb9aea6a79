import { RuntimeError } from '../../errors.ts';
import { runOf } from '../../events/address.ts';
import type { Address, RecordedEvent } from '../../events/event.ts';
import type { RecordedTurn, RunRecord, Turn } from '../../events/turn.ts';
import { invariant } from '../../invariant.ts';
import type {
  Batch,
  EventLog,
  EventQuery,
  Head,
  Loaded,
  LoadedActor,
  LoadOptions,
  OpenWork,
  RunFilter,
  ScanQuery,
  StoredSnapshot,
  StoredTurn,
  StoredView,
  TurnQuery,
  VerifyOptions,
  VerifyReport,
  ViewKey,
} from '../event-log.ts';
import { againstHead } from '../kept-head.ts';
import { queryLimit } from '../query-limit.ts';
import { recordTurn } from '../record-turn.ts';
import { MemoryChain } from './memory-chain.ts';
import { MemoryWork } from './memory-work.ts';
import { selectEvents } from './select-events.ts';

/** What is known of a run: when it is first named, it has no record yet. */
interface MemoryRun {
  record: RunRecord | undefined;
  /** The last turn that touched it, so that a turn with many of its events counts once. */
  lastTurn: number;
  turns: number;
  readonly events: RecordedEvent[];
}

/**
 * A log that lives and ends with its process: what the SQLite log is tested against, and what simulations run on. It promises
 * all that the port does except to survive. It hashes only when it is asked for its head, and holds no timers.
 */
export function createMemoryLog(): EventLog {
  return new MemoryLog();
}

class MemoryLog implements EventLog {
  readonly file = null;
  readonly #chain = new MemoryChain();
  readonly #events: RecordedEvent[] = [];
  readonly #turns = new Map<
    string,
    { readonly turn: number; readonly first: number; readonly last: number }
  >();
  readonly #streams = new Map<Address, RecordedEvent[]>();
  readonly #runs = new Map<string, MemoryRun>();
  readonly #work = new MemoryWork();
  readonly #snapshots = new Map<Address, StoredSnapshot>();
  readonly #blobs = new Map<string, string>();
  readonly #views = new Map<string, StoredView>();
  #closed = false;

  async commit(batch: Batch): Promise<readonly RecordedTurn[]> {
    this.#mustBeOpen('commit');
    this.#check(batch.turns);
    const recorded = batch.turns.map((turn) => this.#append(turn));
    for (const snapshot of batch.snapshots) this.#keepSnapshot(snapshot);
    return recorded;
  }

  async load(actors: readonly Address[], options: LoadOptions = {}): Promise<Loaded> {
    this.#mustBeOpen('load');
    const loaded = new Map<Address, LoadedActor>();
    const runs = new Map<string, RunRecord>();
    for (const address of actors) {
      const run = this.#runRecord(runOf(address));
      if (run) runs.set(run.id, run);
      const stream = this.#streams.get(address);
      if (!stream) continue;
      const snapshot = options.wholeStreams ? undefined : this.#snapshots.get(address);
      loaded.set(address, { address, snapshot, tail: stream.slice(snapshot?.version ?? 0) });
    }
    return { actors: loaded, runs };
  }

  async openWork(): Promise<OpenWork> {
    this.#mustBeOpen('openWork');
    return this.#work.list();
  }

  async events(query: EventQuery): Promise<readonly RecordedEvent[]> {
    this.#mustBeOpen('events');
    const candidates =
      query.actor !== undefined
        ? this.#streams.get(query.actor)
        : query.run !== undefined
          ? this.#runs.get(query.run)?.events
          : this.#events;
    return selectEvents(candidates ?? [], query, this.#events);
  }

  async scan({ after, before, limit = 10_000 }: ScanQuery): Promise<readonly RecordedEvent[]> {
    return this.events({ after, limit, ...(before !== undefined && { before }) });
  }

  async findTurn(
    id: string,
  ): Promise<{ readonly turn: number; readonly first: number; readonly last: number } | undefined> {
    this.#mustBeOpen('findTurn');
    return this.#turns.get(id);
  }

  async turns({ after = 0, limit }: TurnQuery): Promise<readonly StoredTurn[]> {
    this.#mustBeOpen('turns');
    return this.#chain.turns(after, queryLimit(limit, 100));
  }

  async run(id: string): Promise<RunRecord | undefined> {
    this.#mustBeOpen('run');
    return this.#runRecord(id);
  }

  async runs({ status, workflow, limit, reverse = false }: RunFilter): Promise<readonly RunRecord[]> {
    this.#mustBeOpen('runs');
    const most = queryLimit(limit, Number.POSITIVE_INFINITY);
    const records: RunRecord[] = [];
    const ids = [...this.#runs.keys()];
    for (const id of reverse ? ids.toReversed() : ids) {
      const run = this.#runRecord(id);
      if (records.length >= most || !run) continue;
      if (status !== undefined && (run.verdict === null) !== (status === 'open')) continue;
      if (workflow === undefined || run.workflow === workflow) records.push(run);
    }
    return records;
  }

  async putBlobs(blobs: ReadonlyMap<string, string>): Promise<void> {
    this.#mustBeOpen('putBlobs');
    for (const [hash, text] of blobs) if (!this.#blobs.has(hash)) this.#blobs.set(hash, text);
  }

  async blobs(hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.#mustBeOpen('blobs');
    const found = new Map<string, string>();
    for (const hash of hashes) {
      const text = this.#blobs.get(hash);
      if (text !== undefined) found.set(hash, text);
    }
    return found;
  }

  async blobHashes({
    after = '',
    limit,
  }: {
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly string[]> {
    this.#mustBeOpen('blobHashes');
    const later = [...this.#blobs.keys()].filter((hash) => hash > after);
    return later.sort().slice(0, queryLimit(limit, 1_000));
  }

  async loadView(key: ViewKey): Promise<StoredView | undefined> {
    this.#mustBeOpen('loadView');
    return this.#views.get(viewKey(key));
  }

  async saveViews(views: readonly (ViewKey & StoredView)[]): Promise<void> {
    this.#mustBeOpen('saveViews');
    for (const view of views) this.#views.set(viewKey(view), { position: view.position, state: view.state });
  }

  async dropViews(keys: readonly ViewKey[]): Promise<void> {
    this.#mustBeOpen('dropViews');
    for (const key of keys) this.#views.delete(viewKey(key));
  }

  async head(): Promise<Head> {
    this.#mustBeOpen('head');
    return this.#chain.head();
  }

  async verify({ head }: VerifyOptions = {}): Promise<VerifyReport> {
    this.#mustBeOpen('verify');
    const report = { ok: true, events: this.#events.length, head: this.#chain.head(), problem: undefined };
    return againstHead(this, report, head);
  }

  async backup(_file: string): Promise<void> {
    this.#mustBeOpen('backup');
    throw new RuntimeError('BAD_OPTION', {
      option: 'file',
      found: 'null: this log lives in memory',
      expected: 'a path when the log is opened, so that there is a file to copy',
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** Throws the error of the first turn that does not fit, before anything is changed. */
  #check(turns: readonly Turn[]): void {
    const ids = new Set<string>();
    const versions = new Map<Address, number>();
    let atMs = this.#chain.atMs;
    for (const turn of turns) {
      if (ids.has(turn.id) || this.#turns.has(turn.id))
        throw new RuntimeError('DUPLICATE_TURN', { id: turn.id });
      ids.add(turn.id);
      invariant(turn.atMs >= atMs, 'no turn is earlier than the one before it');
      atMs = turn.atMs;
      for (const { actor, version } of turn.events) {
        const actual = versions.get(actor) ?? this.#streams.get(actor)?.length ?? 0;
        if (version !== actual + 1) {
          throw new RuntimeError('VERSION_CONFLICT', { address: actor, expected: version - 1, actual });
        }
        versions.set(actor, version);
      }
    }
  }

  #append(turn: Turn): RecordedTurn {
    const first = this.#events.length + 1;
    const recorded = recordTurn(turn, { turn: this.#turns.size + 1, first });
    for (const event of recorded.events) {
      this.#events.push(event);
      listOf(this.#streams, event.actor).push(event);
      this.#touchRun(event);
    }
    this.#turns.set(turn.id, { turn: recorded.turn, first, last: this.#events.length });
    this.#chain.add(turn, recorded);
    this.#work.take(recorded);
    for (const record of recorded.runs) this.#namedRun(record.id).record = record;
    return recorded;
  }

  #touchRun(event: RecordedEvent): void {
    const run = this.#namedRun(event.run);
    run.events.push(event);
    if (run.lastTurn !== event.turn) run.turns += 1;
    run.lastTurn = event.turn;
  }

  #keepSnapshot(snapshot: StoredSnapshot): void {
    const version = this.#streams.get(snapshot.actor)?.length ?? 0;
    invariant(
      snapshot.version > 0 && snapshot.version <= version,
      'a snapshot is of a version that its stream has',
    );
    this.#snapshots.set(snapshot.actor, snapshot);
  }

  #namedRun(id: string): MemoryRun {
    let run = this.#runs.get(id);
    if (!run) {
      run = { record: undefined, lastTurn: 0, turns: 0, events: [] };
      this.#runs.set(id, run);
    }
    return run;
  }

  #runRecord(id: string): RunRecord | undefined {
    const run = this.#runs.get(id);
    return run?.record && { ...run.record, turns: run.turns };
  }

  #mustBeOpen(action: string): void {
    if (this.#closed) throw new RuntimeError('RUNTIME_CLOSED', { action });
  }
}

function viewKey({ projection, version, partition }: ViewKey): string {
  return JSON.stringify([projection, version, partition]);
}

function listOf<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  let list = lists.get(key);
  if (!list) {
    list = [];
    lists.set(key, list);
  }
  return list;
}
