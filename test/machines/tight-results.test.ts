import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/index.ts';
import { readCheck, saysDone, summaryOf } from '../../src/machines/tight-results.ts';

describe('what checks of a tight loop say', () => {
  it.each<[string, Json, boolean]>([
    ['true', true, true],
    ['a member that says so', { passed: true }, true],
    ['a list of issues without any', { issues: [] }, true],
    ['a word', 'ALL_TESTS_PASSING', true],
    ['a program that ended well', { text: '3 passed', exitCode: 0 }, true],
    ['a program that failed, with the word in its log', { text: 'ALL_TESTS_PASSING', exitCode: 1 }, false],
    ['a member that says so in words', { passed: 'false', issues: [] }, false],
    ['a member that says nothing', { passed: null, issues: [] }, false],
    ['no issues, but failures', { issues: [], failures: ['csv is missing'] }, false],
    ['a word that says no before one that says yes', 'TESTS_FAILING, not ALL_TESTS_PASSING', false],
  ])('T2, T11: %s', (_, output, passed) => {
    expect(readCheck('test', { output }).passed).toBe(passed);
  });

  it('T11: failures are found beside an empty list of issues', () => {
    const { issues } = readCheck('test', { output: { issues: [], failures: ['csv is missing'] } });
    expect(issues).toMatchObject([{ description: 'csv is missing' }]);
  });

  it('T2: garbage is read without an error, never passes, and always has a reason', () => {
    const key = fc.constantFrom('passed', 'issues', 'failures', 'text', 'exitCode', 'done', 'summary', 'a');
    const anything = fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue()));
    fc.assert(
      fc.property(anything, fc.constantFrom('review' as const, 'test' as const), (given, check) => {
        const output = given as Json;
        const { passed, issues } = readCheck(check, { output });
        expect(typeof summaryOf({ output })).toBe('string');
        expect(typeof saysDone({ output })).toBe('boolean');
        expect(passed || issues.length > 0).toBe(true);
        const { passed: said, exitCode, ...lists } = Object(output) as Record<string, unknown>;
        const isEmptyList = [lists['issues'], lists['failures']].some(
          (list) => Array.isArray(list) && list.length === 0,
        );
        expect(!passed || output === true || said === true || exitCode === 0 || isEmptyList).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
