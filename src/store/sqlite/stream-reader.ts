import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { runOf } from '../../events/address.ts';
import type { Address, RecordedEvent } from '../../events/event.ts';
import type { LoadedActor } from '../event-log.ts';
import { EVENT_COLUMNS, EVENT_NAMES, namedRow, type RawEventRow, recordedEvent } from './event-rows.ts';
import type { PlacedSnapshot } from './stored-values.ts';

/** Reads the streams of actors: the snapshot, and what came after it. */
export class StreamReader {
  readonly #file: string;
  readonly #selectActor: Database.Statement<[string], number>;
  readonly #selectTail: Database.Statement<[string, number, number, number], RawEventRow>;
  readonly #snapshotOf: (actor: Address, id: number) => PlacedSnapshot | undefined;

  constructor(
    db: Database.Database,
    file: string,
    snapshotOf: (actor: Address, id: number) => PlacedSnapshot | undefined,
  ) {
    this.#file = file;
    this.#snapshotOf = snapshotOf;
    this.#selectActor = db.prepare<[string], number>('select id from actors where address = ?').pluck();
    this.#selectTail = db
      .prepare<[string, number, number, number], RawEventRow>(
        `select ${EVENT_COLUMNS} from run_turns w cross join turns t on t.turn = w.turn
           cross join events e on e.position between t.first and t.last ${EVENT_NAMES}
           where w.run = (select id from runs where name = ?) and w.turn >= ? and e.actor = ? and e.version > ?
           order by w.turn, e.position`,
      )
      .raw();
  }

  /** The actor, or undefined if it has no stream: a name that was only ever a sender's has none. */
  load(address: Address, options: { readonly wholeStreams?: boolean }): LoadedActor | undefined {
    const id = this.#selectActor.get(address);
    if (id === undefined) return undefined;
    const placed = options.wholeStreams ? undefined : this.#snapshotOf(address, id);
    const version = placed?.snapshot.version ?? 0;
    const rows = this.#selectTail.all(runOf(address), placed?.turn ?? 0, id, version);
    const tail = rows.map((row) => recordedEvent(namedRow(row), this.#file));
    if (tail.length === 0 && !placed) return undefined;
    this.#mustBeWhole(tail, version);
    return { address, snapshot: placed?.snapshot, tail };
  }

  /** Versions have no gaps: an actor is never given a stream in which a row was lost. */
  #mustBeWhole(tail: readonly RecordedEvent[], version: number): void {
    for (const [index, event] of tail.entries()) {
      if (event.version === version + index + 1) continue;
      const problem = `"${event.actor}" has no version ${version + index + 1} before it`;
      throw new RuntimeError('LOG_CORRUPT', { file: this.#file, position: event.position, problem });
    }
  }
}
