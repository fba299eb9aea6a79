import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJsonReport } from '../../src/results/json-report.ts';
import { readJunit } from '../../src/results/junit.ts';
import { BadReport, type TestReport } from '../../src/results/test-report.ts';
import { rounds } from '../support/runtimes.ts';
import { anyResults, type ReportedFile, toJestJson, toJunit } from '../support/test-reports.ts';

const RUNS = { numRuns: rounds(150, 20_000) };

const expectedOf = (files: readonly ReportedFile[], root: string) => {
  const all = files.flatMap(({ file, tests }) => tests.map((test) => ({ ...test, file })));
  const count = (status: string) => all.filter((test) => test.status === status).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    failures: all
      .filter(({ status }) => status === 'failed')
      .map(({ suites, name, file, message }) => ({
        name: [...suites, name].join(' > '),
        file: `${root}${file}`,
        line: null,
        message: message.trim(),
      })),
  };
};

// Method: results are made up and written as each runner would, names and messages full of what XML and JSON must escape.
describe('results that were written are read back the same', () => {
  it('from the XML of JUnit', () => {
    fc.assert(
      fc.property(anyResults, (files) => {
        expect(readJunit(toJunit(files))).toEqual(expectedOf(files, ''));
      }),
      RUNS,
    );
  });

  it('from the JSON of jest and vitest', () => {
    fc.assert(
      fc.property(anyResults, (files) => {
        expect(readJsonReport(toJestJson(files, '/project'))).toEqual(expectedOf(files, '/project/'));
      }),
      RUNS,
    );
  });
});

const outcomeOf = (read: () => TestReport): TestReport | BadReport => {
  try {
    return read();
  } catch (error) {
    if (error instanceof BadReport) return error;
    throw error;
  }
};

// Method: a report is cut at every place that there is, as a runner that is killed would leave it.
it.each([
  ['JUnit', toJunit, readJunit],
  ['jest', (files: readonly ReportedFile[]) => toJestJson(files, ''), readJsonReport],
] as const)('a report of %s that was cut off is refused, wherever that was', (_form, write, read) => {
  const [files = []] = fc.sample(anyResults, { numRuns: 20, seed: 7 }).filter((each) => each.length >= 2);
  const text = write(files).trimEnd();
  expect(outcomeOf(() => read(text))).not.toBeInstanceOf(BadReport);
  for (let end = 0; end < text.length; end += 1)
    expect(outcomeOf(() => read(text.slice(0, end)))).toBeInstanceOf(BadReport);
});

it('anything at all gives a report or says what is wrong with it', () => {
  const anyText = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.json(),
    fc
      .array(
        fc.constantFrom(
          '<testsuites>',
          '<testsuite name="a">',
          '<testcase>',
          '</testcase>',
          '<failure/>',
          '&a;',
          '<!--',
          '-->',
          '<![CDATA[',
          ']]>',
          '</testsuite>',
          '</testsuites>',
          'x',
        ),
      )
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(anyText, (text) => {
      for (const read of [readJunit, readJsonReport]) {
        const outcome = outcomeOf(() => read(text));
        if (outcome instanceof BadReport) expect(outcome.message).toMatch(/^(?:it|its|the run) /);
      }
    }),
    RUNS,
  );
});

const LAUGHS = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a0 "lol">${Array.from({ length: 30 }, (_, index) => `<!ENTITY a${index + 1} "${`&a${index};`.repeat(10)}">`).join('')}]><testsuites><testcase name="&a30;"/></testsuites>`;

it.each([
  ['a document type with entities in entities', LAUGHS, 'document type'],
  ['an outer entity', '<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuites/>', 'document type'],
  ['an entity that nobody declared', '<testsuites><testcase name="&lol;"/></testsuites>', 'not well-formed'],
  ['elements in elements', `<testsuites>${'<a>'.repeat(200_000)}`, 'nested more than 100 deep'],
  ['another document', '<html><body>502 Bad Gateway</body></html>', 'its root is <html>'],
  ['two roots', '<testsuites/><testsuites/>', 'not well-formed'],
  ['text around it', '> vitest run\n<testsuites/>', 'not well-formed'],
])('%s is refused at once', (_what, text, problem) => {
  const startMs = performance.now();
  const outcome = outcomeOf(() => readJunit(text));
  expect(outcome).toBeInstanceOf(BadReport);
  expect(outcome).toMatchObject({ message: expect.stringContaining(problem) });
  expect(performance.now() - startMs).toBeLessThan(2_000);
});

describe('what a report of JUnit says beside its tests', () => {
  it('is not passed if a suite counts failures that it does not list', () => {
    const text = '<testsuites><testsuite name="a" errors="2"><testcase name="b"/></testsuite></testsuites>';
    expect(readJunit(text)).toMatchObject({
      passed: 1,
      failed: 1,
      failures: [{ name: 'a > outside of its tests' }],
    });
  });

  it('a failure that is still to be done does not count, as its runner does not count it', () => {
    const test = '<testcase name="b"><skipped type="todo" message="x"/><failure message="no"/></testcase>';
    expect(readJunit(`<testsuite name="a" failures="1">${test}</testsuite>`)).toMatchObject({
      failed: 0,
      skipped: 1,
    });
  });

  it('a class, and the place of a test', () => {
    const test =
      '<testcase classname="tests.test_a.TestA" name="test_b" file="tests/test_a.py" line="7"><error message="KeyError"/></testcase>';
    expect(readJunit(`<testsuite name="pytest" tests="1">${test}</testsuite>`).failures).toEqual([
      { name: 'pytest > tests.test_a.TestA > test_b', file: 'tests/test_a.py', line: 7, message: 'KeyError' },
    ]);
  });

  it('control characters that a test wrote do no harm', () => {
    const test = '<testcase name="b"><failure message="\u001b[31mred\u001b[0m &#x1b;[1m"/></testcase>';
    expect(readJunit(`<testsuite>${test}</testsuite>`).failures[0]?.message).toContain('red');
  });
});

it.each([
  ['a list of files that is none', '{"numFailedTests":0,"success":true,"testResults":{}}', 'testResults'],
  [
    'an unknown status',
    '{"numFailedTests":0,"success":true,"testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"b","status":"great"}]}]}',
    'status',
  ],
  ['an empty object', '{}', 'not a report of jest or vitest'],
  [
    'a run that was interrupted',
    '{"numFailedTests":0,"success":true,"wasInterrupted":true,"testResults":[]}',
    'interrupted',
  ],
])('JSON with %s is refused', (_what, text, problem) => {
  expect(outcomeOf(() => readJsonReport(text))).toMatchObject({
    name: 'BadReport',
    message: expect.stringContaining(problem),
  });
});

it('JSON that says it failed without a test that did has failed', () => {
  expect(readJsonReport('{"numFailedTests":0,"success":false,"testResults":[]}')).toMatchObject({
    failed: 1,
    failures: [{ name: 'outside of all tests' }],
  });
});
