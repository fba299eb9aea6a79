import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json } from '../../src/events/json.ts';
import type { Severity } from '../../src/events/severity.ts';
import {
  compareArtifact,
  fingerprint,
  type Issue,
  type IssueRecord,
  type IssueRegistry,
  knownIssue,
  noteIssues,
  readIssues,
  rejectIssue,
  standing,
} from '../../src/machines/issues.ts';

const of = (description: string, category = 'bug', file?: Json): string =>
  fingerprint({ category, description }, file);

const digits = (min: number, max: number): fc.Arbitrary<string> => fc.integer({ min, max }).map(String);
const two = fc.nat(59).map((value) => String(value).padStart(2, '0'));
const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom(...'0123456789abcdefABCDEF'.split('')),
    minLength: length,
    maxLength: length,
  });

/** What differs from one finding of a fault to the next: each kind in every form that it comes in. */
const PASSING: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'a line number': fc
    .tuple(fc.constantFrom('line ', 'Line ', 'lines ', 'row ', 'rows '), digits(1, 99_999))
    .map(([word, line]) => word + line),
  'a range of lines': fc
    .tuple(fc.constantFrom('line ', 'lines '), digits(1, 999), fc.constantFrom('-', '–'), digits(1, 999))
    .map((parts) => parts.join('')),
  'a column': fc
    .tuple(fc.constantFrom('col ', 'column ', 'Column ', 'columns '), digits(1, 999))
    .map(([word, column]) => word + column),
  'a place after a colon': fc.oneof(
    digits(1, 99_999).map((line) => `:${line}`),
    fc.tuple(digits(1, 99_999), digits(1, 999)).map(([line, column]) => `:${line}:${column}`),
  ),
  'a time that it took': fc
    .tuple(
      digits(0, 99_999),
      fc.constantFrom('', '.5', ',25'),
      fc.constantFrom('', ' '),
      fc.constantFrom('ns', 'µs', 'us', 'ms', 's', 'sec', 'secs', 'second', 'seconds', 'min', 'minutes'),
    )
    .map((parts) => parts.join('')),
  'a time of day': fc
    .tuple(two, two, two, fc.constantFrom('', '.1', '.123456'), fc.constantFrom('', 'Z', '+02:00', '-0530'))
    .map(([hour, minute, second, part, zone]) => `2026-11-16T${hour}:${minute}:${second}${part}${zone}`),
  'a time of day with a space': fc.tuple(two, two).map(([hour, minute]) => `2025-01-31 ${hour}:${minute}`),
  'an address in memory': hex(8).map((address) => `0x${address}`),
  'a uuid': fc.uuid(),
  'a long hash': hex(40),
};

const word = fc.constantFrom('the', 'Parser', 'fails', 'on', 'REQ-45', 'nested', 'lists', 'übel', 'in', 'v2');
const words = fc.array(word, { minLength: 1, maxLength: 6 });

describe('a fingerprint', () => {
  test.each(Object.entries(PASSING))('X3: is the same whatever %s is', (_, passing) => {
    fc.assert(
      fc.property(words, words, passing, passing, (before, after, one, other) => {
        const text = (middle: string) => `${before.join(' ')} ${middle} ${after.join(' ')}`;
        expect(of(text(other))).toBe(of(text(one)));
      }),
    );
  });

  it('X3: is the same in any case, spacing and punctuation', () => {
    const gap = fc.constantFrom(
      ' ',
      '  ',
      '\n',
      '\t',
      ', ',
      '. ',
      ' - ',
      '... ',
      '" ',
      ' (',
      '/',
      '!?',
      ' → ',
    );
    fc.assert(
      fc.property(
        words.chain((list) =>
          fc.tuple(fc.constant(list), fc.array(gap, { minLength: list.length, maxLength: list.length })),
        ),
        fc.boolean(),
        ([list, gaps], isUpper) => {
          const text = list.map((each, index) => each + gaps[index]).join('');
          expect(of(isUpper ? text.toUpperCase() : text, isUpper ? 'BUG!' : 'bug')).toBe(of(list.join(' ')));
        },
      ),
    );
  });

  it('X3: keeps other words, numbers, files and categories apart', () => {
    fc.assert(
      fc.property(words, fc.nat(99_999), fc.nat(99_999), (list, one, other) => {
        fc.pre(one !== other);
        const text = list.join(' ');
        for (const prefix of ['REQ-', 'v', 'CVE-2026-', 'error ', 'E'])
          expect(of(`${text} ${prefix}${one}`)).not.toBe(of(`${text} ${prefix}${other}`));
        expect(of(text, 'bug', `src/f${one}.ts`)).not.toBe(of(text, 'bug', `src/f${other}.ts`));
        expect(of(text, `bug ${one}`)).not.toBe(of(text, `bug ${other}`));
      }),
    );
    expect(of('Misses REQ-45')).not.toBe(of('Misses REQ-46'));
    expect(of('a b', 'c')).not.toBe(of('b', 'c a'));
    // A word does not wander from one part to the other.
    expect(of('b', '', 'a')).not.toBe(of('a b', ''));
    expect(of('x', 'bug', 'src/a.ts:12')).toBe(of('x', 'bug', 'src/a.ts:99:3'));
  });

  it('X3: keeps words apart in scripts whose vowels are marks', () => {
    expect(of('कि')).not.toBe(of('का'));
    expect(of('ที่')).not.toBe(of('ทู'));
    expect(of('café')).not.toBe(of('cafe'));
  });

  // Method: the time per character on a large text against that on a small one, the best of several, over all nasty texts.
  it('X3: takes time in proportion to the text, whatever is in it', () => {
    const bits = [
      '0',
      '9',
      'a',
      'f',
      '0x',
      '1.',
      '1,',
      '1 ',
      ':1',
      ':',
      '1:',
      '-',
      ' ',
      '.',
      '2026-',
      'line ',
    ];
    const nasty = [
      ...bits.map((bit) => (size: number) => `${bit.repeat(size / bit.length)}!`),
      ...bits.map((bit) => (size: number) => `1${bit.repeat(size / bit.length)}g`),
      (size: number) => '2026-01-01T00:00:00.'.repeat(size / 20),
      (size: number) => `2026-01-01T00:00:00.${'1'.repeat(size)}x`,
      (size: number) => 'abcdef01-abcd-abcd-abcd-'.repeat(size / 24),
      (size: number) => `${'1'.repeat(size / 2)}.${'1'.repeat(size / 2)} minut`,
    ];
    const read = (size: number) => () => {
      for (const make of nasty) of(make(size));
    };
    // Fifty times the text: something quadratic would be at fifty.
    expect(slowdown(read, { small: 20_000, large: 1_000_000 })).toBeLessThan(SLOWDOWN_MAX);
  });

  it('X3: control: a pattern that is not linear is found by the same measure', () => {
    const read = (size: number) => () => '1'.repeat(size).replace(/\d+x/g, '');
    expect(slowdown(read, { small: 1_000, large: 20_000 })).toBeGreaterThan(SLOWDOWN_MAX);
  });
});

