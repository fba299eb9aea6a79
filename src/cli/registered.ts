import { type ModelDescription, modelAgentFromDescription } from '../ai/index.ts';
import {
  type Agent,
  type AgentDescription,
  agentsOf,
  isRuntimeError,
  type RunRecord,
  type UsedLines,
  type Workflow,
  workflowOf,
} from '../index.ts';
import { type StoredDefinition, versionsOf } from './definitions.ts';

type Agents = Readonly<Record<string, Agent>>;

export interface Registered {
  readonly workflows: readonly Workflow[];
  readonly agents: Agents;
  readonly agentsByWorkflow: Readonly<Record<string, Agents>>;
}

export interface RegisterOptions {
  /** Whether agents that cannot be made stand in the way: not for whoever only looks. */
  readonly mustHaveAgents: boolean;
  readonly usedLines?: UsedLines;
}

/** What a runtime is given to know workflows that are described: every version, and the agents of the newest. */
export const registeredWith = (
  definitions: readonly StoredDefinition[],
  options: RegisterOptions,
): Registered => {
  const newest = new Map(definitions.map((each) => [each.name, each]));
  return {
    workflows: versionsOf(definitions).map(({ definition, version }) => workflowOf(definition, version)),
    agents: {},
    agentsByWorkflow: Object.fromEntries(
      [...newest].map(([name, described]) => [name, agentsIn(described, options)]),
    ),
  };
};

/** The form of the file has been checked, and is checked again there. */
const makeModelAgent = (_name: string, description: AgentDescription): Agent =>
  modelAgentFromDescription(description as unknown as ModelDescription);

const agentsIn = (
  { agents, directory }: StoredDefinition,
  { mustHaveAgents, usedLines }: RegisterOptions,
): Agents => {
  try {
    return agentsOf(agents, { directory, makeModelAgent, ...(usedLines && { usedLines }) });
  } catch (error) {
    if (mustHaveAgents || !isRuntimeError(error)) throw error;
    return {};
  }
};

/** The workflow of a run, in the version that it runs under. */
export const workflowOfRun = (
  definitions: readonly StoredDefinition[],
  { workflow, workflowVersion }: Pick<RunRecord, 'workflow' | 'workflowVersion'>,
): Workflow | undefined => {
  const found = versionsOf(definitions).find(
    ({ name, version }) => name === workflow && version === workflowVersion,
  );
  return found && workflowOf(found.definition, found.version);
};
