import { isRuntimeError, type RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import type { Address } from '../events/event.ts';
import type { RecordedTurn } from '../events/turn.ts';
import { invariant } from '../invariant.ts';
import type { EventLog, StoredSnapshot } from '../store/event-log.ts';
import { ActorCache, Head } from './actor-cache.ts';
import type { ActorRecord } from './actor-record.ts';
import { toStored } from './fold.ts';
import { createLoader, type LoadedRecord, type Loader } from './loader.ts';
import { createPacking } from './packing.ts';
import type { Registry } from './registry.ts';
import type { Kernel } from './turn.ts';

export interface MemoryPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly kernel: Kernel;
  readonly publish: (turn: RecordedTurn) => void;
  readonly parked: (run: string, error: RuntimeError) => void;
}

export interface MemoryLimits {
  /** How many actors stay in memory. */
  readonly loaded: number;
  /** How many of them are kept as they are; the others, those that were not used for the longest time, are packed. */
  readonly unpacked: number;
  /** After what time without a message an actor leaves memory. */
  readonly idleMs: number;
}

const SNAPSHOT_EVERY = 100;
/** Actors leave memory by so many: they are unpacked for it. */
const LEAVING_AT_ONCE = 500;

/** Which actors are in memory: brings them in when a message comes for them, and lets them go when they are idle. */
export class Memory {
  readonly cache: ActorCache;
  readonly #ports: MemoryPorts;
  readonly #limits: MemoryLimits;
  readonly #loader: Loader;

  constructor(ports: MemoryPorts, limits: MemoryLimits) {
    this.#ports = ports;
    this.#limits = limits;
    this.cache = new ActorCache(createPacking(ports.registry));
    this.#loader = createLoader(ports.log, ports.registry);
  }

  /** The actor as it is committed. Not put into the cache: a commit that is under way may be about to change it. */
  async read(address: Address): Promise<ActorRecord | null> {
    const cached = this.cache.look(address);
    return cached === undefined ? (await this.#loader.load(address)).record : cached;
  }

  /** Brings actors in. Gives what stands in the way, if anything does. */
  async load(addresses: readonly Address[], atMs: number): Promise<unknown> {
    try {
      for (const address of addresses) {
        const { record, storedVersion, run, migration } = await this.#loader.load(address);
        this.cache.put(address, record, { touchedAtMs: atMs, storedVersion });
        if (this.cache.run(runOf(address)) === undefined) this.cache.putRun(runOf(address), run);
        if (migration) await this.#migrate(address, migration, atMs);
      }
      return undefined;
    } catch (error) {
      if (isRuntimeError(error, 'RUN_PARKED')) this.#ports.parked(error.fields.run, error);
      return error;
    }
  }

  /** What a batch changed is committed now. */
  move(head: Head, atMs: number): void {
    for (const [address, record] of head.actors) {
      const storedVersion = this.#isDue(record) ? record.version : undefined;
      this.cache.put(address, record, { touchedAtMs: atMs, storedVersion });
    }
    for (const [id, run] of head.runs) this.cache.putRun(id, run);
  }

  /** Snapshots to be written with a batch. */
  dueSnapshots(head: Head): readonly StoredSnapshot[] {
    const due: StoredSnapshot[] = [];
    for (const record of head.actors.values()) {
      const stored = this.#isDue(record) ? toStored(this.#ports.registry, record) : undefined;
      if (stored) due.push(stored);
    }
    return due;
  }

  /** A hundred events after the last one, and at the end of a run. */
  #isDue(record: ActorRecord): boolean {
    const events = record.version - this.cache.storedVersion(record.address);
    return events >= SNAPSHOT_EVERY || (events > 0 && record.parent === null && record.status !== 'active');
  }

  /** If there are too many, those that were not used for the longest time are packed, or leave. */
  async makeRoom(): Promise<void> {
    this.cache.pack(this.#limits.unpacked);
    if (this.cache.size <= this.#limits.loaded) return;
    await this.#release(this.cache.leaving(0, Math.floor(this.#limits.loaded * 0.9)));
  }

  /** Those that were not used for some time leave. */
  async releaseIdle(nowMs: number): Promise<void> {
    await this.#release(this.cache.leaving(nowMs - this.#limits.idleMs, this.#limits.loaded));
  }

  async storeAll(): Promise<void> {
    await this.#store(this.cache.changed());
  }

  async #release(leaving: readonly Address[]): Promise<void> {
    for (let from = 0; from < leaving.length; from += LEAVING_AT_ONCE) {
      const part = leaving.slice(from, from + LEAVING_AT_ONCE);
      await this.#store(this.cache.changed(part));
      for (const address of part) this.cache.drop(address);
    }
  }

  async #store(changed: readonly Address[]): Promise<void> {
    for (let from = 0; from < changed.length; from += LEAVING_AT_ONCE) {
      const records = changed.slice(from, from + LEAVING_AT_ONCE).map((address) => this.cache.look(address));
      const snapshots = records.flatMap((record) => (record && toStored(this.#ports.registry, record)) ?? []);
      if (snapshots.length > 0) await this.#ports.log.commit({ turns: [], snapshots });
    }
  }

  /** Committed by itself, before the message that the actor was loaded for. */
  async #migrate(
    address: Address,
    { from, state }: NonNullable<LoadedRecord['migration']>,
    atMs: number,
  ): Promise<void> {
    const head = new Head(this.cache);
    const result = this.#ports.kernel.turn(head, {
      kind: 'migrate',
      id: `migrate:${address}@${from}`,
      atMs,
      origin: 'runtime',
      by: null,
      cause: null,
      actor: address,
      from,
      state,
    });
    invariant(result.kind === 'turn', 'a migration of a loaded actor is a turn');
    try {
      const recorded = await this.#ports.log.commit({ turns: [result.turn], snapshots: [] });
      head.apply(result.actors, result.runs);
      this.move(head, atMs);
      for (const turn of recorded) this.#ports.publish(turn);
    } catch (error) {
      // Without its row the actor is not what the cache says.
      this.cache.drop(address);
      throw error;
    }
  }
}
