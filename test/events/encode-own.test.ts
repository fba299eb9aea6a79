import { describe, expect, it } from 'vitest';
import { encodeOwn } from '../../src/events/encode-own.ts';

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
});
