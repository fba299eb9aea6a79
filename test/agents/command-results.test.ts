import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  agent,
  type CommandOptions,
  isRuntimeError,
  type Json,
  tightLoop,
  tightProgress,
} from '../../src/index.ts';
import { temporaryDirectory, temporaryFile } from '../store/temporary-directory.ts';
import { askOnce } from '../support/commands.ts';
import { open } from '../support/runtimes.ts';

// Method: real programs, called through a runtime on a file. What is asserted is what a second runtime finds in the log.

/** An agent that is a line of shell, which reads its standard input first. The line is the test's own. */
const shell = (line: string, options: CommandOptions) =>
  agent.command<Json>('sh', ['-c', `cat > /dev/null; ${line}`], options);

const GOOD = '<testsuites><testsuite name="s"><testcase name="t"/></testsuite></testsuites>';

const project = (files: Readonly<Record<string, string>>): string => {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
};

const NODE_TESTS = `
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
test('adds', () => assert.equal(1 + 1, 2));
describe('a suite', () => {
  it('fails & <says> so', () => assert.equal(1, 2));
  it.skip('is left out', () => undefined);
  it.todo('comes later');
});
`;

describe('a command that reports on tests', () => {
  it("answers with what failed, from the report of node's own test runner", async () => {
    const cwd = project({ 'a.test.mjs': NODE_TESTS });
    const worker = agent.command<Json>(process.execPath, ['--test', '--test-reporter=junit', 'a.test.mjs'], {
      cwd,
      results: 'junit',
    });
    const { answer, failure } = await askOnce(worker);
    expect(failure).toBeNull();
    expect(answer).toMatchObject({
      passed: false,
      tests: { total: 4, passed: 1, failed: 1, skipped: 2 },
      exitCode: 1,
      issues: [
        {
          severity: 'high',
          category: 'test',
          description: 'a suite > fails & <says> so',
          message: expect.stringContaining('Expected values to be strictly equal'),
        },
      ],
      text: expect.stringContaining('a suite > fails & <says> so'),
    });
  });

  it.each([
    ['json', 'vitest'],
    ['junit', 'junit'],
  ] as const)('reads what vitest writes with --reporter=%s, from a file', async (reporter, results) => {
    const cwd = project({
      'package.json': '{"type":"module"}',
      'a.test.ts':
        "import { describe, expect, test } from 'vitest';\ndescribe('sums', () => {\n  test('add', () => expect(2).toBe(2));\n  test('differ', () => {\n    expect(1).toBe(2);\n  });\n  test.skip('later', () => {});\n});\n",
      'broken.test.ts': "import './nothing.ts';\n",
    });
    symlinkSync(join(process.cwd(), 'node_modules'), join(cwd, 'node_modules'));
    const worker = agent.command<Json>(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', `--reporter=${reporter}`, '--outputFile=report.out'],
      { cwd, results, resultsFile: 'report.out' },
    );
    const { answer, failure } = await askOnce(worker);
    expect(failure).toBeNull();
    expect(answer).toMatchObject({ passed: false, exitCode: 1, tests: { passed: 1, skipped: 1 } });
    const { issues } = answer as { issues: readonly Json[] };
    expect(issues).toContainEqual(
      expect.objectContaining({ description: 'sums > differ', file: 'a.test.ts', line: 5 }),
    );
    expect(issues).toContainEqual(
      expect.objectContaining({ file: 'broken.test.ts', message: expect.stringContaining('nothing.ts') }),
    );
  });

  it.each([
    ['no test', `echo '<testsuites/>'`, {}, false, 'no test was run'],
    [
      'only tests that were left out',
      `echo '<testsuite><testcase name="a"><skipped/></testcase></testsuite>'`,
      {},
      false,
      'no test was run',
    ],
    ['no test, which is allowed', `echo '<testsuites/>'`, { allowNoTests: true }, true, undefined],
    ['tests that pass', `echo '${GOOD}'`, {}, true, undefined],
    [
      'tests that pass and an exit code that says no',
      `echo '${GOOD}'; echo leak >&2; exit 3`,
      {},
      false,
      'the test command ended with exit code 3 although no test failed',
    ],
  ] as const)('%s', async (_what, line, options, passed, description) => {
    const { answer, failure } = await askOnce(shell(line, { results: 'junit', ...options }));
    expect(failure).toBeNull();
    expect(answer).toMatchObject({ passed, issues: description === undefined ? [] : [{ description }] });
  });

  it.each([
    ['nothing at all', 'true', 'it is empty'],
    ['nothing, and fails', 'echo "no such option: --reporter" >&2; exit 2', 'no such option: --reporter'],
    ['half a report', `printf '%s' '${GOOD.slice(0, 50)}'`, 'not well-formed'],
    ['words', 'echo "all tests passed"', 'not well-formed'],
    ['bytes that are no text', String.raw`printf '\377\376'`, 'not UTF-8'],
  ])('has failed if it writes %s', async (_what, line, problem) => {
    const { answer, failure } = await askOnce(shell(line, { results: 'junit' }));
    expect(answer).toBeNull();
    expect(failure).toMatchObject({ code: 'AGENT_RESULTS_BAD', message: expect.stringContaining(problem) });
  });

  it('has failed if it is killed, whatever it wrote before', async () => {
    const { failure } = await askOnce(shell(`echo '${GOOD}'; kill -9 $$`, { results: 'junit' }));
    expect(failure?.code).toBe('AGENT_EXITED');
  });

  it('has failed if its report is larger than allowed, and is not read to its end', async () => {
    const options = { results: 'junit', outputBytes: 1_000_000 } as const;
    const flood = await askOnce(shell(`echo '<testsuites>'; yes '<testcase name="a"/>'`, options));
    expect(flood.failure?.code).toBe('AGENT_FLOODED');
    const cwd = temporaryDirectory();
    const large = shell('truncate -s 50M report.xml', { ...options, cwd, resultsFile: 'report.xml' });
    expect((await askOnce(large)).failure?.message).toContain('more than 1000000 bytes');
  });
});

