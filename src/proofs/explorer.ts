import type { Registry } from '../actors/registry.ts';
import { RuntimeError } from '../errors.ts';
import { encode } from '../events/encode.ts';
import type { Address } from '../events/event.ts';
import type { Verdict } from '../events/turn.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import type { ExploredSystem } from './explored-system.ts';
import { type Edge, type Longest, longestFrom, type WayStep } from './graph.ts';
import { isSettledBy } from './private-races.ts';
import { type Place, PrivateSteps } from './private-steps.ts';
import type { Exploration, Proof } from './proof.ts';
import { createKeys, type Keys } from './reduce.ts';
import { FEEDBACKS_FAR } from './reduce-tree.ts';
import { type Mode, reductionsFor } from './reductions.ts';
import { type Possible, Stepper } from './stepper.ts';
import { unreachableStates } from './unreachable.ts';
import { greaterWeight, sumOfWeights, type Weight } from './weight.ts';

const STATES_MAX = 20_000;
const RUN = 'run';
/** The first so many states that are met again are expanded again and compared, and then one in some. */
const COMPARED_FIRST = 200;
const COMPARED_THEN = 7;
/** In so many states every answer is tried after every number of tries, and then in one of some. */
const SUMMARIES_FIRST = 50;

const isSampled = (nth: number, first: number): boolean => nth <= first || nth % COMPARED_THEN === 0;

/** It runs in the host's thread, which has other things to do as well. */
const SLICE_MS = 10;

const breath = (): Promise<number> =>
  new Promise((resolve) => setImmediate(() => resolve(performance.now() + SLICE_MS)));

interface Move {
  readonly system: ExploredSystem;
  readonly key: string;
  readonly weight: Weight;
  readonly steps: readonly WayStep[];
  /** Whether it is the answer of another move, given after more tries. */
  readonly isRepeat: boolean;
}

/** Thrown when a shortcut turns out not to hold for this workflow: it is explored without it. */
class NotSo {
  readonly mode: Mode;
  constructor(mode: Mode) {
    this.mode = mode;
  }
}

/**
 * Drives the kernel through every answer that agents may give, in every order, from the start of a run.
 *
 * @throws {RuntimeError} UNKNOWN_WORKFLOW, BAD_OPTION
 */
