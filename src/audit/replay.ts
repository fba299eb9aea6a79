import { Observable, type Subscriber } from 'rxjs';
import type { ActorRecord } from '../actors/actor-record.ts';
import { type Clock, createSystemClock } from '../actors/clock.ts';
import { foldEvent } from '../actors/fold.ts';
import type { Registry } from '../actors/registry.ts';
import { hashStates } from '../actors/replay.ts';
import { type ActorState, toActorState } from '../actors/run-handle.ts';
import { createUpcast } from '../actors/upcast.ts';
import { isRuntimeError, RuntimeError } from '../errors.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { Workflow } from '../machines/workflow.ts';
import type { Projection } from '../projections/projection.ts';
import type { EventLog } from '../store/event-log.ts';
import { workflowsOf } from './changed-registry.ts';
import { ReplayedViews } from './replayed-views.ts';

/** One event of a replay, and what it did to its actor. */
export interface ReplayStep {
  readonly event: RecordedEvent;
  /** The actor before it; null if it began with it. */
  readonly before: ActorState | null;
  readonly after: ActorState;
}

export interface PlayOptions {
  /** 1 (default) is as fast as it was, 60 makes a minute of it a second, Infinity is as fast as it can be. */
  readonly speed?: number;
  /** The last position to play; the end of the log unless set. */
  readonly to?: number;
  /** Another clock than the machine's: for tests. */
  readonly clock?: Clock;
}

/** A log that is lived once more, event by event: what every actor and view was at any position. */
export interface Replay {
  /** Of the last event that was taken in; 0 before the first. */
  readonly position: number;
  /** Takes in one more event; undefined at the end. @throws {RuntimeError} REPLAY_DIVERGED, LOG_CORRUPT */
  step(): Promise<ReplayStep | undefined>;
  /** Goes to a position, forward or back. Past the end it stays at the end. */
  to(position: number): Promise<void>;
  /** Every actor that there was at this position, in the order in which they began. */
  actors(): readonly ActorState[];
  actor(address: Address): ActorState | undefined;
  /** The state of a projection's partition at this position. */
  view<State>(projection: Projection<State>, run?: string): State;
  /** Hash over the states of all actors: the one that `verify` gives for the log as it was then. */
  states(): string;
  /** The machines that actors are folded with. */
  machines(): readonly Workflow[];
  /** Plays on from here, with the pauses that there were between turns. */
  play$(options?: PlayOptions): Observable<ReplayStep>;
}

export interface ReplayPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly projections: readonly Projection[];
  /** Only this run; the whole log unless set. */
  readonly run?: string;
}

const CHUNK = 1_000;

export const createReplay = (ports: ReplayPorts): Replay => new LogReplay(ports);

class LogReplay implements Replay {
  readonly #ports: ReplayPorts;
  readonly #upcast: (event: RecordedEvent) => RecordedEvent;
  readonly #actors = new Map<Address, ActorRecord>();
  /** Actors whose machine is not registered: of them only the rows are known, unless they were migrated to one that is. */
  readonly #unknown = new Map<Address, ActorState>();
  readonly #views: ReplayedViews;
  #ahead: RecordedEvent[] = [];
  #position = 0;

  constructor(ports: ReplayPorts) {
    this.#ports = ports;
    this.#upcast = createUpcast(ports.registry);
    this.#views = new ReplayedViews(ports.projections);
  }

  get position(): number {
    return this.#position;
  }

  async step(): Promise<ReplayStep | undefined> {
    const event = await this.#next();
    if (!event) return undefined;
    const before = this.actor(event.actor) ?? null;
    this.#fold(event);
    const upcast = this.#upcast(event);
    this.#views.fold(upcast);
    this.#ahead.shift();
    this.#position = event.position;
    return { event: upcast, before, after: this.actor(event.actor) ?? stateOfRow(event) };
  }

