import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type AgentFunction,
  agent,
  answer,
  type CheckerInput,
  type DeveloperInput,
  type RepeatInput,
  type RepeatLoopOptions,
  type Runtime,
  repeatLoop,
  type TightLoopOptions,
  type TightOutput,
  tightLoop,
  tightProgress,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { never, throwing } from '../support/draft-plan.ts';
import {
  createFakeClock,
  expectReplays,
  type FakeClock,
  open,
  refusal,
  rounds,
} from '../support/runtimes.ts';

type Input = DeveloperInput & CheckerInput;
type Work = AgentFunction<Input, unknown>;

interface Script {
  readonly developer?: Work;
  readonly reviewer?: Work;
  readonly tester?: Work;
}

const implement: Work = ({ input }) => ({ summary: `change ${input.pass}` });
const pass: Work = () => ({ passed: true, issues: [] });
const failWith =
  (description: (pass: number) => string): Work =>
  ({ input }) => ({
    passed: false,
    issues: [{ severity: 'high', category: 'logic', description: description(input.pass) }],
  });
/** Another fault each time: words, since numbers alone may be line numbers. */
const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa'];
const failDifferently = failWith((number) => `${WORDS[number % WORDS.length]} is missing`);
const failTheSame = failWith((number) => `csv is missing at line ${number * 7}, after ${number}.5 ms`);
const passFrom =
  (number: number, otherwise: Work): Work =>
  (request) =>
    request.input.pass >= number ? pass(request) : otherwise(request);

/** A run of a tight loop with scripted agents, and how often each was called. */
const play = async (
  options: TightLoopOptions,
  { developer = implement, reviewer = pass, tester = pass }: Script,
  clock?: FakeClock,
) => {
  const file = temporaryFile();
  const loop = tightLoop(options);
  const calls = { developer: 0, reviewer: 0, tester: 0 };
  const inputs: Input[] = [];
  const counted =
    (role: keyof typeof calls, work: Work): Work =>
    (request) => {
      calls[role] += 1;
      if (role === 'developer') inputs.push(request.input);
      return work(request);
    };
  const runtime = await open({
    file,
    workflows: [loop],
    agents: {
      developer: counted('developer', developer),
      reviewer: counted('reviewer', reviewer),
      tester: counted('tester', tester),
    },
    ...(clock && { clock }),
  });
  const run = await runtime.start('tight-loop', 'Add CSV export', { id: 'r' });
  const folder = `${file}.runs/r`;
  return { runtime, run, calls, inputs, loop, file, folder };
};

const read = (folder: string, name: string): string => readFileSync(join(folder, name), 'utf8');
const progressIn = (folder: string) =>
  (JSON.parse(read(folder, 'progress.json')) as { feedback_loop: Record<string, unknown> }).feedback_loop;

const ending = async ({
  run,
}: {
  run: { result(): Promise<{ verdict: string; output: TightOutput | undefined }> };
}) => {
  const { verdict, output } = await run.result();
  return {
    verdict,
    iterations: output?.iterations,
    limit: output?.limit?.limit ?? null,
    promise: output?.promise,
  };
};

const stopping = { onLimit: 'stop' } as const;

