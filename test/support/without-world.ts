const refuse = (what: string) => () => {
  throw new Error(`A replay asked for ${what}.`);
};

/** Another value for a member of an object; gives what gives the first one back. */
const swapped = (owner: object, name: string, value: unknown): (() => void) => {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    Reflect.deleteProperty(owner, name);
    // What an object has from its prototype it has again by losing its own.
    if (before) Object.defineProperty(owner, name, before);
  };
};

/** Takes everything away that a replay must not need: the clock, randomness, new ids. Gives a function that gives them back. */
export const withoutWorld = (): (() => void) => {
  const frozen = new Proxy(Date, {
    construct: (target, given: readonly number[]) =>
      given.length === 0 ? refuse('the time')() : new target(given[0] ?? 0),
  });
  const givers = [
    swapped(Date, 'now', refuse('the time')),
    swapped(globalThis, 'Date', frozen),
    swapped(Math, 'random', refuse('a random number')),
    swapped(globalThis.crypto, 'randomUUID', refuse('an id')),
    swapped(globalThis.crypto, 'getRandomValues', refuse('random values')),
    swapped(performance, 'now', refuse('the time')),
  ];
  return () => {
    for (const give of givers) give();
  };
};
