import type { EventLog, UsedLines } from '../index.ts';
import type { StoredDefinition } from './definitions.ts';

/** How many lines of scripts the open runs of a log have used up: one for each call of the agent that was answered. */
export const linesUsedIn = async (
  log: EventLog,
  definitions: readonly StoredDefinition[],
): Promise<UsedLines> => {
  const scripted = definitions.filter(({ agents }) =>
    Object.values(agents).some((agent) => 'script' in agent),
  );
  const used = new Map<string, number>();
  for (const workflow of new Set(scripted.map(({ name }) => name))) {
    for (const { id: run } of await log.runs({ status: 'open', workflow })) {
      const answers = await log.events({
        run,
        types: ['lw.call.done', 'lw.call.failed'],
        kinds: ['message'],
        limit: Number.POSITIVE_INFINITY,
      });
      for (const { actor } of answers) {
        const key = keyOf(agentAt(actor), run);
        used.set(key, (used.get(key) ?? 0) + 1);
      }
    }
  }
  return (agent, run) => used.get(keyOf(agent, run)) ?? 0;
};

const keyOf = (agent: string, run: string): string => `${agent} ${run}`;

/** The agent whose actor lives at an address: `run/agent:developer`. */
export const agentAt = (address: string): string => {
  const last = address.slice(address.lastIndexOf('/') + 1);
  return last.startsWith('agent:') ? last.slice('agent:'.length) : last;
};
