import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/events/json.ts';
import { compareLists } from '../../src/machines/gap.ts';

const thing = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', '__proto__'),
  kind: fc.constantFrom('x', 'y'),
});
const things = fc.uniqueArray(thing, { selector: ({ id }) => id });

describe('the gap between two lists', () => {
  it('B4: each thing is missing, extra, differing, or there as it was asked for', () => {
    fc.assert(
      fc.property(things, things, (asked, made) => {
        const { missing, extra, differing } = compareLists(asked, made);
        const has = (list: readonly { id: string }[], id: string) => list.some((each) => each.id === id);
        expect(missing).toEqual(asked.filter(({ id }) => !has(made, id)));
        expect(extra).toEqual(made.filter(({ id }) => !has(asked, id)));
        expect(differing.map(({ id }) => id)).toEqual(
          asked
            .filter(({ id, kind }) => made.some((each) => each.id === id && each.kind !== kind))
            .map(({ id }) => id),
        );
      }),
    );
  });

  it('B4: texts are their own ids, an object has its things by their ids, and anything else is nothing', () => {
    const nothing = { missing: [], extra: [], differing: [] };
    expect(compareLists(['JSON', 'CSV'], ['JSON'])).toEqual({ ...nothing, missing: ['CSV'] });
    expect(compareLists({ a: 1, b: 2 }, { a: 1, b: 3 })).toEqual({
      ...nothing,
      differing: [{ id: 'b', asked: 2, made: 3 }],
    });
    // Only what both of them say can differ.
    expect(compareLists([{ id: 'a', size: 1 }], [{ id: 'a', colour: 'red' }])).toEqual(nothing);
    expect(compareLists(['a'], [{ id: 'a', done: true }])).toEqual(nothing);
    for (const value of [null, 'text', 7, true] as Json[])
      expect(compareLists(value, value)).toEqual(nothing);
  });
});
