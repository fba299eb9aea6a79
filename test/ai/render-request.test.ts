import { expect, it } from 'vitest';
import { renderRequest } from '../../src/ai/index.ts';
import { type AgentRequest, agent, type Json, tightLoop } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';

const request = (given: Partial<AgentRequest<Json>>): AgentRequest<Json> => ({
  input: null,
  signal: new AbortController().signal,
  callId: 'c',
  idempotencyKey: 'c/1',
  attempt: 1,
  run: 'r',
  actor: 'r/a',
  feedback: [],
  history: [],
  context: null,
  failure: null,
  progress: () => undefined,
  ...given,
});

it('says all that a request holds, under headings, and nothing of what it does not hold', () => {
  expect(renderRequest(request({ input: 'Do it' }), 'You are careful.')).toBe(
    'You are careful.\n\n## Input\n\nDo it',
  );
  const full = request({
    input: { a: 1 },
    context: { project: 'x' },
    history: ['first draft'],
    feedback: [{ description: 'too long' }, 'and dull'],
    failure: 'not JSON',
  });
  expect(
    renderRequest(full)
      .split('\n')
      .filter((line) => line.startsWith('## ')),
  ).toEqual([
    '## Input',
    '## Context',
    '## What was done on this before, oldest first',
    '## What was said about it: deal with all of this',
    '## Your last attempt could not be used. What was wrong',
  ]);
});

it('takes the words that a loop has for models in place of its data', () => {
  expect(renderRequest(request({ input: { task: 'x', prompt: 'Mend exactly these.' } }))).toBe(
    '## Input\n\nMend exactly these.',
  );
});

it('leaves out of a long history what is oldest', () => {
  const shown = renderRequest(
    request({ history: Array.from({ length: 9 }, (_, index) => `draft ${index + 1}`) }),
  );
  expect(shown).toContain('5. draft 9');
  expect(shown).not.toContain('draft 4');
  expect(renderRequest(request({ history: ['x'.repeat(30_000), 'last'] }))).toContain('1. last');
});

it('T1: has the task of a loop even if that is so long that the prompt only refers to it', async () => {
  const said: string[] = [];
  const task = `It begins, ${'and goes on, '.repeat(4_000)}and ends.`;
  const good = agent(() => ({ passed: true, issues: [] }));
  const developer = agent((asked: AgentRequest<unknown>) => {
    said.push(renderRequest(asked, 'You are careful.'));
    return { summary: 'done' };
  });
  const runtime = await open({
    file: temporaryFile(),
    workflows: [tightLoop()],
    agents: { developer, reviewer: good, tester: good },
  });
  expect(await (await runtime.start('tight-loop', task)).result()).toMatchObject({ verdict: 'verified' });
  expect(said).toHaveLength(1);
  expect(said[0]).toContain(task);
});
