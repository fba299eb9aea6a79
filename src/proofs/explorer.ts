import type { Registry } from '../actors/registry.ts';
import { RuntimeError } from '../errors.ts';
import { encode } from '../events/encode.ts';
import type { Verdict } from '../events/turn.ts';
import { type NodeOrder, type Renaming, renamingTo } from './alike-nodes.ts';
import { inOrder, joined } from './edges.ts';
import type { ExploredSystem } from './explored-system.ts';
import { type Edge, type Walked, type WayStep, walk } from './graph.ts';
import { Keys } from './keys.ts';
import { type Move, Moves } from './moves.ts';
import { PairNumbers } from './pair-numbers.ts';
import type { AfterDecisions, Exploration, Proof } from './proof.ts';
import { FEEDBACKS_FAR } from './reduce-tree.ts';
import { type Mode, NotSo, reductionsFor } from './reductions.ts';
import { roundsMaxIn, settled } from './rounds-aside.ts';
import { COMPARED, isSampled, TRIED_FULLY } from './samples.ts';
import { Stepper, seenIn } from './stepper.ts';
import { unreachableStates } from './unreachable.ts';

const STATES_MAX = 20_000;
const RUN = 'run';
/** It runs in the host's thread, which has other things to do as well. */
const SLICE_MS = 10;

const breath = (): Promise<number> =>
  new Promise((resolve) => setImmediate(() => resolve(performance.now() + SLICE_MS)));

/**
 * Drives the kernel through every answer that agents may give, in every order, from the start of a run.
 *
 * @throws {RuntimeError} UNKNOWN_WORKFLOW, BAD_OPTION
 */
export const explore = async (registry: Registry, exploration: Exploration): Promise<Proof> => {
  const isShort = exploration.summaries !== false;
  // What persons may decide is looked at in all that they can find.
  const hasPersons = exploration.persons === true;
  const forgets = isShort && !hasPersons;
  // What a call of an agent costs goes by its name.
  const renames = forgets && exploration.isAlike === true && exploration.costUsd === undefined;
  let mode: Mode = {
    summarizes: isShort,
    isExact: false,
    counts: false,
    setsAside: isShort,
    forgets,
    renames,
    foretells: forgets,
    hasPersons,
  };
  for (;;) {
    try {
      return await new Explorer(registry, exploration, mode).run();
    } catch (error) {
      if (!(error instanceof NotSo)) throw error;
      mode = error.mode;
    }
  }
};

class Explorer {
  readonly #registry: Registry;
  readonly #exploration: Exploration;
  readonly #mode: Mode;
  readonly #stepper: Stepper;
  readonly #keys: Keys;
  readonly #moves: Moves;
  readonly #known = new Map<string, number>();
  /** Those that have all their edges are let go of. */
  readonly #systems: (ExploredSystem | null)[] = [];
  readonly #edges: Edge[][] = [];
  /** In which order the nodes of the first system of each state are those of all others. */
  readonly #orders: NodeOrder[] = [];
  readonly #pairs = new PairNumbers();
  #roundsMax = 0;
  /** How a state ends, or that it leads nowhere; and those in which a person is asked. */
  readonly #verdicts = new Map<number, Verdict>();
  readonly #deadEnds = new Map<number, string>();
  readonly #asking = new Map<number, ExploredSystem>();
  /** Others that look like these: persons must be able to decide the same in them. */
  readonly #alikeAsking = new Map<number, readonly ExploredSystem[]>();
  /** Where actors were before anything happened: see `seenIn`. */
  #seenFirst: readonly string[] = [];
  #transitions = 0;
  #revisits = 0;
  /** So many states have all their edges. */
  #expanded = 0;
  /** Systems that look like one whose edges are not known yet. */
  readonly #unchecked = new Map<number, readonly ExploredSystem[]>();
  #problem: string | null = null;
  readonly #isThorough: boolean;

  constructor(registry: Registry, exploration: Exploration, mode: Mode) {
    this.#registry = registry;
    this.#exploration = exploration;
    this.#mode = mode;
    // What the reductions of others lose is not known.
    this.#isThorough = exploration.thorough ?? exploration.reduce !== undefined;
    this.#stepper = new Stepper(registry, exploration.outcomes);
    this.#keys = new Keys(reductionsFor(registry, exploration.reduce ?? {}, mode));
    this.#moves = new Moves(mode, this.#stepper, this.#keys);
  }