describe('a report in a file', () => {
  const options = (cwd: string) => ({ cwd, results: 'junit', resultsFile: 'out/report.xml' }) as const;
  const place = () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'out'));
    return cwd;
  };

  it('counts if it was written during the call, also over an older one', async () => {
    const cwd = place();
    writeFileSync(
      join(cwd, 'out/report.xml'),
      '<testsuite><testcase name="old"><failure/></testcase></testsuite>',
    );
    const { answer } = await askOnce(shell(`echo noise; echo '${GOOD}' > out/report.xml`, options(cwd)));
    expect(answer).toMatchObject({ passed: true, tests: { passed: 1 } });
  });

  it('does not count if it is from before', async () => {
    const cwd = place();
    writeFileSync(join(cwd, 'out/report.xml'), GOOD);
    const { failure } = await askOnce(shell('exit 1', options(cwd)));
    expect(failure).toMatchObject({
      code: 'AGENT_RESULTS_BAD',
      message: expect.stringContaining('from before this call'),
    });
  });

  it.each([
    ['is not there', 'true', 'there is no such file'],
    ['is a pipe', 'mkfifo out/report.xml', 'not a regular file'],
    ['is a directory', 'mkdir out/report.xml', 'not a regular file'],
    ['leads out of the directory', 'ln -s /etc/hostname out/report.xml', 'outside of the directory'],
  ])('does not count if it %s', async (_what, line, problem) => {
    const { failure } = await askOnce(shell(line, options(place())));
    expect(failure).toMatchObject({ code: 'AGENT_RESULTS_BAD', message: expect.stringContaining(problem) });
  });

  it('is written by one call at a time, unless more are asked for', () => {
    expect(agent.command('true', [], { results: 'junit', resultsFile: 'a' }).options.concurrency).toBe(1);
    expect(agent.command('true', [], { results: 'junit' }).options.concurrency).toBe(8);
  });
});

