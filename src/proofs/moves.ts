import type { Address } from '../events/event.ts';
import { allOf, type Choice, isFailure, longestOf } from './choices.ts';
import type { ExploredSystem, Part } from './explored-system.ts';
import type { WayStep } from './graph.ts';
import type { Keys } from './keys.ts';
import { KnownAgents } from './known-agents.ts';
import { isSettledBy } from './private-races.ts';
import { PrivateSteps } from './private-steps.ts';
import { type Mode, NotSo } from './reductions.ts';
import { type AskedAgain, askedAgain, type InPlace, refusedInPlace } from './refusals-aside.ts';
import { roundsMaxIn, settled, withUsed } from './rounds-aside.ts';
import type { Stepper } from './stepper.ts';
import {
  greaterWeight,
  isWithin,
  lessWeight,
  sumOfWeights,
  timesWeight,
  WEIGHS_NOTHING,
  type Weight,
} from './weight.ts';

export interface Move {
  readonly system: ExploredSystem;
  readonly key: string;
  readonly weight: Weight;
  readonly steps: readonly WayStep[];
  /** Pairs of nodes that begin a round in it, and those that it supposes to have none left. */
  readonly uses: readonly string[];
  readonly without: readonly string[];
  /** Whether it is the answer of another move, given after more tries. */
  readonly isRepeat: boolean;
  /** Whether a person decides. */
  readonly isDecision: boolean;
  /** In which states actors have come to rest: see `seenIn`. */
  readonly seen: readonly string[];
}

/** One way of a move. */
interface Taken extends Omit<Move, 'isRepeat' | 'isDecision'> {
  /** Set if what an agent said was refused; and whether that leads back to where it came from. */
  readonly again: AskedAgain | undefined;
  readonly isBack: boolean;
}

/** Everything that can happen in a state. */
export class Moves {
  readonly #mode: Mode;
  readonly #stepper: Stepper;
  readonly #keys: Keys;
  readonly #private: PrivateSteps;
  readonly #agents: KnownAgents;
  /** Agents for which being refused for the last time was seen to be a failure like any other. */
  readonly #failsWhenRefused = new Set<Address>();
  /** What being refused takes, by agent, node and answer, where that led back. */
  readonly #refusals = new Map<string, Weight>();

  /** What actors were in by themselves. */
  get seen(): Iterable<string> {
    return this.#private.seen;
  }

  constructor(mode: Mode, stepper: Stepper, keys: Keys) {
    this.#mode = mode;
    this.#stepper = stepper;
    this.#keys = keys;
    this.#private = new PrivateSteps(stepper, (part) => keys.idOf(part));
    this.#agents = new KnownAgents(stepper, (part) => keys.idOf(part));
  }

