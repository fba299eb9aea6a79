/** Where the shell gets its time from. Tests and simulations give it another. */
export interface Clock {
  /** Milliseconds since 1970, never less than before. */
  now(): number;
  /** Calls back once, not before `delayMs` have passed (at most 2^31 - 1). Returns what takes the call back. */
  after(delayMs: number, callback: () => void): () => void;
}

/**
 * The machine's clock, made steady: if someone sets the wall clock back, time goes on at the pace of the monotonic clock
 * until the wall clock has caught up, so that no timer is late by an hour; if it is set forward, we follow it. It begins
 * no earlier than `notBeforeMs`, the last time that the log knows: the wall clock may have been set back while nobody looked.
 */
export const createSystemClock = (notBeforeMs = 0): Clock => {
  let last = Math.max(Date.now(), notBeforeMs);
  let lastMonotonic = performance.now();
  return {
    now() {
      const monotonic = performance.now();
      last = Math.max(Date.now(), last + Math.floor(monotonic - lastMonotonic));
      // Only whole milliseconds are taken from the monotonic clock; the rest waits for the next reading.
      lastMonotonic += Math.floor(monotonic - lastMonotonic);
      return last;
    },
    after(delayMs, callback) {
      const handle = setTimeout(callback, delayMs);
      return () => clearTimeout(handle);
    },
  };
};
