import Database from 'better-sqlite3';
import { isRuntimeError, RuntimeError } from '../../errors.ts';
import { runOf } from '../../events/address.ts';
import type { Address, NewEvent, RecordedEvent } from '../../events/event.ts';
import type { RecordedTurn, RunRecord, Turn } from '../../events/turn.ts';
import { invariant } from '../../invariant.ts';
import { rowDigest, turnChain } from '../chain.ts';
import type { Batch, Head, OpenWork, StoredSnapshot } from '../event-log.ts';
import { recordTurn } from '../record-turn.ts';
import { Dictionary, type Entry, UNKNOWN_VERSION } from './dictionary.ts';
import { RowInserter } from './row-inserter.ts';
import { createRunWriter } from './run-table.ts';
import { createValueWriter } from './stored-values.ts';
import { WorkWriter } from './work-writer.ts';

const EVENT_COLUMNS = [
  'position',
  'turn',
  'run',
  'actor',
  'version',
  'kind',
  'type',
  'type_version',
  'data',
  'sender',
  'cause',
  'machine',
  'machine_version',
  'state',
  'digest',
];
const TURN_COLUMNS = ['turn', 'id', 'first', 'last', 'at_ms', 'origin', 'by', 'cause', 'chain'];

/** The version of a stream, and the turn that made it. */
interface StreamEnd {
  readonly version: number;
  readonly turn: number;
}

const NO_STREAM: StreamEnd = { version: 0, turn: 0 };

/** What the appended turns are, and where the log ends with them. */
export interface Appended {
  readonly turns: readonly RecordedTurn[];
  readonly head: Head;
}

/**
 * Writes batches inside a transaction that the caller opens and ends. It keeps in memory which integers stand for which
 * names and where each stream is, which only the one writer may do; after a failed transaction it must `forget` all of it.
 */
export class Appender {
  readonly #actors: Dictionary;
  readonly #runs: Dictionary;
  readonly #events: RowInserter;
  readonly #turns: RowInserter;
  readonly #work: WorkWriter;
  readonly #writeRun: (id: number, record: RunRecord) => void;
  readonly #values: ReturnType<typeof createValueWriter>;
  readonly #runTurns: RowInserter;
  readonly #selectTurn: Database.Statement<[string], number>;
  readonly #selectEnd: Database.Statement<[number, number, number], StreamEnd>;
  /** What became of runs in this batch, by their integers. Written at its end: the last state of each is what counts. */
  readonly #changedRuns = new Map<number, RunRecord>();
  /** Index of the turn in hand. */
  #current = 0;

