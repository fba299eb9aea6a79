import type { RecordedEvent } from '../events/event.ts';

/**
 * A view of the log: where it begins, and how each event changes it. It depends on nothing but the events, so that it can
 * be dropped and made again at any time, and comes out the same.
 */
export interface Projection<State = unknown, Name extends string = string> {
  readonly name: Name;
  /** A new version starts from the beginning of the log; what was stored of other versions is left alone. */
  readonly version: number;
  /** Each run has a partition of its own, or the whole log has one. */
  readonly partition: 'run' | 'log';
  /** An object or array of JSON data: what cannot be stored and read back exactly is refused, here and after each fold. */
  readonly initial: State;
  /**
   * Folds by event type; `*` is for every other type. Only the types that are named here are read.
   *
   * A fold changes `state` in place, and returns nothing. It is written for the drafts of immer, and runs on plain data
   * when nobody watches: it may keep what it is given (`state.last = event.data`), but nothing of it outside of `state`.
   * A key that comes from an event may be the name of something that every object has: ask with `Object.hasOwn`.
   */
  readonly on: { readonly [type: string]: Fold<State> };
}

/** Declared as a method, so that a list can hold projections of different states. */
export type Fold<State> = { fold(state: Mutable<State>, event: RecordedEvent): void }['fold'];

/** JSON data that may be changed, however it was declared. (The `Draft` of immer would make the list above impossible.) */
export type Mutable<Data> = Data extends object
  ? { -readonly [Key in keyof Data]: Mutable<Data[Key]> }
  : Data;

/** Declares a projection: its state is inferred from `initial`, its name kept as a literal. */
export const projection = <State, const Name extends string>(
  declared: Projection<State, Name>,
): Projection<State, Name> => declared;
