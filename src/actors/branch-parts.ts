import type { OpenCall } from '../events/turn.ts';
import type { Agent } from './agent.ts';
import type { Outcome } from './stimulus.ts';

/** How a branch differs from a runtime that began its runs itself. */
export interface BranchParts {
  /** What an agent has said to whoever asked for the same before. */
  readonly recorded: (call: OpenCall) => Outcome | undefined;
  /** An agent as the branch calls it: under ids that the log it comes from cannot have. */
  readonly calling: (agent: Agent, call: OpenCall) => Agent;
  /** Where files of a run are that had its folder elsewhere; null if there are none. */
  readonly folder: (folder: string | null) => string | null;
}
