import { canonicalJson, type Encoded } from '../events/encode.ts';
import type { Address, EventKind, NewEvent } from '../events/event.ts';
import type { JsonObject } from '../events/json.ts';
import type { RunRecord, Turn } from '../events/turn.ts';
import { invariant } from '../invariant.ts';
import type { ActorRecord } from './actor-record.ts';
import type { Stimulus } from './stimulus.ts';

/** The actors and runs as a turn finds them. */
export interface System {
  /** Undefined if it is not loaded, null if there is none. */
  actor(address: Address): ActorRecord | null | undefined;
  run(id: string): RunRecord | null | undefined;
}

/** Thrown to leave a turn that needs an actor which is not loaded. The turn has no effects, so it can be begun again. */
export class NotLoaded {
  readonly address: Address;
  constructor(address: Address) {
    this.address = address;
  }
}

/** What a row says, apart from the actor that it is about. */
export interface Row {
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly data: Encoded;
  readonly from: Address | null;
  readonly causedBy: number | null;
}

/** A row of a turn in the making. Its texts are made when they are asked for, which nobody does who only tries a turn. */
class TurnEvent implements NewEvent {
  readonly run: NewEvent['run'];
  readonly actor: NewEvent['actor'];
  readonly version: number;
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly data: JsonObject;
  readonly from: Address | null;
  readonly causedBy: number | null;
  readonly machine: string;
  readonly machineVersion: number;
  readonly state: NewEvent['state'];
  readonly #data: Encoded;
  #dataJson: string | undefined;

  constructor(record: ActorRecord, { kind, type, typeVersion, data, from, causedBy }: Row) {
    this.run = record.run;
    this.actor = record.address;
    this.version = record.version;
    this.kind = kind;
    this.type = type;
    this.typeVersion = typeVersion;
    // Rows are made from objects only.
    this.data = data.value as JsonObject;
    this.from = from;
    this.causedBy = causedBy;
    this.machine = record.machine;
    this.machineVersion = record.machineVersion;
    this.state = record.snapshot?.value ?? '';
    this.#data = data;
  }

  get dataJson(): string {
    this.#dataJson ??= this.#data.json;
    return this.#dataJson;
  }

  get stateJson(): string {
    const { state } = this;
    return typeof state === 'string' ? JSON.stringify(state) : canonicalJson(state);
  }
}

/** What a turn has none of: most turns have only a few of all the things that a turn may have. */
const NONE: readonly never[] = [];

/** A turn in the making: what it changed, on top of a system that it leaves as it is. */
export class Workspace {
  readonly actors = new Map<Address, ActorRecord>();
  readonly runs = new Map<string, RunRecord>();
  readonly #system: System;
  readonly #stimulus: Stimulus;
  readonly #events: NewEvent[] = [];
  #openedCalls: Turn['openedCalls'][number][] | undefined;
  #closedCalls: Turn['closedCalls'][number][] | undefined;
  #openedTimers: Turn['openedTimers'][number][] | undefined;
  #closedTimers: Turn['closedTimers'][number][] | undefined;
  #changedRuns: Set<string> | undefined;

  constructor(system: System, stimulus: Stimulus) {
    this.#system = system;
    this.#stimulus = stimulus;
  }

  get atMs(): number {
    return this.#stimulus.atMs;
  }

  actor(address: Address): ActorRecord | null {
    const record = this.actors.get(address) ?? this.#system.actor(address);
    if (record === undefined) throw new NotLoaded(address);
    return record;
  }

  run(id: string): RunRecord | null {
    const run = this.runs.get(id) ?? this.#system.run(id);
    if (run === undefined) throw new NotLoaded(id);
    return run;
  }

  /** Records that a run began or ended. */
  putRun(run: RunRecord): void {
    this.runs.set(run.id, run);
    this.#changedRuns ??= new Set();
    this.#changedRuns.add(run.id);
  }

  /** Appends a row to the stream of `record`, which is the actor after it, and returns the row's index in the turn. */
  append(record: ActorRecord, row: Row): number {
    this.actors.set(record.address, record);
    return this.#events.push(new TurnEvent(record, row)) - 1;
  }

  openCall(call: Turn['openedCalls'][number]): void {
    this.#openedCalls ??= [];
    this.#openedCalls.push(call);
  }

  /** A call that was opened in this very turn never existed for anyone else. */
  closeCall(actor: Address, call: string, generation: number): void {
    const opened = this.#openedCalls?.findIndex(
      (open) => open.actor === actor && open.call === call && open.generation === generation,
    );
    if (opened !== undefined && opened !== -1) {
      this.#openedCalls?.splice(opened, 1);
      return;
    }
    this.#closedCalls ??= [];
    this.#closedCalls.push({ actor, call, generation });
  }

  openTimer(timer: Turn['openedTimers'][number]): void {
    this.#openedTimers ??= [];
    this.#openedTimers.push(timer);
  }

  closeTimer(actor: Address, timer: string, generation: number): void {
    const opened = this.#openedTimers?.findIndex(
      (open) => open.actor === actor && open.timer === timer && open.generation === generation,
    );
    if (opened !== undefined && opened !== -1) {
      this.#openedTimers?.splice(opened, 1);
      return;
    }
    this.#closedTimers ??= [];
    this.#closedTimers.push({ actor, timer, generation });
  }

  /** The turn to be committed, or undefined if nothing came of the stimulus. Counts it for each run that it touched. */
  finish(): Turn | undefined {
    if (this.#events.length === 0) return undefined;
    const [first] = this.#events;
    invariant(first, 'the turn has events');
    this.#countTurn(first.run);
    // Nearly all turns stay within one run.
    if (this.#events.some(({ run }) => run !== first.run)) {
      for (const run of new Set(this.#events.map((event) => event.run)))
        if (run !== first.run) this.#countTurn(run);
    }
    const { id, atMs, origin, by, cause } = this.#stimulus;
    return {
      id,
      atMs,
      origin,
      by,
      cause,
      events: this.#events,
      openedCalls: this.#openedCalls ?? NONE,
      closedCalls: this.#closedCalls ?? NONE,
      openedTimers: this.#openedTimers ?? NONE,
      closedTimers: this.#closedTimers ?? NONE,
      runs: this.#changedRuns
        ? [...this.#changedRuns].flatMap((changed) => this.runs.get(changed) ?? [])
        : NONE,
    };
  }

  #countTurn(id: string): void {
    const run = this.run(id);
    invariant(run, 'the run of an actor exists');
    this.runs.set(id, { ...run, turns: run.turns + 1 });
  }
}
