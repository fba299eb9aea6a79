import type { ActorRecord } from '../actors/actor-record.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Address } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import { AGENT, type AgentContext } from '../machines/agent-machine.ts';
import { type Choice, isFailure, labelOf, longestOf } from './choices.ts';
import type { ExploredSystem, Open, Part } from './explored-system.ts';
import type { WayStep } from './graph.ts';
import type { Place } from './private-steps.ts';
import type { Possible, Stepper } from './stepper.ts';
import type { Weight } from './weight.ts';

/** What earlier tries leave in an agent that tries again; nothing else of it is another then. */
type Tries = Pick<AgentContext, 'attempt' | 'failure' | 'spent'>;

/** Something that an agent may do in the end. */
interface KnownChoice {
  readonly label: string;
  readonly weight: Weight;
  readonly steps: readonly WayStep[];
  readonly tries: Tries;
}

/**
 * What agents do by themselves is looked through once for each kind of request. Whoever meets the like of it again lets the agent begin, and
 * gives it what its tries would have left, instead of trying all of them. That this is what they leave is seen whenever an agent
 * is looked through as a whole.
 */
export class KnownAgents {
  readonly #stepper: Stepper;
  readonly #idOf: (part: Part) => number;
  readonly #known = new Map<string, readonly KnownChoice[] | null>();
  // Most agents of a state are where they were in the state before it.
  readonly #found = new WeakMap<ActorRecord, { readonly open: Open; readonly choices: readonly Choice[] }>();

  constructor(stepper: Stepper, idOf: (part: Part) => number) {
    this.#stepper = stepper;
    this.#idOf = idOf;
  }

  /** What an agent may do in the end, on the shortest way to each; undefined if it is not known. */
  choicesOf(system: ExploredSystem, address: Address): readonly Choice[] | undefined {
    const part = system.partOf(address);
    if (part?.record.machine !== AGENT) return undefined;
    const found = this.#found.get(part.record);
    // What has left its queue is not in the record.
    if (found?.open === part.open) return found.choices;
    const choices = this.#choicesIn(system, address);
    if (choices) this.#found.set(part.record, { open: part.open, choices });
    return choices;
  }

  #choicesIn(system: ExploredSystem, address: Address): readonly Choice[] | undefined {
    const begun = this.#begun(system, address);
    const known = begun && this.#known.get(begun.key);
    if (!known) return undefined;
    const choices: Choice[] = [];
    for (const { label, weight, steps, tries } of known) {
      const possible = begun.possible.get(label);
      if (!possible) return undefined;
      const { open } = begun.part;
      const place = { record: withTries(begun.part, tries), open, weight, steps, public: [], isEnd: false };
      choices.push({ place, possible, label, weight });
    }
    return choices;
  }

  /** Takes down what was found when an agent was looked through. Whether it is what is known of its like. */
  learn(system: ExploredSystem, places: readonly Place[]): boolean {
    const [first] = places;
    const begun = first && this.#begun(system, first.record.address);
    if (!begun) return true;
    const choices = longestOf(places).map((choice) => toKnown(choice, begun.part));
    const found = choices.every((choice) => choice !== null) ? choices : null;
    const known = this.#known.get(begun.key);
    this.#known.set(begun.key, found);
    return known === undefined || inWords(known) === inWords(found);
  }

  /** An agent that has just begun to work on what it was given, and what it may do then. */
  #begun(system: ExploredSystem, address: Address): Begun | undefined {
    const first = system.partOf(address);
    if (first?.record.machine !== AGENT || first.record.status !== 'active') return undefined;
    const [begins, ...others] = this.#stepper.possible(system, address);
    if (begins?.step.kind !== 'begins' || others.length > 0) return undefined;
    const { system: after } = this.#stepper.step(system, begins);
    const part = after.partOf(address);
    if (!part) return undefined;
    const all = this.#stepper.possible(after, address);
    const possible = new Map(all.map((each) => [labelOf(each), each]));
    // Two of one name could not be told apart.
    if (possible.size < all.length) return undefined;
    return { part, possible, key: [address, this.#idOf(first), ...all.map(kindOf)].join('\n') };
  }
}

/** The same name may stand for an answer here, and for a failure there. */
const kindOf = (possible: Possible): string => `${labelOf(possible)} ${isFailure(possible)}`;

interface Begun {
  readonly part: Part;
  readonly possible: ReadonlyMap<string, Possible>;
  readonly key: string;
}

const contextOf = ({ record }: Part): AgentContext => record.snapshot?.context as AgentContext; // Asked of agents only.

const withTries = ({ record }: Part, tries: Tries): ActorRecord => {
  const { snapshot } = record;
  const context = { ...snapshot?.context, ...tries };
  return { ...record, snapshot: { ...snapshot, context } as ActorRecord['snapshot'] };
};

/** Null if it is not what an agent can do that has just begun, but for its tries. */
const toKnown = ({ place, possible, label, weight }: Choice, begun: Part): KnownChoice | null => {
  const { attempt, failure, spent } = contextOf(place);
  const tries = { attempt, failure, spent };
  return possible !== null && textOf(place.record) === textOf(withTries(begun, tries))
    ? { label, weight, steps: place.steps, tries }
    : null;
};

const inWords = (choices: readonly KnownChoice[] | null): string =>
  JSON.stringify(
    choices?.map(({ steps, ...choice }) => ({ ...choice, steps: steps.map(({ label }) => label) })) ?? null,
  );

const textOf = ({ snapshot, waits }: ActorRecord): string =>
  canonicalJson([
    snapshot?.value ?? null,
    snapshot?.context as Json, // What a machine keeps is what the log can hold.
    Object.keys(waits.calls),
    Object.keys(waits.timers),
  ]);
