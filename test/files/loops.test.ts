import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import {
  agentsOf,
  createRuntime,
  type Json,
  openLog,
  parseWorkflowFile,
  readWorkflowFile,
  type UsedLines,
  type WorkflowFile,
  workflowOf,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';
import { EXAMPLES, exampleText } from './examples.ts';

/** Opens a log with a workflow as a log would keep it: as text. */
const opened = ({ definition, agents, path }: WorkflowFile, file: string, usedLines?: UsedLines) => {
  const stored = JSON.parse(JSON.stringify({ definition, agents })) as Pick<
    WorkflowFile,
    'definition' | 'agents'
  >;
  return open({
    file,
    workflows: [workflowOf(stored.definition, 1)],
    agents: agentsOf(stored.agents, { directory: dirname(path), ...(usedLines && { usedLines }) }),
  });
};

/** What another process reads of the only run in a log. */
const readBack = async (file: string) => {
  const log = await openLog(file);
  try {
    const [record] = await log.runs({});
    const events = await log.events({});
    return {
      record,
      calls: events.filter(({ type }) => type === 'lw.call.done' || type === 'lw.call.failed').length,
    };
  } finally {
    await log.close();
  }
};

const linesIn = ({ agents }: WorkflowFile): number =>
  Object.values(agents).reduce((sum, { script }) => sum + (script as readonly Json[]).length, 0);

it.each(EXAMPLES)(
  'the example %s.yaml runs to its verdict, and uses every line of its scripts',
  async (name) => {
    const workflow = await readWorkflowFile(`examples/workflows/${name}.yaml`);
    const file = temporaryFile();
    const runtime = await opened(workflow, file);
    const run = await runtime.start(workflow.name, workflow.input, { id: 'run' });
    await run.result();
    await runtime.close();
    const { record, calls } = await readBack(file);
    expect(record).toMatchObject({ workflow: workflow.name, verdict: 'verified' });
    expect(calls).toBe(linesIn(workflow));
  },
);

it('a run goes on in another process with the definition, agents and scripts that its log knows of', async () => {
  const workflow = parseWorkflowFile(exampleText('tight'), { path: 'examples/workflows/tight.yaml' });
  const file = temporaryFile();
  let isReviewing = (): void => undefined;
  const reviewing = new Promise<void>((resolve) => {
    isReviewing = resolve;
  });
  const first = await createRuntime({
    file,
    workflows: [workflowOf(workflow.definition, 1)],
    agents: {
      ...agentsOf(workflow.agents, { directory: '.' }),
      reviewer: ({ signal }: { readonly signal: AbortSignal }) => {
        isReviewing();
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    },
  });
  await first.start(workflow.name, workflow.input, { id: 'run' });
  await reviewing;
  await first.close();
  expect(await readBack(file)).toMatchObject({ record: { verdict: null }, calls: 1 });
  // A developer that said again what it said before would be stalled.
  const second = await opened(workflow, file, (name) => (name === 'developer' ? 1 : 0));
  await (await second.run('run')).result();
  await second.close();
  const { record, calls } = await readBack(file);
  expect(record).toMatchObject({ verdict: 'verified' });
  expect(calls).toBe(linesIn(workflow));
});

it('a person of a file is asked, and the run goes on with the answer', async () => {
  const text = exampleText('plan').replace(
    / {2}style:[^]*/,
    '  style:\n    person: { text: Does it look good?, options: [{ id: approve, label: Yes }, { id: reject, label: No }] }\n',
  );
  const workflow = parseWorkflowFile(text, { path: 'examples/workflows/plan.yaml' });
  expect(workflow.definition).toMatchObject({ persons: { style: { text: 'Does it look good?' } } });
  const file = temporaryFile();
  const runtime = await opened(workflow, file);
  const asked = new Set<string>();
  runtime.questions$.subscribe(({ id }) => {
    if (asked.has(id)) return;
    asked.add(id);
    void runtime.answer(id, 'approve');
  });
  const run = await runtime.start(workflow.name, workflow.input, { id: 'run' });
  await run.result();
  await runtime.close();
  expect((await readBack(file)).record).toMatchObject({ verdict: 'verified' });
  expect(asked.size).toBe(2);
});
