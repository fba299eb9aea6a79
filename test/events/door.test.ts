import { describe, expect, it, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import { BLOB_KEY, hashText, resolveBlobs } from '../../src/events/blob.ts';
import { createDoor, type DoorOptions } from '../../src/events/door.ts';
import { TOKENS } from './tokens.ts';

const refusal = (value: unknown, options?: DoorOptions): string => {
  try {
    return `admitted: ${createDoor(options).admit(value).json}`;
  } catch (error) {
    if (isRuntimeError(error, 'PAYLOAD_UNSUPPORTED')) return `${error.fields.path}: ${error.fields.found}`;
    if (isRuntimeError(error, 'PAYLOAD_TOO_LARGE')) return `${error.fields.path}: ${error.fields.what}`;
    throw error;
  }
};

const KIB = 1024;
const hash = hashText('some text');

describe('the door', () => {
  it('G19: lets through what the encoder takes, and nothing else', () => {
    expect(refusal({ b: [1, 'x'], a: null })).toBe('admitted: {"a":null,"b":[1,"x"]}');
    expect(refusal({ a: [new Date(0)] })).toBe('payload.a[0]: a Date');
    expect(() => createDoor().admit({ a: 1n }, 'answer')).toThrow('answer.a is a bigint');
  });

  it('G20: gives large strings by hash, and keeps small ones', () => {
    const large = 'é'.repeat(10 * KIB);
    const { value, json, blobs } = createDoor().admit({ small: 'x'.repeat(16 * KIB), large, again: [large] });
    const ref = { [BLOB_KEY]: hashText(large), bytes: 20 * KIB };
    expect(value).toEqual({ again: [ref], large: ref, small: 'x'.repeat(16 * KIB) });
    expect(JSON.parse(json)).toEqual(value);
    expect(json).toBe(JSON.stringify(value));
    expect([...blobs]).toEqual([[hashText(large), large]]);
    expect(resolveBlobs(value, blobs)).toEqual({ again: [large], large, small: 'x'.repeat(16 * KIB) });
  });

  it('G20: holds the limit on bytes for what remains, and one on each large string and on all of them', () => {
    const options = { largeStringBytes: KIB, blobBytes: 16 * KIB };
    const limits = { bytes: 4 * KIB, depth: 8, keys: 100 };
    const strings = (count: number, length: number) =>
      Array.from({ length: count }, (_, i) => `${i}`.padEnd(length));
    expect(refusal(strings(4, 16 * KIB), { ...options, limits })).toMatch('admitted');
    expect(refusal(strings(4, 900), { ...options, limits })).toMatch('admitted');
    expect(refusal(strings(5, 900), { ...options, limits })).toBe('payload[4]: bytes');
    expect(refusal({ a: 'x'.repeat(16 * KIB + 1) }, { ...options, limits })).toBe('payload.a: bytes');
    expect(refusal({ a: 'é'.repeat(9 * KIB) }, { ...options, limits })).toBe('payload.a: bytes');
    expect(refusal(strings(5, 16 * KIB), { ...options, limits })).toBe('payload[4]: bytes');
    expect(refusal([strings(4, 16 * KIB), 'small'], { ...options, limits })).toMatch('admitted');
  });

  it('G19: refuses half a surrogate pair in a large string, which UTF-8 would lose', () => {
    expect(refusal({ a: `${'x'.repeat(20 * KIB)}\ud800` })).toBe(
      'payload.a: a string with half a surrogate pair',
    );
  });

  it.each([
    [{ [BLOB_KEY]: hash, bytes: 9 }, 'admitted'],
    [{ bytes: 0, [BLOB_KEY]: hash }, 'admitted'],
    [{ [BLOB_KEY]: hash }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: hash, bytes: 9, more: 1 }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: hash.toUpperCase(), bytes: 9 }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: hash.slice(1), bytes: 9 }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: [hash], bytes: 9 }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: hash, bytes: -1 }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: hash, bytes: 1.5 }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: hash, bytes: '9' }, 'payload.a[0]: an object'],
    [{ [BLOB_KEY]: 'x'.repeat(20 * KIB), bytes: 9 }, 'payload.a[0]: an object'],
    [`not one: ${BLOB_KEY}`, 'admitted'],
  ])('G19: takes a reference from outside only if it is one: %j', (ref, said) => {
    expect(refusal({ a: [ref] })).toMatch(said);
  });
});

describe('secrets at the door', () => {
  const secrets = { values: ['correct horse'], names: ['password', 'apiKey'] };

  test.each(TOKENS)('S12: a %s is nowhere in what is let in', (_kind, token) => {
    const door = createDoor({ secrets });
    const filler = 'Ordinary text. '.repeat(2_000);
    const admitted = door.admit({
      text: token,
      items: [[`a ${token} b`], { deep: { deeper: `x=${token}` } }],
      json: JSON.stringify({ token }),
      large: `${filler} ${token} ${filler}`,
      apikey: { nested: [token] },
      declared: 'it is correct horse, is it not?',
    });
    const everything = admitted.json + [...admitted.blobs].flat().join();
    expect(everything).not.toContain(token.slice(12, 40));
    expect(everything).not.toContain('correct horse');
    expect(everything.match(/\[redacted:[a-z-]+\]/g)).toHaveLength(5);
    expect(admitted.blobs.size).toBe(1);
    for (const [key, text] of admitted.blobs) expect(key).toBe(hashText(text));
  });

  it('S12: a member with a secret name loses its whole value, wherever it is and whatever it was', () => {
    const { value } = createDoor({ secrets }).admit([
      { Password: { a: 1n } },
      { a: { APIKEY: null, password2: 1 } },
    ]);
    expect(value).toEqual([{ Password: '[redacted]' }, { a: { APIKEY: '[redacted]', password2: 1 } }]);
  });

  it('S12: a key that holds a secret is refused, and no error shows one', () => {
    const [, token = ''] = TOKENS[4] ?? [];
    for (const key of [token, `for ${token}`, 'correct horse', 'a "correct horse"']) {
      for (const value of [1, new Date(0), { a: 'x'.repeat(100) }]) {
        const said = refusal({ a: [{ [key]: value }] }, { secrets });
        expect(said).toMatch(/^payload\.a\[0\].*\[redacted.*a member whose key holds a secret$/);
        expect(said).not.toContain(key);
      }
      const hidden = Object.defineProperty({}, key, { get: () => 1, enumerable: true });
      expect(refusal(hidden, { secrets })).not.toContain(key);
      const deep = { [key]: 'y'.repeat(17 * KIB * KIB) };
      expect(refusal(deep, { secrets })).not.toContain(key);
    }
  });

  it('S12: shapes are looked for unless switched off', () => {
    const [, token = ''] = TOKENS[0] ?? [];
    expect(refusal(token)).toBe('admitted: "[redacted:openai-key]"');
    expect(refusal(token, { secrets: { shapes: false } })).toBe(`admitted: "${token}"`);
  });
});