export const explore = async (registry: Registry, exploration: Exploration): Promise<Proof> => {
  let mode: Mode = { summarizes: exploration.summaries !== false, isExact: false, counts: false };
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
  readonly #private: PrivateSteps;
  readonly #known = new Map<string, number>();
  /** Those that have all their edges are let go of. */
  readonly #systems: (ExploredSystem | null)[] = [];
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

  constructor(registry: Registry, exploration: Exploration, mode: Mode) {
    this.#registry = registry;
    this.#exploration = exploration;
    this.#mode = mode;
    this.#stepper = new Stepper(registry, exploration.outcomes);
    this.#keys = createKeys(reductionsFor(registry, exploration.reduce ?? {}, mode));
    this.#private = new PrivateSteps(this.#stepper, this.#keys.idOf);
  }

  async run(): Promise<Proof> {
    const { statesMax = STATES_MAX } = this.#exploration;
    const first = this.#start();
    this.#enter(first, this.#keys.keyOf(first));
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
    const { version } = definition;
    return this.#stepper.start({ kind: 'start', run: RUN, workflow, version, input: given });
  }

  /** The number of a state, and whether it was met for the first time. */
  #enter(system: ExploredSystem, key: string): { readonly state: number; readonly isNew: boolean } {
    const known = this.#known.get(key);
    if (known !== undefined) return { state: known, isNew: false };
    const state = this.#systems.length;
    this.#known.set(key, state);
    this.#systems.push(system);
    this.#edges.push([]);
    return { state, isNew: true };
  }

  #expand(state: number): void {
    const system = this.#systems[state];
    if (!system) return;
    this.#systems[state] = null;
    const verdict = system.verdict();
    if (verdict !== null) {
      this.#verdicts.add(verdict);
      return;
    }
    const isAsking = [...system.actors.values()].some(
      ({ status, snapshot }) => status === 'active' && snapshot?.tags.has(WAITING_TAG),
    );
    if (isAsking) this.#mayAsk = true;
    const moves = this.#movesFrom(system, isSampled(state, SUMMARIES_FIRST));
    if (moves.length === 0 && !isAsking) this.#deadEnds.push(describe(system));
    const edges = new Map<number, Edge>();
    for (const { system: next, key, weight, steps, isRepeat } of moves) {
      const { state: to, isNew } = this.#enter(next, key);
      const other = edges.get(to);
      edges.set(
        to,
        other ? { ...other, weight: greaterWeight(other.weight, weight) } : { to, weight, steps },
      );
      if (!isNew && (!isRepeat || state % COMPARED_THEN === 0)) this.#compare(next, to);
    }
    this.#edges[state] = [...edges.values()];
    this.#transitions += edges.size;
  }

  /** States that look alike must behave alike, or the reduction has lost something. */
  #compare(system: ExploredSystem, state: number): void {
    this.#revisits += 1;
    if (system.verdict() !== null || !isSampled(this.#revisits, COMPARED_FIRST)) return;
    if (state < this.#expanded) this.#mustLeadAlike(system, state);
    else this.#unchecked.set(state, [...(this.#unchecked.get(state) ?? []), system]);
  }

  #mustLeadAlike(system: ExploredSystem, state: number): void {
    const known = new Map((this.#edges[state] ?? []).map(({ to, weight }) => [to, weight]));
    const found = new Map<number, Weight>();
    for (const { key, weight } of this.#movesFrom(system, false)) {
      const to = this.#known.get(key) ?? -1;
      const other = found.get(to);
      found.set(to, other ? greaterWeight(other, weight) : weight);
    }
    // What is open in both may have been opened in another order.
    if (inOrder(known) !== inOrder(found))
      this.#problem = `states that look alike lead elsewhere (${describe(system)}): a reduction loses what a guard sees`;
  }

  /** Everything that can happen next without a person. */
  #movesFrom(system: ExploredSystem, isSample: boolean): readonly Move[] {
    const moves: Move[] = [];
    for (const address of system.open.keys()) {
      const places = this.#placesOf(system, address);
      const byLabel = new Map<string, string>();
      for (const choice of this.#mode.isExact || isSample ? allOf(places) : longestOf(places)) {
        const move = this.#moveFrom(system, choice);
        moves.push({ ...move, isRepeat: byLabel.has(choice.label) });
        // From wherever an actor got to by itself, the same answer must lead to the same: else all are tried everywhere.
        const isOther = (byLabel.get(choice.label) ?? move.key) !== move.key;
        if (isOther && !this.#mode.isExact) throw new NotSo({ ...this.#mode, isExact: true });
        byLabel.set(choice.label, move.key);
      }
    }
    return moves;
  }

  #placesOf(system: ExploredSystem, address: Address): readonly Place[] {
    return this.#mode.summarizes
      ? this.#private.placesOf(system, address)
      : this.#private.alone(system, address);
  }

  #moveFrom(system: ExploredSystem, { place, possible, weight: before }: Choice): Omit<Move, 'isRepeat'> {
    const there = place.steps.length === 0 ? system : system.withPart(place);
    if (!possible) return { system: there, key: this.#keys.keyOf(there), weight: before, steps: place.steps };
    const stepped = this.#stepper.step(there, possible);
    let weight = sumOfWeights(before, stepped.weight);
    for (const other of stepped.reads) {
      if (!this.#mode.summarizes || other === place.record.address) continue;
      const places = this.#private.placesOf(there, other);
      if (places.length < 2) continue;
      const using = { stepper: this.#stepper, own: this.#private, idOf: this.#keys.idOf };
      const most = isSettledBy({ there, possible, stepped, places }, using);
      if (!most) throw new NotSo({ ...this.#mode, summarizes: false });
      weight = sumOfWeights(weight, most);
    }
    const key = this.#keys.keyOf(stepped.system);
    return { system: stepped.system, key, weight, steps: [...place.steps, possible.step] };
  }

  #report(): Proof {
    const { costUsd: prices } = this.#exploration;
    const longest = this.#problem === null ? longestFrom(this.#edges, prices) : undefined;
    const bounded = longest?.kind === 'bounded' ? longest : undefined;
    if (bounded) this.#mustBeFar(bounded);
    const isProved = bounded !== undefined && this.#deadEnds.length === 0;
    return {
      result: this.#problem !== null ? 'inconclusive' : isProved ? 'proved' : 'not proved',
      problem: this.#problem,
      states: this.#systems.length,
      transitions: this.#transitions,
      turns: bounded?.turns ?? null,
      calls: bounded?.calls ?? null,
      requests: bounded?.requests ?? null,
      callsByAgent: bounded?.callsByAgent ?? {},
      ...(prices && bounded && { costUsd: bounded.costUsd }),
      verdicts: [...this.#verdicts].sort(),
      mayAsk: this.#mayAsk,
      deadEnds: this.#deadEnds,
      unreachable: this.#problem === null ? unreachableStates(this.#registry, this.#stepper.statesSeen) : {},
      endless:
        longest?.kind === 'cycle'
          ? {
              prefix: inWords(longest.prefix),
              cycle: inWords(longest.cycle),
              steps: { prefix: longest.prefix, cycle: longest.cycle },
            }
          : null,
    };
  }

  /** A limit that was not counted since it is far away must be so on every way. */
  #mustBeFar({ feedbacks }: Extract<Longest, { kind: 'bounded' }>): void {
    const max = this.#stepper.feedbacksMax;
    if (!this.#mode.counts && max > FEEDBACKS_FAR && feedbacks > max - FEEDBACKS_FAR)
      throw new NotSo({ ...this.#mode, counts: true });
  }
}

const inOrder = (moves: ReadonlyMap<number, Weight>): string =>
  [...moves]
    .map(([to, { turns, calls, requests }]) => `${to}:${turns}/${calls}/${requests}`)
    .sort()
    .join(' ');

/** That an agent begins goes without saying, unless nothing else happens. */
const inWords = (steps: readonly WayStep[]): readonly string[] => {
  const said = steps.filter(({ kind }) => kind !== 'begins');
  return (said.length > 0 ? said : steps).map(({ label }) => label);
};

interface Choice {
  readonly place: Place;
  readonly possible: Possible | null;
  /** What happens, for this actor. */
  readonly label: string;
  /** The most that it takes to get to where it can happen. */
  readonly weight: Weight;
}

/** What others may notice of an actor, from wherever it can get to by itself. */
const allOf = (places: readonly Place[]): readonly Choice[] =>
  places.flatMap((place, nth): readonly Choice[] => {
    const { weight } = place;
    const ends = place.isEnd ? [{ place, possible: null, label: `ends ${nth}`, weight }] : [];
    const happens = place.public.map((possible) => {
      const { step } = possible;
      const label = step.kind === 'fires' ? step.label : `${step.call} ${step.label}`;
      return { place, possible, label, weight };
    });
    return [...happens, ...ends];
  });

/** The same answer only once, on the shortest way, as if it took the most to get there. */
const longestOf = (places: readonly Place[]): readonly Choice[] => {
  const longest = new Map<string, Choice>();
  for (const choice of allOf(places)) {
    const other = longest.get(choice.label);
    longest.set(
      choice.label,
      other ? { ...other, weight: greaterWeight(other.weight, choice.weight) } : choice,
    );
  }
  return [...longest.values()];
};

const describe = ({ actors }: ExploredSystem): string =>
  [...actors.values()]
    .filter(({ status }) => status === 'active')
    .map(({ address, snapshot }) => `${address}: ${JSON.stringify(snapshot?.value)}`)
    .join(', ');
