import { describe, expect, it } from 'vitest';
import { isRuntimeError, RuntimeError } from '../../src/errors.ts';
import { canonicalJson, decode, type EncodeOptions, encode } from '../../src/events/encode.ts';

/** What an error says of a value: its path and what is there, or which limit it exceeds. */
const refusal = (value: unknown, options?: EncodeOptions): string => {
  try {
    return `taken: ${encode(value, options).json}`;
  } catch (error) {
    if (isRuntimeError(error, 'PAYLOAD_UNSUPPORTED')) return `${error.fields.path}: ${error.fields.found}`;
    if (isRuntimeError(error, 'PAYLOAD_TOO_LARGE')) return `${error.fields.path}: ${error.fields.what}`;
    throw error;
  }
};

describe('encode', () => {
  it.each([
    [null, 'null'],
    [0, '0'],
    [1e21, '1e+21'],
    [2 ** 53 + 2, '9007199254740994'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [5e-324, '5e-324'],
    ['', '""'],
    ['"\\\n\u0000\u2028é😀', JSON.stringify('"\\\n\u0000\u2028é😀')],
    [[], '[]'],
    [[[], {}], '[[],{}]'],
    [{}, '{}'],
    [Object.create(null), '{}'],
    [{ b: 1, a: [true, false, null] }, '{"a":[true,false,null],"b":1}'],
    [{ b: 1, 10: 2, 9: 3, a: 4, '': 5, '01': 6 }, '{"9":3,"10":2,"":5,"01":6,"a":4,"b":1}'],
    [{ '"quoted"': 1 }, '{"\\"quoted\\"":1}'],
    [Object.freeze({ a: Object.freeze([1]) }), '{"a":[1]}'],
  ])('G19: writes %j in canonical form', (value, text) => {
    const { value: copy, json } = encode(value);
    expect(json).toBe(text);
    expect(JSON.stringify(copy)).toBe(text);
    expect(canonicalJson(copy)).toBe(text);
    expect(encode(decode(json)).json).toBe(text);
  });

  it('G19: sorts objects with many keys as it does those with few', () => {
    const keys = Array.from({ length: 500 }, (_, index) => `key ${(index * 7919) % 500}`);
    const { json } = encode(Object.fromEntries(keys.map((key) => [key, 0])));
    expect(json).toBe(
      `{${[...keys]
        .sort()
        .map((key) => `"${key}":0`)
        .join()}}`,
    );
  });

  it.each([
    [undefined, 'payload: undefined'],
    [Number.NaN, 'payload: NaN'],
    [-0, 'payload: -0'],
    [-Infinity, 'payload: -Infinity'],
    [10n, 'payload: a bigint'],
    [Symbol('s'), 'payload: a symbol'],
    [() => 1, 'payload: a function'],
    [{ items: [1, { when: new Date(0) }] }, 'payload.items[1].when: a Date'],
    [{ a: new Map() }, 'payload.a: a Map'],
    [{ a: new Error('x') }, 'payload.a: an Error'],
    [{ a: /x/ }, 'payload.a: a RegExp'],
    [{ a: new Uint8Array(3) }, 'payload.a: a Uint8Array'],
    [{ a: Object('text') }, 'payload.a: a String'],
    [{ a: Object.create({ b: 1 }) }, 'payload.a: an object that is not plain'],
    [{ 'a b': [[undefined]] }, 'payload["a b"][0][0]: undefined'],
    // oxlint-disable-next-line no-sparse-arrays
    [{ a: [1, , 2] }, 'payload.a[1]: undefined'],
    [{ a: 'x\ud800' }, 'payload.a: a string with half a surrogate pair'],
    [{ 'x\udc00': 1 }, 'payload["x\\udc00"]: a member with half a surrogate pair in its key'],
    [
      JSON.parse('{"a":{"__proto__":1}}'),
      'payload.a.__proto__: a member by a name that could reach a prototype',
    ],
    [{ constructor: 1 }, 'payload.constructor: a member by a name that could reach a prototype'],
    [{ prototype: 1 }, 'payload.prototype: a member by a name that could reach a prototype'],
    [{ a: { [Symbol('s')]: 1 } }, 'payload.a: an object with symbols as keys'],
    [{ a: Object.assign([1], { b: 2 }) }, 'payload.a: an array with members beside its items'],
  ])('G19: refuses what JSON would change: %o', (value, said) => {
    expect(refusal(value)).toBe(said);
  });

  it('G19: refuses hidden members and members of long arrays', () => {
    expect(refusal({ a: Object.defineProperty({}, 'b', { value: 1 }) })).toBe(
      'payload.a: an object with members that are not enumerable',
    );
    const long = Array.from({ length: 5_000 }, (_, index) => index);
    expect(refusal({ a: [Object.assign([...long], { b: 2 })] })).toBe(
      'payload.a[0]: an array with members beside its items',
    );
    expect(refusal({ a: [long] })).toBe(`taken: {"a":[[${long.join()}]]}`);
  });

  it('G19: takes no inherited item for an own one', () => {
    const prototype = Array.prototype as unknown[];
    prototype[1] = 'inherited';
    try {
      // oxlint-disable-next-line no-sparse-arrays
      expect(refusal([1, , 2])).toBe('payload: an array with holes');
    } finally {
      Reflect.deleteProperty(prototype, 1);
    }
  });

  it('G19: never calls a getter, a setter or toJSON', () => {
    let calls = 0;
    const count = { get: () => (calls += 1), enumerable: true, configurable: true };
    expect(refusal(Object.defineProperty({}, 'a', count))).toBe('payload.a: a getter or setter');
    expect(refusal(Object.defineProperty([1, 2], 1, count))).toBe('payload[1]: a getter');
    expect(refusal({ toJSON: () => (calls += 1) })).toBe('payload.toJSON: a function');
    const setter = Object.defineProperty({}, 'a', { set: count.get, enumerable: true });
    expect(refusal(setter, { undefinedMembers: 'drop' })).toBe('payload.a: a getter or setter');
    expect(calls).toBe(0);
  });

  it('G19: names a cycle where it begins again', () => {
    const job: Record<string, unknown> = { id: 1 };
    job['parent'] = { jobs: [job] };
    expect(refusal({ job })).toBe('payload.job.parent.jobs[0]: an object that contains itself');
    const items: unknown[] = [];
    items.push(items);
    expect(refusal(items)).toBe('payload[0]: an object that contains itself');
  });

  it('G19: takes the same object twice, if it does not contain itself', () => {
    const shared = { a: 1 };
    expect(refusal([shared, shared])).toBe('taken: [{"a":1},{"a":1}]');
  });

  it.each(['ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'get'] as const)(
    'G19: whatever a proxy throws in its trap %s, a RuntimeError comes out',
    (trap) => {
      for (const thrown of [
        undefined,
        null,
        new RuntimeError('RUN_EXISTS', { run: 'x' }),
        new Proxy({}, {}),
      ]) {
        const fail = (): never => {
          throw thrown;
        };
        expect(refusal({ a: [new Proxy([1], { [trap]: fail })] })).toMatch(
          /^payload\.a\[0\](\[0\])?: a value that throws/,
        );
      }
    },
  );

  it('takes what an honest proxy shows', () => {
    expect(refusal(new Proxy({ b: [1], a: new Proxy([2], {}) }, {}))).toBe('taken: {"a":[2],"b":[1]}');
  });

  it('drops undefined members if told so, but no undefined items', () => {
    const options = { undefinedMembers: 'drop' } as const;
    expect(refusal({ a: undefined, b: 1, c: undefined, d: 2 }, options)).toBe('taken: {"b":1,"d":2}');
    expect(refusal({ a: undefined }, options)).toBe('taken: {}');
    expect(refusal({ a: [undefined] }, options)).toBe('payload.a[0]: undefined');
    expect(refusal(undefined, options)).toBe('payload: undefined');
    expect(refusal({ a: undefined })).toBe('payload.a: undefined');
  });

  it('G20: holds each limit exactly', () => {
    const limits = { bytes: 20, depth: 2, keys: 3 };
    expect(refusal('x'.repeat(18), { limits })).toMatch('taken');
    expect(refusal('x'.repeat(19), { limits })).toBe('payload: bytes');
    expect(refusal('é'.repeat(9), { limits })).toMatch('taken');
    expect(refusal('é'.repeat(10), { limits })).toBe('payload: bytes');
    expect(refusal([[1]], { limits })).toMatch('taken');
    expect(refusal({ a: [[1]] }, { limits, root: 'answer' })).toBe('answer.a[0]: depth');
    expect(refusal({ a: 1, b: 1, c: 1 }, { limits })).toMatch('taken');
    expect(refusal([{ a: 1 }, { b: 1 }], { limits })).toBe('payload[1]: keys');
    expect(refusal([[], [], [], []], { limits })).toBe('payload[3]: keys');
    expect(refusal('\n'.repeat(10), { limits })).toBe('payload: bytes');
  });

  it('lets hooks replace strings and members, and gives their refusals a path', () => {
    const options: EncodeOptions = {
      onString: (text, key) => {
        if (text === 'bad') throw new RuntimeError('PAYLOAD_UNSUPPORTED', { path: '', found: 'a bad word' });
        return text === 'big' ? { size: 3, hash: key ?? 'item' } : text.toUpperCase();
      },
      onMember: (key) => (key === 'secret' ? 'gone' : undefined),
    };
    expect(refusal({ a: 'big', b: ['big', 'x'], secret: new Date(0) }, options)).toBe(
      'taken: {"a":{"hash":"a","size":3},"b":[{"hash":"item","size":3},"X"],"secret":"gone"}',
    );
    expect(refusal({ a: ['x', 'bad'] }, options)).toBe('payload.a[1]: a bad word');
    const own = new Error('of the hook');
    const failing = (): never => {
      throw own;
    };
    expect(() => encode({ a: 1 }, { onMember: failing })).toThrow(own);
  });
});

describe('decode', () => {
  it('G19: refuses what is not JSON', () => {
    expect(() => decode('{"a":')).toThrow(expect.objectContaining({ code: 'PAYLOAD_UNSUPPORTED' }));
  });

  it('G20: refuses a text that is too long before it parses it', () => {
    expect(decode('"é"', { bytes: 4 })).toBe('é');
    expect(() => decode('"éé"', { bytes: 5 })).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
    );
  });
});
