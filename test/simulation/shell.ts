import { ActorCache, Head } from '../../src/actors/actor-cache.ts';
import type { Executors } from '../../src/actors/executors.ts';
import { toStored } from '../../src/actors/fold.ts';
import type { Incoming } from '../../src/actors/host.ts';
import { createLoader, type Loader } from '../../src/actors/loader.ts';
import { createPacking } from '../../src/actors/packing.ts';
import { recover } from '../../src/actors/recovery.ts';
import type { Registry } from '../../src/actors/registry.ts';
import type { Stimulus } from '../../src/actors/stimulus.ts';
import type { Timers } from '../../src/actors/timers.ts';
import type { Kernel, TurnResult } from '../../src/actors/turn.ts';
import { isRuntimeError, RuntimeError } from '../../src/errors.ts';
import { runOf } from '../../src/events/address.ts';
import type { Address } from '../../src/events/event.ts';
import type { RecordedTurn } from '../../src/events/turn.ts';
import type { Batch, EventLog } from '../../src/store/event-log.ts';
import { recordTurn } from '../../src/store/record-turn.ts';

/** What became of a stimulus, for whoever waits for it. */
export type Settled = 'committed' | 'nothing' | 'refused' | 'duplicate' | 'rejected';

export interface Waiting {
  readonly incoming: Incoming;
  /** Tried again if a commit fails. */
  readonly isKept: boolean;
  readonly settle: (settled: Settled) => void;
}

/** The shell as it should be, and shells with one thing wrong: those must be found out. */
export type Variant =
  | 'sound'
  | 'acts before the commit'
  | 'ignores generations'
  | 'forgets open calls'
  | 'keeps its head'
  | 'loses answers';

export interface ShellPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly kernel: Kernel;
  readonly executors: Executors;
  readonly timers: Timers;
  readonly now: () => number;
  /** The log's own commit, with an observer behind it. */
  readonly commit: (batch: Batch) => Promise<readonly RecordedTurn[]>;
  readonly publish: (turn: RecordedTurn) => void;
  readonly loaded: (record: ReturnType<ActorCache['actor']>) => void;
  /** Told of what is worth counting. */
  readonly mark: (what: string) => void;
}

interface Processed {
  readonly waiting: Waiting;
  readonly result: Exclude<TurnResult, { kind: 'needs' }>;
}

interface Taken {
  readonly waiting: Waiting;
  readonly head: Head;
  readonly stimulus: Stimulus;
}

/**
 * A shell around the real kernel that does one small thing at a time, so that a crash fits between any two: it takes a
 * stimulus and runs its turn, commits, publishes, acts. It has the contract of the real one, none of its promises and
 * timers, and shares its cache, loader and recovery.
 */
export class Shell {
  readonly cache: ActorCache;
  readonly #ports: ShellPorts;
  readonly #variant: Variant;
  readonly #loader: Loader;
  #queue: Waiting[] = [];
  #head: Head | undefined;
  #batch: Processed[] = [];
  #phase: 'turns' | 'publish' | 'act' = 'turns';
  #recorded: readonly RecordedTurn[] = [];
  #lastAtMs: number;
  #places: { turn: number; position: number };

  constructor(ports: ShellPorts, at: { atMs: number; turn: number; position: number; variant: Variant }) {
    this.#ports = ports;
    this.#variant = at.variant;
    this.#lastAtMs = at.atMs;
    this.#places = at;
    this.cache = new ActorCache(createPacking(ports.registry));
    this.#loader = createLoader(ports.log, ports.registry);
  }

  async recover(): Promise<void> {
    const { log, registry, executors, timers } = this.#ports;
    const forgetful: Executors = { start() {}, abort() {}, stop() {}, async ended() {}, size: 0 };
    const isForgetful = this.#variant === 'forgets open calls';
    const warn = (warning: string) => {
      throw new Error(warning);
    };
    await recover({ log, registry, executors: isForgetful ? forgetful : executors, timers, warn });
  }

