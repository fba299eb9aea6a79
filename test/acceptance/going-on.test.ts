import { describe, expect, it } from 'vitest';
import { answer, planRun, type Runtime, type StepInput } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { never, reject, writeNew } from '../support/draft-plan.ts';
import { createFakeClock, expectReplays, open } from '../support/runtimes.ts';

/** Answers the one question that is open. */
const say = async (runtime: Pick<Runtime, 'questions' | 'answer'>, option: string): Promise<void> => {
  const questions = await runtime.questions();
  expect(questions).toHaveLength(1);
  await runtime.answer(questions[0]?.id ?? '', option);
};

const STEPS = [
  { id: 'write', agent: 'writer' },
  { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
] as const;

describe('going on after a halt', () => {
  it('B13: every step that failed is tried again, not only the one that halted the run', async () => {
    const file = temporaryFile();
    let isMended = false;
    const work = () => {
      if (!isMended) throw new Error('out of order');
      return 'done';
    };
    const plan = planRun('group', {
      steps: [{ id: 'one' }, { id: 'two' }, { id: 'join', needs: ['one', 'two'] }],
      roles: { one: { attempts: 1 }, two: { attempts: 1 } },
    });
    const runtime = await open({
      file,
      workflows: [plan],
      agents: { one: work, two: work, join: () => 'joined' },
    });
    const run = await runtime.start('group', null, { id: 'r' });
    await run.settled();
    isMended = true;
    await say(runtime, 'retry');
    expect((await run.result()).verdict).toBe('verified');
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('X6: a step that a limit had kept from correction is told all that its reviewers said', async () => {
    const told: unknown[] = [];
    const plan = planRun('draft', { steps: STEPS, limits: { passes: 1 } });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        writer: ({ feedback }) => {
          told.push(...feedback);
          return feedback.length;
        },
        critic: ({ input }: { input: StepInput }) =>
          input.inputs['write'] === 0
            ? { passed: false, feedback: 'Be brief.', issues: [{ description: 'too long', place: 'page 2' }] }
            : { passed: true, issues: [] },
      },
    });
    const run = await runtime.start('draft', null);
    await run.settled();
    await say(runtime, 'continue');
    expect((await run.result()).verdict).toBe('verified');
    expect(told).toEqual([
      {
        from: 'review',
        pass: 1,
        issues: [
          { severity: 'high', category: '', description: 'too long', place: 'page 2', reviewer: 'critic' },
          { reviewer: 'critic', text: 'Be brief.' },
        ],
      },
    ]);
  });

  it('X4: a gate whose review had to wait for more money does not send the same feedback back twice', async () => {
    const drafts: number[] = [];
    const plan = planRun('draft', { steps: STEPS, limits: { costUsd: 2 } });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        writer: ({ feedback }) => {
          drafts.push(feedback.length);
          return answer(feedback.length, { usage: { costUsd: 1 } });
        },
        critic: ({ input }: { input: StepInput }) =>
          input.inputs['write'] === 0
            ? { passed: false, issues: ['too long'] }
            : { passed: true, issues: [] },
      },
    });
    const run = await runtime.start('draft', null);
    await run.settled();
    await say(runtime, 'continue');
    expect((await run.result()).verdict).toBe('verified');
    expect(drafts).toEqual([0, 1]);
  });

  it('X1: a person who allows more time at the limit of time allows as much again, over a restart too', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const plan = planRun('slow', { steps: [{ id: 'work' }], limits: { timeMs: 60_000 } });
    const options = { file, clock, workflows: [plan], agents: { work: never } } as const;
    const first = await open(options);
    const run = await first.start('slow', null, { id: 'r' });
    for (const _ of [1, 2]) {
      await expect.poll(() => run.context.get('agents.work.status')).toBe('running');
      clock.advance(60_000);
      await run.settled();
      expect((await first.questions()).map(({ text }) => text)).toEqual([
        'The limit "timeMs" of 60000 was met.',
      ]);
      clock.advance(3_600_000);
      await say(first, 'continue');
      expect((await run.state()).value).toBe('working');
    }
    await first.close();

    const second = await open(options);
    const again = await second.run('r', 'slow');
    clock.advance(59_000);
    await again.pause();
    clock.advance(1_000);
    await again.settled();
    await say(second, 'cancel');
    expect((await again.result()).verdict).toBe('cancelled');
    await second.close();
    await expectReplays(file, [plan]);
  });

  it('X6: a limit of time that is met while a person is asked leaves the question open, and is asked about next', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const plan = planRun('draft', { steps: STEPS, limits: { passes: 1, timeMs: 60_000 } });
    const runtime = await open({
      file,
      clock,
      workflows: [plan],
      agents: { writer: writeNew, critic: reject },
    });
    const run = await runtime.start('draft', null, { id: 'r' });
    await run.settled();
    const [before] = await runtime.questions();
    clock.advance(60_000);
    await expect.poll(async () => (await run.state()).context.deadlineMs).toBe(clock.now());
    expect(await runtime.questions()).toEqual([before]);
    await say(runtime, 'continue');
    clock.advance(0);
    await expect.poll(async () => (await runtime.questions())[0]?.text).toContain('timeMs');
    await say(runtime, 'accept');
    expect((await run.result()).verdict).toBe('accepted');
    await runtime.close();
    await expectReplays(file, [plan]);
  });
});
