import type { StateValue } from 'xstate';
import type { Json, JsonObject } from '../../src/events/json.ts';
import type { Usage, Workflow } from '../../src/index.ts';
import type { Reductions } from '../../src/proofs/reduce.ts';

/** One thing that an agent may do with a call: an answer, or a failure. */
export interface Deed {
  readonly name: string;
  readonly output?: Json;
  readonly beside?: {
    readonly issues?: readonly JsonObject[];
    readonly feedback?: Json;
    readonly artifacts?: Json;
    readonly usage?: Usage;
    /** What is wrong with an answer that does not fit the agent's schema. */
    readonly refused?: string;
  };
  readonly fails?: true;
}

/** A message of the host, to whatever actor. */
export interface Message {
  readonly to: string;
  readonly message: { readonly type: string; readonly [member: string]: Json };
}

/** What a scene may look at before it says what may happen next. */
export interface Look {
  readonly address: string;
  readonly machine: string;
  readonly value: StateValue;
  readonly context: unknown;
}

export interface Answer {
  readonly option: string | null;
  readonly value?: Json;
  readonly by?: string;
}

/**
 * A machine in the smallest surroundings in which it runs, with everything that may happen to it: few things, and bounds so
 * low that there are few states.
 */
export interface Scene {
  /** The name that the machine is registered under. */
  readonly machine: string;
  readonly about: string;
  /** What runs: the machine itself, or a stage that has started it. */
  readonly root: Workflow;
  readonly input: unknown;
  /** Others that the root runs as its steps. */
  readonly others?: readonly Workflow[];
  /** The agents that are called, and what each may do. */
  readonly agents?: readonly string[];
  readonly deeds?: (agent: string, input: Json) => readonly Deed[];
  readonly answers?: (question: Look, others: readonly Look[]) => readonly Answer[];
  readonly messages?: (actors: readonly Look[]) => readonly Message[];
  /** How many calls of an agent run at once; 8 unless set. */
  readonly concurrency?: number;
  /** How contexts are told apart, by machine: in full unless set. */
  readonly reduce?: Reductions;
  /** Why its paths are not played to the runtime. */
  readonly unplayed?: string;
}

/** The root actor of each scene. */
export const RUN = 'run';
