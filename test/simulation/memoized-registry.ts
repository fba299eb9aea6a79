import type { Definition, Registry } from '../../src/actors/registry.ts';
import type { Behavior, Snapshot, Step } from '../../src/actors/xstate-adapter.ts';
import { delivery, during } from '../../src/events/delivery.ts';

/** How many steps are remembered at most: then all are forgotten. */
const STEPS_MAX = 100_000;

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
  const initials: Memories<Step> = new Map();
  let restored: Memory<Snapshot> = new Map();
  let steps = new WeakMap<Snapshot, Memories<Step>>();
  let size = 0;

  const grow = (): void => {
    size += 1;
    if (size % STEPS_MAX > 0) return;
    steps = new WeakMap();
    restored = new Map();
  };
  const stepsOf = (snapshot: Snapshot): Memories<Step> => {
    const known = steps.get(snapshot);
    if (known) return known;
    const none: Memories<Step> = new Map();
    steps.set(snapshot, none);
    return none;
  };
  return {
    ...behavior,
    initial: (input) => recall(ofThisPair(initials), JSON.stringify(input), () => behavior.initial(input)),
    step: (snapshot, event) =>
      recall(ofThisPair(stepsOf(snapshot)), JSON.stringify(event), () => {
        grow();
        return behavior.step(snapshot, event);
      }),
    restore: (persisted) =>
      recall(restored, JSON.stringify(persisted), () => {
        grow();
        return behavior.restore(persisted);
      }),
  };
};

type Attempted<Value> = { readonly value: Value } | { readonly thrown: unknown };

/** What was computed under each key, or thrown; a step that looked at the time has one result for each time. */
type Memory<Value> = Map<string, Attempted<Value> | { readonly byTime: Map<number, Attempted<Value>> }>;

/** By who takes a message and who sent it: all that a step may depend on besides state and message, apart from the time, which is watched. */
type Memories<Value> = Map<string, Memory<Value>>;

const ofThisPair = <Value>(memories: Memories<Value>): Memory<Value> => {
  const { self, from } = delivery();
  const pair = `${self} ${from}`;
  const known = memories.get(pair);
  if (known) return known;
  const none: Memory<Value> = new Map();
  memories.set(pair, none);
  return none;
};

const recall = <Value>(known: Memory<Value>, key: string, compute: () => Value): Value => {
  const { atMs } = delivery();
  const before = known.get(key);
  let result = before && 'byTime' in before ? before.byTime.get(atMs) : before;
  if (!result) {
    const { attempted, sawTime } = attempt(compute);
    result = attempted;
    if (before && 'byTime' in before) before.byTime.set(atMs, result);
    else known.set(key, sawTime ? { byTime: new Map([[atMs, result]]) } : result);
  }
  if ('thrown' in result) throw result.thrown;
  return result.value;
};

const attempt = <Value>(compute: () => Value): { attempted: Attempted<Value>; sawTime: boolean } => {
  const { atMs, ...rest } = delivery();
  let sawTime = false;
  const seen = {
    ...rest,
    get atMs() {
      sawTime = true;
      return atMs;
    },
  };
  try {
    return { attempted: { value: during(seen, compute) }, sawTime };
  } catch (thrown) {
    return { attempted: { thrown }, sawTime };
  }
};