  enqueue(waiting: Waiting): void {
    this.#queue.push(waiting);
  }

  get canStep(): boolean {
    return this.#queue.length > 0 || this.#batch.length > 0;
  }

  /** Whether what is in memory is what was committed: not while turns are under way. */
  get isBetweenCommits(): boolean {
    return this.#head === undefined;
  }

  /** Between which two small things it is. */
  get phase(): string {
    if (this.#phase === 'publish') return 'after a commit';
    if (this.#phase === 'act') return 'after publishing';
    return this.#head ? 'after a turn' : this.#queue.length > 0 ? 'before a turn' : 'while idle';
  }

  /** Does the next small thing, and says what. */
  step(choose: {
    readonly isBatchClosed: boolean;
    readonly doesCommitFail: boolean;
  }): string | Promise<string> {
    if (this.#phase === 'publish') return this.#publish();
    if (this.#phase === 'act') return this.#act();
    const next = this.#queue[0];
    // The second of two with one id must find the first in the log.
    const isSecond =
      next !== undefined && this.#batch.some(({ waiting }) => waiting.incoming.id === next.incoming.id);
    if (next && !isSecond && (this.#batch.length === 0 || !choose.isBatchClosed)) {
      this.#queue.shift();
      return this.#take(next);
    }
    return this.#commit(choose.doesCommitFail);
  }

  /** An actor leaves memory, with or without a snapshot in the log. */
  async letGo(index: number, isStored: boolean): Promise<string> {
    const entries = [...this.cache.entries()];
    const record = entries[index % Math.max(1, entries.length)]?.record;
    if (!record) return 'nothing to let go of';
    const stored = isStored ? toStored(this.#ports.registry, record) : undefined;
    if (stored) await this.#ports.commit({ turns: [], snapshots: [stored] });
    this.cache.drop(record.address);
    return `lets go of ${record.address}${stored ? ', stored' : ''}`;
  }

  #take(waiting: Waiting): string | Promise<string> {
    const atMs = Math.max(this.#ports.now(), this.#lastAtMs);
    this.#lastAtMs = atMs;
    const head = this.#head ?? new Head(this.cache);
    this.#head = head;
    // Adding the one member that was left out makes it whole again.
    const taken = { waiting, head, stimulus: { ...waiting.incoming, atMs } as Stimulus };
    const result = this.#ports.kernel.turn(head, this.#asVariant(taken.stimulus));
    return result.kind === 'needs'
      ? this.#takeAfterLoading(taken, result.actors)
      : this.#taken(taken, result);
  }

  async #takeAfterLoading(taken: Taken, addresses: readonly Address[]): Promise<string> {
    for (let needed = addresses; ; ) {
      for (const address of needed) await this.#load(address, taken.stimulus.atMs);
      const result = this.#ports.kernel.turn(taken.head, this.#asVariant(taken.stimulus));
      if (result.kind !== 'needs') return this.#taken(taken, result);
      needed = result.actors;
    }
  }

  async #load(address: Address, atMs: number): Promise<void> {
    const { record, storedVersion, run } = await this.#loader.load(address);
    this.#ports.loaded(record);
    this.#ports.mark(
      storedVersion > 0 ? 'loaded from a snapshot' : record ? 'loaded from its stream' : 'not there',
    );
    this.cache.put(address, record, { touchedAtMs: atMs, storedVersion });
    if (this.cache.run(runOf(address)) === undefined) this.cache.putRun(runOf(address), run);
  }

  #taken({ waiting, head, stimulus }: Taken, result: Processed['result']): string {
    if (result.kind === 'turn') head.apply(result.actors, result.runs);
    this.#batch.push({ waiting, result });
    if (result.kind === 'refused') this.#ports.mark(`refused: ${result.error.code}`);
    const outcome = result.kind === 'turn' ? result.delivered : result.kind;
    return `turn of ${stimulus.kind} ${stimulus.id}: ${outcome}`;
  }

  /** What a shell without generations would say: an answer or a timer is of whatever is open under that name. */
  #asVariant(stimulus: Stimulus): Stimulus {
    if (this.#variant !== 'ignores generations') return stimulus;
    if (stimulus.kind === 'answer') {
      const generation = this.#head?.actor(stimulus.actor)?.waits.calls[stimulus.call];
      return generation === undefined ? stimulus : { ...stimulus, generation };
    }
    return stimulus;
  }

  async #commit(doesFail: boolean): Promise<string> {
    const turns = this.#batch.flatMap(({ result }) => (result.kind === 'turn' ? [result.turn] : []));
    if (this.#variant === 'acts before the commit') this.#actTooEarly(turns);
    try {
      if (doesFail && turns.length > 0) throw new RuntimeError('DISK_FULL', { file: 'memory' });
      this.#recorded = turns.length === 0 ? [] : await this.#ports.commit({ turns, snapshots: [] });
    } catch (error) {
      if (!isRuntimeError(error, 'DISK_FULL', 'DUPLICATE_TURN')) throw error;
      this.#ports.mark(`commit fails: ${error.code}`);
      this.#commitFailed(error);
      return `commit of ${turns.map(({ id }) => id).join(' ')} fails: ${error.code}`;
    }
    this.#move();
    this.#phase = 'publish';
    return `commit of ${turns.map(({ id }) => id).join(' ')}`;
  }

  #move(): void {
    const touchedAtMs = this.#lastAtMs;
    for (const [address, record] of this.#head?.actors ?? [])
      this.cache.put(address, record, { touchedAtMs });
    for (const [id, run] of this.#head?.runs ?? []) this.cache.putRun(id, run);
    this.#head = undefined;
    const { turn = this.#places.turn, events = [] } = this.#recorded.at(-1) ?? {};
    this.#places = { turn, position: events.at(-1)?.position ?? this.#places.position };
  }

  #commitFailed(error: RuntimeError): void {
    const batch = this.#batch;
    this.#batch = [];
    if (this.#variant === 'keeps its head') this.#move();
    this.#head = undefined;
    if (isRuntimeError(error, 'DUPLICATE_TURN')) {
      const index = batch.findIndex(({ waiting }) => waiting.incoming.id === error.fields.id);
      batch[index]?.waiting.settle('duplicate');
      this.#queue.unshift(...batch.filter((_, other) => other !== index).map(({ waiting }) => waiting));
      return;
    }
    if (this.#variant === 'loses answers') return;
    this.#queue.unshift(...batch.filter(({ waiting }) => waiting.isKept).map(({ waiting }) => waiting));
    for (const { waiting } of batch) if (!waiting.isKept) waiting.settle('rejected');
  }

  #actTooEarly(turns: Batch['turns']): void {
    let { turn, position } = this.#places;
    for (const early of turns) {
      turn += 1;
      const recorded = recordTurn(early, { turn, first: position + 1 });
      position += early.events.length;
      for (const call of recorded.openedCalls) this.#ports.executors.start(call);
      for (const timer of recorded.openedTimers) this.#ports.timers.open(timer);
    }
  }

  #publish(): string {
    for (const turn of this.#recorded) this.#ports.publish(turn);
    this.#phase = 'act';
    return 'publish';
  }

  #act(): string {
    const { executors, timers } = this.#ports;
    for (const { closedCalls, closedTimers, openedCalls, openedTimers } of this.#recorded) {
      for (const call of closedCalls) executors.abort(call);
      for (const timer of closedTimers) timers.close(timer);
      if (this.#variant === 'acts before the commit') continue;
      for (const call of openedCalls) executors.start(call);
      for (const timer of openedTimers) timers.open(timer);
    }
    for (const { waiting, result } of this.#batch) {
      waiting.settle(result.kind === 'turn' ? 'committed' : result.kind);
    }
    this.#batch = [];
    this.#recorded = [];
    this.#phase = 'turns';
    return 'act';
  }
}