it.each([
  ['an unknown form', { results: 'tap' }, 'results'],
  ['a file without a form', { resultsFile: 'a.xml' }, 'results'],
  ['an output as well', { results: 'junit', output: 'text' }, 'output'],
  ['a file elsewhere', { results: 'junit', resultsFile: '/tmp/a.xml' }, 'resultsFile'],
  ['a file above', { results: 'junit', resultsFile: 'a/../../a.xml' }, 'resultsFile'],
  ['a word for yes', { results: 'junit', allowNoTests: 'yes' }, 'allowNoTests'],
])('%s is refused when the agent is made', (_what, options, option) => {
  try {
    agent.command('true', [], options as CommandOptions);
    expect.unreachable();
  } catch (error) {
    expect(isRuntimeError(error, 'BAD_OPTION') && error.fields.option).toBe(option);
  }
});

// Method: a test that fails in every pass, each time with another message and at another line. By name it is the same fault.
it('T6: the same test that fails three times in a row ends the loop, however it words its failure', async () => {
  const cwd = temporaryDirectory();
  const program = `
    const pass = JSON.parse(require('fs').readFileSync(0, 'utf8')).input.pass;
    const message = 'got ' + pass + ' at a.test.js:' + pass;
    console.log(JSON.stringify({ numFailedTests: 1, success: false, testResults: [{ name: process.cwd() + '/a.test.js', status: 'failed',
      assertionResults: [{ ancestorTitles: ['s'], title: 't', status: 'failed', failureMessages: [message] }] }] }));
    process.exit(1);`;
  const runtime = await open({
    file: temporaryFile(),
    workflows: [tightLoop({ maxIterations: 9, onLimit: 'stop' })],
    agents: {
      developer: ({ input }) => ({ summary: `pass ${input.pass}` }),
      reviewer: () => ({ passed: true, issues: [] }),
      tester: agent.command(process.execPath, ['--eval', program], { cwd, results: 'jest' }),
    },
  });
  const run = await runtime.start('tight-loop', 'Mend it');
  const { verdict, output } = await run.result();
  expect(verdict).toBe('stalled');
  expect(output?.iterations).toBe(3);
});

// Method: more tests fail, with longer names and messages, than one event could hold. The loop must go on with what it can be told.
it('a report of thousands of failures does no harm to the loop: it is told of the first, and how many there are', async () => {
  const program = `require('fs').readFileSync(0);
    const test = (_, index) => '<testcase name="' + 'n'.repeat(2000) + index + '"><failure>' + 'why '.repeat(600) + '</failure></testcase>';
    process.stdout.write('<testsuite>' + Array.from({ length: 2000 }, test).join('') + '</testsuite>', () => process.exit(1));`;
  const runtime = await open({
    file: temporaryFile(),
    workflows: [tightLoop({ maxIterations: 2 })],
    agents: {
      developer: ({ input }) => ({
        summary: `told of ${input.testFailures.length}, ${input.testText?.split('\n').at(-1) ?? 'no more'}`,
      }),
      reviewer: () => ({ passed: true, issues: [] }),
      tester: agent.command(process.execPath, ['--eval', program], { results: 'junit' }),
    },
  });
  const run = await runtime.start('tight-loop', 'Mend it', { id: 'r' });
  await run.settled();
  const [question] = await runtime.questions();
  expect(question?.run).toBe('r');
  await runtime.answer(question?.id ?? '', 'cancel', { by: 'ada' });
  expect((await run.result()).verdict).toBe('cancelled');
  const { passes } = await runtime.read(tightProgress, 'r');
  expect(passes.map(({ implementation }) => implementation)).toEqual([
    'told of 0, no more',
    'told of 300, 1700 more failed.',
  ]);
});
