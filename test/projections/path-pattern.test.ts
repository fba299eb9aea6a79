import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import { compilePattern, type PathKey } from '../../src/projections/path-pattern.ts';

const isRefused = (pattern: string): boolean => {
  try {
    compilePattern(pattern);
    return false;
  } catch (error) {
    return isRuntimeError(error, 'BAD_PATTERN');
  }
};

describe('a path pattern', () => {
  test.each<[string, readonly PathKey[]]>([
    ['a', ['a']],
    ['agents.dev.status', ['agents', 'dev', 'status']],
    ['agents.*.status', ['agents', 'dev', 'status']],
    ['*.dev.status', ['agents', 'dev', 'status']],
    ['agents.dev.*', ['agents', 'dev', 'status']],
    ['*', ['a']],
    ['*', ['']],
    ['list.0', ['list', 0]],
    ['list.*', ['list', 17]],
    ['list.1*', ['list', 17]],
    ['dev*', ['developer']],
    ['dev*', ['dev']],
    ['*er', ['developer']],
    ['d*l*r', ['developer']],
    ['*a*', ['banana']],
    ['*ana', ['banana']],
    ['a*b*c', ['a.b.c']],
    ['**', []],
    ['**', ['a', 'b', 'c']],
    ['a.**', ['a']],
    ['a.**', ['a', 'b', 'c']],
    ['**.c', ['c']],
    ['**.c', ['a', 'b', 'c']],
    ['a.**.c', ['a', 'c']],
    ['a.**.c', ['a', 'c', 'b', 'c']],
    ['**.b.**', ['a', 'b', 'c']],
    ['**.**.c', ['c']],
    ['**.*', ['a']],
    ['**.a.*.**', ['a', 'a']],
  ])('%s matches %j', (pattern, path) => {
    expect(compilePattern(pattern).matches(path)).toBe(true);
  });

  test.each<[string, readonly PathKey[]]>([
    ['a', []],
    ['a', ['a', 'b']],
    ['a', ['A']],
    ['agents.*.status', ['agents', 'status']],
    ['agents.*.status', ['agents', 'dev', 'x', 'status']],
    ['*', []],
    ['*', ['a', 'b']],
    ['dev*', ['de']],
    ['*ab*ab*', ['xabx']],
    ['ab*ba', ['aba']],
    ['a*a', ['a']],
    ['**.c', ['a', 'b']],
    ['**.*', []],
    ['a.**.c', ['a', 'b']],
    ['**.a.*.**', ['a']],
    ['a.b', ['a.b']],
    ['(a+)+$', ['aaaa']],
    ['[a-z]', ['a']],
  ])('%s does not match %j', (pattern, path) => {
    expect(compilePattern(pattern).matches(path)).toBe(false);
  });

  test.each([
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    '__proto__',
    'a.constructor',
    'prototype.b',
    'a***',
    'dev**',
    '***',
    'x'.repeat(1_001),
  ])('is refused: "%s"', (pattern) => {
    expect(isRefused(pattern)).toBe(true);
  });

  test('may have 1,000 characters', () => {
    expect(compilePattern('x'.repeat(1_000)).matches(['x'.repeat(1_000)])).toBe(true);
  });
});

/** Tries everything, by the definition: exponential, and obviously right. */
function matchesNaively(pattern: readonly string[], path: readonly string[]): boolean {
  const [key, ...keys] = pattern;
  if (key === undefined) return path.length === 0;
  if (key === '**')
    return path.some((_, index) => matchesNaively(keys, path.slice(index))) || matchesNaively(keys, []);
  const [name, ...names] = path;
  return name !== undefined && keyMatchesNaively(key, name) && matchesNaively(keys, names);
}

function keyMatchesNaively(key: string, name: string): boolean {
  if (key === '') return name === '';
  if (key.startsWith('*'))
    return keyMatchesNaively(key.slice(1), name) || (name !== '' && keyMatchesNaively(key, name.slice(1)));
  return name !== '' && key[0] === name[0] && keyMatchesNaively(key.slice(1), name.slice(1));
}

const anyName = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 4 });
const anyKey = fc.oneof(
  fc.constant('**'),
  fc
    .string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 5 })
    .filter((key) => !key.includes('**')),
);

// Method: few letters and short keys, so that a third of the pairs match.
test('a pattern matches what its definition says', () => {
  fc.assert(
    fc.property(
      fc.array(anyKey, { minLength: 1, maxLength: 5 }),
      fc.array(anyName, { maxLength: 5 }),
      (keys, path) => {
        expect(compilePattern(keys.join('.')).matches(path)).toBe(matchesNaively(keys, path));
      },
    ),
    { numRuns: 20_000 },
  );
});

const EVIL = ['(a+)+$', '*a', '**', 'a*', '*', 'a*a*a*a*a*b', '*a*a*a*a*a*a*a*b', '([a-z]+)*'];

/** Patterns made to be slow: as many wildcards as fit, in every mixture of a few evil parts. */
const evilPattern = (seed: number): string => {
  const parts: string[] = [];
  let state = seed + 1;
  for (let length = 0; ; ) {
    state = (state * 48_271) % 2_147_483_647;
    const part = EVIL[state % EVIL.length] ?? 'a';
    length += part.length + 1;
    if (length > 1_000) return parts.join('.');
    parts.push(part);
  }
};

// Method: match each pattern against long and deep paths on which a backtracking matcher would be busy for years.
// What is timed is the whole of compiling and matching; the best of three, since the machine has other things to do.
test('S15: 1,000 evil patterns take less than 10 ms each', () => {
  const paths = [
    Array.from({ length: 64 }, () => 'a'.repeat(100)),
    ['a'.repeat(100_000)],
    Array.from({ length: 500 }, () => 'a'),
  ];
  const timed = (pattern: string): number => {
    const start = performance.now();
    const compiled = compilePattern(pattern);
    for (const path of paths) compiled.matches(path);
    return performance.now() - start;
  };
  const slow = Array.from({ length: 1_000 }, (_, seed) => evilPattern(seed)).filter(
    (pattern) => Math.min(timed(pattern), timed(pattern), timed(pattern)) >= 10,
  );
  expect(slow).toEqual([]);
});

test('S15: one key full of wildcards takes less than 10 ms against a key of 100,000 characters', () => {
  for (const pattern of [
    `${'a*'.repeat(499)}b`,
    `*${'a*'.repeat(498)}b`,
    `*${'a'.repeat(900)}b*`,
    `*b${'a'.repeat(900)}*`,
  ]) {
    const compiled = compilePattern(pattern);
    const start = performance.now();
    expect(compiled.matches(['a'.repeat(100_000)])).toBe(false);
    expect(performance.now() - start).toBeLessThan(10);
  }
});

test('S16: whatever text a pattern has, matching it leaves Object.prototype as it was', () => {
  const before = Reflect.ownKeys(Object.prototype);
  fc.assert(
    fc.property(
      fc.string(),
      fc.array(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor'))),
      (pattern, path) => {
        if (!isRefused(pattern)) compilePattern(pattern).matches(path);
      },
    ),
  );
  expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
});
