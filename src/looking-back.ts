import type { Parts } from './assembly.ts';
import { type CompareOptions, type Comparison, compareMachines } from './audit/compare.ts';
import type { WhatIfOptions } from './audit/what-if-options.ts';
import { type Branch, openBranch } from './branch.ts';
import type { Runtime } from './runtime-api.ts';

/** What a runtime can tell of what was, and of what would have been. Nothing of it writes to the log. */
export interface LookingBack {
  /**
   * What would have been: a branch of a run with another answer, limits or machine, in a log of its own. Recorded answers are
   * used again for whoever asks for the same; calls that were never made are listed, or made if asked for.
   *
   * @throws {RuntimeError} UNKNOWN_RUN, BAD_BRANCH with everything that is wrong, BAD_OPTION, FILE_EXISTS, REPLAY_DIVERGED
   */
  whatIf(run: string, options?: WhatIfOptions): Promise<Branch>;
  /**
   * Lives stored runs again under other machines, with recorded answers, and says of each whether it is identical, goes another
   * way, ends otherwise, leaves an event unhandled or exceeds a limit, with the first difference. Nothing is called.
   */
  compareMachines(options?: CompareOptions): Promise<readonly Comparison[]>;
}

export interface LookingBackPorts {
  readonly parts: Parts;
  /** Throws if the runtime is closed. */
  readonly mustBeOpen: (action: string) => void;
  /** Opens a runtime on parts that are there already: those of a branch. */
  readonly open: (parts: Parts) => Promise<Runtime>;
}

export const lookBack = ({ parts, mustBeOpen, open }: LookingBackPorts): LookingBack => ({
  async whatIf(run, options = {}) {
    mustBeOpen('whatIf');
    return openBranch(parts, open, { run, options });
  },
  async compareMachines(options = {}) {
    mustBeOpen('compareMachines');
    return compareMachines(parts, options);
  },
});