  constructor(db: Database.Database) {
    this.#actors = new Dictionary(db, 'actors');
    this.#runs = new Dictionary(db, 'runs');
    this.#events = new RowInserter(db, 'insert into events', EVENT_COLUMNS);
    this.#turns = new RowInserter(db, 'insert into turns', TURN_COLUMNS);
    this.#work = new WorkWriter(db, { actors: this.#actors, runs: this.#runs });
    this.#writeRun = createRunWriter(db);
    this.#values = createValueWriter(db);
    this.#runTurns = new RowInserter(db, 'insert or ignore into run_turns', ['run', 'turn']);
    this.#selectTurn = db.prepare<[string], number>('select turn from turns where id = ?').pluck();
    // Backwards from the end: what is asked for is nearly always among the last turns of its run.
    this.#selectEnd = db.prepare<[number, number, number], StreamEnd>(
      `select e.version, e.turn from run_turns w cross join turns t on t.turn = w.turn
         cross join events e on e.position between t.first and t.last
         where w.run = ? and e.actor = ? and e.version <= ? order by w.turn desc, e.position desc limit 1`,
    );
  }

  append({ turns, snapshots }: Batch, head: Head): Appended {
    let { position, turn, chain, atMs } = head;
    const recorded: RecordedTurn[] = [];
    for (const next of turns) {
      invariant(next.atMs >= atMs, 'no turn is earlier than the one before it');
      this.#current = recorded.length;
      const place = { turn: turn + 1, first: position + 1 };
      const record = recordTurn(next, place);
      chain = this.#appendTurn(next, record, { chain, first: place.first });
      recorded.push(record);
      position += next.events.length;
      turn += 1;
      atMs = next.atMs;
    }
    this.#flushRows();
    this.#work.flush();
    this.#flushNames();
    for (const snapshot of snapshots) this.#keepSnapshot(snapshot);
    return { turns: recorded, head: { position, turn, chain, atMs } };
  }

  /** Writes what is open and what runs are without their turns: an import has them from the log that they come from. */
  restore({ calls, timers, runs }: OpenWork & { readonly runs: readonly RunRecord[] }): void {
    this.#work.take({ openedCalls: calls, openedTimers: timers, closedCalls: [], closedTimers: [] });
    this.#work.flush();
    for (const run of runs) this.#changedRuns.set(this.#runs.enter(run.id).id, run);
    this.#flushNames();
  }

  /**
   * What stopped these turns, after their transaction was rolled back. Ids are checked by the table itself when the rows are
   * written, which may be after a version was found wrong; but the first turn that does not fit decides, so the ids of all
   * turns up to that one are looked up here.
   */
  explain(error: unknown, turns: readonly Turn[]): unknown {
    const isTaken = error instanceof Database.SqliteError && error.code === 'SQLITE_CONSTRAINT_UNIQUE';
    if (!isTaken && !isRuntimeError(error, 'VERSION_CONFLICT')) return error;
    const seen = new Set<string>();
    for (const { id } of isTaken ? turns : turns.slice(0, this.#current + 1)) {
      if (seen.has(id) || this.#selectTurn.get(id) !== undefined)
        return new RuntimeError('DUPLICATE_TURN', { id });
      seen.add(id);
    }
    return error;
  }

  forget(): void {
    this.#actors.forget();
    this.#runs.forget();
    this.#events.reset();
    this.#turns.reset();
    this.#runTurns.reset();
    this.#changedRuns.clear();
    this.#work.reset();
  }

  /** Notes where a stream ends, for whoever has just read it anyway. */
  learn(actor: Address, end: StreamEnd): void {
    const entry = this.#actors.find(actor);
    if (entry?.version === UNKNOWN_VERSION) Object.assign(entry, end);
  }

  #appendTurn(
    turn: Turn,
    record: RecordedTurn,
    from: { readonly chain: string; readonly first: number },
  ): string {
    const digests: string[] = [];
    for (let index = 0; index < record.events.length; index += 1) {
      const event = record.events[index];
      const texts = turn.events[index];
      invariant(event && texts, 'a turn is recorded with all its events');
      const digest = rowDigest(event, texts);
      digests.push(digest);
      this.#appendEvent(event, texts, digest);
    }
    const { id, atMs, origin, by, cause } = turn;
    const chain = turnChain(from.chain, { turn: record.turn, id, atMs, origin, by, cause }, digests);
    const last = from.first + turn.events.length - 1;
    this.#turns.add([record.turn, id, from.first, last, atMs, origin, by, cause, chain]);
    this.#work.take(record);
    for (const run of turn.runs) this.#changedRuns.set(this.#runs.enter(run.id).id, run);
    return chain;
  }

  #appendEvent(event: RecordedEvent, texts: NewEvent, digest: string): void {
    const actor = this.#stream(event);
    if (event.version !== actor.version + 1) {
      const expected = event.version - 1;
      throw new RuntimeError('VERSION_CONFLICT', { address: event.actor, expected, actual: actor.version });
    }
    actor.version = event.version;
    actor.turn = event.turn;
    const run = this.#runs.enter(event.run);
    if (run.turn !== event.turn) {
      run.turn = event.turn;
      this.#runTurns.add([run.id, event.turn]);
    }
    this.#events.add([
      event.position,
      event.turn,
      run.id,
      actor.id,
      event.version,
      event.kind,
      event.type,
      event.typeVersion,
      texts.dataJson,
      event.from === null ? null : this.#actors.enter(event.from).id,
      event.cause,
      event.machine,
      event.machineVersion,
      texts.stateJson,
      digest,
    ]);
  }

  /** The stream of an event, with the version that it has now. */
  #stream({ actor, run }: RecordedEvent): Entry {
    const entry = this.#actors.enter(actor);
    if (entry.version > 0) return entry;
    invariant(runOf(actor) === run, 'the first segment of an address is its run');
    if (entry.version !== UNKNOWN_VERSION) return entry;
    return Object.assign(entry, this.#endOfStream(actor, entry.id, Number.MAX_SAFE_INTEGER));
  }

  /** The last event of a stream that has at most this version. */
  #endOfStream(actor: Address, id: number, version: number): StreamEnd {
    const run = this.#runs.find(runOf(actor));
    if (!run) return NO_STREAM;
    this.#flushRows();
    return this.#selectEnd.get(run.id, id, version) ?? NO_STREAM;
  }

  #keepSnapshot(snapshot: StoredSnapshot): void {
    const { id, ...latest } = this.#actors.enter(snapshot.actor);
    const end =
      latest.version === snapshot.version ? latest : this.#endOfStream(snapshot.actor, id, snapshot.version);
    invariant(
      end.version === snapshot.version && end.version > 0,
      'a snapshot is of a version that its stream has',
    );
    this.#values.snapshot(id, { snapshot, turn: end.turn });
  }

  /** What is about to be read must be in its table. */
  #flushRows(): void {
    this.#events.flush();
    this.#turns.flush();
    this.#runTurns.flush();
  }

  /** New names first: what became of a run is written into the row that has its name. */
  #flushNames(): void {
    this.#actors.flush();
    this.#runs.flush();
    for (const [id, run] of this.#changedRuns) this.#writeRun(id, run);
    this.#changedRuns.clear();
  }
}
