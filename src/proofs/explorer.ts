import type { Registry } from '../actors/registry.ts';
import type { Stimulus } from '../actors/stimulus.ts';
import { createKernel, type Kernel } from '../actors/turn.ts';
import { RuntimeError } from '../errors.ts';
import { encode } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import type { OpenCall, Verdict } from '../events/turn.ts';
import { isReservedType, WAITING_TAG } from '../events/vocabulary.ts';
import { AGENT } from '../machines/agent-machine.ts';
import type { Attempt } from '../machines/agent-work.ts';
import { boardMachine } from '../machines/board-machine.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import { runMachine } from '../machines/run-machine.ts';
import type { EarlierResult } from '../machines/run-state.ts';
import { storyMachine } from '../machines/story-machine.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import { ExploredSystem } from './explored-system.ts';
import { type Edge, longestFrom } from './graph.ts';
import { createKeys, REDUCTIONS, type Reduce, type Reductions, reduceRun } from './reduce.ts';
import { reducePhases } from './reduce-phase.ts';
import { reduceBoard, reduceStory } from './reduce-stories.ts';
import { reduceTight } from './reduce-tight.ts';
import { reduceTree, TREE_REDUCTIONS } from './reduce-tree.ts';

/** One thing that an agent may do with a call. */
export interface AgentOutcome {
  readonly name: string;
  /** What it answers; a function can give another answer for each call of the way, or the one of before. */
  readonly output?: Json | ((call: { readonly nth: number; readonly made: readonly Json[] }) => Json);
  /** Beside the output; a function can give other ones for each call of the way. */
  readonly issues?: Json | ((call: { readonly nth: number }) => Json);
  /** What it reports to others. */
  readonly feedback?: Json | ((call: { readonly input: Json }) => Json);
  /** It throws, hangs or answers garbage: the attempt fails. */
  readonly fails?: boolean;
}

export interface Exploration {
  readonly workflow: string;
  /** What a run is started with. */
  readonly input: unknown;
  /** What each agent may do, by its name, and by what it is given. */
  readonly outcomes: (agent: string, input: Json) => readonly AgentOutcome[];
  /** How the contexts of machines reduce, by their names; those of the package reduce by themselves. */
  readonly reduce?: Reductions;
  /** Where to give up; 20,000 states unless set: a few seconds, and some hundred megabytes. */
  readonly statesMax?: number;
}

/** What came of trying everything. */
export interface Proof {
  /** Whether every way ends, or waits for a person. */
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
  readonly verdicts: readonly Verdict[];
  /** Whether some way leads to a question. What persons say is not explored: they may go on for as long as they like. */
  readonly mayAsk: boolean;
  /** States from which nothing leads on, although the run has not ended and nobody is asked. */
  readonly deadEnds: readonly string[];
  /** A way that need not end: how to get into it, and what then repeats. */
  readonly endless: { readonly prefix: readonly string[]; readonly cycle: readonly string[] } | null;
}

/** These have the same machine under whatever names their users give them. */
const REDUCTIONS_BY_MACHINE = new Map<unknown, Reduce>([
  [runMachine, reduceRun],
  [tightMachine, reduceTight],
  [boardMachine, reduceBoard],
  [storyMachine, reduceStory],
  [treeMachine, reduceTree],
  [phaseMachine, reducePhases],
]);

const STATES_MAX = 20_000;
const RUN = 'run';
/** The first so many states that are met again are expanded again and compared, and then one in some. */
const COMPARED_FIRST = 200;
const COMPARED_THEN = 7;
const NO_CAP = { deliveriesPerTurn: 1_000, turnsPerRun: Number.MAX_SAFE_INTEGER };

/** It runs in the host's thread, which has other things to do as well. */
const SLICE_MS = 10;

const breath = (): Promise<number> =>
  new Promise((resolve) => setTimeout(() => resolve(performance.now() + SLICE_MS), 0));

interface Move {
  readonly system: ExploredSystem;
  readonly label: string;
  readonly turns: number;
  readonly agent: string | null;
}

/**
 * Drives the kernel through every answer that agents may give, in every order, from the start of a run.
 *
 * @throws {RuntimeError} UNKNOWN_WORKFLOW, BAD_OPTION
 */
export const explore = (registry: Registry, exploration: Exploration): Promise<Proof> =>
  new Explorer(registry, exploration).run();

class Explorer {
  readonly #registry: Registry;
  readonly #kernel: Kernel;
  readonly #exploration: Exploration;
  readonly #keyOf: (system: ExploredSystem) => string;
  readonly #keys = new Map<string, number>();
  readonly #systems: ExploredSystem[] = [];
  readonly #edges: Edge[][] = [];
  readonly #verdicts = new Set<Verdict>();
  readonly #deadEnds: string[] = [];
  #mayAsk = false;
  #transitions = 0;
  #revisits = 0;
  /** So many states have all their edges. */
  #expanded = 0;
  /** Systems that look like one whose edges are not known yet. */
  readonly #unchecked = new Map<number, readonly ExploredSystem[]>();
  #problem: string | null = null;