  async run(): Promise<Proof> {
    const first = this.#start();
    if (this.#mode.setsAside) this.#setAside(first);
    this.#enter(first, this.#keys.keyOf(first));
    await this.#expandAll(0);
    const states = this.#systems.length;
    const before = this.#walked();
    const isAsked = this.#exploration.persons === true && before?.cycle === null && this.#asking.size > 0;
    if (!isAsked) return this.#report(before, states);
    await this.#decideAll(states);
    return this.#report(before, states);
  }

  /** All states from one on, with those that are found meanwhile. */
  async #expandAll(from: number): Promise<void> {
    const { statesMax = STATES_MAX } = this.#exploration;
    let breatheAtMs = performance.now() + SLICE_MS;
    for (let state = from; state < this.#systems.length && this.#problem === null; state += 1) {
      this.#expand(state);
      this.#expanded = state + 1;
      for (const alike of this.#unchecked.get(state) ?? []) this.#mustLeadAlike(alike, state);
      this.#unchecked.delete(state);
      if (this.#systems.length > statesMax) this.#problem = `there are more than ${statesMax} states`;
      if (performance.now() > breatheAtMs) breatheAtMs = await breath();
    }
  }

  /** What persons may decide, and what follows, until nothing new comes of it. */
  async #decideAll(from: number): Promise<void> {
    let expanded = from;
    const decided = new Map<number, readonly Edge[]>();
    for (;;) {
      const open = [...this.#asking].filter(([state]) => !decided.has(state));
      for (const [state, system] of open) {
        const edges = this.#edgesOf(this.#moves.decisions(system, this.#isTriedFully(state)), state);
        this.#edges[state] = [...(this.#edges[state] ?? []), ...edges];
        this.#transitions += edges.length;
        decided.set(state, edges);
      }
      for (const [state, alike] of this.#alikeAsking) {
        const known = decided.get(state);
        // One that was met just now is looked at in the next round.
        if (!known) continue;
        this.#alikeAsking.delete(state);
        for (const other of alike) this.#mustDecideAlike(other, known);
      }
      if (open.length === 0) this.#mustHaveAsked();
      if (open.length === 0 || this.#problem !== null) return;
      await this.#expandAll(expanded);
      expanded = this.#systems.length;
    }
  }

  /** Who looks like one that asks nothing, but asks, is another. */
  #mustHaveAsked(): void {
    for (const [system] of this.#alikeAsking.values()) if (system) this.#problem ??= lostIn(system);
  }

  #isTriedFully(state: number): boolean {
    return this.#isThorough || isSampled(state, TRIED_FULLY);
  }

  #mustDecideAlike(system: ExploredSystem, known: readonly Edge[]): void {
    const found = joined(this.#moves.decisions(system, false).map((move) => this.#edgeTo(move)));
    if (inOrder(known) !== inOrder(found)) this.#problem = lostIn(system);
  }

  #start(): ExploredSystem {
    const { workflow, input } = this.#exploration;
    const definition = this.#registry.newest(workflow);
    if (!definition) throw new RuntimeError('UNKNOWN_WORKFLOW', { workflow, known: this.#registry.names() });
    const { prepare } = definition.workflow.options;
    const given = encode(prepare ? prepare(input) : (input ?? null), { undefinedMembers: 'drop' });
    const { version } = definition;
    const { system, seen } = this.#stepper.start({
      kind: 'start',
      run: RUN,
      workflow,
      version,
      input: given,
    });
    this.#seenFirst = seen;
    return system;
  }

  #setAside(first: ExploredSystem): void {
    const max = roundsMaxIn(first);
    // Rounds of earlier runs were used before, which is simpler to count in the states.
    if (max === null || settled(first, { pairs: [], used: 0 })?.used.length !== 0)
      throw new NotSo({ ...this.#mode, setsAside: false });
    this.#roundsMax = max;
  }

  /** The number of a state, and whether it was met for the first time. */
  #enter(system: ExploredSystem, key: string): { readonly state: number; readonly isNew: boolean } {
    const known = this.#known.get(key);
    if (known !== undefined) return { state: known, isNew: false };
    const state = this.#systems.length;
    this.#known.set(key, state);
    this.#systems.push(system);
    this.#edges.push([]);
    this.#orders.push(this.#keys.orderOf(system));
    return { state, isNew: true };
  }

  #expand(state: number): void {
    const system = this.#systems[state];
    if (!system) return;
    this.#systems[state] = null;
    const verdict = system.verdict();
    if (verdict !== null) {
      this.#verdicts.set(state, verdict);
      return;
    }
    const isAsking = system.isAsking();
    if (isAsking) this.#asking.set(state, system);
    const moves = this.#moves.from(system, this.#isTriedFully(state));
    if (moves.length === 0 && !isAsking) this.#deadEnds.set(state, system.describe());
    this.#edges[state] = this.#edgesOf(moves, state);
    this.#transitions += this.#edges[state]?.length ?? 0;
  }

