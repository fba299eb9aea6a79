import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeLine, escapeText, excerpt, quoted } from '../../src/cli/escape.ts';
import { rounds } from '../support/sample-sizes.ts';

const RUNS = rounds(1_000, 100_000);

/** What no line that is shown to people may hold. */
const DANGEROUS = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0x061c, 0x061c],
  [0xd800, 0xdfff],
  [0xe0000, 0xe007f],
] as const;

const isDangerous = (character: string): boolean => {
  const code = character.codePointAt(0) ?? 0;
  return DANGEROUS.some(([from, to]) => code >= from && code <= to);
};

const dangerous = fc
  .constantFrom(...DANGEROUS)
  .chain(([from, to]) => fc.integer({ min: from, max: to }))
  .map((code) => String.fromCodePoint(code));

/** Texts as a hostile agent would write them: escapes, carriage returns, marks of direction, among anything else. */
const hostile = fc
  .array(
    fc.oneof(dangerous, fc.string({ unit: 'binary' }), fc.constantFrom('\u001b[2J', '\r\n', '│ ', '  1) ')),
  )
  .map((parts) => parts.join(''));

describe('what agents say is shown to people', () => {
  it(`S7: nothing in ${RUNS} hostile texts moves the cursor, hides, or turns text round`, () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(Array.from(escapeLine(text)).filter(isDangerous)).toEqual([]);
        expect(Array.from(excerpt(text)).filter(isDangerous)).toEqual([]);
        expect(Array.from(escapeText(text)).filter((each) => each !== '\n' && isDangerous(each))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('S7: a text is not cut in the middle of a character', () => {
    expect(excerpt('\u{10000}'.repeat(5), 6)).toBe(`${'\u{10000}'.repeat(2)}…`);
    expect(excerpt(`a${'\u{10000}'.repeat(5)}`, 6)).toBe(`a${'\u{10000}'.repeat(2)}…`);
  });

  it('S8: every line of a quoted text has the mark before it, and the label is ours', () => {
    fc.assert(
      fc.property(hostile, hostile, (text, label) => {
        const [first = '', ...lines] = quoted(text, { label }).split('\n');
        expect(first.startsWith('  ┌ ')).toBe(true);
        expect(lines.at(-1)).toBe('  └');
        for (const line of lines.slice(0, -1)) expect(line.startsWith('  │ ')).toBe(true);
        expect(Array.from(lines.join('')).filter(isDangerous)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('leaves plain text of any language as it is, and shows what it took out', () => {
    for (const text of ['déjà vu', '日本語', 'שלום', '🎉 done', 'a\\b']) expect(escapeLine(text)).toBe(text);
    expect(escapeLine('a\u001b[31mb\r\u202e')).toBe('a\\u{1b}[31mb\\r\\u{202e}');
  });

  it('the check itself finds what is dangerous', () => {
    expect(Array.from('a\u001bb\u202ec\u200bd\re').filter(isDangerous)).toHaveLength(4);
  });
});
