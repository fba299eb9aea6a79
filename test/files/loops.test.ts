import { basename, dirname } from 'node:path';
import { expect, it } from 'vitest';
import { agentsOf, openLog, readWorkflowFile, type Verdict, workflowOf } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';

const runFile = async (path: string) => {
  const { definition, agents, input, name } = await readWorkflowFile(path);
  const file = temporaryFile();
  // As a log would keep them.
  const stored = JSON.parse(JSON.stringify({ definition, agents })) as { definition: never; agents: never };
  const runtime = await open({
    file,
    workflows: [workflowOf(stored.definition, 1)],
    agents: agentsOf(stored.agents, { directory: dirname(path) }),
  });
  const run = await runtime.start(name as never, input, { id: basename(path, '.yaml') });
  const result = await run.result();
  await runtime.close();
  const log = await openLog(file);
  const [record] = await log.runs({});
  await log.close();
  return { result, record };
};

it.each<[string, Verdict]>([
  ['tight', 'verified'],
  ['plan', 'verified'],
  ['stories', 'verified'],
  ['phases', 'verified'],
  ['tree', 'verified'],
  ['repeat', 'verified'],
])('the example %s.yaml runs to its verdict: %s', async (name, verdict) => {
  const { record } = await runFile(`examples/workflows/${name}.yaml`);
  expect(record).toMatchObject({ verdict });
});
