import { isRuntimeError, RuntimeError } from '../errors.ts';
import type { RecordedTurn, Turn } from '../events/turn.ts';
import { invariant } from '../invariant.ts';
import { Head } from './actor-cache.ts';
import type { Clock } from './clock.ts';
import type { Delivered } from './deliver.ts';
import { Memory, type MemoryLimits, type MemoryPorts } from './memory.ts';
import type { Stimulus } from './stimulus.ts';
import type { TurnResult } from './turn.ts';

/** A stimulus before the shell gives it its time. */
export type Incoming = Stimulus extends infer Each
  ? Each extends Stimulus
    ? Omit<Each, 'atMs'>
    : never
  : never;

/** What became of a stimulus. It is in the log. */
export interface Receipt {
  /** Whether the actor took it; if not, it is kept as a dead letter. */
  readonly taken: boolean;
  readonly delivered: Delivered;
  /** Position of its first event; undefined if nothing came of it. */
  readonly position: number | undefined;
  /** The version that its actor's stream was at then. */
  readonly version: number | undefined;
  /** It was in the log already. */
  readonly duplicate: boolean;
}

export interface HostPorts extends MemoryPorts {
  readonly clock: Clock;
  /** Told of every committed turn, in order, before anything that it asked for starts. */
  readonly publish: (turn: RecordedTurn) => void;
  /** Starts what a turn opened and aborts what it closed. */
  readonly act: (turn: RecordedTurn) => void;
  /** The log can be written no more. */
  readonly fault: (error: RuntimeError) => void;
  readonly warn: (warning: string) => void;
}

export interface HostLimits extends MemoryLimits {
  /** How many stimuli of the host may wait. */
  readonly queue: number;
}

interface Waiting {
  readonly incoming: Incoming;
  /** What came from agents, timers and decisions is kept and tried again if a commit fails; the host's calls are rejected. */
  readonly kept: boolean;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
}

/** One stimulus of a batch and what the kernel made of it. */
interface Processed {
  readonly waiting: Waiting;
  readonly result: Exclude<TurnResult, { kind: 'needs' }>;
}

const ignore = (): void => undefined;

/** A batch closes when the queue is empty, at this many turns, or after this time. */
const BATCH_TURNS_MAX = 1_000;
const BATCH_MS_MAX = 50;
const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2_000;
/** What may be over when it is tried again. */
const PASSING_TROUBLES = ['LOG_READ_FAILED', 'LOG_WRITE_FAILED', 'DISK_FULL', 'DISK_LOW'] as const;

/**
 * The shell around the kernel. The order in `#flush` is the contract of the whole package: turn, commit, move, tell, act.
 * Nothing outside the process hears of an event before the log holds it.
 */
export class Host {
  readonly memory: Memory;
  readonly #ports: HostPorts;
  readonly #limits: HostLimits;
  #queue: Waiting[] = [];
  #hostWaiting = 0;
  #scheduled = false;
  #flushing: Promise<void> | undefined;
  #lastAtMs: number;
  #retryMs = RETRY_MS_MIN;
  /** So many turns are committed one by one, after a commit that failed for reasons of its own: one of them is at fault. */
  #alone = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #fault: RuntimeError | undefined;

  constructor(ports: HostPorts, limits: HostLimits, lastAtMs: number) {
    this.#ports = ports;
    this.#limits = limits;
    this.#lastAtMs = lastAtMs;
    this.memory = new Memory(ports, limits);
  }

