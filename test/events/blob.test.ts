import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BLOB_KEY, blobRef, blobRefsIn, hashText, isBlobRef, resolveBlobs } from '../../src/events/blob.ts';
import type { Json } from '../../src/events/json.ts';

describe('a reference to a blob', () => {
  it('holds the SHA-256 and the length of the UTF-8', () => {
    expect(hashText('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(blobRef('é')).toEqual({ [BLOB_KEY]: hashText('é'), bytes: 2 });
    expect(isBlobRef(blobRef('é'))).toBe(true);
  });

  it.each([[null], [undefined], ['text'], [[]], [{}], [{ bytes: 1 }], [{ [BLOB_KEY]: 1, bytes: 1 }]])(
    'is not %j',
    (value) => {
      expect(isBlobRef(value)).toBe(false);
    },
  );

  it('is found wherever it is, once, and replaced by its string', () => {
    const [a, b] = [blobRef('text a'), blobRef('text b')];
    const value: Json = { x: [a, { y: b }], z: a, n: 1 };
    expect(blobRefsIn(value)).toEqual([a[BLOB_KEY], b[BLOB_KEY]]);
    const blobs = new Map([[a[BLOB_KEY], 'text a']]);
    expect(resolveBlobs(value, blobs)).toEqual({ x: ['text a', { y: b }], z: 'text a', n: 1 });
    expect(resolveBlobs(value, new Map())).toBe(value);
  });

  it('stands for any string in any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (json) => {
        const value = json as Json;
        const blobs = new Map<string, string>();
        const referring = refer(value, blobs);
        expect(blobRefsIn(referring).toSorted()).toEqual([...blobs.keys()].toSorted());
        expect(resolveBlobs(referring, blobs)).toEqual(value);
      }),
    );
  });
});

/** The value with every string of it made a reference. */
const refer = (value: Json, blobs: Map<string, string>): Json => {
  if (typeof value === 'string') {
    const ref = blobRef(value);
    blobs.set(ref[BLOB_KEY], value);
    return ref;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => refer(item, blobs));
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, refer(child, blobs)]));
};
