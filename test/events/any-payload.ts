import fc from 'fast-check';

/** Makes a payload. fast-check looks at the values that it generates, which some of these would not survive. */
type Recipe = () => unknown;

/** Each of these is refused wherever it stands, or (the honest proxies, the last) made of parts that are kept. */
const HOSTILE: readonly ((inner: unknown) => unknown)[] = [
  (inner) => Object.defineProperty({ a: inner }, 'hidden', { value: inner, enumerable: false }),
  (inner) => Object.defineProperty({ a: inner }, 'asked', { get: () => inner, enumerable: true }),
  (inner) => Object.defineProperty({ a: inner }, 'told', { set: refuse, enumerable: true }),
  (inner) => Object.defineProperty([inner, 1], 0, { get: () => inner, enumerable: true }),
  (inner) => Object.assign([inner], { extra: inner }),
  (inner) => Object.defineProperty([inner], 'extra', { value: inner, enumerable: false }),
  (inner) => Object.assign([inner], { [Symbol('s')]: inner }),
  (inner) => ({ a: inner, [Symbol('s')]: inner }),
  (inner) => ({ a: inner, toJSON: () => inner }),
  (inner) => JSON.parse(`{"a":1,"__proto__":${JSON.stringify(inner)}}`),
  (inner) => ({ constructor: inner }),
  (inner) => ({ prototype: inner, b: 1 }),
  (inner) => ({ ['\ud800']: inner }),
  () => 'half a pair: \udc00',
  (inner) => withItself({ a: inner }),
  (inner) => Object.create({ inherited: inner }),
  (inner) => Object.assign(new Money(), { inner }),
  (inner) => Stack.of(inner),
  (inner) => new Proxy({ a: inner }, {}),
  (inner) => new Proxy([inner], {}),
  (inner) => new Proxy({ a: inner }, throwingTraps),
  (inner) => new Proxy([inner], { get: throwingTraps.get }),
  (inner) => revoked({ a: inner }),
  (inner) => ({ toString: inner, valueOf: inner, 10: inner, 9: inner, hasOwnProperty: inner }),
];

class Money {
  readonly amount = 1;
}

class Stack extends Array<unknown> {}

const refuse = (): never => {
  throw new RangeError('a trap');
};

/** Throws something that is hostile itself, to whoever looks at it. */
const throwingTraps = {
  get: refuse,
  ownKeys: (): never => {
    throw new Proxy({}, { getPrototypeOf: refuse, get: refuse });
  },
};

const withItself = (object: Record<string, unknown>): unknown => Object.assign(object, { self: [object] });

const revoked = (target: object): unknown => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};

const hostile: fc.Arbitrary<Recipe> = fc
  .tuple(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(...HOSTILE))
  .map(
    ([inner, make]) =>
      () =>
        make(inner),
  );

/** JSON in which here and there is something that JSON cannot hold. */
const { nearlyJson } = fc.letrec<{ nearlyJson: Recipe }>((tie) => ({
  nearlyJson: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    { weight: 8, arbitrary: fc.jsonValue({ maxDepth: 1, stringUnit: 'binary' }).map((value) => () => value) },
    { weight: 1, arbitrary: hostile },
    {
      weight: 3,
      arbitrary: fc
        .array(tie('nearlyJson'), { maxLength: 4 })
        .map((items) => () => items.map((make) => make())),
    },
    {
      weight: 3,
      arbitrary: fc
        .array(fc.tuple(fc.string({ maxLength: 8 }), tie('nearlyJson')), { maxLength: 4 })
        .map((members) => () => Object.fromEntries(members.map(([key, make]) => [key, make()]))),
    },
  ),
}));

/** Everything that fast-check knows, with all of it switched on, and everything that we know besides. */
export const anyPayload: fc.Arbitrary<Recipe> = fc.oneof(
  fc
    .anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: 'binary',
    })
    .map((value) => () => value),
  nearlyJson,
  hostile,
);
