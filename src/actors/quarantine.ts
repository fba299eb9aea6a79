import { RuntimeError } from '../errors.ts';
import type { Agent, Slots } from './agent.ts';
import type { Clock } from './clock.ts';

/**
 * Keeps an agent that only fails from being called (and paid) over and over: after so many failures in a row its calls
 * fail at once for a while, then one is let through to see.
 */
export interface Quarantine {
  /** Why the agent is not called now, if it is not. */
  refusal(name: string, agent: Agent): RuntimeError | undefined;
  note(agent: Agent, succeeded: boolean): void;
}

export const createQuarantine = (clock: Clock): Quarantine => {
  // By their places: two workflows may have agents of one name, and a copy of an agent shares its places.
  const failuresByAgent = new Map<Slots, { failures: number; lastAtMs: number }>();
  return {
    refusal(name, { options: { quarantine }, slots }) {
      const record = failuresByAgent.get(slots);
      if (!record || record.failures < quarantine.failures) return undefined;
      const untilMs = record.lastAtMs + quarantine.forMs;
      if (clock.now() < untilMs)
        return new RuntimeError('AGENT_QUARANTINED', { agent: name, failures: record.failures, untilMs });
      // Let this one through; a further failure closes the door again.
      record.lastAtMs = clock.now();
      return undefined;
    },
    note({ slots }, succeeded) {
      if (succeeded) failuresByAgent.delete(slots);
      else
        failuresByAgent.set(slots, {
          failures: (failuresByAgent.get(slots)?.failures ?? 0) + 1,
          lastAtMs: clock.now(),
        });
    },
  };
};
