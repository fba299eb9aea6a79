import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  type ContextChange,
  type ContextPath,
  changed,
  isChangeable,
  readPath,
  valueAt,
} from '../../src/events/context-path.ts';
import type { Json, JsonObject } from '../../src/events/json.ts';
import { refused } from '../support/refused.ts';

const BAD_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', ''];

const frozen = <Value>(value: Value): Value => {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where the element of a list is that a key names: by id first, then by index. */
const findIn = (list: readonly unknown[], key: string): number => {
  for (const [index, item] of list.entries()) if (isObject(item) && item['id'] === key) return index;
  return /^\d+$/.test(key) && Number(key) < list.length ? Number(key) : -1;
};

/** The member of anything, as a plain reader of the rules would look for it. */
const naiveValueAt = (data: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return value[findIn(value, key)];
    return isObject(value) ? new Map(Object.entries(value)).get(key) : undefined;
  }, data);

const newValue = ({ type, value }: ContextChange, old: unknown): unknown => {
  if (type === 'context.set') return value;
  if (type === 'context.push') return [...(Array.isArray(old) ? old : old === undefined ? [] : [old]), value];
  return isObject(old) ? Object.assign({}, old, value) : value;
};

/** The same change, made in place on a copy, step by step. */
const naiveChanged = (data: JsonObject, change: ContextChange): unknown => {
  const root = structuredClone(data) as Record<string, unknown>;
  const keys = [...change.path];
  const last = keys.pop() ?? '';
  let place: Record<string, unknown> | unknown[] = root;
  const put = (key: string, value: unknown): void => {
    if (!Array.isArray(place)) place[key] = value;
    else if (findIn(place, key) !== -1) place[findIn(place, key)] = value;
    else place.push(isObject(value) && !Object.hasOwn(value, 'id') ? { id: key, ...value } : value);
  };
  const added: (() => void)[] = [];
  for (const key of keys) {
    const next = naiveValueAt(place, [key]);
    const isNew = Array.isArray(place) && findIn(place, key) === -1;
    const member = (typeof next === 'object' && next !== null ? next : {}) as Record<string, unknown>;
    if (isNew && Array.isArray(place)) {
      place.push(member);
      added.push(() => Object.hasOwn(member, 'id') || Object.assign(member, { id: key }));
    } else if (member !== next) put(key, member);
    place = member;
  }
  put(last, newValue(change, naiveValueAt(place, [last])));
  // An element that is new keeps the name that it was given, unless the change gives it another.
  for (const name of added) name();
  return root;
};

const key = fc.constantFrom('a', 'b', 'id', 'c.d', '0', '1', '7');
const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    { weight: 2, arbitrary: fc.constantFrom<Json>(null, true, 0, 1, 'a', 'b') },
    { weight: 3, arbitrary: fc.dictionary(key, tie('tree'), { maxKeys: 3, noNullPrototype: true }) },
    { weight: 2, arbitrary: fc.array(tie('tree'), { maxLength: 3 }) },
    {
      weight: 2,
      arbitrary: fc.array(
        fc.record({ id: fc.constantFrom('a', 'b', '0', '7'), b: tie('tree') }).map((item): Json => item),
        { maxLength: 3 },
      ),
    },
  ),
}));
const root = fc.dictionary(key, tree, { maxKeys: 4, noNullPrototype: true });
const path = fc.array(key, { minLength: 1, maxLength: 4 });
const change: fc.Arbitrary<ContextChange> = fc.oneof(
  fc.record({ type: fc.constant('context.set' as const), path, value: tree }),
  fc.record({ type: fc.constant('context.update' as const), path, value: root }),
  fc.record({ type: fc.constant('context.push' as const), path, value: tree }),
);

/** Whether a list on the way has no such element: then one is added, whose name may be another. */
const addsToList = (data: Json, keys: ContextPath): boolean =>
  keys.some((each, index) => {
    const list = naiveValueAt(data, keys.slice(0, index));
    return Array.isArray(list) && findIn(list, each) === -1;
  });

