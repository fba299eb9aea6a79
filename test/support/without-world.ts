const refuse = (what: string) => () => {
  throw new Error(`A replay asked for ${what}.`);
};

/** Takes everything away that a replay must not need: the clock, randomness, new ids. Gives a function that gives them back. */
export const withoutWorld = (): (() => void) => {
  const RealDate = Date;
  const { now } = Date;
  const { random } = Math;
  const { randomUUID, getRandomValues } = globalThis.crypto;
  const { now: passed } = performance;
  Date.now = refuse('the time');
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given: readonly number[]) =>
      given.length === 0 ? refuse('the time')() : new target(given[0] ?? 0),
  });
  Math.random = refuse('a random number');
  globalThis.crypto.randomUUID = refuse('an id');
  globalThis.crypto.getRandomValues = refuse('random values');
  performance.now = refuse('the time');
  return () => {
    globalThis.Date = RealDate;
    RealDate.now = now;
    Math.random = random;
    Object.assign(globalThis.crypto, { randomUUID, getRandomValues });
    performance.now = passed;
  };
};
