import { describe, expect, it } from 'vitest';
import { answer, planRun, type Runtime, type StepInput } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays, open } from '../support/runtimes.ts';

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
});
