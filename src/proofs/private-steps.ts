import type { ActorRecord } from '../actors/actor-record.ts';
import type { Address } from '../events/event.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import { AGENT } from '../machines/agent-machine.ts';
import type { ExploredSystem, Part } from './explored-system.ts';
import type { WayStep } from './graph.ts';
import type { Possible, Stepped, Stepper } from './stepper.ts';
import { greaterWeight, sumOfWeights, WEIGHS_NOTHING, type Weight } from './weight.ts';

/** Where an actor can get by itself, without anybody noticing; the first is where it is. */
export interface Place extends Part {
  /** The most that the way there takes. */
  readonly weight: Weight;
  readonly steps: readonly WayStep[];
  /** What can happen there that others notice. */
  readonly public: readonly Possible[];
  /** Whether it can go nowhere from there: the whole shows whether that is the end of everything. */
  readonly isEnd: boolean;
}

/** One that can be in so many places is not looked through as a whole. */
const PLACES_MAX = 64;

/**
 * The summary of an actor, made with the real machine: all that it can do alone (begin, fail, back off, try again), as one
 * step to each thing that others notice. A step is private if the kernel looked at no other actor, changed no other, and the
 * actor goes on: whatever the rest of the system does meanwhile comes to the same before it or after it, unless it is about
 * this very actor, which the explorer checks (`isSettledBy`).
 */
export class PrivateSteps {
  /** What actors were in by themselves: see `seenIn`. */
  readonly seen = new Set<string>();
  readonly #stepper: Stepper;
  readonly #idOf: (part: Part) => number;
  readonly #known = new WeakMap<ActorRecord, readonly Place[]>();

  constructor(stepper: Stepper, idOf: (part: Part) => number) {
    this.#stepper = stepper;
    this.#idOf = idOf;
  }

  placesOf(system: ExploredSystem, address: Address): readonly Place[] {
    const part = system.partOf(address);
    if (!part || part.record.status !== 'active') return [];
    // A root has nobody beside it who would not notice.
    if (part.record.parent === null) return [this.#alone(system, part)];
    const known = this.#known.get(part.record);
    // What has left its queue is not in the record.
    if (known?.[0]?.open === part.open) return known;
    const places = this.#explored(system, part) ?? [this.#alone(system, part)];
    this.#known.set(part.record, places);
    return places;
  }

  /** An actor of which every step counts as one that others notice. */
  alone(system: ExploredSystem, address: Address): readonly Place[] {
    const part = system.partOf(address);
    return part && part.record.status === 'active' ? [this.#alone(system, part)] : [];
  }

  #alone(system: ExploredSystem, part: Part): Place {
    const all = this.#stepper.possible(system, part.record.address);
    return { ...part, weight: WEIGHS_NOTHING, steps: [], public: all, isEnd: false };
  }

  /** Undefined if it can go around in circles by itself: then the whole shows it. */
  #explored(system: ExploredSystem, first: Part): readonly Place[] | undefined {
    const { address } = first.record;
    const found: Found[] = [{ part: first, id: this.#idOf(first), public: [], edges: [] }];
    const byId = new Map<number, number>([[found[0]?.id ?? 0, 0]]);
    for (let at = 0; at < found.length; at += 1) {
      const here = found[at];
      if (!here) break;
      const there = system.withPart(here.part);
      for (const possible of this.#stepper.possible(there, address)) {
        const stepped = mayBePrivate(here.part, possible) ? this.#stepper.step(there, possible) : undefined;
        const part = stepped && isPrivate(stepped, address) ? stepped.system.partOf(address) : undefined;
        if (!part || !stepped) {
          here.public.push(possible);
          continue;
        }
        for (const each of stepped.seen) this.seen.add(each);
        const id = this.#idOf(part);
        const to = byId.get(id) ?? found.length;
        if (to === found.length) found.push({ part, id, public: [], edges: [] });
        else if (!isAgent(part) && found[to]?.part.record !== part.record) return undefined;
        byId.set(id, to);
        here.edges.push({ to, step: possible.step, weight: stepped.weight });
      }
      if (found.length > PLACES_MAX) return undefined;
    }
    return weighed(found);
  }
}

/** What a reduction makes alike is compared in the whole. That of agents is ours, and known to hold. */
const isAgent = ({ record }: Part): boolean => record.machine === AGENT;

/** What an agent says is for others; what is new each time cannot be looked through once. */
const mayBePrivate = (part: Part, { isFixed, step }: Possible): boolean =>
  isFixed && !(isAgent(part) && step.kind === 'answers' && !step.outcome.fails);

interface Found {
  readonly part: Part;
  readonly id: number;
  readonly public: Possible[];
  readonly edges: { readonly to: number; readonly step: WayStep; readonly weight: Weight }[];
}

const isPrivate = ({ taken, reads, system }: Stepped, address: Address): boolean => {
  if (!taken || reads.size !== 1 || !reads.has(address) || taken.actors.size !== 1) return false;
  const record = taken.actors.get(address);
  return record?.status === 'active' && !record.snapshot?.tags.has(WAITING_TAG) && system.verdict() === null;
};

/** With the most that each takes to get to; undefined if there is a cycle. */
const weighed = (found: readonly Found[]): readonly Place[] | undefined => {
  const ways = new Map<number, { readonly weight: Weight; readonly steps: readonly WayStep[] }>();
  const left = found.map(({ edges }) => edges).flat();
  const waitsFor = found.map((_, index) => left.filter(({ to }) => to === index).length);
  ways.set(0, { weight: WEIGHS_NOTHING, steps: [] });
  const ready = waitsFor[0] === 0 ? [0] : [];
  for (let next = ready.shift(); next !== undefined; next = ready.shift()) {
    const way = ways.get(next);
    for (const { to, step, weight } of found[next]?.edges ?? []) {
      const total = sumOfWeights(way?.weight ?? WEIGHS_NOTHING, weight);
      const other = ways.get(to);
      const steps = [...(way?.steps ?? []), step];
      ways.set(
        to,
        other ? { steps: other.steps, weight: greaterWeight(other.weight, total) } : { weight: total, steps },
      );
      waitsFor[to] = (waitsFor[to] ?? 0) - 1;
      if (waitsFor[to] === 0) ready.push(to);
    }
  }
  if (waitsFor.some((count) => count > 0)) return undefined;
  return found.map(({ part, public: noticed, edges }, index): Place => {
    const { weight, steps } = ways.get(index) ?? { weight: WEIGHS_NOTHING, steps: [] };
    return {
      ...part,
      weight,
      steps,
      public: noticed,
      isEnd: index > 0 && edges.length + noticed.length === 0,
    };
  });
};
