import { z } from 'zod';
import { BadReport, cutMessage, type FailedTest, fullName, lineIn, type TestReport } from './test-report.ts';

const SKIPPED = ['skipped', 'pending', 'todo', 'disabled', 'focused'] as const;

const assertion = z.object({
  ancestorTitles: z.array(z.string()).default([]),
  title: z.string(),
  status: z.enum(['passed', 'failed', ...SKIPPED]),
  failureMessages: z.array(z.string()).nullish(),
  location: z.object({ line: z.number().int() }).nullish(),
});

const testFile = z.object({
  name: z.string(),
  status: z.string(),
  message: z.string().nullish(),
  assertionResults: z.array(assertion),
});

/** What jest writes with `--json`, and vitest with `--reporter=json`: as far as it is used. */
const report = z.object({
  numFailedTests: z.number().int(),
  success: z.boolean(),
  wasInterrupted: z.boolean().optional(),
  testResults: z.array(testFile),
});

type Assertion = z.infer<typeof assertion>;
type TestFile = z.infer<typeof testFile>;

/**
 * Reads the JSON of jest, which is also that of vitest.
 *
 * @throws {BadReport}
 */
export const readJsonReport = (text: string): TestReport => {
  const { testResults, success, numFailedTests, wasInterrupted } = parsed(text);
  if (wasInterrupted === true) throw new BadReport('the run of the tests was interrupted');
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  const listed = testResults.flatMap(failuresOf);
  const isUntold = listed.length === 0 && (!success || numFailedTests > 0);
  const failures = isUntold ? [UNTOLD] : listed;
  return {
    passed: all.filter(({ status }) => status === 'passed').length,
    failed: failures.length,
    skipped: all.filter(({ status }) => SKIPPED.some((name) => name === status)).length,
    failures,
  };
};

const UNTOLD: FailedTest = {
  name: 'outside of all tests',
  file: null,
  line: null,
  message:
    'The report says that the run has failed, and lists no test that did: an error that no test caught.',
};

const PROBLEMS_SHOWN = 3;

const DEPTH_MAX = 200;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Looked at before it is parsed, which would take hundreds of megabytes for levels that no report has. */
const isTooDeep = (text: string): boolean => {
  let depth = 0;
  let isText = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) isText = !isText;
    else if (isText) index += code === BACKSLASH ? 1 : 0;
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    if (depth > DEPTH_MAX) return true;
  }
  return false;
};

const parsed = (text: string): z.infer<typeof report> => {
  if (isTooDeep(text)) throw new BadReport('it is nested too deep');
  if (text.trim() === '') throw new BadReport('it is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new BadReport(`it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  const result = report.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `${path.map(String).join('.')}: ${message}`,
  );
  throw new BadReport(
    `it is not a report of jest or vitest (${problems.slice(0, PROBLEMS_SHOWN).join('; ')})`,
  );
};

const failuresOf = (file: TestFile): readonly FailedTest[] => {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed');
  if (failed.length > 0) return failed.map((test) => failedTest(file, test));
  if (file.status !== 'failed') return [];
  const message = cutMessage(file.message ?? '');
  return [{ name: 'the file could not be run', file: file.name, line: lineIn(message, file.name), message }];
};

const failedTest = ({ name: file }: TestFile, test: Assertion): FailedTest => {
  const message = cutMessage((test.failureMessages ?? []).join('\n'));
  return {
    name: fullName(test.ancestorTitles, test.title),
    file,
    line: test.location?.line ?? lineIn(message, file),
    message,
  };
};
