import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { questionText } from '../../src/cli/question-text.ts';
import {
  type Json,
  type OpenQuestion,
  questionFingerprint,
  type Runtime,
  tightLoop,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { callHere } from '../support/call-here.ts';
import { cliFolder, passes, rejects, tight } from '../support/cli.ts';
import { open, refusal } from '../support/runtimes.ts';

const RUNS = process.env['LOOPWRIGHT_DEEP'] === '1' ? 100_000 : 1_000;

/** What an agent would write to be taken for the program. */
const FAKES = [
  '  1) approve: all is well',
  '  2) accept: recommended',
  '[ Approve ]',
  'Your answer (1-3): 1',
  'Answer with: loopwright answer run-1 accept',
  '  └\n  1) accept: it is safe',
  '  ┌ question\n  │ Is it good?\n  └',
  '  or an answer in your own words',
  '  fingerprint of all this: 000000000000',
  '\r  1) accept: yes',
  '\u001b[1A\u001b[2K  1) accept: yes',
  'error: the run has ended, say accept',
];
const agentText = fc
  .array(fc.oneof(fc.constantFrom(...FAKES), fc.string({ unit: 'binary', maxLength: 20 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((lines) => lines.join('\n'));
const optionId = fc.constantFrom('accept', 'continue', 'stop', 'approve');

const question = (text: string, details: Json, ids: readonly string[]): OpenQuestion => ({
  id: 'run-1/question',
  run: 'run-1',
  text,
  details,
  options: ids.map((id) => ({ id, label: `the workflow's ${id}` })),
  isFree: false,
  askedOf: null,
  level: 0,
  openedAtMs: 0,
  expiresAtMs: null,
});

const anyQuestion = fc
  .tuple(agentText, agentText, fc.uniqueArray(optionId, { minLength: 1 }))
  .map(([text, said, ids]) => question(text, { issues: [{ description: said }], said }, ids));

/** The lines that are not in a box: those of the program itself. */
const ownLines = (shown: string): readonly string[] =>
  shown.split('\n').filter((line) => !/^ {2}[┌│└]/.test(line));

describe('S8: what a person is asked', () => {
  it(`S8: in ${RUNS} questions, no button or label of an agent stands outside of its box`, () => {
    fc.assert(
      fc.property(anyQuestion, (asked) => {
        expect(ownLines(questionText(asked))).toEqual([
          'run-1 asks a person (question run-1/question):',
          ...asked.options.map(({ id, label }, index) => `  ${index + 1}) ${id}: ${label}`),
          `  fingerprint of all this: ${questionFingerprint(asked)}`,
        ]);
      }),
      { numRuns: RUNS },
    );
  });

  it('S8, control: without the box, such a line would pass for one of the program', () => {
    expect(ownLines(FAKES.join('\n')).length).toBeGreaterThan(8);
  });

  it(`S8: of ${RUNS} pairs of questions that differ in anything that is shown, none has the same fingerprint`, () => {
    fc.assert(
      fc.property(anyQuestion, anyQuestion, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(questionFingerprint(one) === questionFingerprint(other)).toBe(isSame);
        expect(questionFingerprint(structuredClone(one))).toBe(questionFingerprint(one));
      }),
      { numRuns: RUNS },
    );
  });
});

describe('S8: what is carried out', () => {
  it('S8: options come from the workflow, whatever agents say; what was shown is what is answered', async () => {
    const file = temporaryFile();
    const loop = tightLoop({ name: 'loop', onLimit: 'ask', maxIterations: 1 });
    const agents = {
      developer: () => ({ summary: FAKES.join('\n'), options: [{ id: 'approve-all', label: 'x' }] }),
      reviewer: () => ({
        passed: false,
        issues: FAKES.map((description) => ({ severity: 'high', category: 'x', description })),
        options: [{ id: 'approve-all', label: 'x' }],
      }),
      tester: () => passes,
    };
    const runtime: Runtime = (await open({ file, workflows: [loop], agents })) as never;
    await (await runtime.start('loop', 'x', { id: 'r' })).settled();
    const [asked] = await runtime.questions();
    if (!asked) throw new Error('Nothing was asked.');
    expect(asked.options.map(({ id }) => id)).not.toContain('approve-all');
    await refusal(runtime.answer(asked.id, 'approve-all'), 'BAD_ANSWER');
    const expected = questionFingerprint(asked);
    const wrong = runtime.answer(asked.id, 'accept', { expect: '000000000000' });
    expect((await refusal(wrong, 'QUESTION_CHANGED')).fields).toMatchObject({ found: expected });
    expect(await runtime.questions()).toHaveLength(1);
    await runtime.answer(asked.id, 'accept', { expect: expected });
    await runtime.close();
    const second: Runtime = (await open({ file, workflows: [loop], agents, idle: true })) as never;
    expect(await (await second.run('r')).result()).toMatchObject({ verdict: 'accepted' });
    await second.close();
  });

  it('S8: another question of the run is not answered by whoever looked at the one before', async () => {
    const cli = cliFolder();
    try {
      cli.file(
        'asking.yaml',
        tight('asking', {
          onLimit: 'ask',
          maxIterations: 1,
          review: [rejects('one'), rejects('two'), passes],
        }),
      );
      expect((await callHere(cli.folder, ['run', 'asking.yaml', 'x', '--no-ask'])).code).toBe(3);
      const shown = async () =>
        (
          JSON.parse((await callHere(cli.folder, ['questions', '--json'])).stdout) as readonly {
            id: string;
            fingerprint: string;
          }[]
        )[0];
      const first = await shown();
      const { stdout } = await callHere(cli.folder, ['questions']);
      expect(stdout).toContain(`fingerprint of all this: ${first?.fingerprint}`);
      expect(
        (
          await callHere(cli.folder, [
            'answer',
            'last',
            'continue',
            '--value',
            '1',
            '--expect',
            first?.fingerprint ?? '',
          ])
        ).code,
      ).toBe(0);
      expect((await callHere(cli.folder, ['resume', '--no-ask'])).code).toBe(3);
      const second = await shown();
      // Whoever names the run means the question that it has now.
      expect(second?.fingerprint).not.toBe(first?.fingerprint);
      const late = await callHere(cli.folder, [
        'answer',
        'last',
        'accept',
        '--expect',
        first?.fingerprint ?? '',
      ]);
      expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('it is not what was looked at')]);
      expect(
        (await callHere(cli.folder, ['answer', 'last', 'accept', '--expect', second?.fingerprint ?? '']))
          .code,
      ).toBe(0);
    } finally {
      await cli.remove();
    }
  });
});
