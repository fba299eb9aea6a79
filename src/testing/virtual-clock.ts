import type { Clock } from '../index.ts';

/** A clock that stands still until a test moves it. */
export interface VirtualClock extends Clock {
  /** Moves time on, and calls back whoever is due on the way, in order. */
  advance(byMs: number): void;
  /** Moves time on at once, as for a machine that was asleep: whoever is due is called back at its end. */
  leap(byMs: number): void;
  /** How many callbacks wait. */
  readonly waiting: number;
}

export const createVirtualClock = (startMs = Date.UTC(2026, 0, 1)): VirtualClock => {
  const waiting = new Map<symbol, { readonly dueMs: number; readonly callback: () => void }>();
  let nowMs = startMs;
  const next = (untilMs: number) =>
    [...waiting]
      .filter(([, { dueMs }]) => dueMs <= untilMs)
      .sort(([, a], [, b]) => a.dueMs - b.dueMs)
      .at(0);
  return {
    now: () => nowMs,
    after(delayMs, callback) {
      const key = Symbol('wake');
      waiting.set(key, { dueMs: nowMs + delayMs, callback });
      return () => waiting.delete(key);
    },
    advance(byMs) {
      const untilMs = nowMs + byMs;
      for (let due = next(untilMs); due; due = next(untilMs)) {
        const [key, { dueMs, callback }] = due;
        waiting.delete(key);
        nowMs = Math.max(nowMs, dueMs);
        callback();
      }
      nowMs = untilMs;
    },
    leap(byMs) {
      nowMs += byMs;
      this.advance(0);
    },
    get waiting() {
      return waiting.size;
    },
  };
};
