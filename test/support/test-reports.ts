import fc from 'fast-check';

/** A test as a runner knows it. */
export interface ReportedTest {
  readonly suites: readonly string[];
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  readonly message: string;
}

export interface ReportedFile {
  readonly file: string;
  readonly tests: readonly ReportedTest[];
}

const HOSTILE = ['<', '&', ']]>', '"', "'", '☃', '𝒳', '&amp;', '>', '__proto__', 'toString', '\n', '\t'];

/** XML cannot hold control characters: what it does with those that are there all the same has a test of its own. */
const written = (parts: readonly string[]): string =>
  parts
    .join('')
    .replaceAll(/(?![\t\n])\p{Cc}|[\ufffe\uffff]/gu, '')
    .toWellFormed();

const anyMessage = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 10 })), { maxLength: 5 })
  .map(written);

const anyName = anyMessage.map((text) => `t${text.replaceAll(/\s+/g, ' ')}`.trim());

const anyTest: fc.Arbitrary<ReportedTest> = fc.record({
  suites: fc.array(anyName, { maxLength: 3 }),
  name: anyName,
  status: fc.constantFrom('passed' as const, 'failed' as const, 'skipped' as const),
  message: anyMessage,
});

/** What a test runner might have to report. */
export const anyResults: fc.Arbitrary<readonly ReportedFile[]> = fc
  .array(fc.array(anyTest, { maxLength: 6 }), { maxLength: 4 })
  .map((files) => files.map((tests, index) => ({ file: `test/file-${index}.test.ts`, tests })));

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const inAttribute = (text: string): string =>
  escapeXml(text).replaceAll('\n', '&#10;').replaceAll('\t', '&#9;');

const failuresIn = (tests: readonly ReportedTest[]): number =>
  tests.filter(({ status }) => status === 'failed').length;

/** Suites as elements inside of each other, as node writes them; the file as an attribute of the outermost. */
export const toJunit = (files: readonly ReportedFile[]): string => {
  const testcase = ({ name, status, message }: ReportedTest): string => {
    const inner = {
      passed: '<system-out>all is well: <![CDATA[</testcase>]]></system-out>',
      failed: `<failure message="${inAttribute(message)}" type="Error">${escapeXml(message)}</failure>`,
      skipped: '<skipped/>',
    }[status];
    return `<testcase name="${inAttribute(name)}" classname="test" time="0.1">${inner}</testcase>`;
  };
  const nested = (test: ReportedTest): string =>
    test.suites.reduceRight(
      (inner, suite) =>
        `<testsuite name="${inAttribute(suite)}" failures="${failuresIn([test])}">\n${inner}\n</testsuite>`,
      testcase(test),
    );
  const suites = files.map(
    ({ file, tests }) =>
      `<testsuite name="${file}" file="${file}" tests="${tests.length}" failures="${failuresIn(tests)}" errors="0">${tests.map(nested).join('\n')}</testsuite>`,
  );
  const all = files.flatMap(({ tests }) => tests);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="any" failures="${failuresIn(all)}">${suites.join('')}</testsuites>\n`;
};

/** What jest writes; vitest leaves out some of it. */
export const toJestJson = (files: readonly ReportedFile[], root: string): string => {
  const all = files.flatMap(({ tests }) => tests);
  return JSON.stringify({
    numTotalTests: all.length,
    numFailedTests: failuresIn(all),
    success: failuresIn(all) === 0,
    testResults: files.map(({ file, tests }) => ({
      name: `${root}/${file}`,
      status: failuresIn(tests) > 0 ? 'failed' : 'passed',
      message: '',
      assertionResults: tests.map(({ suites, name, status, message }) => ({
        ancestorTitles: suites,
        title: name,
        fullName: [...suites, name].join(' '),
        status: status === 'skipped' ? 'pending' : status,
        failureMessages: status === 'failed' ? [message] : [],
        location: null,
      })),
    })),
  });
};