  async to(position: number): Promise<void> {
    if (!(position >= 0))
      throw new RuntimeError('BAD_OPTION', {
        option: 'position',
        found: String(position),
        expected: 'a number from 0',
      });
    if (position < this.#position) this.#rewind();
    for (let next = await this.#next(); next && next.position <= position; next = await this.#next())
      await this.step();
  }

  actors(): readonly ActorState[] {
    return [...[...this.#actors.values()].map(toActorState), ...this.#unknown.values()];
  }

  actor(address: Address): ActorState | undefined {
    const record = this.#actors.get(address);
    return record ? toActorState(record) : this.#unknown.get(address);
  }

  view<State>(projection: Projection<State>, run?: string): State {
    return this.#views.read(projection, run);
  }

  states(): string {
    return hashStates(this.#ports.registry, this.#actors);
  }

  machines(): readonly Workflow[] {
    return workflowsOf(this.#ports.registry);
  }

  play$({
    speed = 1,
    to = Number.POSITIVE_INFINITY,
    clock = createSystemClock(0),
  }: PlayOptions = {}): Observable<ReplayStep> {
    if (!(speed > 0))
      throw new RuntimeError('BAD_OPTION', {
        option: 'speed',
        found: String(speed),
        expected: 'a number above 0',
      });
    return new Observable((subscriber) => {
      const pause = new Pause(clock);
      this.#play(subscriber, { speed, to, pause }).then(
        () => subscriber.complete(),
        (error: unknown) => subscriber.error(error),
      );
      return () => pause.end();
    });
  }

  async #play(
    subscriber: Subscriber<ReplayStep>,
    { speed, to, pause }: { readonly speed: number; readonly to: number; readonly pause: Pause },
  ): Promise<void> {
    let lastAtMs: number | undefined;
    for (let next = await this.#next(); next && next.position <= to; next = await this.#next()) {
      await pause.for(lastAtMs === undefined ? 0 : (next.atMs - lastAtMs) / speed);
      if (subscriber.closed) return;
      lastAtMs = next.atMs;
      const step = await this.step();
      if (step) subscriber.next(step);
    }
  }

  #fold(event: RecordedEvent): void {
    const { actor } = event;
    if (this.#unknown.has(actor) && event.kind !== 'migrated') {
      this.#unknown.set(actor, stateOfRow(event));
      return;
    }
    try {
      this.#actors.set(actor, foldEvent(this.#ports.registry, this.#actors.get(actor), event));
      this.#unknown.delete(actor);
    } catch (error) {
      if (!isRuntimeError(error, 'MACHINE_MISSING')) throw error;
      this.#unknown.set(actor, stateOfRow(event));
    }
  }

  async #next(): Promise<RecordedEvent | undefined> {
    const { log, run } = this.#ports;
    if (this.#ahead.length === 0) {
      const query = { after: this.#position, limit: CHUNK };
      this.#ahead = [...(await log.events(run === undefined ? query : { ...query, run }))];
    }
    return this.#ahead[0];
  }

  #rewind(): void {
    this.#actors.clear();
    this.#unknown.clear();
    this.#views.clear();
    this.#ahead = [];
    this.#position = 0;
  }
}

const stateOfRow = ({ actor, state, version, kind }: RecordedEvent): ActorState => ({
  address: actor,
  value: state,
  context: undefined,
  status: kind === 'failed' || kind === 'stopped' ? kind : 'active',
  tags: [],
  version,
});

/** What a clock can wait for at once. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/** A wait that can be ended early. */
class Pause {
  readonly #clock: Clock;
  #isEnded = false;
  #end: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async for(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0 && !this.#isEnded; leftMs -= WAIT_MS_MAX)
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(Math.min(leftMs, WAIT_MS_MAX), resolve);
        this.#end = () => {
          cancel();
          resolve();
        };
      });
  }

  end(): void {
    this.#isEnded = true;
    this.#end();
  }
}
