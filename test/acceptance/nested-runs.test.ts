import { describe, expect, it } from 'vitest';
import { answer, planRun, type Runtime } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, draftPlan, reject, writeNew } from '../support/draft-plan.ts';
import { expectReplays, open } from '../support/runtimes.ts';

const whole = (inner: ReturnType<typeof draftPlan>, costUsd: number | null = null) =>
  planRun('whole', {
    steps: [
      { id: 'idea', agent: 'thinker' },
      { id: 'letter', run: inner, needs: ['idea'] },
      { id: 'send', agent: 'sender', needs: ['letter'] },
    ],
    limits: { costUsd },
    onLimit: 'stop',
  });

describe('a plan run as a step of another', () => {
  it("is given the task and what it needs, and its outputs are the step's", async () => {
    const file = temporaryFile();
    const inner = draftPlan();
    const outer = whole(inner);
    const tasks: unknown[] = [];
    const runtime = await open({
      file,
      workflows: [inner, outer],
      agents: {
        thinker: () => 'an idea',
        writer: (request) => {
          tasks.push(request.input.task);
          return writeNew(request);
        },
        critic: approve,
        sender: ({ input }) => input.inputs['letter'],
      },
    });
    const run = await runtime.start('whole', 'a letter', { id: 'r' });
    const { verdict, output } = await run.result();
    expect(verdict).toBe('verified');
    expect(output?.outputs['send']).toMatchObject({
      verdict: 'verified',
      outputs: { write: { text: 'draft 1' } },
    });
    expect(tasks).toMatchObject([{ input: { task: 'a letter', inputs: { idea: 'an idea' } }, feedback: [] }]);
    expect(output?.spent.calls).toBe(4);
    await runtime.close();
    await expectReplays(file, [inner, outer]);
  });

  it("X4: has no more than what is left of its parent's budget", async () => {
    const file = temporaryFile();
    const inner = draftPlan({ limits: { costUsd: 100, passes: 50, feedbacks: 50 }, onLimit: 'stop' });
    const outer = whole(inner, 1);
    const runtime = await open({
      file,
      workflows: [inner, outer],
      agents: {
        thinker: () => answer('an idea', { usage: { costUsd: 0.5 } }),
        writer: (request) => answer(writeNew(request), { usage: { costUsd: 0.2 } }),
        critic: reject,
        sender: () => 'never',
      },
    });
    const run = await runtime.start('whole', 'a letter', { id: 'r' });
    expect(await run.result()).toMatchObject({
      verdict: 'exhausted',
      output: { spent: { costUsd: 1.1 }, reason: expect.stringContaining('costUsd') },
    });
    const nested = await runtime.actor('r/run:letter');
    expect(nested.context).toMatchObject({ limits: { costUsd: 0.5 }, spent: { costUsd: 0.6 } });
  });

  it('is paused and cancelled with its parent', async () => {
    const inner = draftPlan();
    const outer = whole(inner);
    const aborted: string[] = [];
    const runtime = await open({
      file: temporaryFile(),
      workflows: [inner, outer],
      agents: {
        thinker: () => 'an idea',
        writer: ({ signal }) =>
          new Promise((_, fail) => {
            signal.addEventListener('abort', () => {
              aborted.push('writer');
              fail(new Error('aborted'));
            });
          }),
        critic: approve,
        sender: () => 'sent',
      },
    });
    const run = await runtime.start('whole', null, { id: 'r' });
    await expect
      .poll(async () => (await runtime.actor('r/run:letter/agent:writer').catch(() => null))?.value)
      .toEqual({
        working: 'running',
      });
    await run.pause();
    expect((await runtime.actor('r/run:letter')).value).toBe('paused');
    await run.resume();
    expect((await runtime.actor('r/run:letter')).value).toBe('working');
    await run.cancel();
    await expect.poll(() => aborted).toEqual(['writer']);
    expect((await runtime.actor('r/run:letter')).status).toBe('stopped');
  });

  it('X1: waits for a person with all runs above it, and goes on with them', async () => {
    const file = temporaryFile();
    let isMended = false;
    const inner = planRun('inner', { steps: [{ id: 'work' }], roles: { work: { attempts: 1 } } });
    const middle = planRun('middle', { steps: [{ id: 'inside', run: inner }] });
    const outer = planRun('outer', { steps: [{ id: 'deep', run: middle }] });
    const agents = {
      work: () => {
        if (!isMended) throw new Error('out of order');
        return 'done';
      },
    };
    const first = await open({ file, workflows: [inner, middle, outer], agents });
    const run = await first.start('outer', null, { id: 'r' });
    expect(await run.settled()).toMatchObject({ value: 'waiting', tags: ['waiting'] });
    await first.close();

    const second = await open({ file, workflows: [inner, middle, outer], agents });
    const again = await second.run('r', 'outer');
    await again.settled();
    const [question] = await second.questions({ run: 'r' });
    await second.answer(question?.id ?? '', 'retry');
    await again.settled();
    const [next] = await second.questions({ run: 'r' });
    expect([question?.id, next?.id]).toEqual([
      'r/run:deep/run:inside/question',
      'r/run:deep/run:inside/question~2',
    ]);
    isMended = true;
    await second.answer(next?.id ?? '', 'retry');
    expect((await again.result()).verdict).toBe('verified');
    await second.close();
    await expectReplays(file, [inner, middle, outer]);
  });

  it('X4: the worst case counts the calls of nested runs', async () => {
    const inner = draftPlan({ limits: { passes: 2 }, onLimit: 'stop', attempts: 1 });
    const outer = planRun('whole', { steps: [{ id: 'letter', run: inner }], onLimit: 'stop' });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [inner, outer],
      agents: { writer: writeNew, critic: reject },
    });
    expect(await runtime.worstCase('whole')).toMatchObject({ result: 'proved', calls: 4 });
  });

  it('X4: persons cannot raise the budget of a nested run beyond what its parent had left', async () => {
    const inner = planRun('inner', {
      steps: ['one', 'two', 'three'].map((id, index, all) => ({
        id,
        agent: 'worker',
        needs: all.slice(0, index),
      })),
      limits: { costUsd: 1 },
    });
    const outer = planRun('outer', {
      steps: [{ id: 'sub', run: inner }],
      limits: { costUsd: 2 },
      onLimit: 'stop',
    });
    const runtime: Runtime = await open({
      file: temporaryFile(),
      workflows: [inner, outer],
      agents: { worker: () => answer('done', { usage: { costUsd: 1 } }) },
    });
    const run = await runtime.start('outer', null, { id: 'r' });
    const asked = async () => {
      await expect.poll(async () => (await runtime.questions()).length).toBe(1);
      return (await runtime.questions())[0]?.id ?? '';
    };
    await runtime.answer(await asked(), 'continue', { value: 50 });
    await expect.poll(async () => (await runtime.questions())[0]?.id).toBe('r/run:sub/question~2');
    expect((await runtime.actor('r/run:sub')).context).toMatchObject({
      limits: { costUsd: 2 },
      spent: { costUsd: 2 },
    });
    await runtime.answer(await asked(), 'cancel');
    expect(await run.result()).toMatchObject({ verdict: 'failed', output: { spent: { costUsd: 2 } } });
  });

  it('X4: a budget of nothing grows if a person says so', async () => {
    const plan = planRun('free', { steps: [{ id: 'one', agent: 'worker' }], limits: { calls: 0 } });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: { worker: () => 'done' },
    });
    const run = await runtime.start('free', null, { id: 'r' });
    await run.settled();
    await runtime.answer('r/question', 'continue', { by: 'ann' });
    expect(await run.result()).toMatchObject({ verdict: 'verified', output: { spent: { calls: 1 } } });
  });
});
