import type { Definition, Registry } from '../../src/actors/registry.ts';
import type { Behavior, Snapshot, Step } from '../../src/actors/xstate-adapter.ts';
import { delivery } from '../../src/events/delivery.ts';

/** How many steps are remembered at most: then all are forgotten. */
const STEPS_MAX = 500_000;

/**
 * The same machines, but each step of each state is computed once: they are pure, and over thousands of schedules they
 * would spend most of the time on the same few steps. A test compares both.
 */
export const memoized = (registry: Registry): Registry => {
  const definitions = new Map<Definition, Definition>();
  const remember = (definition: Definition | undefined): Definition | undefined => {
    if (!definition) return undefined;
    const known = definitions.get(definition);
    if (known) return known;
    const remembering = { ...definition, behavior: memoizedBehavior(definition.behavior) };
    definitions.set(definition, remembering);
    return remembering;
  };
  return {
    ...registry,
    find: (name, version) => remember(registry.find(name, version)),
    newest: (name) => remember(registry.newest(name)),
  };
};

const memoizedBehavior = (behavior: Behavior): Behavior => {
  const initials: Memory<Step> = new Map();
  const restored: Memory<Snapshot> = new Map();
  let steps = new WeakMap<Snapshot, Memory<Step>>();
  let size = 0;

  const stepsOf = (snapshot: Snapshot): Memory<Step> => {
    const known = steps.get(snapshot);
    if (known) return known;
    const none: Memory<Step> = new Map();
    steps.set(snapshot, none);
    return none;
  };
  return {
    ...behavior,
    initial: (input) => recall(initials, keyOf(input), () => behavior.initial(input)),
    step: (snapshot, event) =>
      recall(stepsOf(snapshot), keyOf(event), () => {
        size += 1;
        if (size % STEPS_MAX === 0) steps = new WeakMap();
        return behavior.step(snapshot, event);
      }),
    restore: (persisted) => recall(restored, JSON.stringify(persisted), () => behavior.restore(persisted)),
  };
};

/** The machines of the simulation look at their own address, and at nothing else of a delivery. */
const keyOf = (event: unknown): string => `${delivery().self} ${JSON.stringify(event)}`;

/** What was computed under each key, or thrown. */
type Memory<Value> = Map<string, { readonly value: Value } | { readonly thrown: unknown }>;

const recall = <Value>(known: Memory<Value>, key: string, compute: () => Value): Value => {
  let remembered = known.get(key);
  if (!remembered) {
    remembered = attempt(compute);
    known.set(key, remembered);
  }
  if ('thrown' in remembered) throw remembered.thrown;
  return remembered.value;
};

const attempt = <Value>(compute: () => Value): { readonly value: Value } | { readonly thrown: unknown } => {
  try {
    return { value: compute() };
  } catch (thrown) {
    return { thrown };
  }
};
