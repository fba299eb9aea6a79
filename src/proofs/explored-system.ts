import type { ActorRecord } from '../actors/actor-record.ts';
import type { TurnResult } from '../actors/turn.ts';
import type { System } from '../actors/workspace.ts';
import type { Address } from '../events/event.ts';
import type { OpenCall, OpenTimer, RunRecord, Verdict } from '../events/turn.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';

export type Taken = Extract<TurnResult, { kind: 'turn' }>;

/** What of one actor is open outside of it. */
export interface Open {
  readonly calls: readonly OpenCall[];
  readonly timers: readonly OpenTimer[];
  /** Calls that have left their agent's queue. */
  readonly begun: readonly OpenCall[];
}

const NOTHING_OPEN: Open = { calls: [], timers: [], begun: [] };

/** One actor at one moment, with what is open of it. */
export interface Part {
  readonly record: ActorRecord;
  readonly open: Open;
}

const withAll = <Value>(
  some: ReadonlyMap<string, Value>,
  more: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> => {
  const all = new Map(some);
  for (const [key, value] of more) all.set(key, value);
  return all;
};

/** A whole system at one moment: what the kernel sees, and what is open. Never changed in place. */
export class ExploredSystem implements System {
  readonly actors: ReadonlyMap<Address, ActorRecord>;
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly open: ReadonlyMap<Address, Open>;

  constructor(
    parts: Pick<ExploredSystem, 'actors' | 'runs' | 'open'> = {
      actors: new Map(),
      runs: new Map(),
      open: new Map(),
    },
  ) {
    this.actors = parts.actors;
    this.runs = parts.runs;
    this.open = parts.open;
  }

  /** All there is is here: what is not, is not. */
  actor(address: Address): ActorRecord | null {
    return this.actors.get(address) ?? null;
  }

  run(id: string): RunRecord | null {
    return this.runs.get(id) ?? null;
  }

  openOf(address: Address): Open {
    return this.open.get(address) ?? NOTHING_OPEN;
  }

  /** How the run ended; null while it is open. */
  verdict(): Verdict | null {
    for (const { verdict } of this.runs.values()) return verdict;
    return null;
  }

  /** Whether a person is asked something. */
  isAsking(): boolean {
    for (const { status, snapshot } of this.actors.values())
      if (status === 'active' && snapshot?.tags.has(WAITING_TAG)) return true;
    return false;
  }

  /** Who is there, and in which state, for whoever reads of it. */
  describe(): string {
    return [...this.actors.values()]
      .filter(({ status }) => status === 'active')
      .map(({ address, snapshot }) => `${address}: ${JSON.stringify(snapshot?.value)}`)
      .join(', ');
  }

  /** Whether nothing can happen without a person. */
  isAtRest(): boolean {
    for (const { calls, timers } of this.open.values()) if (calls.length + timers.length > 0) return false;
    return true;
  }

  after({ actors, runs, turn }: Taken): ExploredSystem {
    const open = new Map(this.open);
    const of = (address: Address): Open => open.get(address) ?? NOTHING_OPEN;
    for (const closed of turn.closedCalls) {
      const { calls, begun, timers } = of(closed.actor);
      const isOther = (call: OpenCall) => call.call !== closed.call || call.generation !== closed.generation;
      open.set(closed.actor, { calls: calls.filter(isOther), begun: begun.filter(isOther), timers });
    }
    for (const closed of turn.closedTimers) {
      const before = of(closed.actor);
      const timers = before.timers.filter(
        ({ timer, generation }) => timer !== closed.timer || generation !== closed.generation,
      );
      open.set(closed.actor, { ...before, timers });
    }
    for (const call of turn.openedCalls)
      open.set(call.actor, { ...of(call.actor), calls: [...of(call.actor).calls, call] });
    for (const timer of turn.openedTimers)
      open.set(timer.actor, { ...of(timer.actor), timers: [...of(timer.actor).timers, timer] });
    for (const [address, { calls, timers }] of open)
      if (calls.length + timers.length === 0) open.delete(address);
    return new ExploredSystem({ actors: withAll(this.actors, actors), runs: withAll(this.runs, runs), open });
  }

  /** The same, with a call that has left its agent's queue. */
  withBegun(call: OpenCall): ExploredSystem {
    const before = this.openOf(call.actor);
    const open = new Map(this.open).set(call.actor, { ...before, begun: [...before.begun, call] });
    return new ExploredSystem({ actors: this.actors, runs: this.runs, open });
  }

  /** The same with one actor in another state, and what is open as it was. */
  withRecord(record: ActorRecord): ExploredSystem {
    const actors = new Map(this.actors).set(record.address, record);
    return new ExploredSystem({ actors, runs: this.runs, open: this.open });
  }

  partOf(address: Address): Part | undefined {
    const record = this.actors.get(address);
    return record && { record, open: this.openOf(address) };
  }

  /** The same with one actor elsewhere. */
  withPart({ record, open }: Part): ExploredSystem {
    return new ExploredSystem({
      actors: new Map(this.actors).set(record.address, record),
      runs: this.runs,
      open: new Map(this.open).set(record.address, open),
    });
  }
}
