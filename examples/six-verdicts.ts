/**
 * A draft and its review, six times: one plan, and every way in which a run of it can end. Before each run stands what it may
 * take at most, found by trying everything that its agents may do.
 *
 *   npm run examples && node build/examples/six-verdicts.js
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentRequest, answer, createRuntime, planRun, type StepInput } from 'loopwright';

type Request = AgentRequest<StepInput>;

const plan = (name: string, onLimit: 'ask' | 'stop') =>
  planRun(name, {
    steps: [
      { id: 'write', agent: 'writer' },
      { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
    ],
    limits: { passes: 3 },
    onLimit,
    roles: { writer: { attempts: 2, backoffMs: 10 }, critic: { attempts: 2, backoffMs: 10 } },
  });

/** What the task says decides how well the two of them work. */
const writer = ({ input, feedback }: Request) => {
  if (input.task === 'broken') throw new Error('The writer is out of order.');
  const text = input.task === 'stubborn' ? 'My only draft.' : `Draft ${feedback.length + 1}.`;
  return answer({ text }, { usage: { costUsd: 0.02, inputTokens: 300, outputTokens: 80 } });
};

const critic = ({ input, feedback }: Request) => {
  const { text } = input.inputs['write'] as { text: string };
  const passed = input.task === 'easy' && text === 'Draft 2.';
  const issue = {
    severity: 'high',
    category: 'style',
    description: `"${text}" is dull (${feedback.length}).`,
  };
  return answer({ passed, issues: passed ? [] : [issue] }, { usage: { costUsd: 0.01 } });
};

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'verdicts.db'),
  workflows: [plan('stops', 'stop'), plan('asks', 'ask')],
  agents: { writer, critic },
});

/** What a person says at the limit, if one is asked. */
const WAYS = [
  { workflow: 'stops', task: 'easy', says: null },
  { workflow: 'asks', task: 'hard', says: 'accept' },
  { workflow: 'stops', task: 'hard', says: null },
  { workflow: 'stops', task: 'stubborn', says: null },
  { workflow: 'asks', task: 'hard', says: 'cancel' },
  { workflow: 'stops', task: 'broken', says: null },
] as const;

for (const { workflow, task, says } of WAYS) {
  console.log(`\n${task}: ${(await runtime.worstCase(workflow, task)).text}`);
  const run = await runtime.start(workflow, task);
  if (says !== null) {
    await run.settled();
    const [question] = await runtime.questions({ run: run.id });
    if (!question) throw new Error('Nobody was asked.');
    console.log(`  asked: ${question.text} (${question.options.map(({ id }) => id).join(', ')})`);
    await runtime.answer(question.id, says, { by: 'ada', note: 'I have read it.' });
  }
  const { verdict, output } = await run.result();
  const { calls = 0, costUsd = 0 } = output?.spent ?? {};
  console.log(
    `  ${verdict}: ${output?.reason ?? 'the review passed'} ${calls} calls, $${costUsd.toFixed(2)}`,
  );
  for (const { description } of output?.debt ?? []) console.log(`  debt: ${description}`);
}
await runtime.close();
