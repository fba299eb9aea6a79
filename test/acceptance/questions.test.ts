import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type OpenQuestion, planRun, sendCommand } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, draftPlan, never, reject, writeNew } from '../support/draft-plan.ts';
import { createFakeClock, expectReplays, open, refusal } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const asking = draftPlan({ limits: { passes: 1 } });

/** A run that has met its limit and asks. */
const askingRun = async (file: string) => {
  const runtime = await open({ file, workflows: [asking], agents: { writer: writeNew, critic: reject } });
  const run = await runtime.start('draft', 'a letter', { id: 'r' });
  await run.settled();
  const [question] = await runtime.questions();
  if (!question) throw new Error('Nobody was asked.');
  return { runtime, run, question };
};

describe('questions', () => {
  it('X6: many are open at once, each with an id, options with their impact, and what it is about', async () => {
    const file = temporaryFile();
    const told: OpenQuestion[] = [];
    const runtime = await open({
      file,
      workflows: [asking],
      agents: { writer: writeNew, critic: reject },
      onQuestion: (question) => told.push(question),
    });
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => runtime.start('draft', id, { id })));
    await Promise.all(runs.map((run) => run.settled()));
    const questions = await runtime.questions();
    expect(questions.map(({ run }) => run).sort()).toEqual(['a', 'b', 'c']);
    expect(new Set(questions.map(({ id }) => id)).size).toBe(3);
    expect(told.map(({ id }) => id).sort()).toEqual(questions.map(({ id }) => id).sort());
    expect(questions[0]).toMatchObject({
      text: 'The limit "passes" of 1 was met.',
      details: { halt: { met: { limit: 'passes', bound: 1, used: 1, evidence: ['review'] } } },
      isFree: false,
      options: [{ id: 'continue', impact: expect.any(String) }, { id: 'accept' }, { id: 'cancel' }],
      expiresAtMs: null,
    });
    await runtime.answer(questions[1]?.id ?? '', 'cancel');
    await runtime.close();

    const second = await open({ file, workflows: [asking], agents: { writer: never, critic: never } });
    expect((await second.questions()).map(({ id }) => id)).toEqual([questions[0]?.id, questions[2]?.id]);
    const again: string[] = [];
    second.questions$.subscribe(({ id }) => again.push(id));
    await expect.poll(() => again).toEqual([questions[0]?.id, questions[2]?.id]);
  });

  it('X6: who answered what and why is on record, and a second answer is told so', async () => {
    const file = temporaryFile();
    const { runtime, run, question } = await askingRun(file);
    await runtime.answer(question.id, 'accept', { by: 'ann', note: 'good enough' });
    const error = await refusal(runtime.answer(question.id, 'cancel', { by: 'bob' }), 'QUESTION_CLOSED');
    expect(error.message).toContain('answered "accept" by ann (good enough)');
    expect(await run.result()).toMatchObject({
      verdict: 'accepted',
      output: { decidedBy: 'ann', debt: [{ status: 'open', gate: 'review' }] },
    });
    await runtime.close();

    const second = await open({ file, workflows: [asking], agents: { writer: never, critic: never } });
    const [decided] = await second.audit({ run: 'r', types: ['run.decided'] });
    expect(decided?.data).toMatchObject({ option: 'accept', by: 'ann', note: 'good enough' });
    await refusal(second.answer(question.id, 'cancel'), 'QUESTION_CLOSED');
    await second.close();
    await expectReplays(file, [asking]);
  });

  it('X6: of two answers at once one counts, and the other is told so', async () => {
    const { runtime, run, question } = await askingRun(temporaryFile());
    const outcomes = await Promise.allSettled(
      ['accept', 'cancel'].map((option) => runtime.answer(question.id, option)),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
    expect((await run.result()).verdict).toBe(winner === 0 ? 'accepted' : 'cancelled');
  });

  it('X6: an answer that was not asked for is refused, and the question stays open', async () => {
    const { runtime, question } = await askingRun(temporaryFile());
    const error = await refusal(runtime.answer(question.id, 'approve'), 'BAD_ANSWER');
    expect(error.message).toContain('continue, accept, cancel');
    await refusal(runtime.answer(question.id, null, { value: 'whatever' }), 'BAD_ANSWER');
    await refusal(runtime.answer('r', 'accept'), 'UNKNOWN_QUESTION');
    await refusal(runtime.answer('nowhere/question', 'accept'), 'UNKNOWN_QUESTION');
    expect(await runtime.questions()).toHaveLength(1);
  });

  it('X6: an answer from another process, once however often it is sent', async () => {
    const file = temporaryFile();
    const { run, question } = await askingRun(file);
    const command = { kind: 'answer', question: question.id, option: 'accept', note: 'from afar' } as const;
    const outcomes = await Promise.all(
      [1, 2].map(() => sendCommand(file, command, { id: 'decision-1', by: 'bob' })),
    );
    expect(outcomes).toEqual([outcomes[0], outcomes[0]]);
    expect(await run.result()).toMatchObject({ verdict: 'accepted', output: { decidedBy: 'bob' } });
    const other = { ...command, option: 'cancel' };
    expect(await sendCommand(file, other, { by: 'eve' })).toMatchObject({
      error: { code: 'QUESTION_CLOSED' },
    });
  });

  it('T7, X6: continuing allows as many more passes as the person says', async () => {
    const { runtime, run, question } = await askingRun(temporaryFile());
    await runtime.answer(question.id, 'continue', { value: 2 });
    await run.settled();
    await expect.poll(async () => (await runtime.questions()).map(({ id }) => id)).toEqual(['r/question~2']);
    expect((await run.state()).context.steps['review']?.rejections).toBe(3);
  });
});