  /** Everything that can happen next without a person. */
  from(system: ExploredSystem, isSample: boolean): readonly Move[] {
    const moves: Move[] = [];
    for (const address of system.open.keys()) {
      const choices = this.#choicesOf(system, address, isSample);
      const byLabel = new Map<string, string>();
      for (const { choice, taken } of this.#chosen(system, choices, isSample))
        for (const move of taken) {
          const label = `${choice.label} ${move.without.join()}`;
          moves.push({ ...move, isRepeat: byLabel.has(label), isDecision: false });
          // From wherever an actor got to by itself, the same answer must lead to the same: else all are tried everywhere.
          const isOther = (byLabel.get(label) ?? move.key) !== move.key;
          if (isOther && !this.#mode.isExact) throw new NotSo({ ...this.#mode, isExact: true });
          byLabel.set(label, move.key);
        }
    }
    return moves;
  }

  /** What comes of what one actor may do, as if it had been refused as often as it may be before. */
  #chosen(system: ExploredSystem, choices: readonly Choice[], isSample: boolean): readonly Chosen[] {
    const take = (some: readonly Choice[]): readonly Chosen[] =>
      some.map((choice) => ({ choice, taken: this.#variants(system, choice, isSample) }));
    const foretold = isSample ? undefined : this.#foretold(system, choices);
    const rest = foretold && take(foretold.rest);
    if (foretold && rest && !rest.some(isRefused)) return rest.map(later(foretold.before));
    return this.#withRefusals(system, take(choices), isSample);
  }

  /** What an agent may do that is not refused, and the most that it takes to be refused before; undefined if that has to be tried. */
  #foretold(system: ExploredSystem, choices: readonly Choice[]): Foretold | undefined {
    const { address } = choices[0]?.place.record ?? { address: '' };
    if (!this.#mode.foretells || !this.#failsWhenRefused.has(address)) return undefined;
    const inPlace = refusedInPlace(system, address);
    if (!inPlace) return undefined;
    const rest: Choice[] = [];
    let most = WEIGHS_NOTHING;
    for (const choice of choices) {
      const refusal = this.#refusals.get(refusalKey(inPlace, choice));
      if (refusal) most = greaterWeight(most, sumOfWeights(choice.weight, refusal));
      else rest.push(choice);
    }
    if (rest.length === choices.length || !rest.some(({ possible }) => isFailure(possible))) return undefined;
    return { rest, before: timesWeight(most, inPlace.times) };
  }

  /** What was tried must be as it would have been told, and is told from then on if it is the same wherever its node works. */
  #mustBeForetold(system: ExploredSystem, own: readonly Chosen[]): void {
    const [first] = own;
    const inPlace = first && refusedInPlace(system, first.choice.place.record.address);
    if (!inPlace) return;
    for (const { choice, taken } of own) {
      const key = refusalKey(inPlace, choice);
      for (const { weight, isBack, again, uses } of taken) {
        const known = this.#refusals.get(key);
        const found = lessWeight(weight, choice.weight);
        const isKnown = !known || (isWithin(found, known) && isWithin(known, found));
        const isSo = again
          ? isBack && isKnown && inPlace.times === again.times && uses.length === 0
          : known === undefined;
        if (!isSo) throw new NotSo({ ...this.#mode, foretells: false });
        if (again && choice.possible?.isFixed) this.#refusals.set(key, found);
      }
    }
  }

  /** The moves of one actor, as if it had been refused as often as it may be before each. */
  #withRefusals(system: ExploredSystem, own: readonly Chosen[], isSample: boolean): readonly Chosen[] {
    if (this.#mode.foretells) this.#mustBeForetold(system, own);
    const refused = own.filter(isRefused);
    const [first] = refused[0]?.taken ?? [];
    const again = first?.again;
    if (!again) return own;
    const { isBack } = first;
    let most = WEIGHS_NOTHING;
    for (const move of refused.flatMap(({ taken }) => taken)) {
      if (move.isBack !== isBack) throw this.#notAside();
      most = greaterWeight(most, move.weight);
      for (const each of move.seen) this.#private.seen.add(each);
    }
    const rest = own.filter((each) => !refused.includes(each));
    const byLabel = new Map(rest.map((each) => [each.choice.label, each]));
    if (isSample) for (const each of byLabel.values()) this.#mustNotMatter(again.last, each);
    const last = this.#forTheLastTime(refused, { last: again.last, rest, isSample });
    if (!isBack) return [...own, ...last];
    return [...rest, ...last].map(later(timesWeight(most, again.times)));
  }

  /**
   * What comes of being refused for the last time. That an agent then fails, as if it had not answered at all, is seen in samples; in
   * between it goes without saying.
   */
  #forTheLastTime(
    refused: readonly Chosen[],
    { last, rest, isSample }: { last: ExploredSystem; rest: readonly Chosen[]; isSample: boolean },
  ): readonly Chosen[] {
    const fails = rest.find(({ choice: { possible } }) => isFailure(possible));
    const { address } = refused[0]?.choice.place.record ?? { address: '' };
    if (fails && !isSample && this.#failsWhenRefused.has(address)) return [];
    const found = refused.map(({ choice }) => ({
      choice: { ...choice, label: `${choice.label} for the last time` },
      taken: this.#variants(last, choice, isSample),
    }));
    // One that is refused for the last time is not asked again.
    if (found.some(({ taken }) => taken.some((move) => move.again))) throw this.#notAside();
    const isAlike = fails !== undefined && found.every(({ taken }) => isCoveredBy(taken, fails.taken));
    if (!isAlike && this.#failsWhenRefused.has(address)) throw this.#notAside();
    if (isAlike) this.#failsWhenRefused.add(address);
    return found;
  }

  /** What an agent says instead must lead to the same, however often it was refused before. */
  #mustNotMatter(last: ExploredSystem, { choice, taken }: Chosen): void {
    const others = this.#variants(last, choice, false);
    if (keysIn(others) !== keysIn(taken)) throw this.#notAside();
  }

  /** Everything that persons may decide. */
  decisions(system: ExploredSystem, isSample: boolean): readonly Move[] {
    return this.#stepper.decisions(system).flatMap(({ record, possible }) => {
      const open = system.openOf(record.address);
      const place = { record, open, weight: WEIGHS_NOTHING, steps: [], public: [], isEnd: false };
      const choice = { place, possible, label: possible.step.label, weight: WEIGHS_NOTHING };
      const moves = this.#variants(system, choice, isSample);
      return moves.map((move) => ({ ...move, isRepeat: false, isDecision: true }));
    });
  }

  #choicesOf(system: ExploredSystem, address: Address, isSample: boolean): readonly Choice[] {
    if (!this.#mode.summarizes) return allOf(this.#private.alone(system, address));
    const isWhole = this.#mode.isExact || isSample;
    const known = isWhole ? undefined : this.#agents.choicesOf(system, address);
    if (known) return known;
    const places = this.#private.placesOf(system, address);
    if (!this.#mode.isExact && !this.#agents.learn(system, places))
      throw new NotSo({ ...this.#mode, isExact: true });
    return isWhole ? allOf(places) : longestOf(places);
  }

  /** The same with rounds left, and without, for each pair of nodes that would begin one. */
  #variants(system: ExploredSystem, choice: Choice, isSample: boolean): readonly Taken[] {
    const max = this.#mode.setsAside ? roundsMaxIn(system) : null;
    if (max === null) return [this.#moveFrom(system, choice, NOTHING_USED)];
    const moves = new Map<string, Taken>();
    const left: (readonly string[])[] = [[]];
    for (let without = left.pop(); without; without = left.pop()) {
      if (moves.has(without.join())) continue;
      const move = this.#moveFrom(system, choice, { pairs: without, used: max });
      moves.set(without.join(), move);
      for (const pair of move.uses) left.push([...without, pair].sort());
    }
    const [first] = moves.values();
    if (isSample && first && max > 1 && first.uses.length > 0) {
      // The last round must be like any other.
      const last = this.#moveFrom(system, choice, { pairs: first.uses, used: max - 1 });
      if (last.key !== first.key || last.uses.join() !== first.uses.join()) throw this.#notAside();
    }
    return [...moves.values()];
  }

  #moveFrom(
    given: ExploredSystem,
    { place, possible, weight: before }: Choice,
    used: { readonly pairs: readonly string[]; readonly used: number },
  ): Taken {
    const system = withUsed(given, used.pairs, used.used);
    const there = place.steps.length === 0 ? system : system.withPart(place);
    const { steps } = place;
    if (!possible)
      return {
        system: there,
        key: this.#keys.keyOf(there),
        weight: before,
        steps,
        uses: [],
        without: [],
        seen: [],
        again: undefined,
        isBack: false,
      };
    const stepped = this.#stepper.step(there, possible);
    let weight = sumOfWeights(before, stepped.weight);
    for (const other of stepped.reads) {
      // One that has nothing open stays where it is.
      if (!this.#mode.summarizes || other === place.record.address || !there.open.has(other)) continue;
      const places = this.#private.placesOf(there, other);
      if (places.length < 2) continue;
      const using = {
        stepper: this.#stepper,
        own: this.#private,
        idOf: (part: Part) => this.#keys.idOf(part),
      };
      const most = isSettledBy({ there, possible, stepped, places }, using);
      if (!most) throw new NotSo({ ...this.#mode, summarizes: false });
      weight = sumOfWeights(weight, most);
    }
    const after = this.#mode.setsAside ? settled(stepped.system, used) : { system: stepped.system, used: [] };
    if (!after) throw this.#notAside();
    const isAside = this.#mode.setsAside && this.#mode.forgets;
    const again = isAside ? askedAgain(given, after.system) : undefined;
    const result = again?.after ?? after.system;
    const key = this.#keys.keyOf(result);
    return {
      system: result,
      key,
      again,
      isBack: again !== undefined && key === this.#keys.keyOf(given),
      weight,
      steps: [...steps, possible.step],
      uses: after.used,
      without: used.pairs,
      seen: stepped.seen,
    };
  }

  #notAside(): NotSo {
    return new NotSo({ ...this.#mode, setsAside: false });
  }
}

/** What can happen, and what comes of it. */
interface Chosen {
  readonly choice: Choice;
  readonly taken: readonly Taken[];
}

/** What can happen without being refused. */
interface Foretold {
  readonly rest: readonly Choice[];
  readonly before: Weight;
}

const refusalKey = ({ node }: InPlace, { place, label }: Choice): string =>
  [place.record.address, node, label].join('\n');

const isRefused = ({ taken }: Chosen): boolean => taken.some(({ again }) => again);

/** The same, after something that takes so much. */
const later =
  (before: Weight) =>
  ({ choice, taken }: Chosen): Chosen => ({
    choice,
    taken: taken.map((move) => ({ ...move, weight: sumOfWeights(before, move.weight) })),
  });

/** Whether some moves lead where others lead, and take no more. */
const isCoveredBy = (moves: readonly Taken[], others: readonly Taken[]): boolean =>
  keysIn(moves) === keysIn(others) &&
  moves.every(({ weight, without }) =>
    others.some((other) => other.without.join() === without.join() && isWithin(weight, other.weight)),
  );

const keysIn = (moves: readonly Taken[]): string =>
  moves
    .map(({ key, uses, without }) => `${key} ${uses.join()} ${without.join()}`)
    .sort()
    .join('\n');

const NOTHING_USED = { pairs: [], used: 0 } as const;