const SLOWDOWN_MAX = 8;

/** How much longer one character of a large text takes than one of a small text: 1 for what is linear. */
const slowdown = (
  read: (size: number) => () => unknown,
  { small, large }: { readonly small: number; readonly large: number },
): number => {
  const perCharacter = (size: number): number => {
    const startMs = performance.now();
    read(size)();
    return (performance.now() - startMs) / size;
  };
  const onSmall = Math.min(...Array.from({ length: 5 }, () => perCharacter(small)));
  const onLarge = perCharacter(large);
  // The machine has other things to do, hence a second time.
  return (onLarge / onSmall < SLOWDOWN_MAX ? onLarge : Math.min(onLarge, perCharacter(large))) / onSmall;
};

const SEVERITIES: readonly Severity[] = ['blocking', 'critical', 'high', 'medium', 'low'];
const issueOf = (name: string): Issue => {
  const [issue] = readIssues([{ severity: 'high', category: 'bug', description: `finding ${name}` }]);
  if (!issue) throw new Error('It was not read.');
  return issue;
};

describe('readIssues', () => {
  it('X3: reads whatever it is given, and gives issues of a known severity', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.jsonValue()), (any, list) => {
        for (const given of [any, list] as Json[]) {
          const issues = readIssues(given);
          expect(issues).toHaveLength(Array.isArray(given) ? given.length : 0);
          for (const { severity, category, description, fingerprint: key } of issues) {
            expect(SEVERITIES).toContain(severity);
            expect([typeof category, typeof description]).toEqual(['string', 'string']);
            expect(key).toMatch(/^[0-9a-f]{16}$/);
          }
        }
      }),
    );
    expect(readIssues(undefined)).toEqual([]);
  });

  it('keeps what else a finder says, and takes an unknown severity for high', () => {
    expect(
      readIssues([{ severity: 'awful', description: 'x', file: 'a.ts', line: 3 }, 'mere words']),
    ).toEqual([
      {
        severity: 'high',
        category: '',
        description: 'x',
        details: { file: 'a.ts', line: 3 },
        fingerprint: of('x', '', 'a.ts'),
      },
      {
        severity: 'high',
        category: '',
        description: 'mere words',
        details: {},
        fingerprint: of('mere words', ''),
      },
    ]);
  });
});

const NAMES = ['a', 'b', 'c', 'd'];
const keyOf = (name: string): string => issueOf(name).fingerprint;

/** One pass of a gate: what it found, and what a person rejected after it. */
interface Pass {
  readonly found: readonly string[];
  readonly rejected: readonly string[];
}

const somePasses: fc.Arbitrary<readonly Pass[]> = fc.array(
  fc.record({
    found: fc.array(fc.constantFrom(...NAMES), { maxLength: 5 }),
    rejected: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.subarray(NAMES, { maxLength: 1 }) },
    ),
  }),
  { maxLength: 12 },
);

const reject = (registry: IssueRegistry, names: readonly string[]): IssueRegistry =>
  names.map(keyOf).reduce((next, key) => rejectIssue(next, key, 'no fault'), registry);

