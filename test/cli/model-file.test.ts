import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { descriptionOf } from '../../src/cli/definitions.ts';
import { openRuntime } from '../../src/cli/open.ts';
import { parseWorkflowFile } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { refuses, says, startModelServer } from '../support/model-server.ts';

it('X4: a model of a workflow file is called as it says, and what it cost is in the log', async () => {
  const { baseUrl, asked } = await startModelServer(
    refuses(503, 'overloaded'),
    says('{"passed": true, "issues": []}'),
  );
  const file = temporaryFile();
  const text = `
name: judged
loop: tight
input: Write a slogan
onLimit: stop
agents:
  developer: { script: [{ summary: wrote it }] }
  tester: { script: [{ passed: true }] }
  reviewer:
    model: test-model
    baseUrl: ${baseUrl}
    system: You review.
    prompt: Is it short?
    output: review
    temperature: 0
    stream: false
    price: { inputUsd: 3, outputUsd: 15 }
    attempts: 2
    backoffMs: 1
`;
  const workflow = parseWorkflowFile(text, { path: `${file}.yaml` });
  const runtime = await openRuntime(file, {
    mode: 'work',
    described: descriptionOf(workflow, dirname(file)),
  });
  const run = await runtime.start('judged', workflow.input, { id: 'r' });
  await run.result();
  await runtime.close();

  const second = await openRuntime(file, { mode: 'look' });
  expect(await (await second.run('r')).result()).toMatchObject({
    verdict: 'verified',
    output: { spent: { tokens: 1_200, costUsd: 0.006 } },
  });
  await second.close();
  expect(asked).toHaveLength(2);
  expect(asked[1]?.body.messages[1]?.content).toMatch(/^Is it short\?/);
});