  constructor(registry: Registry, exploration: Exploration) {
    this.#registry = registry;
    this.#exploration = exploration;
    this.#kernel = createKernel({ registry, limits: NO_CAP });
    this.#keyOf = createKeys(this.#reductionOf);
  }

  async run(): Promise<Proof> {
    const { statesMax = STATES_MAX } = this.#exploration;
    this.#enter(this.#start());
    let breatheAtMs = performance.now() + SLICE_MS;
    for (let state = 0; state < this.#systems.length && this.#problem === null; state += 1) {
      this.#expand(state);
      this.#expanded = state + 1;
      for (const alike of this.#unchecked.get(state) ?? []) this.#mustLeadAlike(alike, state);
      this.#unchecked.delete(state);
      if (this.#systems.length > statesMax) this.#problem = `there are more than ${statesMax} states`;
      if (performance.now() > breatheAtMs) breatheAtMs = await breath();
    }
    return this.#report();
  }

  #start(): ExploredSystem {
    const { workflow, input } = this.#exploration;
    const definition = this.#registry.newest(workflow);
    if (!definition) throw new RuntimeError('UNKNOWN_WORKFLOW', { workflow, known: this.#registry.names() });
    const { prepare } = definition.workflow.options;
    const given = encode(prepare ? prepare(input) : (input ?? null), { undefinedMembers: 'drop' });
    return this.#turn(new ExploredSystem(), {
      ...header('start'),
      kind: 'start',
      run: RUN,
      workflow,
      version: definition.version,
      input: given,
    });
  }

  /** The number of a state, and whether it was met for the first time. */
  #enter(system: ExploredSystem): { readonly state: number; readonly isNew: boolean } {
    const key = this.#keyOf(system);
    const known = this.#keys.get(key);
    if (known !== undefined) return { state: known, isNew: false };
    const state = this.#systems.length;
    this.#keys.set(key, state);
    this.#systems.push(system);
    this.#edges.push([]);
    return { state, isNew: true };
  }

