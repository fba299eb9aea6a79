import fc from 'fast-check';
import { answer, createRuntime, isFeedbackRequest, planRun, type StepInput, tightLoop } from 'loopwright';
import {
  anyAnswers,
  crashAtEveryStep,
  createVirtualClock,
  expectTerminates,
  scriptedAgent,
} from 'loopwright/testing';
import { describe, expect, it } from 'vitest';
import { draftPlan } from '../support/draft-plan.ts';
import { rounds } from '../support/runtimes.ts';

describe('loopwright/testing', () => {
  it('K5: expectTerminates gives the bound of a loop that ends', async () => {
    const { requests, calls } = await expectTerminates(tightLoop());
    expect([requests, calls]).toEqual([15, 45]);
    await expect(expectTerminates(tightLoop(), { requestsMax: 10 })).rejects.toThrow(
      '"tight-loop" may make 15 requests, more than 10.',
    );
  });

  it('K5, X8: expectTerminates shows the way of one that need not end', async () => {
    const endless = draftPlan({
      limits: {
        passes: null,
        feedbacks: null,
        sameIssue: null,
        unchanged: null,
        oscillations: null,
        unbounded: 'to show it',
      },
    });
    await expect(expectTerminates(endless)).rejects.toThrow(
      /"draft" need not end\. It gets there by: .*Then this repeats: .*critic: finds/,
    );
  });

  it('a virtual clock lets a time limit pass when it is told to, and not before', async () => {
    const clock = createVirtualClock();
    const plan = planRun('slow', { steps: [{ id: 'a' }], limits: { timeMs: 60_000 }, onLimit: 'stop' });
    const agents = { a: () => new Promise<never>(() => undefined) };
    const runtime = await createRuntime({ file: ':memory:', workflows: [plan], agents, clock });
    const run = await runtime.start('slow', null);
    clock.advance(59_999);
    expect((await run.state()).status).toBe('active');
    clock.advance(1);
    expect((await run.result()).verdict).toBe('exhausted');
    await runtime.close();
  });

  it('a scripted agent answers line by line, throws what it should, and fails when the script is over', async () => {
    const writer = scriptedAgent<StepInput>({ text: 'draft 1' }, new Error('out of ink'), ({ feedback }) => ({
      text: `draft ${feedback.length + 1}`,
    }));
    const critic = scriptedAgent<StepInput>(
      { passed: false, issues: [{ description: 'too short' }] },
      { passed: true, issues: [] },
    );
    const runtime = await createRuntime({
      file: ':memory:',
      workflows: [draftPlan()],
      agents: { writer, critic },
    });
    const run = await runtime.start('draft', null);
    expect((await run.result()).verdict).toBe('verified');
    expect(writer.requests.map(({ attempt, feedback }) => [attempt, feedback.length])).toEqual([
      [1, 0],
      [1, 1],
      [2, 1],
    ]);
    const more = await runtime.start('draft', null);
    await more.settled();
    expect((await runtime.questions())[0]?.text).toContain('The script has 3 lines, and this is call 5.');
    await runtime.close();
  });

  it('G14: loops of agents that answer anything end, or wait for a person', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyAnswers(fc).agents('developer', 'reviewer', 'tester', 'writer', 'critic'),
        async (agents) => {
          const runtime = await createRuntime({
            file: ':memory:',
            workflows: [
              tightLoop({
                roles: { developer: { backoffMs: 0 }, reviewer: { backoffMs: 0 }, tester: { backoffMs: 0 } },
              }),
              draftPlan(),
            ],
            agents,
            runsFolder: null,
          });
          const runs = [await runtime.start('tight-loop', 'x'), await runtime.start('draft', 'x')];
          const states = await Promise.all(runs.map((run) => run.settled()));
          for (const { status, tags } of states)
            expect(status !== 'active' || tags.includes('waiting')).toBe(true);
          await runtime.close();
        },
      ),
      { numRuns: rounds(25, 2_000) },
    );
  });

  it('G1, G13: crashAtEveryStep plays a scenario over every crash, and finds one that comes out differently', async () => {
    const plan = planRun('pair', {
      steps: [
        { id: 'prd', agent: 'pm' },
        { id: 'design', agent: 'architect', needs: ['prd'] },
      ],
    });
    const feedback = [
      { type: 'constraint_violation', targets: ['pm'], severity: 'high', description: 'too much' },
    ] as const;
    const { crashes, result } = await crashAtEveryStep({
      workflows: [plan],
      agents: () => ({
        pm: ({ input }: { input: unknown }) =>
          isFeedbackRequest(input) ? { option: 'accept_limitation' } : 'prd',
        architect: ({ input }: { input: StepInput }) =>
          input.decisions ? 'design' : answer(null, { feedback }),
      }),
      play: async (runtime) => {
        const run =
          (await runtime.runs()).length > 0
            ? await runtime.run('r')
            : await runtime.start('pair', null, { id: 'r' });
        const { verdict, output } = await run.result();
        return { verdict, output };
      },
    });
    expect(result).toMatchObject({ verdict: 'accepted', output: { outputs: { design: 'design' } } });
    expect(crashes).toBeGreaterThan(8);

    let processes = 0;
    const forgetful = crashAtEveryStep({
      workflows: [draftPlan()],
      agents: () => {
        processes += 1;
        const nth = processes;
        return { writer: () => nth, critic: () => ({ passed: true, issues: [] }) };
      },
      play: async (runtime) => {
        const run =
          (await runtime.runs()).length > 0
            ? await runtime.run('r')
            : await runtime.start('draft', null, { id: 'r' });
        return (await run.result()).output;
      },
    });
    await expect(forgetful).rejects.toThrow(/^After a crash at commit 1 of \d+ it came out as/);
  });
});
