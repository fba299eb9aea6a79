/** The same numbers for the same seed, on every machine. */
export function createRandom(seed: number) {
  let state = seed;
  /** A whole number from 0 up to, but not including, this one. */
  const below = (bound: number): number => {
    // mulberry32
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * bound);
  };
  return { below };
}