  readonly #reductionOf = (machine: string): Reduce | undefined => {
    const own = this.#exploration.reduce?.[machine] ?? REDUCTIONS[machine] ?? TREE_REDUCTIONS[machine];
    if (own) return own;
    const registered = this.#registry.newest(machine)?.workflow.machine;
    return registered && REDUCTIONS_BY_MACHINE.get(registered);
  };

  #expand(state: number): void {
    const system = this.#systems[state];
    if (!system) return;
    const verdict = system.verdict();
    if (verdict !== null) {
      this.#verdicts.add(verdict);
      return;
    }
    const isAsking = [...system.actors.values()].some(
      ({ status, snapshot }) => status === 'active' && snapshot?.tags.has(WAITING_TAG),
    );
    if (isAsking) this.#mayAsk = true;
    const moves = this.#movesFrom(system);
    if (moves.length === 0 && !isAsking) this.#deadEnds.push(describe(system));
    const edges = this.#edges[state];
    for (const { system: next, label, turns, agent } of moves) {
      const { state: to, isNew } = this.#enter(next);
      edges?.push({ to, label, turns, agent, replies: next.replies - system.replies });
      this.#transitions += 1;
      if (!isNew) this.#compare(next, to);
    }
  }

  /** States that look alike must behave alike, or the reduction has lost something. */
  #compare(system: ExploredSystem, state: number): void {
    this.#revisits += 1;
    if (system.verdict() !== null) return;
    if (this.#revisits > COMPARED_FIRST && this.#revisits % COMPARED_THEN !== 0) return;
    if (state < this.#expanded) this.#mustLeadAlike(system, state);
    else this.#unchecked.set(state, [...(this.#unchecked.get(state) ?? []), system]);
  }

  #mustLeadAlike(system: ExploredSystem, state: number): void {
    const known = (this.#edges[state] ?? []).map(({ to }) => to);
    const found = this.#movesFrom(system).map(({ system: next }) => this.#keys.get(this.#keyOf(next)) ?? -1);
    // What is open in both may have been opened in another order.
    if (inOrder(known) !== inOrder(found))
      this.#problem = `states that look alike lead elsewhere (${describe(system)}): a reduction loses what a guard sees`;
  }

  /** Everything that can happen next without a person. */
  #movesFrom(system: ExploredSystem): readonly Move[] {
    const moves: Move[] = [];
    for (const call of system.calls.values()) moves.push(...this.#answersTo(system, call));
    for (const { actor, timer, generation } of system.timers.values()) {
      const next = this.#turn(system, { ...header('timer'), kind: 'fired', actor, timer, generation });
      moves.push({ system: next, label: `${actor}: ${timer}`, turns: 1, agent: null });
    }
    return moves;
  }

  #answersTo(system: ExploredSystem, call: OpenCall): readonly Move[] {
    const { actor, generation } = call;
    const begun = call.announce
      ? this.#turn(system, { ...header('begun'), kind: 'begun', actor, call: call.call, generation })
      : system;
    const turns = begun === system ? 1 : 2;
    const outcomes = this.#exploration.outcomes(call.agent, inputOf(call));
    if (outcomes.length === 0)
      throw new RuntimeError('BAD_OPTION', {
        option: `outcomes of "${call.agent}"`,
        found: 'empty',
        expected: 'at least one thing that the agent may do',
      });
    const moves = outcomes.map((outcome): Move => {
      const next = this.#turn(begun, {
        ...header('answer'),
        kind: 'answer',
        actor,
        call: call.call,
        generation,
        outcome: outcomeOf(call, outcome, nthOf(begun)),
      });
      // What the runtime does by itself is no call of an agent.
      const agent = isReservedType(call.agent) ? null : call.agent;
      return { system: next, label: `${call.agent}: ${outcome.name}`, turns, agent };
    });
    // A call that runs may also be overtaken by a timer that began with it.
    const isTimed = begun !== system && begun.timers.size > system.timers.size;
    return isTimed
      ? [...moves, { system: begun, label: `${call.agent}: begins`, turns: 1, agent: null }]
      : moves;
  }

  #turn(system: ExploredSystem, stimulus: Stimulus): ExploredSystem {
    const result = this.#kernel.turn(system, stimulus);
    if (result.kind === 'turn') return system.after(result);
    if (result.kind === 'refused') throw result.error;
    return system;
  }

  #report(): Proof {
    const longest = this.#problem === null ? longestFrom(this.#edges) : undefined;
    const isBounded = longest?.kind === 'bounded';
    const isProved = isBounded && this.#deadEnds.length === 0;
    return {
      result: this.#problem !== null ? 'inconclusive' : isProved ? 'proved' : 'not proved',
      problem: this.#problem,
      states: this.#systems.length,
      transitions: this.#transitions,
      turns: isBounded ? longest.turns : null,
      calls: isBounded ? longest.calls : null,
      requests: isBounded ? longest.requests : null,
      callsByAgent: isBounded ? longest.callsByAgent : {},
      verdicts: [...this.#verdicts].sort(),
      mayAsk: this.#mayAsk,
      deadEnds: this.#deadEnds,
      endless: longest?.kind === 'cycle' ? { prefix: longest.prefix, cycle: longest.cycle } : null,
    };
  }
}

const inOrder = (states: readonly number[]): string => [...states].sort((one, other) => one - other).join();

/** Machines do not branch on time, and ids decide nothing: both stand still. */
const header = (id: string) => ({ id, atMs: 0, origin: 'runtime', by: null, cause: null }) as const;

/** How many calls were opened before: what makes an answer that is to be new differ from all others of the way. */
const nthOf = ({ actors }: ExploredSystem): number => {
  let calls = 0;
  for (const { waits } of actors.values()) calls += waits.generation;
  return calls;
};

const outcomeOf = (call: OpenCall, outcome: AgentOutcome, nth: number) => {
  const { output = null, issues, feedback, fails, name } = outcome;
  if (fails) return { failure: { name: 'Explored', message: name } };
  const value = typeof output === 'function' ? output({ nth, made: madeBefore(call) }) : output;
  if (call.machine !== AGENT) return { output: encode(value) };
  const found = typeof issues === 'function' ? issues({ nth }) : issues;
  const reported = typeof feedback === 'function' ? feedback({ input: inputOf(call) }) : feedback;
  const beside = {
    ...(found !== undefined && { issues: found }),
    ...(reported !== undefined && { feedback: reported }),
  };
  return { output: encode({ output: value, ...beside }) };
};

/** What the agent is given to work on. */
const inputOf = ({ machine, input }: OpenCall): Json => {
  const given = JSON.parse(input) as Json;
  return machine === AGENT ? (given as unknown as Attempt).work.input : given;
};

/** What the same step made before, oldest first. */
const madeBefore = ({ machine, input }: OpenCall): readonly Json[] => {
  if (machine !== AGENT) return [];
  const { work } = JSON.parse(input) as Attempt; // The machine of agents makes nothing but attempts.
  return (work.history as unknown as readonly Partial<EarlierResult>[]).flatMap(({ output }) => output ?? []);
};

const describe = ({ actors }: ExploredSystem): string =>
  [...actors.values()]
    .filter(({ status }) => status === 'active')
    .map(({ address, snapshot }) => `${address}: ${JSON.stringify(snapshot?.value)}`)
    .join(', ');
