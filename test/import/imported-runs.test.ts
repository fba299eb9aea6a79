import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatFeedback,
  type ImportedRun,
  importedRun,
  type Json,
  type ReadImport,
  readImport,
  readStoryFiles,
  storyLoop,
  storyView,
  tightLoop,
  tightProgress,
  treeFeedbackLog,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays, open, refusal, rounds } from '../support/runtimes.ts';
import { chain, item, playTree } from '../support/tree-runs.ts';

/** What a text is, if it is no file of settings. */
const readRun = (text: string): ImportedRun['read'] => {
  const read: ReadImport | null = readImport(text);
  if (!read || read.format === 'settings') throw new Error('It is no run.');
  return read;
};

/** Starts it without agents, as a command does, and gives its id. */
const startIn = async (file: string, workflow: Workflow, { run, input }: ImportedRun): Promise<string> => {
  if (run === null) throw new Error('There is nothing to start.');
  const runtime = await open({ file, workflows: [workflow], agents: {}, idle: true });
  await runtime.start(workflow.name, input, { id: run });
  await runtime.close();
  return run;
};

const tree = treeRun('tree', { nodes: chain('plan', 'model', 'test') });
const line = (more: Record<string, Json>): Record<string, Json> => ({
  ...item('test', 'model'),
  timestamp: '2026-01-21T14:00:00Z',
  status: 'queued',
  round: 1,
  ...more,
});
const linesOf = (...rows: readonly Record<string, Json>[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

describe('feedback of another system', () => {
  it('X11: open feedback is delivered in a tree run, rounds that were used count, and rows without a node are named', async () => {
    const file = temporaryFile();
    const text = linesOf(
      line({ feedback_id: 'A', status: 'resolved', resolved_at: '2026-01-21T15:00:00Z' }),
      line({ feedback_id: 'B', message: 'the email may be empty', round: 2 }),
      line({ feedback_id: 'C', from_node: 'nobody' }),
      line({ feedback_id: 'D', to_node: 'plan', caused_by: 'C' }),
      line({ feedback_id: 'E', from_node: 'gone', to_node: 'away', status: 'failed' }),
    );
    const imported = importedRun(tree, readRun(text), { task: 'payments' });
    expect(imported.read.accepted.map(({ place }) => place)).toEqual(['line 1', 'line 2', 'line 5']);
    expect(imported.read.refused.map(({ place, reason }) => [place, reason])).toEqual([
      ['line 3', expect.stringContaining('"nobody", which is not in the tree')],
      ['line 4', '"caused_by" is "C", which was refused'],
    ]);
    const run = await startIn(file, tree, imported);
    const told: string[] = [];
    const runtime = await open({
      file,
      workflows: [tree],
      agents: {
        plan: () => ({ planned: true }),
        model: ({ feedback }) => {
          told.push(...feedback.map((each) => JSON.stringify(each)));
          return { made: feedback.length };
        },
        test: () => ({ passed: true }),
      },
    });
    expect((await (await runtime.run(run)).result()).verdict).toBe('verified');
    expect(told.filter((each) => each.includes('the email may be empty')).length).toBeGreaterThan(0);
    const { rows } = await runtime.read(treeFeedbackLog, run);
    expect(rows['B']).toMatchObject({ status: 'resolved', round: 2 });
    await runtime.close();
    await expectReplays(file, [tree]);
  });

  it('X11: what a run exports, another takes in, equal', async () => {
    const played = await playTree(chain('plan', 'model', 'test'), {});
    const { log } = await played.readBack();
    const rows = Object.values(log.rows);
    const all = [
      ...rows,
      ...readFeedbackRows(linesOf(line({ feedback_id: 'X' }), line({ feedback_id: 'Y' }))),
    ];
    const read = readRun(formatFeedback(all));
    expect(read.refused).toEqual([]);
    expect(read.format === 'feedback' && formatFeedback(read.rows.map(({ row }) => row))).toBe(
      formatFeedback(all),
    );
  });
});

const readFeedbackRows = (text: string) => {
  const read = readRun(text);
  return read.format === 'feedback' ? read.rows.map(({ row }) => row) : [];
};

const anyPass = fc.oneof(
  fc.record({
    review: fc.constant(false),
    words: fc.array(fc.constantFrom('csv', 'mock', 'login'), { maxLength: 3 }),
  }),
  fc.record({
    review: fc.constant(true),
    words: fc.array(fc.constantFrom('csv', 'mock', 'login'), { maxLength: 3 }),
  }),
);

const iterationsOf = (passes: readonly { readonly review: boolean; readonly words: readonly string[] }[]) =>
  passes.map(({ review, words }, index) => ({
    number: index + 1,
    implementation: `change ${index + 1}`,
    review_result: review ? 'PASS' : 'FAIL',
    test_result: review ? 'FAIL' : 'NOT_RUN',
    ...(words.length > 0 && {
      [review ? 'test_failures' : 'review_issues']: words.map(
        (word) => `a.ts:${index + 3} - ${word} is missing`,
      ),
    }),
  }));

const progressText = (loop: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ feedback_loop: loop });

const TWO_PASSES = progressText({
  enabled: true,
  current_iteration: 3,
  max_iterations: 4,
  status: 'in_progress',
  consecutive_review_failures: 0,
  consecutive_test_failures: 1,
  iterations: iterationsOf([
    { review: false, words: ['login'] },
    { review: true, words: ['mock'] },
  ]),
});

describe('progress of another system', () => {
  it('X11: a tight loop goes on in the pass that was recorded, with what the last one left, and its own bound', async () => {
    const file = temporaryFile();
    const loop = tightLoop();
    const imported = importedRun(loop, readRun(TWO_PASSES), { task: 'Add a filter' });
    expect(imported.read.refused).toEqual([]);
    const run = await startIn(file, loop, imported);
    const asked: unknown[] = [];
    const runtime = await open({
      file,
      workflows: [loop],
      agents: {
        developer: ({ input, history }) => {
          asked.push({
            pass: input.pass,
            max: input.passesMax,
            failures: input.testFailures,
            before: history.length,
          });
          return { summary: 'mended' };
        },
        reviewer: () => ({ passed: true }),
        tester: () => ({ passed: true }),
      },
    });
    const { verdict, output } = await (await runtime.run(run, 'tight-loop')).result();
    expect([verdict, output?.iterations]).toEqual(['verified', 3]);
    expect(asked).toEqual([
      {
        pass: 3,
        max: 4,
        failures: [{ severity: 'high', category: '', description: 'a.ts:4 - mock is missing' }],
        before: 2,
      },
    ]);
    const told = JSON.parse(readFileSync(join(`${file}.runs`, run, 'progress.json'), 'utf8'));
    expect(told.feedback_loop.iterations).toHaveLength(3);
    expect(told.feedback_loop.iterations[0].review_issues).toEqual(['a.ts:3 - login is missing']);
    await runtime.close();
    await expectReplays(file, [loop]);
  });

  it.each([
    ['a limit was met before', { max_iterations: 2, status: 'escalated' }, 'waiting'],
    ['it was verified before', { status: 'IMPLEMENTATION_VERIFIED' }, 'verified'],
  ] as const)('X1, X11: if %s, no agent is called', async (_, more, expected) => {
    const file = temporaryFile();
    const loop: Workflow = tightLoop();
    const iterations =
      expected === 'verified'
        ? [
            ...iterationsOf([{ review: true, words: [] }]),
            { number: 2, review_result: 'PASS', test_result: 'PASS' },
          ]
        : iterationsOf([
            { review: false, words: [] },
            { review: true, words: [] },
          ]);
    const imported = importedRun(loop, readRun(progressText({ ...more, iterations })), { task: 't' });
    expect(imported.read.refused).toEqual([]);
    const run = await startIn(file, loop, imported);
    const runtime = await open({ file, workflows: [loop], agents: {}, idle: true });
    const [record] = await runtime.runs();
    const questions = await runtime.questions();
    if (expected === 'verified') expect([record?.verdict, questions]).toEqual(['verified', []]);
    else expect([record?.verdict, questions.length]).toEqual([null, 1]);
    expect((await runtime.read(tightProgress, run)).passes).toHaveLength(2);
    expect((await runtime.audit({ run })).filter(({ type }) => type === 'lw.call.begun')).toEqual([]);
  });

  it('X2, X11: of any file, a run has as many passes as were accepted, and writes them as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPass, { maxLength: 7 }), async (passes) => {
        const file = temporaryFile();
        const loop: Workflow = tightLoop({ limits: { passes: 100, sameIssue: null, sameFailure: null } });
        const iterations = iterationsOf(passes);
        const imported = importedRun(loop, readRun(progressText({ status: 'in_progress', iterations })), {
          task: 't',
        });
        const run = await startIn(file, loop, imported);
        const runtime = await open({ file, workflows: [loop], agents: {}, idle: true });
        const view = await runtime.read(tightProgress, run);
        expect(view.passes.map(({ review, test }) => [review, test ?? 'NOT_RUN'])).toEqual(
          iterations.map(({ review_result: review, test_result: test }) => [review, test]),
        );
        const { replay } = await runtime.verify();
        expect(replay.problem).toBeUndefined();
        await runtime.close();
      }),
      { numRuns: rounds(6, 200) },
    );
  });

  it('X11: the same again has the same id, which is refused; other content has another', async () => {
    const file = temporaryFile();
    const loop = tightLoop();
    const once = importedRun(loop, readRun(TWO_PASSES), { task: 't' });
    const again = importedRun(loop, readRun(` ${TWO_PASSES}\n`), { task: 't' });
    const other = importedRun(loop, readRun(TWO_PASSES.replace('mock', 'mocks')), { task: 't' });
    expect(again.run).toBe(once.run);
    expect(other.run).not.toBe(once.run);
    await startIn(file, loop, once);
    await refusal(startIn(file, loop, again), 'RUN_EXISTS');
  });

  it('X11: a workflow of another kind, and a progress file that is wrong, are refused', async () => {
    const file = temporaryFile();
    expect(() => importedRun(tree, readRun(TWO_PASSES))).toThrow(/a tight loop/);
    const loop: Workflow = tightLoop();
    const runtime = await open({ file, workflows: [loop], agents: {}, idle: true });
    const wrong = { feedback_loop: { iterations: [{ review_result: 'no' }] } };
    await refusal(runtime.start('tight-loop', { task: 't', progress: wrong }), 'BAD_OPTION');
    expect(await runtime.runs()).toEqual([]);
  });

  it('S12: a secret in an accepted row is not in the log', async () => {
    const file = temporaryFile();
    const token = `ghp_${'a1B2'.repeat(10)}`;
    const loop = tightLoop();
    const text = progressText({
      iterations: [
        {
          implementation: `used ${token}`,
          review_result: 'FAIL',
          review_issues: [`${token} is in the code`],
        },
      ],
    });
    await startIn(file, loop, importedRun(loop, readRun(text), { task: 't' }));
    for (const name of [file, `${file}-wal`]) {
      const bytes = readIfThere(name);
      expect(bytes.includes(token)).toBe(false);
    }
  });
});