describe('a change of a context', () => {
  it('B8: is what the same change made in place on a copy would be, and leaves what it was given', () => {
    fc.assert(
      fc.property(root, fc.array(change, { minLength: 1, maxLength: 6 }), (data, changes) => {
        let now: JsonObject = frozen(data);
        for (const each of changes) {
          const expected = naiveChanged(now, each);
          now = frozen(changed(now, frozen(each)));
          expect(now).toEqual(expected);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('B8: what was set is read at its path, and everything beside it is the same object as before', () => {
    fc.assert(
      fc.property(root, path, tree, (data, keys, value) => {
        fc.pre(!addsToList(data, keys));
        const next = changed(frozen(data), { type: 'context.set', path: keys, value });
        const isOnList = keys.some((_, index) => Array.isArray(naiveValueAt(data, keys.slice(0, index))));
        // A new element may have an id by which the same key names another from now on.
        if (!isOnList) expect(valueAt(next, keys)).toEqual(value);
        for (const [name, member] of Object.entries(data))
          if (name !== keys[0]) expect(next[name]).toBe(member);
      }),
      { numRuns: 1_000 },
    );
  });

  it('B8: an update sets members and leaves others, also those of a list element by its id', () => {
    const data = frozen({
      tasks: [
        { id: 'x', state: 'open' },
        { id: 'y', state: 'open', by: 'ann' },
      ],
    });
    const next = changed(data, { type: 'context.update', path: ['tasks', 'y'], value: { state: 'done' } });
    expect(next).toEqual({
      tasks: [
        { id: 'x', state: 'open' },
        { id: 'y', state: 'done', by: 'ann' },
      ],
    });
    expect((next['tasks'] as Json[])[0]).toBe(data.tasks[0]);
    expect(
      changed(next, { type: 'context.set', path: ['tasks', '0', 'state'], value: 'gone' }),
    ).toMatchObject({
      tasks: [{ id: 'x', state: 'gone' }, { id: 'y' }],
    });
    // One that is not there is added, and keeps the name that it was given.
    expect(
      changed(data, { type: 'context.update', path: ['tasks', 'z'], value: { state: 'new' } })['tasks'],
    ).toEqual([...data.tasks, { id: 'z', state: 'new' }]);
  });

  it('B8: a push makes the list that is not there, and takes up what is there and no list', () => {
    const push = (data: JsonObject, ...keys: string[]) =>
      changed(frozen(data), { type: 'context.push', path: keys, value: 1 });
    expect(push({}, 'a', 'b')).toEqual({ a: { b: [1] } });
    expect(push({ a: { b: [0] } }, 'a', 'b')).toEqual({ a: { b: [0, 1] } });
    expect(push({ a: 'x' }, 'a')).toEqual({ a: ['x', 1] });
    expect(push({ a: [[2]] }, 'a')).toEqual({ a: [[2], 1] });
    expect(push({ a: null }, 'a')).toEqual({ a: [null, 1] });
  });
});

describe('valueAt', () => {
  it('B8: reads what a plain reader finds, and undefined where there is nothing', () => {
    fc.assert(
      fc.property(
        root,
        fc.array(fc.oneof(key, fc.constantFrom(...BAD_KEYS)), { maxLength: 5 }),
        (data, keys) => {
          expect(valueAt(frozen(data), keys)).toEqual(naiveValueAt(data, keys));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('S16: finds nothing that an object or a list only inherits', () => {
    for (const name of [...BAD_KEYS, 'length', 'map']) {
      expect(valueAt({}, [name])).toBeUndefined();
      expect(valueAt({ a: [1] }, ['a', name])).toBeUndefined();
      expect(valueAt({ a: 'text' }, ['a', name])).toBeUndefined();
    }
  });
});

describe('a path', () => {
  test.each(BAD_KEYS)('S16: %j is refused as a key, wherever it stands', (bad) => {
    for (const keys of [[bad], ['a', bad], [bad, 'a'], ['a', bad, 'b']]) {
      refused(() => readPath(keys), 'BAD_PATH');
      refused(() => readPath(keys.join('.')), 'BAD_PATH');
      for (const type of ['context.set', 'context.update', 'context.push'] as const)
        expect(isChangeable({ type, path: keys, value: {} })).toBe(false);
    }
  });

  it('S16: whatever path and value a change has, prototypes stay as they were', () => {
    const before = Reflect.ownKeys(Object.prototype).length + Reflect.ownKeys(Array.prototype).length;
    const anyPath = fc.oneof(fc.array(fc.oneof(fc.string(), fc.constantFrom(...BAD_KEYS))), fc.anything());
    const anyType = fc.constantFrom('context.set', 'context.update', 'context.push');
    fc.assert(
      fc.property(root, anyType, anyPath, fc.jsonValue(), (data, type, anyKeys, value) => {
        // As it comes from a machine or a person.
        const any = { type, path: anyKeys, value } as unknown as ContextChange;
        if (!isChangeable(any)) return;
        const next = changed(frozen(data), any);
        expect(Object.getPrototypeOf(next)).toBe(Object.prototype);
        expect(JSON.parse(JSON.stringify(next))).toEqual(next);
      }),
      { numRuns: 1_000 },
    );
    expect(Reflect.ownKeys(Object.prototype).length + Reflect.ownKeys(Array.prototype).length).toBe(before);
    expect(Object.hasOwn(Object.prototype, 'a')).toBe(false);
  });

  it('B8: is read from text with dots, or as a list whose keys may have dots', () => {
    expect(readPath('agents.dev.status')).toEqual(['agents', 'dev', 'status']);
    expect(readPath(['agents', 'dev.1'])).toEqual(['agents', 'dev.1']);
    for (const bad of ['', '.', 'a.', '.a', 'a..b', 'k'.repeat(201), Array.from({ length: 65 }, () => 'a')])
      refused(() => readPath(bad), 'BAD_PATH');
    fc.assert(
      fc.property(
        fc.array(
          key.filter((each) => !each.includes('.')),
          { minLength: 1 },
        ),
        (keys) => {
          expect(readPath(keys.join('.'))).toEqual(keys);
        },
      ),
    );
  });

  it('B8: without a key cannot be changed: the whole of a context is an object, and stays one', () => {
    expect(isChangeable({ type: 'context.set', path: [], value: 1 })).toBe(false);
  });

  it('B8: a change without a value, or an update with what has no members, is none', () => {
    // As it comes from a machine or a person.
    const given = (any: unknown): boolean => isChangeable(any as ContextChange);
    for (const type of ['context.set', 'context.update', 'context.push'])
      expect(given({ type, path: ['a'] })).toBe(false);
    for (const value of ['text', 1, null, [1], true]) {
      expect(given({ type: 'context.update', path: ['a'], value })).toBe(false);
      expect(given({ type: 'context.set', path: ['a'], value })).toBe(true);
      expect(given({ type: 'context.push', path: ['a'], value })).toBe(true);
    }
  });
});