  /** For the host's own calls: rejected if they cannot be committed. */
  submit(incoming: Incoming): Promise<Receipt> {
    if (this.#fault) return Promise.reject(this.#fault);
    if (this.#state !== 'open')
      return Promise.reject(new RuntimeError('RUNTIME_CLOSED', { action: incoming.kind }));
    if (this.#hostWaiting >= this.#limits.queue)
      return Promise.reject(new RuntimeError('QUEUE_FULL', { limit: this.#limits.queue }));
    this.#hostWaiting += 1;
    return new Promise((resolve, reject) => this.#enqueue({ incoming, kept: false, resolve, reject }));
  }

  /** For answers, timers and decisions: kept until they are committed. */
  keep(incoming: Incoming): Promise<Receipt> {
    // What is not committed any more is still open in the log, and comes again with the next runtime.
    if (this.#fault || this.#state === 'closed') return new Promise(() => undefined);
    return new Promise((resolve, reject) => this.#enqueue({ incoming, kept: true, resolve, reject }));
  }

  /** The same for what nobody waits for: only that it was refused is told. */
  post(incoming: Incoming, refused: (error: unknown) => void): void {
    if (this.#fault || this.#state === 'closed') return;
    this.#enqueue({ incoming, kept: true, resolve: ignore, reject: refused });
  }

  /** Commits what waits, stores what is loaded, and takes nothing more. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closing';
    while (!this.#fault && (this.#queue.length > 0 || this.#flushing))
      await (this.#flushing ?? this.#flushNow());
    this.#state = 'closed';
    if (!this.#fault)
      await this.memory
        .storeAll()
        .catch((error: unknown) => this.#ports.warn(`Snapshots were not stored: ${String(error)}`));
  }

  /** Lets idle actors leave memory. Called now and then by the runtime. */
  async sweep(): Promise<void> {
    if (this.#flushing || this.#fault || this.#state !== 'open') return;
    await this.memory.releaseIdle(this.#lastAtMs).catch(this.#stayed);
  }

  #enqueue(waiting: Waiting): void {
    this.#queue.push(waiting);
    this.#schedule();
  }

  /** After what else is ready has run: stimuli that come together are committed together. */
  #schedule(): void {
    if (this.#scheduled || this.#flushing || this.#state === 'closed') return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#flushing && this.#queue.length > 0) void this.#flushNow();
    });
  }

  #flushNow(): Promise<void> {
    this.#flushing = this.#flush().finally(() => {
      this.#flushing = undefined;
      if (this.#queue.length > 0 && !this.#fault) this.#schedule();
    });
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    const head = new Head(this.memory.cache);
    const batch = await this.#runTurns(head); // on head; pure
    if (this.#fault) return this.#faulted(this.#fault, batch);
    const turns = batch.flatMap(({ result }) => (result.kind === 'turn' ? result.turn : []));
    const recorded = turns.length === 0 ? [] : await this.#commit(turns, head, batch);
    if (!recorded) return;
    this.#retryMs = RETRY_MS_MIN;
    this.#alone = Math.max(0, this.#alone - 1);
    this.memory.move(head, this.#lastAtMs);
    for (const turn of recorded) this.#ports.publish(turn);
    for (const turn of recorded) this.#ports.act(turn);
    this.#settle(batch, recorded);
    await this.memory.makeRoom().catch(this.#stayed);
  }

  /** Actors could not be stored, and stay in memory. The log may be at fault even if nobody waits for a commit. */
  readonly #stayed = (error: unknown): void => {
    if (isRuntimeError(error, 'LOG_FAULT')) this.#faulted(error, []);
    else this.#ports.warn(`Actors stay in memory: ${String(error)}`);
  };

  async #runTurns(head: Head): Promise<readonly Processed[]> {
    const batch: Processed[] = [];
    const queue = this.#takeQueue();
    /** Those that the host may have chosen. */
    const ids = new Set<string>();
    let next = 0;
    let firstAtMs: number | undefined;
    while (
      next < queue.length &&
      batch.length < (this.#alone > 0 ? 1 : BATCH_TURNS_MAX) &&
      // By the clock of the runtime, which may be a virtual one: how long a step takes here must make no difference there.
      this.#lastAtMs - (firstAtMs ?? this.#lastAtMs) < BATCH_MS_MAX &&
      !this.#fault
    ) {
      const waiting = queue[next];
      invariant(waiting, 'the queue has what its length says');
      // Sent twice: the second is told that it was done already, which it is only once the first is committed.
      if (ids.has(waiting.incoming.id)) break;
      if (!waiting.kept) ids.add(waiting.incoming.id);
      next += 1;
      const stimulus = this.#stamp(waiting.incoming);
      firstAtMs ??= stimulus.atMs;
      const first = this.#turn(head, stimulus);
      const result =
        first.kind === 'needs'
          ? await this.#turnAfterLoading(head, { waiting, stimulus, first, firstAtMs })
          : first;
      if (result) batch.push({ waiting, result });
    }
    this.#queue = next === queue.length ? this.#queue : [...queue.slice(next), ...this.#queue];
    return batch;
  }

  /** The clock may stand still or go back; the time of turns does not. */
  #stamp(incoming: Incoming): Stimulus {
    this.#lastAtMs = Math.max(this.#ports.clock.now(), this.#lastAtMs);
    return { ...incoming, atMs: this.#lastAtMs };
  }

  #turn(head: Head, stimulus: Stimulus): TurnResult {
    const result = this.#runKernel(head, stimulus);
    if (result.kind === 'turn') head.apply(result.actors, result.runs);
    return result;
  }

  /** Undefined if the actors can't be loaded: then the stimulus has been dealt with. */
  async #turnAfterLoading(
    head: Head,
    {
      waiting,
      stimulus,
      first,
      firstAtMs,
    }: { waiting: Waiting; stimulus: Stimulus; first: TurnResult; firstAtMs: number },
  ): Promise<Processed['result'] | undefined> {
    let result = first;
    while (result.kind === 'needs') {
      // A migration is committed by itself, before the turns of the batch: it cannot be later than the first of them.
      const obstacle = await this.memory.load(result.actors, firstAtMs);
      if (obstacle !== undefined) {
        this.#setAside(waiting, obstacle);
        return undefined;
      }
      result = this.#turn(head, stimulus);
    }
    return result;
  }

  #runKernel(head: Head, stimulus: Stimulus): TurnResult {
    const { kernel, warn } = this.#ports;
    try {
      return kernel.turn(head, stimulus);
    } catch (fault) {
      warn(`A turn failed in the kernel, and its run is ended: ${String(fault)}`);
      try {
        return kernel.park(head, stimulus, fault);
      } catch (error) {
        const problem = `the runtime cannot even end it: ${String(error)}`;
        return {
          kind: 'refused',
          error: new RuntimeError('RUN_PARKED', { run: stimulus.id, problem }, { cause: fault }),
        };
      }
    }
  }

  /** A parked run keeps its calls and timers open in the log; the host is told. */
  #setAside(waiting: Waiting, error: unknown): void {
    const { kept, reject, incoming } = waiting;
    if (!kept) this.#reject(reject, error);
    if (isRuntimeError(error, 'LOG_FAULT')) this.#faulted(error, []);
    if (!kept) return;
    this.#ports.warn(`A stimulus (${incoming.kind}) is left for later: ${String(error)}`);
    if (this.#state !== 'open' || !isRuntimeError(error, ...PASSING_TROUBLES)) return reject(error);
    // Its actor is well, but could not be read just now.
    this.#queue.push(waiting);
    this.#retryLater();
  }

  #reject(reject: Waiting['reject'], error: unknown): void {
    this.#hostWaiting -= 1;
    reject(error);
  }

  async #commit(
    turns: readonly Turn[],
    head: Head,
    batch: readonly Processed[],
  ): Promise<readonly RecordedTurn[] | undefined> {
    try {
      return await this.#ports.log.commit({ turns, snapshots: this.memory.dueSnapshots(head) });
    } catch (error) {
      this.#commitFailed(error, batch);
      return undefined;
    }
  }

  /** Head goes back to what is committed. The host's calls are rejected; everything else is tried again. */
  #commitFailed(error: unknown, batch: readonly Processed[]): void {
    if (isRuntimeError(error, 'LOG_FAULT')) return this.#faulted(error, batch);
    if (isRuntimeError(error, 'DUPLICATE_TURN')) return this.#dropDuplicate(error.fields.id, batch);
    // A stream that is not where we think it is: what we have in memory is worth nothing.
    if (isRuntimeError(error, 'VERSION_CONFLICT')) this.memory.cache.clear();
    if (!isRuntimeError(error) && this.#state === 'open') return this.#setApart(error, batch);
    for (const { waiting } of batch) if (!waiting.kept) this.#reject(waiting.reject, error);
    this.#queue = [...batch.flatMap(({ waiting }) => (waiting.kept ? waiting : [])), ...this.#queue];
    this.#ports.warn(`A commit failed: ${String(error)}`);
    if (this.#state === 'open') return this.#retryLater();
    // Nothing can be waited for while closing: what was kept is still open in the log, and comes again.
    for (const { reject, kept } of this.#takeQueue()) if (!kept) this.#reject(reject, error);
  }

  /** Something in the batch cannot be written, which is a fault of ours. The others must not suffer from it, nor wait for ever. */
  #setApart(error: unknown, batch: readonly Processed[]): void {
    const waiting = batch.map((processed) => processed.waiting);
    const [first] = waiting;
    if (first && waiting.length === 1) {
      this.#alone = Math.max(0, this.#alone - 1);
      this.#ports.warn(
        `A stimulus (${first.incoming.kind}) cannot be written, and is left out: ${String(error)}`,
      );
      if (first.kept) first.reject(error);
      else this.#reject(first.reject, error);
      return;
    }
    this.#alone = waiting.length;
    this.#queue = [...waiting, ...this.#queue];
  }

  #retryLater(): void {
    const delayMs = this.#retryMs;
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      if (this.#queue.length > 0) this.#schedule();
    }, delayMs);
  }

  #faulted(error: RuntimeError, batch: readonly Processed[]): void {
    const isKnown = this.#fault !== undefined;
    this.#fault = error;
    for (const { kept, reject } of [...batch.map(({ waiting }) => waiting), ...this.#takeQueue()]) {
      if (!kept) this.#reject(reject, error);
    }
    if (!isKnown) this.#ports.fault(error);
  }

  #dropDuplicate(id: string, batch: readonly Processed[]): void {
    const rest = batch.map(({ waiting }) => waiting);
    const index = rest.findIndex(({ incoming }) => incoming.id === id);
    invariant(index !== -1, 'a duplicate turn is one of the batch');
    const [duplicate] = rest.splice(index, 1);
    this.#queue = [...rest, ...this.#queue];
    if (duplicate && !duplicate.kept) this.#hostWaiting -= 1;
    duplicate?.resolve({
      taken: true,
      delivered: 'taken',
      position: undefined,
      version: undefined,
      duplicate: true,
    });
  }

  #settle(batch: readonly Processed[], recorded: readonly RecordedTurn[]): void {
    let next = 0;
    for (const { waiting, result } of batch) {
      if (!waiting.kept) this.#hostWaiting -= 1;
      if (result.kind === 'refused') {
        waiting.reject(result.error);
        continue;
      }
      const first = result.kind === 'turn' ? recorded[next]?.events[0] : undefined;
      if (result.kind === 'turn') next += 1;
      const delivered = result.kind === 'turn' ? result.delivered : 'dropped';
      waiting.resolve({
        taken: delivered === 'taken',
        delivered,
        position: first?.position,
        version: first?.version,
        duplicate: false,
      });
    }
  }

  #takeQueue(): Waiting[] {
    const queue = this.#queue;
    this.#queue = [];
    return queue;
  }
}
