import type { Observable } from 'rxjs';
import type { EventObject } from 'xstate';
import type { ContextImport } from '../events/context-import.ts';
import type { ContextPath } from '../events/context-path.ts';
import type { Address, RecordedEvent, StateValue } from '../events/event.ts';
import type { Failure, Json, JsonObject } from '../events/json.ts';
import type { RunRecord, Verdict } from '../events/turn.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import type { Change } from '../projections/changes.ts';
import type { ActorRecord } from './actor-record.ts';
import type { Receipt } from './host.ts';

/** An actor as people and programs look at it. */
export interface ActorState<Value = StateValue, Context = unknown> {
  readonly address: Address;
  readonly value: Value;
  readonly context: Context;
  readonly status: ActorRecord['status'];
  readonly tags: readonly string[];
  /** How many events its stream has: pass it back as `expectedVersion` to decide on what you have seen. */
  readonly version: number;
}

/** How a run ended. */
export interface RunResult<Output = Json> {
  readonly run: string;
  readonly verdict: Verdict;
  /** What its machine gave; undefined if it did not reach its final state. */
  readonly output: Output | undefined;
  /** Why it failed, or was ended. */
  readonly reason: string | undefined;
  readonly turns: number;
}

export interface SendOptions {
  /** Who sends it: kept with the turn. */
  readonly by?: string;
  /** Refuse it unless the actor is at this version. */
  readonly expectedVersion?: number;
  /** The same id is done once only, whatever happens. */
  readonly id?: string;
}

/** A run's context by paths: "agents.developer.outputs", or a list of keys if one of them has a dot in it. */
export interface RunContext {
  /** The value at a path now, undefined if there is none; all of it without a path. */
  get(path?: string | ContextPath): Promise<unknown>;
  set(path: string | ContextPath, value: Json, options?: SendOptions): Promise<void>;
  /** Sets members of the object at the path, and leaves the others. */
  update(path: string | ContextPath, value: JsonObject, options?: SendOptions): Promise<void>;
  /** Adds to the list at the path, which is made if it is not there. */
  push(path: string | ContextPath, value: Json, options?: SendOptions): Promise<void>;
  /**
   * Brings in what another system has kept of agents and their feedback (`agent_contexts`, `feedback_loops`), or what `get` gave
   * of another run. Tells what was taken, and what was not and why.
   */
  import(
    document: Json,
    options?: Pick<SendOptions, 'by'>,
  ): Promise<{ readonly accepted: readonly ContextPath[]; readonly refused: ContextImport['refused'] }>;
  /** Changes at paths that match a pattern: "agents.*.status". */
  watch(pattern: string): Observable<Change>;
}

/** One workflow in flight, or ended. */
export interface Run<Event extends EventObject = EventObject, State = ActorState, Output = Json> {
  readonly id: string;
  /** The state of its root actor now. */
  state(): Promise<State>;
  /** The state now, then after each change, until the run ends. */
  readonly state$: Observable<State>;
  /** Every event of the run from now on, of all its actors. */
  readonly events$: Observable<RecordedEvent>;
  /** Resolves once the event is in the log and its actor has dealt with it. */
  send(event: Event, options?: SendOptions): Promise<Receipt>;
  /** Resolves when the run ends. The process does not end by itself while someone waits for it. */
  result(): Promise<RunResult<Output>>;
  /** Resolves when the run ends or waits for a person (a state with the tag "waiting"). */
  settled(): Promise<State>;
  /** Lets nothing new begin; what runs finishes. Each reason holds it until that reason is taken back. */
  pause(reason?: string, options?: Pick<SendOptions, 'by' | 'id'>): Promise<void>;
  /** Takes a reason back. The run goes on when none is left. */
  resume(reason?: string, options?: Pick<SendOptions, 'by' | 'id'>): Promise<void>;
  /** What the run's steps and people know in common. */
  readonly context: RunContext;
  /** Ends it, and everything that its agents are doing for it. */
  cancel(options?: Pick<SendOptions, 'by' | 'id'> & { readonly reason?: string }): Promise<void>;
}

export const toActorState = (record: ActorRecord): ActorState => ({
  address: record.address,
  value: record.snapshot?.value ?? '',
  context: record.snapshot?.context,
  status: record.status,
  tags: [...(record.snapshot?.tags ?? [])],
  version: record.version,
});

export const toRunResult = (run: RunRecord): RunResult | undefined => {
  if (run.verdict === null) return undefined;
  // The kernel wrote it: see `RunEnd`.
  const end = JSON.parse(run.result ?? '{}') as { output?: Json; failure?: Failure; reason?: string };
  return {
    run: run.id,
    verdict: run.verdict,
    output: end.output,
    reason: end.failure?.message ?? end.reason,
    turns: run.turns,
  };
};

export const isSettled = ({ status, tags }: ActorState): boolean =>
  status !== 'active' || tags.includes(WAITING_TAG);
