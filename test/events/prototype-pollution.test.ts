import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, decode, encode } from '../../src/events/encode.ts';
import { rounds } from '../support/sample-sizes.ts';
import { anyPayload } from './any-payload.ts';

const RUNS = rounds(10_000, 200_000, 2_000);

/** All that could be changed for every object of the process. */
const prototypes = (): readonly unknown[] =>
  [Object, Array, Function, String, Number, Boolean].map(({ prototype }) =>
    Reflect.ownKeys(prototype).map((key) => [key, Object.getOwnPropertyDescriptor(prototype, key)]),
  );

/** A deep merge as many packages have it: it follows every key it finds. */
const merge = (target: Record<string, unknown>, source: object): Record<string, unknown> => {
  for (const [key, child] of Object.entries(source)) {
    const own = target[key];
    if (typeof child === 'object' && child !== null && typeof own === 'object' && own !== null) {
      merge(own as Record<string, unknown>, child);
    } else target[key] = child;
  }
  return target;
};

const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'a',
  '__pr\\u006fto__',
  '\\u0063onstructor',
];

/** Texts of objects whose keys would like to reach a prototype, some of them spelled with escapes. */
const { hostileText } = fc.letrec<{ hostileText: string }>((tie) => ({
  hostileText: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('1', '"polluted"', 'null', '[]'),
    fc
      .array(fc.tuple(fc.constantFrom(...KEYS), tie('hostileText')), { maxLength: 3 })
      .map((members) => `{${members.map(([key, text]) => `"${key}":${text}`).join()}}`),
  ),
}));

const attempt = <Result>(action: () => Result): Result | undefined => {
  try {
    return action();
  } catch {
    return undefined;
  }
};

describe('prototypes', () => {
  it('S16: are as before after any payload was written, read and merged', () => {
    const before = prototypes();
    fc.assert(
      fc.property(anyPayload, (make) => {
        const encoded = attempt(() => encode(make()));
        if (encoded === undefined) return;
        merge({}, Object(encoded.value));
        merge({}, Object(decode(encoded.json)));
        canonicalJson(encoded.value);
      }),
      { numRuns: RUNS },
    );
    expect(prototypes()).toEqual(before);
  });

  it('S16: are as before after any text was read and merged, and no such key is let in', () => {
    const before = prototypes();
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(hostileText, (text) => {
        const value = attempt(() => decode(text));
        seen[value === undefined ? 'refused' : 'taken'] += 1;
        if (value === undefined) return;
        merge({}, Object(value));
        if (/"(?:__proto__|constructor|prototype)":/.test(JSON.stringify(value))) expect.fail(text);
      }),
      { numRuns: RUNS },
    );
    expect(prototypes()).toEqual(before);
    expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(RUNS / 20);
  });

  it('S16: control: the same merge does pollute if JSON.parse takes the place of decode', () => {
    merge({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    try {
      expect('polluted' in {}).toBe(true);
    } finally {
      Reflect.deleteProperty(Object.prototype, 'polluted');
    }
    expect('polluted' in {}).toBe(false);
  });

  it('S16: a text is refused however it spells the key, and only for a key', () => {
    for (const text of [
      '{"a":[{"__proto__":1}]}',
      '{"\\u005f_proto__":1}',
      '{"constructor":{}}',
      '{"prototype":0}',
    ]) {
      expect(() => decode(text)).toThrow(expect.objectContaining({ code: 'PAYLOAD_UNSUPPORTED' }));
    }
    expect(decode('["__proto__",{"a":"constructor","proto":"\\u0041"}]')).toEqual([
      '__proto__',
      { a: 'constructor', proto: 'A' },
    ]);
    const depth = 100_000;
    expect(() => decode(`${'['.repeat(depth)}{"__proto__":1}${']'.repeat(depth)}`)).toThrow('__proto__');
  });
});
