import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, decode, encode } from '../../src/events/encode.ts';

// Method: some programs freeze `Object.prototype`. Then assigning to "toString" fails for every plain object. A freeze
// cannot be undone, so each of its properties is made read-only here, which has the same effect on assignments.
describe('with a frozen Object.prototype', () => {
  const writable = Object.entries(Object.getOwnPropertyDescriptors(Object.prototype)).filter(
    ([, property]) => property.writable === true,
  );
  const setWritable = (isWritable: boolean): void => {
    for (const [key] of writable) Reflect.defineProperty(Object.prototype, key, { writable: isWritable });
  };
  beforeAll(() => setWritable(false));
  afterAll(() => setWritable(true));

  it('S16: members that objects inherit by name are written and read like any other', () => {
    const text = '{"hasOwnProperty":3,"toString":1,"valueOf":[2]}';
    const value = decode(text);
    expect(encode(value).json).toBe(text);
    expect(canonicalJson(encode(value).value)).toBe(text);
  });
});
