import { createRuntime, type Json, type WorkflowFile, type WorstCase, workflowOf } from '../index.ts';
import type { Terminal } from './terminal.ts';
import { duration } from './text.ts';

const SIGN_MS = 1_000;

export interface Trying {
  readonly terminal: Terminal;
  /** After how many states it gives up. */
  readonly statesMax?: number | undefined;
  readonly thorough?: boolean | undefined;
  readonly farRequests?: boolean | undefined;
}

/** What a run of a file may take at most. Nothing is written, and nothing is called. */
export const worstCaseOf = async (
  { name, definition }: Pick<WorkflowFile, 'name' | 'definition'>,
  input: Json,
  { terminal, statesMax, thorough, farRequests }: Trying,
): Promise<WorstCase> => {
  const sinceMs = Date.now();
  const sign = () => terminal.drawNote(`\rtrying all that agents may do, ${duration(Date.now() - sinceMs)} `);
  sign();
  const timer = setInterval(sign, SIGN_MS);
  const runtime = await createRuntime({
    file: ':memory:',
    workflows: [workflowOf(definition, 1)],
    agents: {},
    idle: true,
    runsFolder: null,
  });
  try {
    return await runtime.worstCase(name, input, {
      ...(statesMax !== undefined && { statesMax }),
      ...(thorough !== undefined && { thorough }),
      ...(farRequests !== undefined && { farRequests }),
    });
  } finally {
    clearInterval(timer);
    terminal.drawNote('\r\u001b[2K');
    await runtime.close();
  }
};

export const tellWorstCase = (terminal: Terminal, name: string, worst: WorstCase): void => {
  const { result, text, callsByAgent, calls, requests, verdicts, states, endless, deadEnds } = worst;
  // By agent there are only figures of all attempts.
  const counted = calls === requests ? 'calls' : 'calls with retries';
  terminal.say(`${name}: ${text}`);
  for (const [agent, most] of Object.entries(callsByAgent))
    terminal.say(`  ${agent}: at most ${most} ${counted}`);
  if (verdicts.length > 0) terminal.say(`  it may end ${verdicts.join(', ')}`);
  if (endless)
    terminal.say(`  it need not end: ${[...endless.prefix, '(', ...endless.cycle, ')*'].join(' ')}`);
  for (const deadEnd of deadEnds.slice(0, 3)) terminal.say(`  it may halt in ${deadEnd}`);
  terminal.say(`  (${result}, ${states} states tried)`);
};
