import { runOf } from '../events/address.ts';
import type { Address } from '../events/event.ts';
import type { RunRecord } from '../events/turn.ts';
import type { ActorRecord } from './actor-record.ts';
import type { PackedActor, Packing } from './packing.ts';
import type { System } from './workspace.ts';

/** Changed in place: there is one use for every event. */
interface Entry {
  /** Undefined while it is packed. */
  record: ActorRecord | null | undefined;
  /** Undefined if it has changed since it was packed last. */
  packed: PackedActor | undefined;
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
  /** Those that are not packed. */
  readonly #unpacked = new Set<Entry>();
  readonly #packing: Packing;
  #uses = 0;

  constructor(packing: Packing) {
    this.#packing = packing;
  }

  get size(): number {
    return this.#actors.size;
  }

  actor(address: Address): ActorRecord | null | undefined {
    const entry = this.#actors.get(address);
    if (!entry?.packed || entry.record) return entry?.record;
    this.#unpacked.add(entry);
    entry.record = this.#packing.unpack(entry.packed);
    return entry.record;
  }

  /** The same for whoever looks at many one after the other: what is packed stays so. */
  look(address: Address): ActorRecord | null | undefined {
    const entry = this.#actors.get(address);
    return entry?.packed && !entry.record ? this.#packing.unpack(entry.packed) : entry?.record;
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
    const entry = this.#actors.get(address) ?? this.#entered(address, touchedAtMs);
    if (record) {
      if (!entry.record && !entry.packed) this.#count(record.run, 1);
      this.#unpacked.add(entry);
    }
    entry.record = record;
    entry.packed = undefined;
    entry.storedVersion = storedVersion ?? entry.storedVersion;
    entry.touchedAtMs = touchedAtMs;
    entry.use = this.#uses;
  }

  putRun(id: string, run: RunRecord | null): void {
    this.#runs.set(id, run);
  }

  drop(address: Address): void {
    const entry = this.#actors.get(address);
    this.#actors.delete(address);
    if (entry) this.#unpacked.delete(entry);
    if (entry?.record || entry?.packed) this.#count(runOf(address), -1);
    else this.#runs.delete(address);
  }

  clear(): void {
    this.#actors.clear();
    this.#runs.clear();
    this.#loadedByRun.clear();
    this.#unpacked.clear();
  }

  /** Packs those that were not used for the longest time, if there are more than so many that are not packed. */
  pack(unpackedMax: number): void {
    if (this.#unpacked.size <= unpackedMax) return;
    const entries = [...this.#unpacked].sort((one, other) => one.use - other.use);
    // More than there must be: sorting them for each one that comes would take longer than the packing.
    for (const entry of entries.slice(0, entries.length - Math.floor(unpackedMax * KEPT_SHARE))) {
      entry.packed ??= entry.record ? this.#packing.pack(entry.record) : undefined;
      if (entry.packed) entry.record = undefined;
      this.#unpacked.delete(entry);
    }
  }

  /** Those that may leave memory: unused since `beforeMs`, ended, or too many. Oldest use first. */
  leaving(beforeMs: number, sizeMax: number): readonly Address[] {
    const surplus = this.#actors.size - sizeMax;
    const entries = [...this.#actors];
    // They are put in order here and not with every use: actors leave in thousands, or not for a long time.
    const candidates =
      surplus > 0 ? entries : entries.filter(([, { touchedAtMs }]) => touchedAtMs < beforeMs);
    candidates.sort(([, one], [, other]) => one.use - other.use);
    return candidates
      .filter(([, { touchedAtMs }], index) => index < surplus || touchedAtMs < beforeMs)
      .map(([address]) => address);
  }

  /** Those that a snapshot in the log does not cover as they are. */
  changed(addresses: Iterable<Address> = this.#actors.keys()): readonly Address[] {
    return [...addresses].filter((address) => {
      const entry = this.#actors.get(address);
      const version = entry?.packed?.version ?? entry?.record?.version ?? 0;
      return entry !== undefined && version > entry.storedVersion;
    });
  }

  *entries(): Generator<{ readonly record: ActorRecord; readonly storedVersion: number }> {
    for (const [address, { storedVersion }] of this.#actors) {
      const record = this.look(address);
      if (record) yield { record, storedVersion };
    }
  }

  #entered(address: Address, touchedAtMs: number): Entry {
    const entry = { record: null, packed: undefined, storedVersion: 0, touchedAtMs, use: 0 };
    this.#actors.set(address, entry);
    return entry;
  }

  #count(run: string, change: 1 | -1): void {
    const left = (this.#loadedByRun.get(run) ?? 0) + change;
    if (left > 0) {
      this.#loadedByRun.set(run, left);
      return;
    }
    this.#loadedByRun.delete(run);
    this.#runs.delete(run);
  }
}

const KEPT_SHARE = 0.8;

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
