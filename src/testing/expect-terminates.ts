import { createRuntime, type Workflow, type WorstCase, type WorstCaseOptions } from '../index.ts';

export interface TerminationOptions extends WorstCaseOptions {
  /** What a run is started with. */
  readonly input?: unknown;
  /** Other workflows that it runs as its steps or children. */
  readonly workflows?: readonly Workflow[];
  /** At most so many requests to agents, if a test wants to hold a bound. */
  readonly requestsMax?: number;
}

/**
 * Tries everything that the agents of a workflow may do, and gives the bound that was found.
 *
 * @throws if it is not proved that every run ends or waits for a person: with the endless way, the dead end, or why it is not known
 */
export const expectTerminates = async (
  workflow: Workflow,
  { input = null, workflows = [], requestsMax, ...options }: TerminationOptions = {},
): Promise<WorstCase> => {
  const runtime = await createRuntime({
    file: ':memory:',
    workflows: [workflow, ...workflows] as readonly Workflow[],
    agents: {},
    idle: true,
  });
  try {
    const found = await runtime.worstCase(workflow.name, input, options);
    if (found.result !== 'proved') throw new Error(problemOf(workflow.name, found));
    if (requestsMax !== undefined && (found.requests ?? 0) > requestsMax)
      throw new Error(`"${workflow.name}" may make ${found.requests} requests, more than ${requestsMax}.`);
    return found;
  } finally {
    await runtime.close();
  }
};

const problemOf = (name: string, { result, problem, endless, deadEnds }: WorstCase): string => {
  if (endless)
    return [
      `"${name}" need not end.`,
      `It gets there by: ${endless.prefix.join(', ') || 'nothing'}.`,
      `Then this repeats: ${endless.cycle.join(', ')}.`,
    ].join(' ');
  if (deadEnds.length > 0)
    return `"${name}" may come to a halt that is no end, with nobody asked: ${deadEnds[0]}.`;
  return `It is ${result} whether "${name}" ends: ${problem ?? 'no reason was given'}.`;
};