describe('a tight loop', () => {
  it.each([1, 2, 5])(
    'T2, X2: ends verified in pass %i, with its promise, and as many passes as the log has',
    async (number) => {
      const played = await play(stopping, { tester: passFrom(number, failDifferently) });
      expect(await ending(played)).toEqual({
        verdict: 'verified',
        iterations: number,
        limit: null,
        promise: 'IMPLEMENTATION_VERIFIED',
      });
      expect(played.calls).toEqual({ developer: number, reviewer: number, tester: number });
      await played.runtime.close();
      await expectReplays(played.file, [played.loop]);
    },
  );

  it.each([
    [
      'a different issue each time',
      failDifferently,
      {},
      { verdict: 'exhausted', iterations: 5, limit: 'passes' },
    ],
    ['the same issue each time', failTheSame, {}, { verdict: 'stalled', iterations: 3, limit: 'sameIssue' }],
    [
      'a different one, strict',
      failDifferently,
      { strict: true },
      { verdict: 'exhausted', iterations: 3, limit: 'failuresInRow' },
    ],
    [
      'the same one, strict',
      failTheSame,
      { strict: true },
      { verdict: 'stalled', iterations: 3, limit: 'sameIssue' },
    ],
  ] as const)('T1, T3, T6: a review that fails for ever with %s', async (_, reviewer, options, expected) => {
    const played = await play({ ...stopping, ...options }, { reviewer });
    expect(await ending(played)).toEqual({ ...expected, promise: null });
    // The tests do not run in a pass whose review failed.
    expect(played.calls.tester).toBe(0);
    const { context } = await played.run.state();
    expect(context.failedInRow.test).toBe(0);
  });

  it.each([
    [
      'a different failure each time',
      failDifferently,
      {},
      { verdict: 'exhausted', iterations: 5, limit: 'passes' },
    ],
    [
      'the same failure each time',
      failTheSame,
      {},
      { verdict: 'stalled', iterations: 3, limit: 'sameFailure' },
    ],
    [
      'a different one, strict',
      failDifferently,
      { strict: true },
      { verdict: 'exhausted', iterations: 3, limit: 'failuresInRow' },
    ],
    [
      'the same one, strict',
      failTheSame,
      { strict: true },
      { verdict: 'stalled', iterations: 3, limit: 'sameFailure' },
    ],
  ] as const)('T1, T6: tests that fail for ever with %s', async (_, tester, options, expected) => {
    const played = await play({ ...stopping, ...options }, { tester });
    expect(await ending(played)).toEqual({ ...expected, promise: null });
  });

  it('T1: the names of other tools are accepted, and two values for one limit are not', async () => {
    const played = await play(
      {
        ...stopping,
        max_feedback_iterations: 4,
        max_consecutive_review_failures: 2,
        max_consecutive_test_failures: 2,
      },
      { tester: failTheSame },
    );
    expect(await ending(played)).toMatchObject({ iterations: 2, limit: 'sameFailure' });
    expect(() => tightLoop({ maxIterations: 5, max_feedback_iterations: 4 })).toThrow(/one value/);
    expect(() => tightLoop({ maxIterations: 5, limits: { passes: 4 } })).toThrow(/one value/);
    expect(() => tightLoop({ repeat: 5, limits: { repeats: 4 } })).toThrow(/one value/);
    expect(() => tightLoop({ maxIterations: 5, limits: { passes: 5 } })).not.toThrow();
    expect(() => tightLoop({ maxIterations: -1 })).toThrow(/from 0/);
    expect(() => tightLoop({ roles: { designer: {} } as never })).toThrow(/designer/);
  });

  it('T9: passing resets the counter of that gate; T3: a failed review leaves that of the tests as it is', async () => {
    // Review: fail, fail, pass, fail, pass. Tests (in passes 3 and 5): the same failure twice, with a failed review between.
    const reviews: Work = (request) =>
      [1, 2, 4].includes(request.input.pass) ? failTheSame(request) : pass(request);
    const played = await play(stopping, { reviewer: reviews, tester: failTheSame });
    expect(await ending(played)).toMatchObject({ verdict: 'exhausted', iterations: 5, limit: 'passes' });
    const { context } = await played.run.state();
    expect(context.failedInRow).toEqual({ review: 0, test: 2 });
  });

  it('T5: from the second pass on the developer is given exactly what the last one left, and where the scratchpad is', async () => {
    const { run, inputs, folder } = await play(stopping, {
      reviewer: passFrom(
        2,
        failWith(() => 'no header row'),
      ),
      tester: passFrom(
        3,
        failWith(() => 'quoting.test.ts:45 - line breaks'),
      ),
    });
    await run.result();
    const issue = { severity: 'high', category: 'logic' };
    expect(inputs).toMatchObject([
      { pass: 1, reviewIssues: [], testFailures: [], prompt: 'Add CSV export' },
      { pass: 2, reviewIssues: [{ ...issue, description: 'no header row' }], testFailures: [] },
      {
        pass: 3,
        reviewIssues: [],
        testFailures: [{ ...issue, description: 'quoting.test.ts:45 - line breaks' }],
      },
    ]);
    const scratchpad = `${folder}/feedback-scratchpad.md`;
    expect(inputs.map((input) => input.scratchpad)).toEqual([scratchpad, scratchpad, scratchpad]);
    expect(inputs[1]?.prompt).toContain(scratchpad);
    expect(inputs[1]?.prompt).toContain('- no header row (logic)');
    expect(inputs[2]?.prompt).not.toContain('no header row');
    expect(inputs[2]?.prompt).toContain('quoting.test.ts:45 - line breaks');
    expect(inputs[2]?.prompt).toMatch(/comes first/);
  });

  it('T4, T8: scratchpad and progress are there before the first pass, and up to date when each pass begins', async () => {
    const seen: unknown[] = [];
    const played = await play(stopping, {
      developer: (request) => {
        const { scratchpad } = request.input;
        const text = readFileSync(scratchpad ?? '', 'utf8');
        const { current_iteration, iterations } = progressIn(
          (scratchpad ?? '').replace('/feedback-scratchpad.md', ''),
        );
        seen.push({
          entries: text.match(/^## Pass/gm)?.length ?? 0,
          current_iteration,
          ended: (iterations as []).length,
        });
        return implement(request);
      },
      reviewer: passFrom(
        2,
        failWith(() => 'no header row'),
      ),
      tester: passFrom(
        3,
        failWith(() => 'quoting fails'),
      ),
    });
    await played.run.result();
    expect(seen).toEqual([
      { entries: 0, current_iteration: 1, ended: 0 },
      { entries: 1, current_iteration: 2, ended: 1 },
      { entries: 2, current_iteration: 3, ended: 2 },
    ]);
    expect(read(played.folder, 'feedback-scratchpad.md')).toMatchInlineSnapshot(`
      "# Feedback scratchpad

      > Add CSV export

      ## Pass 1

      - **Implementation**: change 1
      - **Review**: FAIL
        - no header row (logic)
      - **Tests**: not run
      - **Status**: continuing

      ## Pass 2

      - **Implementation**: change 2
      - **Review**: PASS
      - **Tests**: FAIL
        - quoting fails (logic)
      - **Status**: continuing

      ## Pass 3

      - **Implementation**: change 3
      - **Review**: PASS
      - **Tests**: PASS
      - **Status**: IMPLEMENTATION_VERIFIED

      Status of the loop: IMPLEMENTATION_VERIFIED
      "
    `);
    expect(progressIn(played.folder)).toEqual({
      enabled: true,
      current_iteration: 3,
      max_iterations: 5,
      status: 'IMPLEMENTATION_VERIFIED',
      consecutive_review_failures: 0,
      consecutive_test_failures: 0,
      iterations: [
        {
          number: 1,
          implementation: 'change 1',
          review_result: 'FAIL',
          test_result: 'NOT_RUN',
          review_issues: ['no header row (logic)'],
        },
        {
          number: 2,
          implementation: 'change 2',
          review_result: 'PASS',
          test_result: 'FAIL',
          test_failures: ['quoting fails (logic)'],
        },
        {
          number: 3,
          implementation: 'change 3',
          review_result: 'PASS',
          test_result: 'PASS',
          status: 'IMPLEMENTATION_VERIFIED',
        },
      ],
    });
  });

  it.each([
    ['exhausted', { ...stopping, maxIterations: 1 }, { tester: failDifferently }],
    ['stalled', { ...stopping }, { tester: failTheSame }],
    ['failed', { ...stopping, roles: { tester: { attempts: 1 } } }, { tester: throwing }],
  ] as const)('T8: progress says %s', async (status, options, script) => {
    const { run, folder } = await play(options, script);
    expect((await run.result()).verdict).toBe(status);
    expect(progressIn(folder)['status']).toBe(status);
  });

  it('T8: disabled it is a single pass', async () => {
    const good = await play({ ...stopping, enabled: false }, {});
    expect(await ending(good)).toMatchObject({ verdict: 'verified', iterations: 1 });
    const bad = await play({ ...stopping, enabled: false }, { tester: failDifferently });
    expect(await ending(bad)).toMatchObject({ verdict: 'exhausted', iterations: 1 });
    expect(progressIn(bad.folder)).toMatchObject({ enabled: false, max_iterations: 1 });
  });

  it('T11: plain-text agents may answer with a word', async () => {
    const { run, inputs } = await play(stopping, {
      developer: () => 'did what I could',
      reviewer: ({ input }) =>
        input.pass === 1
          ? 'NOT_COMPLIANT\n\nTwo things:\n- no header row\n- no quoting'
          : 'All good: SPEC_COMPLIANT',
      tester: ({ input }) => (input.pass < 3 ? { text: '1 failed', exitCode: 1 } : 'ALL_TESTS_PASSING'),
    });
    expect(await run.result()).toMatchObject({ verdict: 'verified', output: { iterations: 3 } });
    expect(inputs[1]?.reviewIssues.map((issue) => (issue as { description: string }).description)).toEqual([
      '- no header row',
      '- no quoting',
    ]);
    expect(inputs[2]?.testFailures).toMatchObject([{ description: '1 failed' }]);
  });

  it('T5, T6, T11: texts that are so large that the log keeps them elsewhere are read like others', async () => {
    const lines = 'a line of the log\n'.repeat(5_000);
    const played = await play(
      { ...stopping, repeat: true },
      {
        developer: () => ({ text: `made it\n${lines}TASK_COMPLETE` }),
        reviewer: () => `${lines}All good: SPEC_COMPLIANT`,
        tester: ({ input: { pass: number } }) => ({
          text: `${lines}not ok 1 - ${WORDS[number]}\n`,
          exitCode: number < 5 ? 1 : 0,
        }),
      },
    );
    expect(await ending(played)).toMatchObject({ verdict: 'verified', iterations: 5 });
    expect(played.calls.developer).toBe(5);
    expect(played.inputs[1]?.testFailures).toMatchObject([{ description: 'not ok 1 - beta' }]);
    expect(played.inputs[1]?.testText).toMatch(/a line of the log\nnot ok 1 - beta$/);
    expect(played.inputs[1]?.testText).toHaveLength(4_000);
    const [first] = (await played.run.state()).context.passes;
    expect(first?.implementation).toMatch(/^made it\na line/);
    await played.runtime.close();
    await expectReplays(played.file, [played.loop]);
  });

  it('T4, T5: a large finding is given word for word, and no reference is shown as a text', async () => {
    const description = 'no header row, '.repeat(2_000);
    const played = await play(
      { ...stopping, maxIterations: 2 },
      { reviewer: () => ({ passed: false, issues: [{ description, file: 'csv.ts' }, description] }) },
    );
    await played.run.result();
    expect(played.inputs[1]?.reviewIssues).toMatchObject([{ description, file: 'csv.ts' }, { description }]);
    const large = await played.runtime.start('tight-loop', description, { id: 'large' });
    await large.result();
    const prompts = played.inputs.map(({ prompt }) => prompt);
    const texts = [played.folder, `${played.file}.runs/large`].flatMap((folder) => [
      read(folder, 'feedback-scratchpad.md'),
      read(folder, 'progress.json'),
    ]);
    for (const text of [...prompts, ...texts]) expect(text).not.toContain('loopwright.blob');
    expect(prompts[1]).toContain('- csv.ts: what "reviewIssues" of your input says (a text of 30000 bytes)');
    expect(prompts[2]).toBe('The task is what "task" of your input says (a text of 30000 bytes).');
    expect(texts[2]).toContain('> (a text of 30000 bytes)');
    expect(played.inputs[2]?.task).toBe(description);
  });

  it('T4: nothing that a task or an agent says looks like a heading of the scratchpad', async () => {
    const nasty = 'one\n## two\r## three\r\n## four\u2028## five';
    const { runtime, file } = await play(
      { ...stopping, maxIterations: 1 },
      { developer: () => nasty, reviewer: failWith(() => nasty) },
    );
    await (await runtime.start('tight-loop', nasty, { id: 'nasty' })).result();
    const lines = read(`${file}.runs/nasty`, 'feedback-scratchpad.md').split(/[\n\r\u2028]/);
    expect(lines.filter((line) => line.startsWith('#'))).toEqual(['# Feedback scratchpad', '## Pass 1']);
  });

  it('T10: the developer again until it says that it is done, within a pass', async () => {
    const done: Work = ({ input }) => ({ summary: 'bit by bit', done: input.repeat >= 4 });
    const played = await play(
      { ...stopping, repeat: true },
      { developer: done, tester: passFrom(2, failDifferently) },
    );
    expect(await ending(played)).toMatchObject({ verdict: 'verified', iterations: 2 });
    expect(played.inputs.map(({ pass: number, repeat }) => `${number}.${repeat}`)).toEqual([
      '1.1',
      '1.2',
      '1.3',
      '1.4',
      '2.1',
      '2.2',
      '2.3',
      '2.4',
    ]);
    const endless = await play({ ...stopping, repeat: true }, { developer: () => ({ done: false }) });
    expect(await ending(endless)).toMatchObject({ verdict: 'exhausted', iterations: 0, limit: 'repeats' });
    expect(endless.calls.developer).toBe(10);
  });

  it('X3: what the developer says that it made, unchanged or brought back, is a stall', async () => {
    const made =
      (of: (number: number) => string): Work =>
      ({ input }) =>
        answer({ summary: 'the same words' }, { artifacts: { patch: of(input.pass) } });
    const same = await play(stopping, { developer: made(() => 'a'), tester: failDifferently });
    expect(await ending(same)).toMatchObject({ verdict: 'stalled', iterations: 1, limit: 'unchanged' });
    const back = await play(stopping, {
      developer: made((number) => 'abab'[number] ?? ''),
      tester: failDifferently,
    });
    expect(await ending(back)).toMatchObject({ verdict: 'stalled', iterations: 2, limit: 'oscillations' });
  });

  it('flaky tests are run again in the next pass, and their own agent may retry within one', async () => {
    let runs = 0;
    const flaky: Work = () => {
      runs += 1;
      if (runs === 1) throw new Error('port in use');
      return runs === 2 ? { passed: false, failures: ['timed out after 31 ms'] } : { passed: true };
    };
    const played = await play({ ...stopping, roles: { tester: { backoffMs: 1 } } }, { tester: flaky });
    expect(await ending(played)).toMatchObject({ verdict: 'verified', iterations: 2 });
    expect(runs).toBe(3);
  });

  const broken: readonly [string, Work][] = [
    ['throws', throwing],
    ['hangs', never],
    ['answers what cannot be stored', () => () => 0],
  ];
  it.each(broken)('X1: an agent that %s ends it failed, or asks', async (_, developer) => {
    const roles = { developer: { attempts: 2, backoffMs: 1, timeLimitMs: 50 } };
    const stopped = await play({ ...stopping, roles }, { developer });
    expect(await ending(stopped)).toMatchObject({ verdict: 'failed', iterations: 0 });
    expect(stopped.calls.developer).toBe(2);
    const asked = await play({ roles }, { developer });
    await asked.run.settled();
    expect((await asked.runtime.questions())[0]?.options.map(({ id }) => id)).toEqual([
      'retry',
      'stop',
      'cancel',
    ]);
  });

  it('T4, T5: a text that is cut in the middle of a character is still one', async () => {
    const played = await play(
      { ...stopping, maxIterations: 2 },
      {
        developer: () => `${'y'.repeat(499)}😀 and more`,
        tester: () => ({ text: `😀${'z'.repeat(3_999)}`, exitCode: 1 }),
      },
    );
    expect(await ending(played)).toMatchObject({ verdict: 'exhausted', iterations: 2 });
    expect(played.inputs[1]?.testText).toBe(`\ufffd${'z'.repeat(3_999)}`);
    expect(read(played.folder, 'feedback-scratchpad.md')).toContain(`${'y'.repeat(499)}\ufffd…`);
  });

  it('X1: garbage of a reviewer is no approval', async () => {
    const played = await play(
      { ...stopping, maxIterations: 2 },
      { reviewer: ({ input }) => ({ hm: input.pass }) },
    );
    expect(await ending(played)).toMatchObject({ verdict: 'exhausted', iterations: 2 });
    expect(played.calls.tester).toBe(0);
  });
});

const questionOf = async (runtime: Pick<Runtime, 'questions'>): Promise<string> => {
  await expect.poll(async () => (await runtime.questions()).length).toBe(1);
  return (await runtime.questions())[0]?.id ?? '';
};

describe('at a limit of a tight loop', () => {
  it('T7: a person continues, twice, each time with counters anew, and looking at the history leaves the question open', async () => {
    const played = await play({}, { tester: failTheSame });
    const { runtime, run, folder, loop } = played;
    const first = await questionOf(runtime);
    expect((await run.state()).context.passes).toHaveLength(3);
    expect(progressIn(folder)['status']).toBe('escalated');
    expect((await runtime.read(tightProgress, 'r')).passes).toHaveLength(3);
    expect(await questionOf(runtime)).toBe(first);
    await runtime.answer(first, 'continue', { by: 'ann' });
    // Three more by default: the same failure meets its own limit with the last of them.
    await expect.poll(async () => (await run.state()).context.passes.length).toBe(6);
    const second = await questionOf(runtime);
    expect(progressIn(folder)).toMatchObject({ status: 'escalated', max_iterations: 6 });
    await runtime.answer(second, 'continue', { by: 'ann', value: 1 });
    await expect.poll(async () => (await run.state()).context.passes.length).toBe(7);
    const third = await questionOf(runtime);
    await runtime.answer(third, 'cancel', { by: 'ann' });
    expect(await run.result()).toMatchObject({
      verdict: 'cancelled',
      output: { iterations: 7, promise: null },
    });
    expect(progressIn(folder)['status']).toBe('cancelled');
    await refusal(runtime.answer(first, 'accept'), 'QUESTION_CLOSED');
    await runtime.close();
    await expectReplays(played.file, [loop]);
  });

  it('T7, T8: disabled, a person who continues allows as many passes as they say, too', async () => {
    const { runtime, run, folder, calls } = await play({ enabled: false }, { tester: failDifferently });
    await runtime.answer(await questionOf(runtime), 'continue', { value: 2 });
    await expect.poll(async () => (await run.state()).context.passes.length).toBe(3);
    await questionOf(runtime);
    expect(calls.tester).toBe(3);
    expect(progressIn(folder)).toMatchObject({ enabled: false, current_iteration: 3, max_iterations: 3 });
  });

  it('T7, T8: progress says at once that the counters start anew', async () => {
    const { runtime, run, folder } = await play(
      {},
      {
        developer: (request) => (request.input.pass > 3 ? never() : implement(request)),
        reviewer: failTheSame,
      },
    );
    const question = await questionOf(runtime);
    expect(progressIn(folder)).toMatchObject({ consecutive_review_failures: 3, max_iterations: 5 });
    await runtime.answer(question, 'continue');
    await expect.poll(async () => (await run.state()).value).toBe('implementing');
    expect(progressIn(folder)).toMatchObject({
      status: 'in_progress',
      current_iteration: 4,
      max_iterations: 6,
      consecutive_review_failures: 0,
    });
  });

  it('X3: what a person has rejected is not given to the developer to mend', async () => {
    const { runtime, run, inputs } = await play(
      {},
      {
        reviewer: ({ input }) => ({
          passed: input.pass > 3,
          issues: input.pass > 3 ? [] : ['tabs, not spaces', `${WORDS[input.pass]} is missing`],
        }),
      },
    );
    const question = await questionOf(runtime);
    const { context } = await run.state();
    const known = Object.values(context.issues).find(({ description }) => description.startsWith('tabs'));
    const rejection = { type: 'issue.reject', fingerprint: known?.fingerprint ?? '', note: null };
    await runtime.send('r', rejection);
    await runtime.answer(question, 'continue');
    expect((await run.result()).verdict).toBe('verified');
    expect(inputs[3]?.reviewIssues).toMatchObject([{ description: 'delta is missing' }]);
    expect(inputs[3]?.prompt).not.toContain('tabs');
  });

  it('T1, T7: a review with a thousand findings in each pass ends like any other', async () => {
    const played = await play(
      {},
      {
        reviewer: ({ input }) => ({
          passed: false,
          issues: Array.from({ length: 1_000 }, (_, index) => ({
            description: `${WORDS[input.pass]} REQ-${index}`,
            file: 'csv.ts',
            line: index,
          })),
        }),
      },
    );
    const question = await questionOf(played.runtime);
    expect(played.inputs[4]?.reviewIssues).toHaveLength(300);
    expect(played.inputs[4]?.prompt).toContain('> 700 more were left out.');
    await played.runtime.answer(question, 'accept');
    expect(await played.run.result()).toMatchObject({
      verdict: 'accepted',
      output: { iterations: 5, limit: { limit: 'passes' } },
    });
  });

  it('T7: a person accepts the state as it is, with the debt on record', async () => {
    const played = await play({}, { tester: failTheSame });
    await played.runtime.answer(await questionOf(played.runtime), 'accept', { by: 'ann', note: 'ship it' });
    expect(await played.run.result()).toMatchObject({
      verdict: 'accepted',
      output: { promise: null, decidedBy: 'ann', debt: [{ gate: 'test', status: 'open', inRow: 3 }] },
    });
    expect(progressIn(played.folder)['status']).toBe('accepted');
    await played.runtime.close();
    const second = await open({
      file: played.file,
      workflows: [played.loop],
      agents: { developer: never, reviewer: never, tester: never },
    });
    const [decided] = await second.audit({ run: 'r', types: ['loop.decided'] });
    expect(decided?.data).toMatchObject({ option: 'accept', by: 'ann', note: 'ship it' });
  });

  it('a step that failed is tried again if a person says so, and a run that is cancelled from outside says so in its files', async () => {
    let isMended = false;
    const played = await play(
      { roles: { reviewer: { attempts: 1 } } },
      { reviewer: (request) => (isMended ? pass(request) : throwing()), tester: never },
    );
    const question = await questionOf(played.runtime);
    isMended = true;
    await played.runtime.answer(question, 'retry');
    await expect.poll(async () => (await played.run.state()).value).toBe('testing');
    expect(played.calls).toMatchObject({ developer: 1, reviewer: 2 });
    await played.run.cancel();
    expect((await played.run.result()).verdict).toBe('cancelled');
    expect(progressIn(played.folder)['status']).toBe('cancelled');
  });
});

describe('the worst case of a tight loop', () => {
  const worst = async (options: TightLoopOptions) => {
    const loop = tightLoop({ ...stopping, ...options });
    const agents = { developer: never, reviewer: never, tester: never };
    const runtime = await open({ file: temporaryFile(), workflows: [loop], agents });
    return runtime.worstCase('tight-loop', 'Add CSV export');
  };

  it.each([
    [{}, 15],
    [{ strict: true }, 13],
    [{ enabled: false }, 3],
    [{ maxIterations: 2 }, 6],
  ] as const)('T1, X4: with %j it is %i calls, and proved', async (options, calls) => {
    const { result, requests, calls: attempts, text, verdicts } = await worst(options);
    expect({ result, requests }).toEqual({ result: 'proved', requests: calls });
    expect(attempts).toBe(3 * calls);
    expect(text).toContain(`at most ${calls} calls of agents (${3 * calls} with retries)`);
    expect(verdicts).toContain('verified');
  });
});

describe('a loop inside one task', () => {
  const play10 = async (
    worker: AgentFunction<RepeatInput, unknown>,
    options: Partial<RepeatLoopOptions<'worker'>> = stopping,
  ) => {
    const loop = repeatLoop('polish', { agent: 'worker', role: { attempts: 1 }, ...options });
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [loop], agents: { worker } });
    return { runtime, file, loop, run: await runtime.start('polish', 'a text', { id: 'r' }) };
  };

  it('T10: the same agent again, with its last answer, until it says that it is done', async () => {
    const given: RepeatInput[] = [];
    const { run, runtime, file, loop } = await play10(({ input }) => {
      given.push(input);
      return input.repeat === 3 ? 'TASK_COMPLETE' : `draft ${input.repeat}`;
    });
    expect(await run.result()).toMatchObject({
      verdict: 'verified',
      output: { repeats: 3, output: 'TASK_COMPLETE' },
    });
    expect(given.map(({ repeat, last }) => [repeat, last])).toEqual([
      [1, null],
      [2, 'draft 1'],
      [3, 'draft 2'],
    ]);
    await runtime.close();
    await expectReplays(file, [loop]);
  });

  it('T10, X4: its worst case is proved, too', async () => {
    const { runtime } = await play10(never);
    expect(await runtime.worstCase('polish', 'a text')).toMatchObject({
      result: 'proved',
      requests: 10,
      calls: 10,
    });
    expect(() => repeatLoop('polish', { agent: 'worker', limits: { timeMs: 5 } })).toThrow(
      /role.timeLimitMs/,
    );
  });

  it('T10: at most 10 repeats; then it ends, or a person may continue, accept or cancel', async () => {
    const stopped = await play10(() => 'not yet');
    expect(await stopped.run.result()).toMatchObject({
      verdict: 'exhausted',
      output: { repeats: 10, limit: { limit: 'repeats' } },
    });
    const asked = await play10(({ input }) => ({ done: input.repeat === 12 }), { onLimit: 'ask' });
    await asked.runtime.answer(await questionOf(asked.runtime), 'continue', { value: 2 });
    expect(await asked.run.result()).toMatchObject({ verdict: 'verified', output: { repeats: 12 } });
    const failing = await play10(throwing);
    expect((await failing.run.result()).verdict).toBe('failed');
  });

  it('X1, X4: a budget that is used up before a call ends it exhausted, and a person may raise it', async () => {
    const none = await play10(() => 'not yet', { ...stopping, limits: { costUsd: 0 } });
    expect(await none.run.result()).toMatchObject({
      verdict: 'exhausted',
      output: { repeats: 0, limit: { limit: 'costUsd' } },
    });
    const both = await play10(({ input }) => (input.repeat === 4 ? 'DONE' : 'not yet'), {
      limits: { calls: 2, repeats: 2 },
    });
    await both.runtime.answer(await questionOf(both.runtime), 'continue');
    await expect.poll(async () => (await both.runtime.questions())[0]?.id).toBe('r/question~2');
    await both.runtime.answer('r/question~2', 'continue');
    expect(await both.run.result()).toMatchObject({ verdict: 'verified', output: { repeats: 4 } });
  });

  it('G13: what a person has tried again is a call of its own', async () => {
    const keys: string[] = [];
    const { runtime, run } = await play10(
      ({ idempotencyKey }) => {
        keys.push(idempotencyKey);
        return keys.length === 1 ? throwing() : 'DONE';
      },
      { onLimit: 'ask' },
    );
    await runtime.answer(await questionOf(runtime), 'retry');
    expect((await run.result()).verdict).toBe('verified');
    expect(new Set(keys).size).toBe(2);
  });
});

