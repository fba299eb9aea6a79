import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { questionText } from '../../src/cli/question-text.ts';
import {
  type Json,
  type OpenQuestion,
  planRun,
  questionFingerprint,
  type Runtime,
  tightLoop,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { callHere } from '../support/call-here.ts';
import { cliFolder, passes, rejects, tight } from '../support/cli.ts';
import { open, refusal, rounds } from '../support/runtimes.ts';

const RUNS = rounds(1_000, 100_000, 300);
/** Questions that are answered in a log, of so many kinds, so many at once. */
const CARRIED_OUT = rounds(1_000, 10_000, 300);
const KINDS = 20;
const BATCH = 200;

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

  it(`S8: in ${RUNS} questions, each thing that is shown has the fingerprint change with it, and nothing else`, () => {
    fc.assert(
      fc.property(anyQuestion, agentText, (asked, said) => {
        const before = questionFingerprint(asked);
        for (const [what, other] of oneThingElse(asked, said))
          expect([what, questionFingerprint(other) === before]).toEqual([what, false]);
        const same = {
          ...structuredClone(asked),
          id: 'x/question',
          run: 'x',
          askedOf: 'ada',
          level: 1,
          openedAtMs: 9,
        };
        expect(questionFingerprint(same)).toBe(before);
      }),
      { numRuns: RUNS },
    );
  });

  it('S8: whoever does not see all of what has the fingerprint is told how to', () => {
    const said = Array.from({ length: 50 }, (_, index) => `line ${index}`);
    const more = 'see the rest: loopwright questions run-1 --json';
    expect(questionText(question('x', { said }, ['accept']))).toContain(more);
    expect(questionText(question(said.join('\n'), null, ['accept']))).toContain(more);
    expect(questionText(question('x'.repeat(3_000), null, ['accept']))).toContain(more);
    expect(questionText(question('x', { said: 'x' }, ['accept']))).not.toContain(more);
  });
});

/** The same question with one thing in it that is not as it was. */
const oneThingElse = (
  asked: OpenQuestion,
  said: string,
): readonly (readonly [what: string, other: OpenQuestion])[] => {
  const { text, details, options, isFree } = asked;
  const optionWith = (index: number, more: Partial<OpenQuestion['options'][number]>): OpenQuestion => ({
    ...asked,
    options: options.map((option, nth) => (nth === index ? { ...option, ...more } : option)),
  });
  return [
    ['text', { ...asked, text: `${text}${said || 'x'}` }],
    ['a character of the text', { ...asked, text: `${text} ` }],
    ['details', { ...asked, details: { ...(details as object), more: said } }],
    [
      'deep in the details',
      { ...asked, details: { ...(details as object), issues: [{ description: `${said}!` }] } },
    ],
    ['no details', { ...asked, details: null }],
    ['isFree', { ...asked, isFree: !isFree }],
    ['one option less', { ...asked, options: options.slice(1) }],
    ['one option more', { ...asked, options: [...options, { id: 'more', label: said }] }],
    ...(options.length > 1 ? [['order', { ...asked, options: options.toReversed() }] as const] : []),
    ...options.flatMap(
      ({ id, label }, index) =>
        [
          [`id ${index}`, optionWith(index, { id: `${id}-` })],
          [`label ${index}`, optionWith(index, { label: `${label}${said || 'x'}` })],
          [`impact ${index}`, optionWith(index, { impact: said })],
          [`effort ${index}`, optionWith(index, { effort: said })],
          [`isProposed ${index}`, optionWith(index, { isProposed: true })],
        ] as const,
    ),
  ];
};

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

  // Method: many persons are asked something else at once. Each looks, and answers with the fingerprint of what was shown; before that,
  // somebody answers with that of another question. Then the log is read by itself: what it says was asked has the fingerprint that was
  // shown, and what was chosen is what the run came to.
  it(`S8: in ${CARRIED_OUT} questions, what was looked at is what the log has carried out`, async () => {
    const drawn = fc.sample(anyQuestion, { numRuns: KINDS, seed: 8 });
    const plans = drawn.map(({ text, options }, index) =>
      planRun(`ask-${index}`, {
        steps: [{ id: 'decide', agent: 'boss' }],
        persons: { boss: { text: text || 'x', options, isFree: false } },
      }),
    );
    const file = temporaryFile();
    const runtime: Runtime = (await open({ file, workflows: plans, agents: {} })) as never;
    const tasks = fc.sample(agentText, { numRuns: CARRIED_OUT, seed: 9 });
    const shown = new Map<string, { readonly fingerprint: string; readonly option: string }>();
    for (let from = 0; from < CARRIED_OUT; from += BATCH) {
      const batch = tasks.slice(from, from + BATCH).map((task, nth) => ({ task, nth: from + nth }));
      await Promise.all(
        batch.map(({ task, nth }) =>
          runtime.start(`ask-${nth % KINDS}`, `${nth} ${task}`, { id: `r-${nth}` }),
        ),
      );
      const asked = await runtime.questions();
      expect(asked).toHaveLength(batch.length);
      await Promise.all(
        asked.map(async (each, index) => {
          const option = each.options[index % each.options.length]?.id ?? '';
          const fingerprint = questionFingerprint(each);
          const other = asked[(index + 1) % asked.length] ?? each;
          await refusal(
            runtime.answer(each.id, option, { expect: questionFingerprint(other) }),
            'QUESTION_CHANGED',
          );
          await runtime.answer(each.id, option, { expect: fingerprint });
          shown.set(each.run, { fingerprint, option });
        }),
      );
    }
    const limit = Number.POSITIVE_INFINITY;
    const opened = await runtime.audit({ types: ['question.opened'], limit });
    const answers = await runtime.audit({ types: ['question.answer'], kinds: ['message'], limit });
    const ended = new Map((await runtime.runs()).map(({ id, verdict }) => [id, verdict]));
    const executed = opened.map(({ run, data }) => {
      const { text, details, options, isFree } = data as unknown as OpenQuestion; // The machine of questions wrote it.
      const said = answers.filter((each) => each.run === run).map((each) => each.data['option']);
      return [
        run,
        { fingerprint: questionFingerprint({ text, details, options, isFree }), said, ended: ended.get(run) },
      ];
    });
    expect(executed).toHaveLength(CARRIED_OUT);
    expect(Object.fromEntries(executed)).toEqual(
      Object.fromEntries(
        [...shown].map(([run, { fingerprint, option }]) => [
          run,
          { fingerprint, said: [option], ended: 'verified' },
        ]),
      ),
    );
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
