import { createRuntime, type Json, type WorkflowFile, type WorstCase, workflowOf } from '../index.ts';
import type { Terminal } from './terminal.ts';

/** What a run of a file may take at most. Nothing is written, and nothing is called. */
export const worstCaseOf = async (
  { name, definition }: Pick<WorkflowFile, 'name' | 'definition'>,
  input: Json,
  statesMax?: number,
): Promise<WorstCase> => {
  const runtime = await createRuntime({
    file: ':memory:',
    workflows: [workflowOf(definition, 1)],
    agents: {},
    idle: true,
    runsFolder: null,
  });
  try {
    return await runtime.worstCase(name, input, statesMax === undefined ? {} : { statesMax });
  } finally {
    await runtime.close();
  }
};

export const tellWorstCase = (terminal: Terminal, name: string, worst: WorstCase): void => {
  const { result, text, callsByAgent, verdicts, states, endless, deadEnds } = worst;
  terminal.say(`${name}: ${text}`);
  for (const [agent, calls] of Object.entries(callsByAgent))
    terminal.say(`  ${agent}: at most ${calls} calls`);
  if (verdicts.length > 0) terminal.say(`  it may end ${verdicts.join(', ')}`);
  if (endless)
    terminal.say(`  it need not end: ${[...endless.prefix, '(', ...endless.cycle, ')*'].join(' ')}`);
  for (const deadEnd of deadEnds.slice(0, 3)) terminal.say(`  it may halt in ${deadEnd}`);
  terminal.say(`  (${result}, ${states} states tried)`);
};
