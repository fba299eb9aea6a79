import type { Verdict } from '../events/turn.ts';
import type { Prices, WayStep } from './graph.ts';
import type { Outcomes } from './outcomes.ts';
import type { Reductions } from './reduce.ts';

export interface Exploration {
  readonly workflow: string;
  /** What a run is started with. */
  readonly input: unknown;
  /** What each agent may do, by its name, and by what it is given. */
  readonly outcomes: Outcomes;
  /** True: agents of nodes that are declared alike may do the same, but for the names. */
  readonly isAlike?: boolean;
  /** How the contexts of machines reduce, by their names; those of the package reduce by themselves. */
  readonly reduce?: Reductions;
  /** Where to give up; 20,000 states unless set: a few seconds, and some hundred megabytes. */
  readonly statesMax?: number;
  /** What one call of each agent costs at most, by its name: then the proof says what a run costs at most. */
  readonly costUsd?: Prices;
  /** False: what an actor does by itself (an agent that tries again) is taken one step at a time. Slower, with the same result. */
  readonly summaries?: boolean;
  /**
   * True: every state that is met again is tried again and compared with what it was taken for, and every answer is tried after every number
   * of tries, which is otherwise done in samples. Some times slower. The default with reductions of one's own.
   */
  readonly thorough?: boolean;
  /** True: what persons may decide, and what follows, is explored as well. It takes longer, and reductions that leave out what persons allow. */
  readonly persons?: boolean;
}

/** A way that need not end. */
export interface Endless {
  /** How to get into it, and what then repeats: in words. */
  readonly prefix: readonly string[];
  readonly cycle: readonly string[];
  /** The same, so that it can be played. */
  readonly steps: { readonly prefix: readonly WayStep[]; readonly cycle: readonly WayStep[] };
}

/** What follows on what persons decide: from each decision to where the run ends, or waits for the next. */
export interface AfterDecisions {
  readonly result: 'proved' | 'not proved' | 'inconclusive';
  readonly problem: string | null;
  readonly turns: number | null;
  readonly calls: number | null;
  readonly requests: number | null;
  /** With what persons decide, too. */
  readonly verdicts: readonly Verdict[];
  readonly deadEnds: readonly string[];
  readonly unreachable: Readonly<Record<string, readonly string[]>>;
}

/** What came of trying everything. */
export interface Proof {
  /** Whether every way ends, or waits for a person; and so does what follows on what persons decide, as far as that was explored. */
  readonly result: 'proved' | 'not proved' | 'inconclusive';
  /** Why it is inconclusive. */
  readonly problem: string | null;
  readonly states: number;
  readonly transitions: number;
  /** On the longest ways; null if nothing was proved. */
  readonly turns: number | null;
  /** Attempts of agents, and the requests that they were for. */
  readonly calls: number | null;
  readonly requests: number | null;
  readonly callsByAgent: Readonly<Record<string, number>>;
  /** By the prices that were given; absent without them, or if nothing was proved. */
  readonly costUsd?: number;
  readonly verdicts: readonly Verdict[];
  /** Whether some way leads to a question. Persons may go on for as long as they like: bounds are those up to the first one. */
  readonly mayAsk: boolean;
  /** Null if nobody is asked, or if it was not explored. */
  readonly afterDecisions: AfterDecisions | null;
  /** States from which nothing leads on, although the run has not ended and nobody is asked. */
  readonly deadEnds: readonly string[];
  /** States of each machine in which no actor ever rests on any way: without a person, that is. Empty unless all ways were tried. */
  readonly unreachable: Readonly<Record<string, readonly string[]>>;
  readonly endless: Endless | null;
}
