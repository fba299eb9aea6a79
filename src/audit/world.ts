import type { ActorRecord } from '../actors/actor-record.ts';
import { restoreMigrated } from '../actors/fold.ts';
import type { Registry } from '../actors/registry.ts';
import type { Stimulus } from '../actors/stimulus.ts';
import { createKernel, type KernelLimits } from '../actors/turn.ts';
import type { System } from '../actors/workspace.ts';
import type { RuntimeError } from '../errors.ts';
import type { Address } from '../events/event.ts';
import type { OpenCall, OpenTimer, Recorded, RecordedTurn, RunRecord, Turn } from '../events/turn.ts';
import { invariant } from '../invariant.ts';
import { recordTurn } from '../store/record-turn.ts';

export type CallKey = string;

export const callKey = ({
  actor,
  call,
  generation,
}: Pick<OpenCall, 'actor' | 'call' | 'generation'>): CallKey => `${actor}#${call}.${generation}`;

export const timerKey = ({
  actor,
  timer,
  generation,
}: Pick<OpenTimer, 'actor' | 'timer' | 'generation'>): string => `${actor}@${timer}.${generation}`;

/** A call or timer, and when it was opened. */
export type Opened<Work> = Recorded<Work> & { readonly openedAtMs: number };

export interface Taken {
  /** As the kernel made it: what a log commits. */
  readonly turn: Turn;
  readonly recorded: RecordedTurn;
  /** The actors that it touched, as they were before; null if it began them. */
  readonly before: ReadonlyMap<Address, ActorRecord | null>;
}

/** A whole system in memory, driven by the kernel: actors, runs, and what is open. It only ever goes forward. */
export class World implements System {
  readonly registry: Registry;
  readonly actors = new Map<Address, ActorRecord>();
  readonly runs = new Map<string, RunRecord>();
  readonly calls = new Map<CallKey, Opened<OpenCall>>();
  readonly timers = new Map<string, Opened<OpenTimer>>();
  /** Position of its last event, and number of its last turn. */
  position = 0;
  turns = 0;
  atMs = 0;
  readonly #kernel: ReturnType<typeof createKernel>;

  constructor(registry: Registry, limits: KernelLimits) {
    this.registry = registry;
    this.#kernel = createKernel({ registry, limits });
  }

  /** All there is is here: what is not, is not. */
  actor(address: Address): ActorRecord | null {
    return this.actors.get(address) ?? null;
  }

  run(id: string): RunRecord | null {
    return this.runs.get(id) ?? null;
  }

  /** Takes a stimulus in. What was refused, or came to nothing, has left it as it was. A migration says to which version. */
  take(stimulus: Stimulus, migratesTo?: number): Taken | RuntimeError | undefined {
    if (stimulus.kind === 'migrate') this.#move(stimulus, migratesTo);
    const result = this.#kernel.turn(this, stimulus);
    if (result.kind === 'refused') return result.error;
    if (result.kind === 'nothing') return undefined;
    invariant(result.kind === 'turn', 'a world has all of its actors');
    const { turn, actors, runs } = result;
    const recorded = recordTurn(turn, { turn: this.turns + 1, first: this.position + 1 });
    const before = new Map([...actors.keys()].map((address) => [address, this.actor(address)]));
    for (const [address, record] of actors) this.actors.set(address, record);
    for (const [id, run] of runs) this.runs.set(id, run);
    this.#open(recorded);
    this.turns += 1;
    this.position += turn.events.length;
    this.atMs = turn.atMs;
    return { turn, recorded, before };
  }

  #open({ openedCalls, closedCalls, openedTimers, closedTimers, atMs }: RecordedTurn): void {
    for (const call of openedCalls) this.calls.set(callKey(call), { ...call, openedAtMs: atMs });
    for (const call of closedCalls) this.calls.delete(callKey(call));
    for (const timer of openedTimers) this.timers.set(timerKey(timer), { ...timer, openedAtMs: atMs });
    for (const timer of closedTimers) this.timers.delete(timerKey(timer));
  }

  /** The kernel records a migration of an actor that is in its new state already. */
  #move({ actor, state }: Extract<Stimulus, { kind: 'migrate' }>, version: number | undefined): void {
    const record = this.actors.get(actor);
    invariant(record, `${actor} is there to be migrated`);
    const machineVersion = version ?? record.machineVersion;
    const definition = this.registry.find(record.machine, machineVersion);
    invariant(definition, `version ${machineVersion} of ${record.machine} is registered`);
    this.actors.set(actor, { ...record, machineVersion, snapshot: restoreMigrated(definition, state.value) });
  }
}
