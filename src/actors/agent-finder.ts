import type { OpenCall, RunRecord } from '../events/turn.ts';
import { type Agent, agentOfCreator } from './agent.ts';
import type { Registry } from './registry.ts';

export type Agents = Readonly<Record<string, Agent>>;

export interface AgentSources {
  readonly agents: Agents;
  /** Agents of certain workflows, by the names of these. */
  readonly byWorkflow: Readonly<Record<string, Agents>>;
  readonly registry: Registry;
}

/**
 * Which agent a call is for: that of the workflow of its run, else the host's of that name, else the function that the machine's
 * author wrote under `actors`.
 */
export interface AgentFinder {
  find(call: OpenCall): Agent | undefined;
  /** Which names there are for a call. */
  known(call: OpenCall): readonly string[];
  /** Told of runs that are open, that began or ended, before any of their calls is looked for. */
  note(runs: readonly Pick<RunRecord, 'id' | 'workflow' | 'verdict'>[]): void;
  /** Whether it needs to be told of runs. */
  readonly isByWorkflow: boolean;
}

export const createAgentFinder = ({ agents, byWorkflow, registry }: AgentSources): AgentFinder => {
  const inMachines = new Map<string, Agent>();
  const workflows = new Map<string, string>();
  const isByWorkflow = Object.keys(byWorkflow).length > 0;
  const own = ({ run }: OpenCall): Agents => {
    const workflow = workflows.get(run);
    return workflow === undefined ? {} : (ownMember(byWorkflow, workflow) ?? {});
  };
  return {
    find(call) {
      const { agent: name, machine, machineVersion } = call;
      const given = ownMember(own(call), name) ?? ownMember(agents, name);
      if (given) return given;
      const definition = registry.find(machine, machineVersion) ?? registry.newest(machine);
      const source = definition?.sources.get(name);
      if (source?.kind !== 'call' || !source.creator) return undefined;
      const key = `${machine}@${definition?.version} ${name}`;
      const known = inMachines.get(key) ?? agentOfCreator(source.creator);
      inMachines.set(key, known);
      return known;
    },
    known: (call) => [...new Set([...Object.keys(own(call)), ...Object.keys(agents)])],
    note(runs) {
      if (!isByWorkflow) return;
      for (const { id, workflow, verdict } of runs) {
        if (verdict === null) workflows.set(id, workflow);
        else workflows.delete(id);
      }
    },
    isByWorkflow,
  };
};

const ownMember = <Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;
