import type { Observable } from 'rxjs';
import type { EventObject } from 'xstate';
import type { Address, RecordedEvent, StateValue } from '../events/event.ts';
import type { Failure, Json } from '../events/json.ts';
import type { RunRecord, Verdict } from '../events/turn.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
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
  /** Resolves when the run ends. */
  result(): Promise<RunResult<Output>>;
  /** Resolves when the run ends or waits for a person (a state with the tag "waiting"). */
  settled(): Promise<State>;
  /** Ends it, and everything that its agents are doing for it. */
  cancel(options?: { readonly by?: string; readonly reason?: string }): Promise<void>;
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