describe('no run of a tight loop is worse than its worst case', () => {
  // Method: agents that do anything, by a generator that the run's own id seeds; each request is tried once.
  const ANYTHING = rounds(5_000, 10_000, 1_000);
  const once = { attempts: 1 };
  const roles = { developer: once, reviewer: once, tester: once };

  const numbersOf = (run: string, call: string): number => {
    const digest = createHash('sha256').update(`${run} ${call}`).digest();
    return digest.readUInt32BE(0) / 2 ** 32;
  };
  const anything: Work = ({ run, callId, input }) => {
    const luck = numbersOf(run, callId);
    if (luck < 0.02) throw new Error('out of order');
    if (luck < 0.4) return { passed: true };
    if (luck < 0.5) return { passed: false, issues: ['the same again'] };
    return { passed: false, issues: [`${WORDS[input.pass % WORDS.length]} is missing`] };
  };

  it.each([
    [{}, 15, (number: number) => number > 0],
    [{ strict: true }, 13, (number: number) => number > 2],
  ] as const)(
    'T1: with %j it is reached, and exceeded by none that is left to chance',
    async (options, most, isReviewed) => {
      const loop = tightLoop({ ...stopping, ...options, roles });
      const scripted = new Set(['worst']);
      const worst: Script = {
        reviewer: (request) => (isReviewed(request.input.pass) ? pass(request) : failDifferently(request)),
        tester: failDifferently,
      };
      const by =
        (role: 'reviewer' | 'tester'): Work =>
        (request) =>
          scripted.has(request.run) ? (worst[role] ?? pass)(request) : anything(request);
      const runtime = await open({
        file: ':memory:',
        workflows: [loop],
        agents: {
          developer: agent(
            (request: Parameters<Work>[0]) =>
              scripted.has(request.run) ? implement(request) : anything(request),
            { concurrency: 500, quarantine: { failures: 1e9, forMs: 0 } },
          ),
          reviewer: agent(by('reviewer'), { concurrency: 500, quarantine: { failures: 1e9, forMs: 0 } }),
          tester: agent(by('tester'), { concurrency: 500, quarantine: { failures: 1e9, forMs: 0 } }),
        },
      });
      expect(
        (await (await runtime.start('tight-loop', null, { id: 'worst' })).result()).output?.spent.calls,
      ).toBe(most);
      const counts = new Map<number, number>();
      const verdicts = new Set<string>();
      for (let done = 0; done < ANYTHING; done += 500) {
        const runs = await Promise.all(
          Array.from({ length: 500 }, (_, index) =>
            runtime.start('tight-loop', null, { id: `run-${done + index}` }),
          ),
        );
        for (const { verdict, output } of await Promise.all(runs.map((run) => run.result()))) {
          const calls = output?.spent.calls ?? Number.NaN;
          counts.set(calls, (counts.get(calls) ?? 0) + 1);
          verdicts.add(verdict);
        }
      }
      expect(Math.max(...counts.keys())).toBeLessThanOrEqual(most);
      expect([...verdicts].sort()).toEqual(['exhausted', 'failed', 'stalled', 'verified']);
    },
  );
});

