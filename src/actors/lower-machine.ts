import { type AnyStateMachine, emit, raise, StateMachine } from 'xstate';
import { RuntimeError } from '../errors.ts';

/**
 * Rewrites a machine into one that means the same, but asks for everything as data.
 *
 * XState builds a live actor for each `invoke`, which is more than half of the cost of a transition and cannot be stored.
 * Here `invoke` becomes an entry action that asks for the call or child, an exit action that withdraws it, and ordinary
 * transitions for its answers; `sendTo` of a child becomes a message; delays are checked. The states, guards, contexts
 * and their order stay as they were: a test compares both forms on random machines.
 */

/** The action types that the rewritten machine uses; the adapter turns them into requests. */
export const INVOKE = 'loopwright.invoke';
export const LEAVE = 'loopwright.leave';

/** XState's microsteps have no bound by default: a loop of `always` or `raise` would hang the process. */
const MICROSTEPS_MAX = 1_000;

// A machine's config is typed by its own states; here only its shape matters.
type Config = Record<string, unknown>;
type Action = unknown;

export const lowerMachine = (machine: AnyStateMachine): AnyStateMachine => {
  const { actions, delays, guards, actors } = machine.implementations;
  const config = lowerState(machine.config, [], machine.id);
  return new StateMachine(
    // The config keeps the shape that the machine was made from.
    {
      ...config,
      ...(isConfig(machine.config.context)
        ? { context: deepFreeze(structuredClone(machine.config.context)) }
        : {}),
      options: { ...machine.config.options, maxIterations: MICROSTEPS_MAX },
    } as ConstructorParameters<typeof StateMachine>[0],
    // The implementations keep their meaning; their types are those of the machine that is not known here.
    {
      actions: mapValues(actions, lowerAction),
      delays: mapValues(delays, checkedDelay),
      guards,
      actors,
    } as ConstructorParameters<typeof StateMachine>[1],
  ) as AnyStateMachine; // The constructor's generics cannot be inferred from an unknown config.
};

const lowerState = (state: Config, path: readonly string[], machineId: string): Config => {
  const id = typeof state.id === 'string' ? state.id : [machineId, ...path].join('.');
  const invokes = toArray(state.invoke).map((invoke, index) =>
    lowerInvoke(invoke as Config, `${index}.${id}`),
  );
  const { invoke: _, ...rest } = state;
  return {
    ...rest,
    entry: [...toArray(state.entry).map(lowerAction), ...invokes.map(({ enter }) => enter)],
    exit: [...toArray(state.exit).map(lowerAction), ...invokes.map(({ leave }) => leave)],
    on: {
      ...mapValues(asConfig(state.on), lowerTransitions),
      ...Object.assign({}, ...invokes.map(({ on }) => on)),
    },
    ...(state.after === undefined ? {} : { after: mapValues(asConfig(state.after), lowerTransitions) }),
    ...(state.always === undefined ? {} : { always: lowerTransitions(state.always) }),
    ...(state.onDone === undefined ? {} : { onDone: lowerTransitions(state.onDone) }),
    ...(isConfig(state.initial) ? { initial: lowerTransition(state.initial) } : {}),
    ...(state.states === undefined
      ? {}
      : {
          states: mapEntries(asConfig(state.states), (child, key) =>
            lowerState(asConfig(child), [...path, key], machineId),
          ),
        }),
  };
};

const lowerInvoke = (invoke: Config, defaultId: string) => {
  const id = typeof invoke.id === 'string' ? invoke.id : defaultId;
  const { src, input } = invoke;
  return {
    enter: {
      type: INVOKE,
      params: (args: object) => ({
        id,
        src,
        input: typeof input === 'function' ? input(args) : input,
        replaces: true,
      }),
    },
    leave: { type: LEAVE, params: { id } },
    on: {
      ...(invoke.onDone === undefined
        ? {}
        : { [`xstate.done.actor.${id}`]: lowerTransitions(invoke.onDone) }),
      ...(invoke.onError === undefined
        ? {}
        : { [`xstate.error.actor.${id}`]: lowerTransitions(invoke.onError) }),
    },
  };
};

const lowerTransitions = (transitions: unknown): unknown =>
  Array.isArray(transitions) ? transitions.map(lowerTransition) : lowerTransition(transitions);

const lowerTransition = (transition: unknown): unknown =>
  isConfig(transition) && transition.actions !== undefined
    ? { ...transition, actions: toArray(transition.actions).map(lowerAction) }
    : transition;

const lowerAction = (action: Action): Action => {
  if (typeof action !== 'function') return action;
  // XState's own actions are functions with their arguments as properties.
  const builtin = action as unknown as Config;
  switch (builtin.type) {
    case 'xstate.sendTo':
      return emit((args, params) => ({
        ...resolve(builtin.event, args, params),
        to: `./${String(builtin.to)}`,
      }));
    case 'xstate.spawnChild':
      return {
        type: INVOKE,
        params: (args: object) => ({
          id: builtin.id,
          src: builtin.src,
          input: typeof builtin.input === 'function' ? builtin.input(args) : builtin.input,
          replaces: false,
        }),
      };
    case 'xstate.stopChild':
      return { type: LEAVE, params: { id: builtin.actorRef } };
    case 'xstate.raise':
      return typeof builtin.delay === 'function'
        ? raise(builtin.event as never, {
            ...optionalId(builtin.id),
            delay: checkedDelay(builtin.delay, 'of raise') as never,
          })
        : action;
    default:
      return action;
  }
};

// The validator has seen to it that `sendTo` is given an event or a function that makes one.
const resolve = (event: unknown, args: unknown, params: unknown) =>
  (typeof event === 'function' ? event(args, params) : event) as { type: string };

const optionalId = (id: unknown) => (typeof id === 'string' ? { id } : {});

/** A delay that is undefined would fire at once, without a word. */
const checkedDelay = (delay: unknown, name: string): unknown => {
  if (typeof delay !== 'function') return delay;
  return (...args: unknown[]) => {
    const delayMs: unknown = delay(...args);
    if (typeof delayMs !== 'number' || Number.isNaN(delayMs) || delayMs < 0) {
      throw new RuntimeError('BAD_OPTION', {
        option: `delay ${name}`,
        found: String(delayMs),
        expected: 'a number of milliseconds, or Infinity for never',
      });
    }
    return delayMs;
  };
};

/** A context that is written as an object is shared by all actors of the machine: none may change it in place. */
const deepFreeze = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
};

const isConfig = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const asConfig = (value: unknown): Config => (isConfig(value) ? value : {});
const toArray = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
const mapEntries = (values: Config, map: (value: unknown, key: string) => unknown): Config =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
const mapValues = (values: object, map: (value: unknown, key: string) => unknown): Config =>
  mapEntries(values as Config, map);
