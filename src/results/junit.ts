import { stripVTControlCharacters } from 'node:util';
import { SaxesParser } from 'saxes';
import {
  BadReport,
  cutMessage,
  type FailedTest,
  fullName,
  lineIn,
  MESSAGE_LENGTH_MAX,
  type TestReport,
} from './test-report.ts';

type Attributes = Readonly<Record<string, string>>;

interface Suite {
  readonly name: string;
  readonly file: string | null;
  /** Failures and errors, as the suite itself counts them. */
  readonly declared: number;
  /** Those that it lists. */
  listed: number;
}

interface Case {
  readonly attributes: Attributes;
  readonly suites: readonly Suite[];
  failure: { readonly said: string; text: string } | undefined;
  skipped: string | undefined;
}

const DEPTH_MAX = 100;

/** What XML 1.0 cannot hold, and test runners write all the same: terminal codes, in what a test said. */
const NOT_IN_XML = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]|&#(?:27|x1b);/giu;

/**
 * Reads a report in the XML of JUnit, as node, vitest, jest-junit, pytest, Surefire, Gradle and others write it. Nothing in it is
 * expanded or looked up: a document type is refused.
 *
 * @throws {BadReport}
 */
export const readJunit = (text: string): TestReport => {
  const reading = new Reading();
  const parser = new SaxesParser({ xmlns: false });
  parser.on('error', ({ message }) => {
    throw new BadReport(`it is not well-formed XML (${message})`);
  });
  parser.on('doctype', () => {
    throw new BadReport('it has a document type, which no report needs');
  });
  parser.on('opentag', ({ name, attributes }) => reading.open(name, attributes));
  parser.on('closetag', ({ name }) => reading.close(name));
  parser.on('text', (piece) => reading.text(piece));
  parser.on('cdata', (piece) => reading.text(piece));
  if (text.trim() === '') throw new BadReport('it is empty');
  parser.write(stripVTControlCharacters(text).replaceAll(NOT_IN_XML, '\ufffd')).close();
  return reading.report();
};

const FAILURES = ['failure', 'error'];

class Reading {
  #passed = 0;
  #skipped = 0;
  #depth = 0;
  readonly #failures: FailedTest[] = [];
  readonly #suites: Suite[] = [];
  #case: Case | undefined;
  #isInFailure = false;

  open(name: string, attributes: Attributes): void {
    if (this.#depth === 0 && name !== 'testsuites' && name !== 'testsuite')
      throw new BadReport(`its root is <${name.slice(0, 50)}>, not <testsuites> or <testsuite>`);
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new BadReport(`its elements are nested more than ${DEPTH_MAX} deep`);
    if (name === 'testsuites' || name === 'testsuite') this.#suites.push(suiteOf(name, attributes));
    else if (name === 'testcase')
      this.#case = { attributes, suites: [...this.#suites], failure: undefined, skipped: undefined };
    else if (this.#case) this.#openIn(this.#case, name, attributes);
    // Some runners report what went wrong outside of all tests in their suite.
    else if (FAILURES.includes(name)) this.#failSuite(attributes['message'] ?? '');
  }

  #openIn(test: Case, name: string, attributes: Attributes): void {
    if (FAILURES.includes(name)) {
      test.failure ??= { said: attributes['message'] ?? '', text: '' };
      this.#isInFailure = true;
    } else if (name === 'skipped') test.skipped = attributes['type'] ?? '';
  }

  text(piece: string): void {
    const failure = this.#isInFailure ? this.#case?.failure : undefined;
    // Leading space, and some more for what is cut off later.
    if (failure && failure.text.length < 2 * MESSAGE_LENGTH_MAX)
      failure.text += piece.slice(0, 2 * MESSAGE_LENGTH_MAX);
  }

  close(name: string): void {
    this.#depth -= 1;
    if (FAILURES.includes(name)) this.#isInFailure = false;
    else if (name === 'testcase' && this.#case) this.#closeCase(this.#case);
    else if (name === 'testsuites' || name === 'testsuite') this.#closeSuite();
  }

  #closeCase({ attributes, suites, failure, skipped }: Case): void {
    this.#case = undefined;
    const innermost = this.#suites.at(-1);
    if (failure && innermost) innermost.listed += 1;
    // What is to be done yet may fail: its runner does not mind either.
    if (skipped !== undefined && (!failure || skipped === 'todo')) this.#skipped += 1;
    else if (failure) this.#failures.push(failedTest(attributes, suites, failure));
    else this.#passed += 1;
  }

  #failSuite(message: string): void {
    const suite = this.#suites.at(-1);
    const names = this.#suites.map(({ name }) => name);
    if (suite) suite.listed += 1;
    this.#failures.push({
      name: fullName(names, 'outside of its tests'),
      file: suite?.file ?? null,
      line: null,
      message: cutMessage(message),
    });
  }

  #closeSuite(): void {
    const suite = this.#suites.at(-1);
    if (suite && suite.declared > suite.listed)
      this.#failSuite('The report counts failures here that it does not list.');
    const closed = this.#suites.pop();
    const outer = this.#suites.at(-1);
    if (closed && outer) outer.listed += Math.max(closed.listed, closed.declared);
  }

  report(): TestReport {
    return {
      passed: this.#passed,
      failed: this.#failures.length,
      skipped: this.#skipped,
      failures: this.#failures,
    };
  }
}

const suiteOf = (element: string, attributes: Attributes): Suite => ({
  // What encloses all suites is named after the runner, if at all.
  name: element === 'testsuites' ? '' : (attributes['name'] ?? ''),
  file: attributes['file'] ?? attributes['filepath'] ?? null,
  declared: countOf(attributes['failures']) + countOf(attributes['errors']),
  listed: 0,
});

const countOf = (text: string | undefined): number => (/^\d{1,9}$/.test(text ?? '') ? Number(text) : 0);

/** `src/a.test.ts` is a file; `tests.test_a.TestA` and `org.example.ATest` are classes. */
const IS_FILE = /\.(?:[cm]?[jt]sx?|py|rb|php|go|rs|java|kt|cs|exs?|lua|dart|swift)$/;

const failedTest = (
  attributes: Attributes,
  suites: readonly Suite[],
  { said, text }: { readonly said: string; readonly text: string },
): FailedTest => {
  const { name = '', classname = '', line } = attributes;
  const ofSuite = suites.findLast(({ file }) => file !== null)?.file ?? null;
  const file = attributes['file'] ?? ofSuite ?? (IS_FILE.test(classname) ? classname : null);
  const message = cutMessage(text.trim() === '' ? said : text);
  // Node gives all tests the same class; others repeat the file or the suite in it.
  const isTold =
    classname === 'test' || classname === file || suites.some((suite) => suite.name === classname);
  const names = suites.map((suite) => suite.name).filter((each) => each !== file);
  return {
    name: fullName(isTold ? names : [...names, classname], name),
    file,
    line: countOf(line) || lineIn(message, file),
    message,
  };
};
