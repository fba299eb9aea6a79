import type { Address } from './event.ts';
import type { Json } from './json.ts';

/** What a machine may know of the message that it is handling, besides the message itself. */
export interface Delivery {
  /** The address of the actor that handles it. */
  readonly self: Address;
  readonly parent: Address | null;
  /** The actor that sent it; null if it came from outside or from the runtime. */
  readonly from: Address | null;
  /** The time of the stimulus: the only clock that a machine may read. */
  readonly atMs: number;
  /** The functions of its workflow, by name. */
  readonly functions: Readonly<Record<string, PureFunction>>;
}

/**
 * A function of a user's that runs inside of a turn: the same values give the same result, on every replay. It is a part of its
 * workflow, and a change of it is a new version of that.
 */
export type PureFunction = (...values: readonly Json[]) => Json;

/** Outside of a turn (a live actor, a test of a machine alone) there is no address and no time. */
const NOWHERE: Delivery = { self: '', parent: null, from: null, atMs: 0, functions: {} };

let current = NOWHERE;

/**
 * The delivery under way. Guards, assigns and the like may read it in any microstep of the message's handling, where
 * XState itself shows only the event that was raised last. It is the same on replay.
 */
export const delivery = (): Delivery => current;

/** Runs a step of a machine with `next` as its delivery. For the kernel only. */
export const during = <Result>(next: Delivery, step: () => Result): Result => {
  current = next;
  try {
    return step();
  } finally {
    current = NOWHERE;
  }
};
