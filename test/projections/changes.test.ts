import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Change, changesIn, changesNothing } from '../../src/projections/changes.ts';
import { compilePattern, type PathKey } from '../../src/projections/path-pattern.ts';
import type { StateData } from '../../src/projections/state-data.ts';

const told = (before: StateData, after: StateData, pattern: string): readonly Change[] =>
  changesIn({ before, after, position: 7 }, compilePattern(pattern));

const summary = (changes: readonly Change[]) => changes.map(({ path, old, value }) => [path, old, value]);

const agents = {
  dev: { status: 'idle', outputs: [{ id: 1 }] },
  qa: { status: 'busy', outputs: [] },
};

describe('a watcher', () => {
  test('is told new value, old value, path and position', () => {
    const after = { agents: { ...agents, dev: { ...agents.dev, status: 'busy' } } };
    expect(told({ agents }, after, 'agents.*.status')).toEqual([
      {
        path: 'agents.dev.status',
        segments: ['agents', 'dev', 'status'],
        value: 'busy',
        old: 'idle',
        position: 7,
      },
    ]);
  });

  test.each([
    'agents.dev.status',
    '*.dev.status',
    'agents.*.status',
    'agents.dev.*',
    '*.*.*',
    '**',
    '**.status',
    'agents.**',
    'agents.**.status',
    '**.dev.**',
    'agents.d*.st*us',
  ])('is told of one changed status by %s', (pattern) => {
    const after = { agents: { ...agents, dev: { ...agents.dev, status: 'busy' } } };
    expect(summary(told({ agents }, after, pattern))).toEqual([['agents.dev.status', 'idle', 'busy']]);
  });

  test.each(['agents.qa.status', 'agents.*.outputs', 'agents.*.*.*', 'status', 'agents.*.status.x', 'x.**'])(
    'is not told of it by %s',
    (pattern) => {
      const after = { agents: { ...agents, dev: { ...agents.dev, status: 'busy' } } };
      expect(told({ agents }, after, pattern)).toEqual([]);
    },
  );

  test('is told of each status that is another when all of them are set at once', () => {
    const after = {
      agents: {
        dev: { status: 'busy', outputs: [] },
        qa: { status: 'busy', outputs: [] },
        pm: { status: 'new' },
      },
    };
    expect(summary(told({ agents }, after, 'agents.*.status'))).toEqual([
      ['agents.dev.status', 'idle', 'busy'],
      ['agents.pm.status', undefined, 'new'],
    ]);
  });

  test('is told of each status that goes when all of them are removed at once', () => {
    expect(summary(told({ agents }, {}, 'agents.*.status'))).toEqual([
      ['agents.dev.status', 'idle', undefined],
      ['agents.qa.status', 'busy', undefined],
    ]);
  });

  test('of an object is told once when things in it change', () => {
    const after = { agents: { ...agents, dev: { status: 'busy', outputs: [{ id: 2 }, { id: 3 }] } } };
    expect(summary(told({ agents }, after, 'agents.*'))).toEqual([
      ['agents.dev', agents.dev, after.agents.dev],
    ]);
    expect(summary(told({ agents }, after, 'agents'))).toEqual([['agents', agents, after.agents]]);
  });

  test('of a list is told of what is added to it, by its index', () => {
    const after = { list: ['a', 'b', 'c'] };
    const changes = told({ list: ['a'] }, after, 'list.*');
    expect(changes.map(({ segments, value }) => [segments, value])).toEqual([
      [['list', 1], 'b'],
      [['list', 2], 'c'],
    ]);
    expect(summary(told({ list: ['a'] }, after, 'list'))).toEqual([['list', ['a'], ['a', 'b', 'c']]]);
  });

  test('is not told when a value is replaced by an equal one', () => {
    const after = { agents: structuredClone(agents) };
    expect(told({ agents }, after, '**')).toEqual([]);
    expect(changesNothing({ before: { agents }, after, position: 1 })).toBe(true);
  });

  test('is told when a value becomes a container, and of what is in it', () => {
    expect(summary(told({ a: 1 }, { a: { b: 2 } }, '**'))).toEqual([
      ['a', 1, { b: 2 }],
      ['a.b', undefined, 2],
    ]);
    expect(summary(told({ a: [1] }, { a: { x: 1 } }, 'a.*'))).toEqual([
      ['a.x', undefined, 1],
      ['a.0', 1, undefined],
    ]);
  });

  test('S16: does not take for a member what every object has', () => {
    expect(told({ a: {} }, { a: { toString: 'mine' } }, 'a.*')).toMatchObject([
      { old: undefined, value: 'mine' },
    ]);
  });
});

/** Every path in the data, the root's too, and what is there. */
function nodesOf(
  value: unknown,
  path: readonly PathKey[] = [],
): readonly (readonly [string, readonly PathKey[], unknown])[] {
  const below =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, member]) =>
          nodesOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
        )
      : [];
  return [[JSON.stringify(path.map(String)), path, value], ...below];
}

const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

/** The definition, word for word: each difference tells the deepest path that leads to it and matches. */
function expectedPaths(before: StateData, after: StateData, pattern: string): readonly string[] {
  const compiled = compilePattern(pattern);
  const old = new Map(nodesOf(before).map(([key, , value]) => [key, value]));
  const now = new Map(nodesOf(after).map(([key, , value]) => [key, value]));
  const paths = new Map([...nodesOf(before), ...nodesOf(after)].map(([key, path]) => [key, path]));
  const found = [...paths].flatMap(([key, path]) => {
    const isSame = kindOf(old.get(key)) === kindOf(now.get(key));
    const isContainer = typeof now.get(key) === 'object' && now.get(key) !== null;
    if (isSame && (isContainer || old.get(key) === now.get(key))) return [];
    const leading = path.map((_, index) => path.slice(0, path.length - index));
    const match = [...leading, []].find((prefix) => compiled.matches(prefix));
    return match ? [JSON.stringify(match.map(String))] : [];
  });
  return [...new Set(found)].toSorted();
}

const anyData = fc.letrec<{ data: unknown; state: StateData }>((tie) => ({
  data: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, 0, 1, 'x', true),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '0'), tie('data'), { maxKeys: 3, noNullPrototype: true }),
    fc.array(tie('data'), { maxLength: 3 }),
  ),
  state: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('data'), { maxKeys: 3, noNullPrototype: true }),
})).state;

const anyPattern = fc
  .array(fc.constantFrom('a', 'b', 'c', '0', '*', '**', 'a*'), { minLength: 1, maxLength: 4 })
  .map((keys) => keys.join('.'));

test('each difference tells the deepest path that leads to it and matches, once', () => {
  fc.assert(
    fc.property(anyData, anyData, anyPattern, (before, after, pattern) => {
      const changes = told(before, after, pattern);
      const paths = changes.map(({ segments }) => JSON.stringify(segments.map(String)));
      expect(paths.toSorted()).toEqual(expectedPaths(before, after, pattern));
      const old = new Map(nodesOf(before).map(([key, , value]) => [key, value]));
      const now = new Map(nodesOf(after).map(([key, , value]) => [key, value]));
      expect(changes.map((change) => change.old)).toEqual(paths.map((path) => old.get(path)));
      expect(changes.map((change) => change.value)).toEqual(paths.map((path) => now.get(path)));
    }),
    { numRuns: 5_000 },
  );
});
