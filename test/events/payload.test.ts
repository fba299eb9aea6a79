import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, decode, encode } from '../../src/events/encode.ts';
import type { Json } from '../../src/events/json.ts';
import { rounds } from '../support/sample-sizes.ts';
import { anyPayload } from './any-payload.ts';
import { faultOfRefusal, isExactly } from './payload-oracle.ts';

const RUNS = rounds(20_000, 1_000_000, 4_000);
const FEWER_RUNS = rounds(2_000, 20_000, 500);

interface Codec {
  readonly encode: (value: unknown) => { readonly json: string };
  readonly decode: (json: string) => unknown;
}

const ours: Codec = { encode, decode };

/** What everyone uses. It stands for an encoder that has a fault. */
const naive: Codec = {
  encode: (value) => ({ json: JSON.stringify(value) ?? 'null' }),
  decode: (json) => JSON.parse(json),
};

/** The guarantee as one question: what is wrong with how this value is taken? */
const faultOf = (codec: Codec, value: unknown): string | undefined => {
  let json: string;
  try {
    ({ json } = codec.encode(value));
  } catch (error) {
    return faultOfRefusal(value, error);
  }
  const readBack = codec.decode(json);
  if (!isExactly(value, readBack)) return `${json} is not what was given`;
  if (codec.encode(readBack).json !== json) return `${json} is not stable`;
  return undefined;
};

describe('any payload', () => {
  // Method: values of every kind that fast-check and we can think of. Each is refused with a path, which is followed
  // to the bad value, or it is read back and compared by an oracle that knows nothing of the encoder.
  it('G19: is refused with the path of what is bad, or reads back exactly', () => {
    const seen = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(anyPayload, (make) => {
        const value = make();
        const fault = faultOf(ours, value);
        // A million calls of `expect` would take longer than all the rest.
        if (fault !== undefined) expect.fail(fault);
        seen[isTaken(value) ? 'accepted' : 'refused'] += 1;
      }),
      { numRuns: RUNS },
    );
    // Both halves of the guarantee were really tried.
    expect(seen.accepted).toBeGreaterThan(RUNS / 10);
    expect(seen.refused).toBeGreaterThan(RUNS / 10);
  });

  it('G19: control: the same check finds lossy values if JSON.stringify takes the place of the encoder', () => {
    const result = fc.check(
      fc.property(anyPayload, (make) => faultOf(naive, make()) === undefined),
      { numRuns: RUNS },
    );
    expect(result.failed).toBe(true);
  });

  it.each([
    ['NaN', Number.NaN],
    ['-0', -0],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a hole', [1, undefined, 2]],
    ['an undefined member', { a: undefined }],
    ['toJSON', { a: 1, toJSON: () => 2 }],
  ])('G19: control: the check tells that JSON.stringify loses %s', (_what, value) => {
    expect(faultOf(naive, value) ?? 'fine').not.toBe('fine');
  });

  it('G19: is written the same whatever the order of its keys, by every way to write it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), longArrays), (json) => {
        if (!isTaken(json)) return;
        const { value, json: text } = encode(json);
        expect(encode(reversed(value)).json).toBe(text);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(JSON.stringify(value)).toBe(text);
        expect(JSON.stringify(decode(text))).toBe(text);
      }),
      { numRuns: FEWER_RUNS },
    );
  });

  it('G19: shares nothing with what was given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        if (!isTaken(json)) return;
        const before = JSON.stringify(json);
        const { value } = encode(json);
        expect(containersIn(value).filter((container) => containersIn(json).includes(container))).toEqual([]);
        expect(JSON.stringify(json)).toBe(before);
      }),
      { numRuns: FEWER_RUNS },
    );
  });
});

/** Arrays of few items and of many, in arrays and objects. */
const { longArrays } = fc.letrec<{ longArrays: Json }>((tie) => ({
  longArrays: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(1, 'x', [], {}),
    fc.array(tie('longArrays'), { maxLength: 40, size: 'max' }),
    fc.array(tie('longArrays'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('longArrays')),
  ),
}));

const isTaken = (value: unknown): boolean => {
  try {
    encode(value);
    return true;
  } catch {
    return false;
  }
};

const reversed = (value: Json): Json => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, child]) => [key, reversed(child)]),
  );
};

const containersIn = (value: unknown): readonly object[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(containersIn)] : [];
