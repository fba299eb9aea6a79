import type { Address } from '../events/event.ts';
import type { RunRecord } from '../events/turn.ts';
import type { ActorRecord } from './actor-record.ts';
import type { System } from './workspace.ts';

/** Changed in place: there is one use for every event. */
interface Entry {
  record: ActorRecord | null;
  /** The version that a snapshot in the log covers. */
  storedVersion: number;
  touchedAtMs: number;
  /** Which use of the cache was the last one of this actor. */
  use: number;
}

/** The actors and runs in memory, as the log has them. */
export class ActorCache implements System {
  readonly #actors = new Map<Address, Entry>();
  readonly #runs = new Map<string, RunRecord | null>();
  /** How many loaded actors each run has: its record leaves memory with the last of them. */
  readonly #loadedByRun = new Map<string, number>();
  #uses = 0;

  get size(): number {
    return this.#actors.size;
  }

  actor(address: Address): ActorRecord | null | undefined {
    return this.#actors.get(address)?.record;
  }

  run(id: string): RunRecord | null | undefined {
    return this.#runs.get(id);
  }

  storedVersion(address: Address): number {
    return this.#actors.get(address)?.storedVersion ?? 0;
  }

  /** Takes in an actor, or that there is none: its last use is now. */
  put(
    address: Address,
    record: ActorRecord | null,
    at: { readonly storedVersion?: number | undefined; readonly touchedAtMs: number },
  ): void {
    const { touchedAtMs, storedVersion } = at;
    this.#uses += 1;
    const entry = this.#actors.get(address);
    if (record && !entry?.record)
      this.#loadedByRun.set(record.run, (this.#loadedByRun.get(record.run) ?? 0) + 1);
    if (!entry) {
      this.#actors.set(address, {
        record,
        storedVersion: storedVersion ?? 0,
        touchedAtMs,
        use: this.#uses,
      });
      return;
    }
    entry.record = record;
    entry.storedVersion = storedVersion ?? entry.storedVersion;
    entry.touchedAtMs = touchedAtMs;
    entry.use = this.#uses;
  }

  putRun(id: string, run: RunRecord | null): void {
    this.#runs.set(id, run);
  }

  drop(address: Address): void {
    const record = this.#actors.get(address)?.record;
    this.#actors.delete(address);
    if (!record) {
      this.#runs.delete(address);
      return;
    }
    const left = (this.#loadedByRun.get(record.run) ?? 1) - 1;
    if (left > 0) {
      this.#loadedByRun.set(record.run, left);
      return;
    }
    this.#loadedByRun.delete(record.run);
    this.#runs.delete(record.run);
  }

  clear(): void {
    this.#actors.clear();
    this.#runs.clear();
    this.#loadedByRun.clear();
  }

  /** Those that may leave memory: unused since `beforeMs`, ended, or too many. Oldest use first. */
  leaving(
    beforeMs: number,
    sizeMax: number,
  ): readonly { readonly address: Address; readonly record: ActorRecord | null }[] {
    const surplus = this.#actors.size - sizeMax;
    const entries = [...this.#actors];
    // They are put in order here and not with every use: actors leave in thousands, or not for a long time.
    const candidates =
      surplus > 0 ? entries : entries.filter(([, { touchedAtMs }]) => touchedAtMs < beforeMs);
    candidates.sort(([, one], [, other]) => one.use - other.use);
    return candidates
      .filter(([, { touchedAtMs }], index) => index < surplus || touchedAtMs < beforeMs)
      .map(([address, { record }]) => ({ address, record }));
  }

  *entries(): Generator<{ readonly record: ActorRecord; readonly storedVersion: number }> {
    for (const { record, storedVersion } of this.#actors.values())
      if (record) yield { record, storedVersion };
  }
}

/** What the turns of a batch have changed, on top of what is committed. Dropped if the commit fails. */
export class Head implements System {
  readonly actors = new Map<Address, ActorRecord>();
  readonly runs = new Map<string, RunRecord>();
  readonly #committed: ActorCache;

  constructor(committed: ActorCache) {
    this.#committed = committed;
  }

  actor(address: Address): ActorRecord | null | undefined {
    return this.actors.get(address) ?? this.#committed.actor(address);
  }

  run(id: string): RunRecord | null | undefined {
    return this.runs.get(id) ?? this.#committed.run(id);
  }

  apply(actors: ReadonlyMap<Address, ActorRecord>, runs: ReadonlyMap<string, RunRecord>): void {
    for (const [address, record] of actors) this.actors.set(address, record);
    for (const [id, run] of runs) this.runs.set(id, run);
  }
}
