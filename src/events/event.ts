import type { JsonObject } from './json.ts';

/** Where an actor lives: a path made by its parent. The first segment is its run: `run-1/loop/question`. */
export type Address = string;

/**
 * What a row says about its actor.
 *
 * - `started`: the actor began, with its input
 * - `message`: it was given a message, and its machine moved (or chose to stay)
 * - `fact`: its machine stated something that nobody in particular receives
 * - `undelivered`: a message that nobody took: a dead letter
 * - `late`: an answer to a call that was no longer open; kept, since it cost money
 * - `failed`: a message made it throw; it takes no more messages
 * - `stopped`: its parent, a person or a limit ended it
 * - `migrated`: it went on under a newer version of its machine
 *
 * Only `started`, `message`, `failed`, `stopped` and `migrated` move an actor; the others leave it as it was.
 */
export type EventKind =
  | 'started'
  | 'message'
  | 'fact'
  | 'undelivered'
  | 'late'
  | 'failed'
  | 'stopped'
  | 'migrated';

/** A row as the kernel makes it, before the log has given it a position. */
export interface NewEvent {
  readonly run: string;
  readonly actor: Address;
  /** Its place in the actor's own stream: 1, 2, 3… without gaps. */
  readonly version: number;
  readonly kind: EventKind;
  readonly type: string;
  readonly typeVersion: number;
  readonly data: JsonObject;
  /** Canonical JSON of `data`: what the log stores and hashes. */
  readonly dataJson: string;
  /** The sender, if an actor sent it. */
  readonly from: Address | null;
  /** Index, within this turn, of the event that caused it; null if the turn's own stimulus did. */
  readonly causedBy: number | null;
  readonly machine: string;
  readonly machineVersion: number;
  /** The actor's state value after it. */
  readonly state: StateValue;
  /** Canonical JSON of `state`. */
  readonly stateJson: string;
}

/** A row of the log. */
export interface RecordedEvent extends Omit<NewEvent, 'dataJson' | 'stateJson' | 'causedBy'> {
  /** Its place in the whole log: 1, 2, 3… without gaps. */
  readonly position: number;
  /** Unique for ever: the id of its turn's stimulus and its index in the turn. */
  readonly id: string;
  readonly turn: number;
  readonly atMs: number;
  /** Position of the event that caused it; null if it came from outside. */
  readonly cause: number | null;
}

/** A state value as XState has it: a name, or names by region. */
export type StateValue = string | { readonly [region: string]: StateValue };