const play = (passes: readonly Pass[]): IssueRegistry =>
  passes.reduce<IssueRegistry>(
    (registry, { found, rejected }, index) =>
      reject(noteIssues(registry, found.map(issueOf), { gate: 'g', pass: index + 1 }), rejected),
    {},
  );

/** What is expected of one finding, read off the whole sequence instead of being carried along. */
const modelOf = (passes: readonly Pass[], name: string): Partial<IssueRecord> | undefined => {
  const foundIn = passes.flatMap(({ found }, index) => (found.includes(name) ? [index + 1] : []));
  const [firstPass] = foundIn;
  const lastPass = foundIn.at(-1);
  if (firstPass === undefined || lastPass === undefined) return undefined;
  const isRejected = passes.some(({ rejected }, index) => rejected.includes(name) && firstPass <= index + 1);
  const isOpen = lastPass === passes.length;
  let row = 0;
  while (foundIn.includes(lastPass - row)) row += 1;
  return {
    fingerprint: keyOf(name),
    firstPass,
    lastPass,
    status: isRejected ? 'rejected' : isOpen ? 'open' : 'resolved',
    // Of one that was rejected only the status is of interest.
    ...(!isRejected && { inRow: isOpen ? row : 0, note: null }),
  };
};

describe('noteIssues', () => {
  it('X3: counts passes in a row, resolves what is gone, and leaves rejected what a person rejected', () => {
    fc.assert(
      fc.property(somePasses, (passes) => {
        const registry = play(passes);
        for (const name of NAMES) {
          const model = modelOf(passes, name);
          if (model) expect(knownIssue(registry, 'g', keyOf(name))).toMatchObject(model);
          else expect(knownIssue(registry, 'g', keyOf(name))).toBeUndefined();
        }
        expect(standing(registry, NAMES.map(issueOf)).map(({ fingerprint: key }) => key)).toEqual(
          NAMES.map(keyOf).filter((key) => knownIssue(registry, 'g', key)?.status !== 'rejected'),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('X3: what it notes does not depend on the order of the findings, nor on how often one is named', () => {
    const anyIssue = fc
      .tuple(fc.constantFrom(...NAMES), fc.constantFrom(...SEVERITIES))
      .map(([name, severity]): Issue => ({ ...issueOf(name), severity }));
    fc.assert(
      fc.property(
        fc
          .array(anyIssue, { maxLength: 6 })
          .chain((list) =>
            fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
          ),
        ([list, shuffled]) => {
          const at = { gate: 'g', pass: 1 };
          expect(noteIssues({}, shuffled, at)).toEqual(noteIssues({}, list, at));
          expect(noteIssues({}, [...list, ...shuffled], at)).toEqual(noteIssues({}, list, at));
        },
      ),
    );
  });

  it('X3: a gate that does not find it does not resolve what another gate found', () => {
    const first = noteIssues({}, [issueOf('a')], { gate: 'g', pass: 1 });
    expect(noteIssues(first, [], { gate: 'h', pass: 1 })).toEqual(first);
    expect(knownIssue(noteIssues(first, [], { gate: 'g', pass: 2 }), 'g', keyOf('a'))).toMatchObject({
      status: 'resolved',
      inRow: 0,
      lastPass: 1,
    });
  });

  it('X3: two gates that find the same fault each count their own passes; rejected once, it counts for neither', () => {
    let registry: IssueRegistry = {};
    for (const pass of [1, 2, 3])
      for (const gate of ['g', 'h']) registry = noteIssues(registry, [issueOf('a')], { gate, pass });
    for (const gate of ['g', 'h'])
      expect(knownIssue(registry, gate, keyOf('a'))).toMatchObject({ inRow: 3, status: 'open' });
    const rejected = rejectIssue(registry, keyOf('a'), 'no fault');
    expect(standing(rejected, [issueOf('a')])).toEqual([]);
    const later = noteIssues(rejected, [issueOf('a')], { gate: 'third', pass: 1 });
    expect(knownIssue(later, 'third', keyOf('a'))).toMatchObject({ status: 'rejected', note: 'no fault' });
  });

  it('X3: findings without a description are told apart by what else they say', () => {
    const [one, other, again] = readIssues([
      { title: 'no tests' },
      { title: 'no docs' },
      { title: 'No tests!' },
    ]);
    expect(one?.fingerprint).not.toBe(other?.fingerprint);
    expect(one?.fingerprint).toBe(again?.fingerprint);
  });

  it('leaves the registry that it is given as it was', () => {
    const before = play([{ found: ['a', 'b'], rejected: ['b'] }]);
    const copy = structuredClone(before);
    noteIssues(before, [issueOf('b'), issueOf('c')], { gate: 'g', pass: 2 });
    expect(before).toEqual(copy);
  });
});

describe('compareArtifact', () => {
  it('X3: tells what is new from what is as it was, and from what was there some time before', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('p', 'q', 'r')),
        fc.constantFrom('p', 'q', 'r'),
        (earlier, hash) => {
          const ago = earlier.toReversed().indexOf(hash);
          expect(compareArtifact(earlier, hash)).toBe(
            ago === -1 ? 'new' : ago === 0 ? 'unchanged' : 'oscillating',
          );
        },
      ),
    );
  });
});
