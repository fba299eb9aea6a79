import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encode } from '../../src/events/encode.ts';
import { encodeOwn, encodeOwnWithout } from '../../src/events/encode-own.ts';

const members = (count: number, content: string) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, nth) => [`k${String(nth).padStart(5, '0')}`, content]),
  );

describe('what a machine says', () => {
  it('may have more members than what comes from outside, as long as it is not large', () => {
    const many = Array.from({ length: 15 }, () => members(900, 'a'));
    const { value, json } = encodeOwn(many, 'message');
    expect(value).toEqual(many);
    expect(json).toBe(JSON.stringify(many));
  });

  it('is refused with its path if it is too large, however few members it has', () => {
    const text = 'x'.repeat(100_000);
    expect(() => encodeOwn(members(12, text), 'message')).toThrow(/message/);
    expect(() => encodeOwn({ text }, 'message')).not.toThrow();
  });

  it('is refused if it is no text that can be read again', () => {
    expect(() => encodeOwn({ text: 'half \ud83d' }, 'message')).toThrow(/message\.text/);
    expect(encodeOwn({ text: 'the letters \\ud83d' }, 'message').json).toBe(
      '{"text":"the letters \\\\ud83d"}',
    );
  });

  // Method: any JSON, with members in any order and some that are undefined, against `encode`, which looks at everything.
  it('G19: is encoded, or refused, as what comes from outside, whether or not something of it is left out', () => {
    const options = { undefinedMembers: 'drop', root: 'message' } as const;
    const toText = (encoded: () => { readonly json: string }): string => {
      try {
        return encoded().json;
      } catch (error) {
        return `refused: ${(error as Error).name}`;
      }
    };
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'to', 'type', '10', '9'), fc.jsonValue({ maxDepth: 4 })),
        fc.array(fc.constantFrom<string>('b', 'to', 'type')),
        (value, names) => {
          const whole = { ...value, c: undefined };
          expect(toText(() => encodeOwn(whole, 'message'))).toBe(toText(() => encode(whole, options)));
          const omitted = new Set(names);
          const rest = Object.fromEntries(Object.entries(whole).filter(([key]) => !omitted.has(key)));
          expect(toText(() => encodeOwnWithout(whole, omitted, 'message'))).toBe(
            toText(() => encode(rest, options)),
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