describe('time in a tight loop', () => {
  const timed = { limits: { timeMs: 60_000 } };

  it('X1: time that is used up ends it or is asked for; what a person allows is counted too', async () => {
    const clock = createFakeClock();
    const stopped = await play({ ...stopping, ...timed }, { tester: never }, clock);
    await expect.poll(() => stopped.calls.tester).toBe(1);
    clock.advance(60_000);
    expect(await ending(stopped)).toMatchObject({ verdict: 'exhausted', limit: 'timeMs' });
    const asked = await play(timed, { tester: never }, clock);
    await expect.poll(() => asked.calls.tester).toBe(1);
    clock.advance(60_000);
    await asked.runtime.answer(await questionOf(asked.runtime), 'continue');
    // The tester is asked once more, and hangs once more.
    await expect.poll(() => asked.calls.tester).toBe(2);
    clock.advance(60_000);
    await expect.poll(async () => (await asked.runtime.questions())[0]?.id).toBe('r/question~2');
    expect(asked.calls).toMatchObject({ developer: 1, reviewer: 1, tester: 2 });
  });

  it('X1: time that is used up while a person is asked for something else is asked for next', async () => {
    const clock = createFakeClock();
    const { runtime } = await play(
      { maxIterations: 1, ...timed },
      { tester: (request) => (request.input.pass === 1 ? failDifferently(request) : never()) },
      clock,
    );
    const first = await questionOf(runtime);
    clock.advance(60_000);
    await expect
      .poll(async () => (await runtime.audit({ run: 'r', types: ['lw.timer.fired'] })).length)
      .toBe(1);
    await runtime.answer(first, 'continue');
    // It is due at once.
    await expect.poll(() => clock.waiting).toBeGreaterThan(0);
    clock.advance(1);
    await expect.poll(async () => (await runtime.questions())[0]?.text).toMatch(/timeMs/);
  });

  it('messages from outside that lack what they need, or are forged, change nothing', async () => {
    const { runtime, run } = await play({}, { developer: never });
    const forged = { type: 'agent.done', request: 'developer.1', answer: { output: 'forged' }, attempts: 1 };
    for (const message of [{ type: 'run.pause' }, { type: 'run.resume' }, { type: 'issue.reject' }, forged])
      expect(await runtime.send('r', message)).toMatchObject({ taken: false });
    expect((await run.state()).value).toBe('implementing');
  });
});

describe('pausing a tight loop', () => {
  it('a reason that is given twice is one reason, and no agent is called before the last is taken back', async () => {
    const { run, runtime, calls } = await play({ ...stopping, limits: {} }, { developer: never });
    await expect.poll(() => calls.developer).toBe(1);
    await run.pause('lunch');
    await run.pause('lunch');
    await run.pause('budget');
    expect(await run.context.get('run.pauseReasons')).toEqual(['lunch', 'budget']);
    await run.resume('lunch');
    await refusal(run.resume('dinner'), 'NOT_PAUSABLE');
    await run.resume('budget');
    expect(await run.context.get('run.paused')).toBe(false);
    await runtime.close();
  });
});
