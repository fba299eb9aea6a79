import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { isRuntimeError, type Json, parseWorkflowFile } from '../../src/index.ts';
import { rounds } from '../support/runtimes.ts';
import { anyChange, EXAMPLES, exampleText } from './examples.ts';

/** Whether it is read. If not, every problem must have a place that is in the text. */
const isRead = (text: string): boolean => {
  try {
    const { definition } = parseWorkflowFile(text, { path: 'any.yaml' });
    expect(JSON.parse(JSON.stringify(definition))).toEqual(definition);
    return true;
  } catch (error) {
    if (!isRuntimeError(error, 'BAD_WORKFLOW_FILE')) throw error;
    const lines = text.split('\n');
    expect(error.fields.problems.length).toBeGreaterThan(0);
    for (const { line, column, problem } of error.fields.problems) {
      expect(problem).not.toBe('');
      expect(line).toBeGreaterThanOrEqual(1);
      expect(line).toBeLessThanOrEqual(lines.length);
      expect(column).toBeGreaterThanOrEqual(1);
      expect(column).toBeLessThanOrEqual((lines[(line ?? 0) - 1] ?? '').length + 1);
    }
    return false;
  }
};

const example = fc.constantFrom(...EXAMPLES);

// Method: a file that is right but for a few changes, as YAML or as JSON. The control: some are still right.
it('S18: a file with a key removed, renamed, added or of another type is read, or refused at a place in it', () => {
  let read = 0;
  const writers = [
    (value: Json) => stringify(value),
    (value: Json) => JSON.stringify(value, undefined, '\t'),
  ];
  fc.assert(
    fc.property(
      example,
      fc.array(anyChange, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...writers),
      (name, changes, write) => {
        const document = changes.reduce<Json>((before, change) => change(before), parse(exampleText(name)));
        if (isRead(write(document))) read += 1;
      },
    ),
    { numRuns: rounds(200, 50_000) },
  );
  expect(read).toBeGreaterThan(10);
});

it('S18: a file that is cut off anywhere, or has any character anywhere, is read, or refused at a place in it', () => {
  const characters = [
    ...'{}[]&*!|>\'"%@`#:-?,\\\t\n\0'.split(''),
    '\u2028',
    '\ud800',
    '<<: ',
    '!!js/function ',
    '${x}',
  ];
  fc.assert(
    fc.property(
      example,
      fc.nat(2_000),
      fc.option(fc.constantFrom(...characters)),
      (name, place, inserted) => {
        const text = exampleText(name);
        const at = place % (text.length + 1);
        isRead(inserted === null ? text.slice(0, at) : text.slice(0, at) + inserted + text.slice(at));
      },
    ),
    { numRuns: rounds(200, 50_000) },
  );
});

it.each([
  ['lists inside of each other', '['.repeat(30_000)],
  ['mappings inside of each other', '{a: '.repeat(20_000)],
  ['blocks inside of each other', '- '.repeat(30_000)],
  ['many keys', Array.from({ length: 12_000 }, (_, index) => `k${index}: 1`).join('\n')],
  ['the same key often', 'x:\n'.repeat(5_000)],
  ['many documents', '--- a\n'.repeat(20_000)],
  ['many aliases', `a: &a 1\n${'b: *a\n'.repeat(5_000)}`],
  [
    'aliases that grow',
    'abcdefgh'
      .split('')
      .map((name, index) => `${name}: &${name} [${`*${'zabcdefg'[index]},`.repeat(9)}]`)
      .join('\n')
      .replaceAll('*z', '1'),
  ],
  ['an alias of what it is in', 'a: &a [*a]'],
])('S18: it is refused, in a time that does not explode: %s', (_what, text) => {
  const before = performance.now();
  expect(isRead(text)).toBe(false);
  expect(performance.now() - before).toBeLessThan(20_000);
});