const readIfThere = (file: string): Buffer => {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
};

describe('stories of another system', () => {
  it('X11: go on with the phases and counts that their frontmatter has', async () => {
    const file = temporaryFile();
    const folder = join(dirname(file), 'stories');
    mkdirSync(folder);
    const path = join(folder, 'export.md');
    const text =
      '---\nid: story-1\ntitle: Export\nresearch_complete: true\nplan_complete: true\nrefinement_count: 2\nmax_refinement_attempts: 2\n---\n# Export\n';
    writeFileSync(path, text);
    const loop = storyLoop('stories', { mode: 'auto' });
    const imported = importedRun(
      loop,
      readStoryFiles([
        { path, text },
        { path: join(folder, 'no.md'), text: 'no' },
      ]),
    );
    expect(imported.read.refused).toHaveLength(1);
    const run = await startIn(file, loop, imported);
    const roles: string[] = [];
    const work = (role: string) => () => {
      roles.push(role);
      return 'done';
    };
    const runtime = await open({
      file,
      workflows: [loop],
      agents: {
        research: work('research'),
        plan: work('plan'),
        implement: work('implement'),
        review: () => ({
          decision: 'rejected',
          passed: false,
          issues: [{ severity: 'critical', category: 'code', description: 'a fault' }],
          feedback: 'no',
        }),
        'create-pr': work('create-pr'),
      },
    });
    await (await runtime.run(run)).settled();
    // Twice refined before, twice allowed: it is not sent back again.
    expect(roles).toEqual(['implement']);
    expect((await runtime.questions()).length).toBe(1);
    const { stories } = await runtime.read(storyView, run);
    expect(Object.values(stories)[0]).toMatchObject({ refinements: 2 });
  });
});
