import type { Address } from '../events/event.ts';
import type { Failure, Json } from '../events/json.ts';
import type { Workflow } from '../machines/workflow.ts';
import type { ChangedLimits } from './limits-in.ts';

/**
 * What somebody says in a branch in place of what they said. `at` is the position of the answer in the log, or of the event that
 * opened the call or question, if nobody has answered.
 */
export type ChangedAnswer = { readonly at: number } & (
  | {
      /** Of an agent: its output, or what `answer()` gives. Usage stays as it was unless it is given. */
      readonly output: unknown;
    }
  | { readonly failure: string | Failure }
  | {
      /** Of a person. */
      readonly option: string | null;
      readonly value?: Json;
      readonly note?: string;
      readonly by?: string;
    }
  /** As if it had not come: a call is made anew, a question waits, a message or a cancellation was never sent. */
  | { readonly forget: true }
);

/** What is to be another in a branch of a run, and where the branch lives. */
export interface WhatIfOptions {
  /** Where limits and machines change: after the turn with the event at this position. From the start of the run unless set. */
  readonly at?: number;
  readonly answers?: readonly ChangedAnswer[];
  /** `turns` is the cap of the run, from its start, wherever the others change. */
  readonly limits?: ChangedLimits & { readonly turns?: number };
  /**
   * Whose limits: the address of a loop or story in the run; the run itself unless set. A phase that has a bound of its own on its
   * failed passes is `RUN/phase:ID`, a node of a tree that is a loop, and has one on its repeats, `RUN/node:ID`.
   */
  readonly of?: Address;
  /** What the machine of the run is started with, in place of what it was: as `lw.started` of the log has it. */
  readonly input?: Json;
  /** Workflows in place of those of the same names. */
  readonly machines?: readonly Workflow[];
  /** A new file for its log; in memory unless set. */
  readonly file?: string;
  /** `list` (default): calls of agents that were never made are only listed. `make`: they are made, and the branch goes on. */
  readonly calls?: 'list' | 'make';
}

/** A call of an agent that a branch needs, and that nobody has answered. */
export interface NeededCall {
  readonly agent: string;
  /** As the agent is given it: no call of the log has it. */
  readonly callId: string;
  readonly attempt: number;
  readonly actor: Address;
  readonly input: Json;
}