  /** Where moves lead to, each way once; what is met for the first time is looked at later. */
  #edgesOf(moves: readonly Move[], state: number): Edge[] {
    return joined(
      moves.map((move) => {
        const { state: to, isNew } = this.#enter(move.system, move.key);
        // What only took more tries is rarely another.
        const isWorth = !move.isRepeat || this.#isThorough || state % COMPARED.oneIn === 0;
        if (!isNew && isWorth) this.#compare(move.system, to);
        return this.#edgeOf(move, to);
      }),
    );
  }

  #edgeTo(move: Move): Edge {
    return this.#edgeOf(move, this.#known.get(move.key) ?? -1);
  }

  #edgeOf({ system, weight, steps, uses, without, isDecision, seen }: Move, to: number): Edge {
    const pairs = { uses: this.#pairs.of(uses), without: this.#pairs.of(without) };
    return { to, weight, steps, ...pairs, isDecision, seen, renaming: this.#renamingTo(to, system) };
  }

  /** What the nodes of a system are called in the state that it is in; null if they have their own names. */
  #renamingTo(state: number, system: ExploredSystem): Renaming | null {
    const renaming = renamingTo(this.#keys.orderOf(system), this.#orders[state] ?? []);
    return renaming && this.#pairs.known(renaming);
  }

  /** States that look alike must behave alike, or the reduction has lost something. */
  #compare(system: ExploredSystem, state: number): void {
    this.#revisits += 1;
    if (system.verdict() !== null || !(this.#isThorough || isSampled(this.#revisits, COMPARED))) return;
    // What persons may say is looked at when all else is known.
    if (this.#exploration.persons === true && system.isAsking()) this.#askAsWell(system, state);
    if (state < this.#expanded) this.#mustLeadAlike(system, state);
    else this.#unchecked.set(state, [...(this.#unchecked.get(state) ?? []), system]);
  }

  #askAsWell(system: ExploredSystem, state: number): void {
    const alike = this.#alikeAsking.get(state) ?? [];
    if (this.#isThorough || alike.length < ASKING_MAX) this.#alikeAsking.set(state, [...alike, system]);
  }

  #mustLeadAlike(system: ExploredSystem, state: number): void {
    const known = (this.#edges[state] ?? []).filter(({ isDecision }) => !isDecision);
    const found = joined(this.#moves.from(system, false).map((move) => this.#edgeTo(move)));
    const renaming = this.#renamingTo(state, system);
    const pairs = renaming && this.#pairs.renamed(renaming);
    // What is open in both may have been opened in another order.
    if (inOrder(known) === inOrder(found, pairs)) return;
    this.#doWithout(['foretells', 'renames', 'forgets', 'setsAside']);
    this.#problem = lostIn(system);
  }

  /** Explores it anew without the first of these shortcuts that was taken. */
  #doWithout(shortcuts: readonly (keyof Mode)[]): void {
    const taken = shortcuts.find((shortcut) => this.#mode[shortcut]);
    if (taken) throw new NotSo({ ...this.#mode, [taken]: false });
  }

  #walked(): Walked | null {
    if (this.#problem !== null) return null;
    const renamed = this.#pairs.byRenaming();
    const walked = walk(
      {
        edges: this.#edges,
        pairs: this.#pairs.size,
        renamedPairs: (renaming) => renamed.get(renaming) ?? [],
        roundsMax: this.#roundsMax,
      },
      this.#exploration.costUsd,
    );
    // A way that is to be shown has the same names from its beginning to its end, and counts what is counted beside the states.
    if (walked.cycle) this.#doWithout(['renames', 'setsAside']);
    if (!walked.cycle) this.#mustBeFar(walked);
    return walked;
  }

  #report(before: Walked | null, states: number): Proof {
    const { costUsd: prices } = this.#exploration;
    const first = before?.cycle === null ? before.first : null;
    const deadEnds = before ? this.#in(before, this.#deadEnds) : [];
    const isProved = first !== null && deadEnds.length === 0;
    const after = this.#afterDecisions(before, states);
    const cycle = before?.cycle ?? after?.walked?.cycle;
    const doubt = before ? (isProved ? (after?.proof.result ?? 'proved') : 'not proved') : 'inconclusive';
    return {
      // What is not known of decisions is said apart.
      result: doubt === 'inconclusive' && isProved ? 'proved' : doubt,
      problem: before ? null : this.#problem,
      states: this.#systems.length,
      transitions: this.#transitions,
      turns: first?.turns ?? null,
      calls: first?.calls ?? null,
      requests: first?.requests ?? null,
      callsByAgent: first?.callsByAgent ?? {},
      ...(prices && first && { costUsd: first.costUsd }),
      verdicts: [...new Set(before ? this.#in(before, this.#verdicts) : this.#verdicts.values())].sort(),
      mayAsk: before ? this.#in(before, this.#asking).length > 0 : this.#asking.size > 0,
      deadEnds,
      unreachable: before ? this.#unreachable(before) : {},
      afterDecisions: after?.proof ?? null,
      endless: cycle ? { prefix: inWords(cycle.prefix), cycle: inWords(cycle.cycle), steps: cycle } : null,
    };
  }

  /** What follows on what persons decide, if that was looked at. */
  #afterDecisions(
    before: Walked | null,
    states: number,
  ): { readonly proof: AfterDecisions; readonly walked: Walked | null } | null {
    const isTried = this.#systems.length > states || this.#edges.some((some) => some.some(isOfPerson));
    if (!before || before.cycle || !isTried) return null;
    const walked = this.#walked();
    if (!walked) {
      const nothing = {
        turns: null,
        calls: null,
        requests: null,
        verdicts: [],
        deadEnds: [],
        unreachable: {},
      };
      return { proof: { result: 'inconclusive', problem: this.#problem, ...nothing }, walked };
    }
    const deadEnds = this.#in(walked, this.#deadEnds);
    const { turns, calls, requests } = walked.between;
    const bound = walked.cycle ? { turns: null, calls: null, requests: null } : { turns, calls, requests };
    const isProved = walked.cycle === null && deadEnds.length === 0;
    const proof: AfterDecisions = {
      result: isProved ? 'proved' : 'not proved',
      problem: null,
      ...bound,
      verdicts: [...new Set(this.#in(walked, this.#verdicts))].sort(),
      deadEnds,
      unreachable: this.#unreachable(walked),
    };
    return { proof, walked };
  }

  /** Of those states that can be got to. */
  #in<Value>({ states }: Walked, all: ReadonlyMap<number, Value>): readonly Value[] {
    return [...all].filter(([state]) => states.has(state)).map(([, value]) => value);
  }

  #unreachable({ edges }: Walked): Proof['unreachable'] {
    const taken = [...edges].flatMap(({ seen }) => seen);
    return unreachableStates(this.#registry, seenIn([...this.#seenFirst, ...this.#moves.seen, ...taken]));
  }

  /** A limit that was not counted since it is far away must be so on every way. */
  #mustBeFar({ first, between }: Walked): void {
    const max = this.#stepper.feedbacksMax;
    const feedbacks = Math.max(first.feedbacks, between.feedbacks);
    if (!this.#mode.counts && max > FEEDBACKS_FAR && feedbacks > max - FEEDBACKS_FAR)
      throw new NotSo({ ...this.#mode, counts: true });
  }
}

/** So many systems that look alike are asked what persons may decide in them. */
const ASKING_MAX = 2;

const isOfPerson = ({ isDecision }: Edge): boolean => isDecision;

const lostIn = (system: ExploredSystem): string =>
  `states that look alike lead elsewhere (${system.describe()}): a reduction loses what a guard sees`;

/** That an agent begins goes without saying, unless nothing else happens. */
const inWords = (steps: readonly WayStep[]): readonly string[] => {
  const said = steps.filter(({ kind }) => kind !== 'begins');
  return (said.length > 0 ? said : steps).map(({ label }) => label);
};