describe('the expiry of a question', () => {
  const HOUR = 3_600_000;
  const expiring = (onExpiry: 'cancel' | 'stop') =>
    planRun('expiring', {
      steps: [
        { id: 'write', agent: 'writer' },
        { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
      ],
      limits: { passes: 1 },
      ask: [
        { to: 'ann', expiresMs: HOUR },
        { to: 'bob', expiresMs: 2 * HOUR },
      ],
      onExpiry,
    });

  it.each([
    ['cancel', 'cancelled'],
    ['stop', 'exhausted'],
  ] as const)('X6: goes to the next person, then the run is ended as set: %s', async (onExpiry, verdict) => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const plan = expiring(onExpiry);
    const agents = { writer: writeNew, critic: reject };
    const runtime = await open({ file, workflows: [plan], agents, clock });
    const run = await runtime.start('expiring', null, { id: 'r' });
    await run.settled();
    expect(await runtime.questions()).toMatchObject([{ askedOf: 'ann', level: 0 }]);
    clock.advance(HOUR);
    await expect.poll(() => runtime.questions()).toMatchObject([{ askedOf: 'bob', level: 1 }]);
    await runtime.close();

    // The rest of the time passes over a restart.
    const second = await open({ file, workflows: [plan], agents, clock });
    clock.advance(2 * HOUR);
    expect(await (await second.run('r')).result()).toMatchObject({ verdict });
    expect(await second.questions()).toEqual([]);
    await refusal(second.answer('r/question', 'accept'), 'QUESTION_CLOSED');
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', undefined])(
    'X6: a time to answer that is none is refused: %s',
    (given) => {
      const expiresMs = given as number;
      const steps = [{ id: 'title' }] as const;
      expect(() => planRun('bad', { steps, ask: [{ to: null, expiresMs }] })).toThrow(/ask\[0\]\.expiresMs/);
      const title = { text: 'What title?', levels: [{ to: null, expiresMs }] };
      expect(() => planRun('bad', { steps, persons: { title } })).toThrow(/persons\.title\.levels\[0\]/);
    },
  );

  it('X6: a question that nobody could answer is refused', () => {
    const persons = { title: { text: 'What title?', isFree: false } };
    expect(() => planRun('bad', { steps: [{ id: 'title' }], persons })).toThrow(/persons\.title\.options/);
  });

  it('X6: accepting or going on at expiry is refused: those need a person', () => {
    expect(() => expiring('accept' as 'stop')).toThrow(/needs a person/);
    expect(() => expiring('continue' as 'stop')).toThrow(/needs a person/);
  });
});

describe('person agents', () => {
  const reviewed = planRun('reviewed', {
    steps: [
      { id: 'write', agent: 'writer' },
      { id: 'title', agent: 'editor', needs: ['write'] },
      { id: 'sign', needs: ['title'], gate: { reviewers: ['boss'], corrects: 'write' } },
    ],
    persons: {
      editor: { text: 'What shall be its title?' },
      boss: {
        text: 'Shall it be sent?',
        options: [
          { id: 'approve', label: 'Send it' },
          { id: 'reject', label: 'Not like this', effort: 'a day' },
        ],
      },
    },
  });

  it('X6: a person is asked like an agent, and answers freely or by an option', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [reviewed], agents: { writer: writeNew } });
    const run = await runtime.start('reviewed', 'a letter', { id: 'r' });
    expect((await run.settled()).tags).toContain('waiting');
    const answerNext = async (...answer: [string | null, { by: string; value?: string; note?: string }]) => {
      await expect.poll(async () => (await runtime.questions()).length).toBe(1);
      const [question] = await runtime.questions();
      await runtime.answer(question?.id ?? '', ...answer);
      return question;
    };
    const first = await answerNext(null, { by: 'ed', value: 'On letters' });
    expect(first).toMatchObject({
      text: 'What shall be its title?',
      isFree: true,
      details: { role: 'editor' },
    });
    await answerNext('reject', { by: 'bo', note: 'too short' });
    await answerNext(null, { by: 'ed', value: 'On long letters' });
    await answerNext('approve', { by: 'bo' });
    const { verdict, output } = await run.result();
    expect(verdict).toBe('verified');
    expect(output?.outputs['title']).toEqual({
      option: null,
      value: 'On long letters',
      note: null,
      by: 'ed',
    });
    await runtime.close();
    await expectReplays(file, [reviewed]);
  });

  it('X5, X6: a reviewer who answers freely approves with a value that says so, and else is heard', async () => {
    const told: unknown[] = [];
    const plan = planRun('free', {
      steps: [
        { id: 'write', agent: 'writer' },
        { id: 'review', needs: ['write'], gate: { reviewers: ['lead'], corrects: 'write' } },
      ],
      persons: { lead: { text: 'What do you think?' } },
    });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        writer: (request) => {
          told.push(...request.feedback.slice(-1));
          return writeNew(request);
        },
      },
    });
    const run = await runtime.start('free', null);
    for (const value of ['Too long.', { passed: false, feedback: 'Still too long.' }, { passed: true }]) {
      await expect.poll(async () => (await runtime.questions()).length).toBe(1);
      const [question] = await runtime.questions();
      await runtime.answer(question?.id ?? '', null, { value });
    }
    expect((await run.result()).verdict).toBe('verified');
    expect(told).toMatchObject([
      { issues: [{ reviewer: 'lead', text: 'Too long.' }] },
      { issues: [{ reviewer: 'lead', text: 'Still too long.' }] },
    ]);
  });

  it('X1: while only persons are at work the run waits for a person; approved at once it is verified', async () => {
    const runtime = await open({
      file: temporaryFile(),
      workflows: [asking],
      agents: { writer: writeNew, critic: approve },
    });
    expect((await (await runtime.start('draft', null)).settled()).value).toBe('verified');
  });
});

it('X6, K2: a host that does nothing but wait for a person goes on when the answer comes from another process', async () => {
  const file = temporaryFile();
  const host = spawn(process.execPath, [workerPath('waiting-host'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  host.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => host.once('exit', resolve));
  await expect.poll(() => said, { timeout: 20_000 }).toContain('waiting');
  const command = { kind: 'answer', question: 'r/agent:boss/question', option: null, value: 'yes' } as const;
  expect(await sendCommand(file, command, { by: 'ann' })).toMatchObject({ ok: true, taken: true });
  expect(await ended).toBe(0);
  expect(said).toContain('verified');
});
