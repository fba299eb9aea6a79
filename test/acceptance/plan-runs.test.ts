import { describe, expect, it } from 'vitest';
import { agent, answer, planRun, type StepInput } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';

const draftAndReview = planRun('draft', {
  steps: [
    { id: 'write', agent: 'writer' },
    { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
  ],
  roles: { writer: { backoffMs: 1 }, critic: { backoffMs: 1 } },
});

describe('a plan run', () => {
  it('X1: ends verified when the gate passes, and feedback reaches the step that it corrects', async () => {
    const file = temporaryFile();
    const seen: unknown[] = [];
    const runtime = await open({
      file,
      workflows: [draftAndReview],
      agents: {
        writer: ({ input, feedback, history }) => {
          seen.push({ task: input.task, feedback: feedback.length, history: history.length });
          return { text: `draft ${feedback.length + 1}` };
        },
        critic: agent(({ input }: { input: StepInput }) => {
          const { text } = input.inputs['write'] as { text: string };
          const passed = text === 'draft 3';
          return answer(
            {
              passed,
              issues: passed
                ? []
                : [{ severity: 'critical', category: 'style', description: `Wrong: ${text}` }],
            },
            { usage: { costUsd: 0.01, inputTokens: 10, outputTokens: 5 } },
          );
        }),
      },
    });
    const run = await runtime.start('draft', 'a letter', { id: 'r' });
    const result = await run.result();
    expect(result).toMatchObject({
      verdict: 'verified',
      output: { verdict: 'verified', spent: { calls: 6, costUsd: 0.03, tokens: 45 } },
    });
    expect(seen).toEqual([
      { task: 'a letter', feedback: 0, history: 0 },
      { task: 'a letter', feedback: 1, history: 1 },
      { task: 'a letter', feedback: 2, history: 2 },
    ]);
    await runtime.close();
  });
});
