import type { AnyStateMachine } from 'xstate';
import { RuntimeError } from '../errors.ts';
import { checkId } from '../events/address.ts';
import { isReservedType } from '../events/vocabulary.ts';
import { isStateMachine, kindOfLogic } from './actor-logic.ts';

/**
 * Finds what in a machine cannot be made durable, before a run depends on it. Each problem says where it is and what to
 * write instead. What only shows at run time (an action enqueued by a condition, a spawn hidden in a helper) fails the
 * actor there, with the same advice.
 */
export const validateMachine = (name: string, machine: AnyStateMachine): void => {
  const problems = [
    ...problemsOfImplementations(machine),
    ...(typeof machine.config.context === 'function'
      ? problemsOfAssign(machine.config.context, 'the context')
      : []),
    ...problemsOfState(machine.config, 'the root', machine),
    ...problemsOfIds(machine.root, machine),
  ];
  if (hasWildcard(machine.config)) {
    problems.push(
      ...invokesOf(machine.config)
        .filter((invoke) => invoke.onError === undefined)
        .map(
          (invoke) =>
            `a "*" transition also takes the failure of "${String(invoke.id ?? invoke.src)}" and hides it: give that invoke an onError`,
        ),
    );
  }
  if (problems.length > 0)
    throw new RuntimeError('MACHINE_REFUSED', { machine: name, problems: [...new Set(problems)] });
};

// A machine's config is typed by its own states; here only its shape matters.
type Config = Record<string, unknown>;

const problemsOfImplementations = (machine: AnyStateMachine): string[] => {
  const { actions, guards, delays } = machine.implementations;
  return [
    ...Object.entries(actions).flatMap(([name, action]) =>
      problemsOfAction(action, `the action "${name}"`, machine),
    ),
    ...Object.entries(guards).flatMap(([name, guard]) =>
      problemsOfGuard(guard, `the guard "${name}"`, machine),
    ),
    ...Object.entries(delays).flatMap(([name, delay]) =>
      isAsync(delay) ? [asyncProblem(`the delay "${name}"`)] : [],
    ),
  ];
};

const problemsOfState = (state: Config, place: string, machine: AnyStateMachine): string[] => [
  ...toArray(state.entry).flatMap((action) => problemsOfAction(action, `the entry of ${place}`, machine)),
  ...toArray(state.exit).flatMap((action) => problemsOfAction(action, `the exit of ${place}`, machine)),
  ...toArray(state.invoke).flatMap((invoke) => problemsOfInvoke(asConfig(invoke), place, machine)),
  ...Object.entries(asConfig(state.on)).flatMap(([type, transitions]) => [
    ...(type.startsWith('xstate.') && type.endsWith('*')
      ? [`"${type}" in ${place} takes the runtime's own events: name the ones that you mean`]
      : []),
    ...problemsOfTransitions(transitions, `"${type}" in ${place}`, machine),
  ]),
  ...Object.entries(asConfig(state.after)).flatMap(([delay, transitions]) => [
    ...problemsOfDelayName(delay, `after in ${place}`, machine),
    ...problemsOfTransitions(transitions, `after ${delay} in ${place}`, machine),
  ]),
  ...problemsOfTransitions(state.always, `always in ${place}`, machine),
  ...problemsOfTransitions(state.onDone, `onDone of ${place}`, machine),
  ...(typeof state.initial === 'object'
    ? problemsOfTransitions(state.initial, `the initial of ${place}`, machine)
    : []),
  ...Object.entries(asConfig(state.states)).flatMap(([key, child]) =>
    problemsOfState(asConfig(child), `state "${key}"`, machine),
  ),
];

const problemsOfInvoke = (invoke: Config, place: string, machine: AnyStateMachine): string[] => {
  const problems: string[] = [];
  const { src } = invoke;
  if (typeof src !== 'string') {
    problems.push(
      `${place} invokes logic that is written in place and cannot be found again after a restart: name it under setup({ actors }) and write src: 'its name'`,
    );
  } else {
    problems.push(...problemsOfSource(src, `${place} invokes`, machine));
  }
  if (invoke.id !== undefined && typeof invoke.id !== 'string')
    problems.push(`the invoke in ${place} needs a string as its id`);
  if (invoke.onSnapshot !== undefined) {
    problems.push(
      `onSnapshot in ${place} would log every snapshot of the child: let the child emit a message instead`,
    );
  }
  if (invoke.systemId !== undefined)
    problems.push(`systemId in ${place} has no meaning here: send by address instead`);
  return [
    ...problems,
    ...(isAsync(invoke.input) ? [asyncProblem(`the input of the invoke in ${place}`)] : []),
    ...problemsOfTransitions(invoke.onDone, `onDone of the invoke in ${place}`, machine),
    ...problemsOfTransitions(invoke.onError, `onError of the invoke in ${place}`, machine),
  ];
};

/** The id of a child is part of its address; one that is not given is made of the names of states. */
const problemsOfIds = (node: AnyStateMachine['root'], machine: AnyStateMachine): string[] => [
  ...node.invoke.flatMap(({ id, src }) =>
    typeof src === 'string' && isStateMachine(machine.implementations.actors[src]) && !isId(id)
      ? [
          `state "${node.key}" invokes "${src}" as "${id}", which cannot be part of an address: give it an id of letters, digits, ".", "_", ":" and "-"`,
        ]
      : [],
  ),
  ...Object.values(node.states).flatMap((inner) => problemsOfIds(inner, machine)),
];

const isId = (id: string): boolean => {
  try {
    return checkId(id) === id;
  } catch {
    return false;
  }
};

const problemsOfSource = (src: string, what: string, machine: AnyStateMachine): string[] => {
  const logic: unknown = machine.implementations.actors[src];
  if (logic === undefined)
    return [`${what} "${src}", which is not under setup({ actors }): add ${src}: agentCall<Input, Output>()`];
  return kindOfLogic(logic) === 'other'
    ? [
        `${what} "${src}", a callback, observable or transition actor, whose state cannot be stored: make it an agent (agentCall) or a machine`,
      ]
    : [];
};

const problemsOfTransitions = (transitions: unknown, place: string, machine: AnyStateMachine): string[] =>
  toArray(transitions).flatMap((transition) => {
    if (typeof transition !== 'object' || transition === null) return [];
    const { guard, actions } = transition as Config;
    return [
      ...(guard === undefined ? [] : problemsOfGuard(guard, `the guard of ${place}`, machine)),
      ...toArray(actions).flatMap((action) => problemsOfAction(action, `an action of ${place}`, machine)),
    ];
  });

const problemsOfGuard = (guard: unknown, place: string, machine: AnyStateMachine): string[] => {
  if (isAsync(guard)) return [asyncProblem(place)];
  if (typeof guard === 'function') {
    // and, or and not are functions that carry the guards that they join.
    const { guards } = guard as unknown as Config;
    return toArray(guards).flatMap((inner) => problemsOfGuard(inner, place, machine));
  }
  const name = typeof guard === 'string' ? guard : String(asConfig(guard).type);
  return name in machine.implementations.guards
    ? []
    : [`${place}: there is no guard "${name}": add it to setup({ guards })`];
};

const problemsOfAction = (action: unknown, place: string, machine: AnyStateMachine): string[] => {
  if (typeof action !== 'function') {
    const name = typeof action === 'string' ? action : String(asConfig(action).type);
    return machine.implementations.actions[name] === undefined
      ? [`${place}: there is no action "${name}": add it to setup({ actions })`]
      : [];
  }
  // XState's own actions are functions with their arguments as properties.
  const builtin = action as unknown as Config;
  if (typeof builtin.resolve !== 'function') {
    return isAsync(action)
      ? [asyncProblem(place)]
      : [
          `${place} is a function of its own, whose effects would not be in the log: emit a message, assign, or call an agent with invoke`,
        ];
  }
  switch (builtin.type) {
    case 'xstate.assign':
      return problemsOfAssign(builtin.assignment, place);
    case 'xstate.emit':
      return problemsOfEmit(builtin.event, place);
    case 'xstate.raise':
      if (isAsync(builtin.event) || isAsync(builtin.delay)) return [asyncProblem(place)];
      return typeof builtin.delay === 'string' ? problemsOfDelayName(builtin.delay, place, machine) : [];
    case 'xstate.cancel':
      return [];
    case 'xstate.enqueueActions':
      return isAsync(builtin.collect) ? [asyncProblem(place)] : [];
    case 'xstate.sendTo':
      return problemsOfSendTo(builtin, place);
    case 'xstate.spawnChild':
      return problemsOfSpawn(builtin, place, machine);
    case 'xstate.stopChild':
      return typeof builtin.actorRef === 'string'
        ? []
        : [`${place}: stopChild by reference does not survive a restart: write stopChild('id')`];
    default:
      return [`${place}: "${String(builtin.type)}" leaves no trace in the log: emit a message instead`];
  }
};

const problemsOfSpawn = (
  { id, src, input, systemId, syncSnapshot }: Config,
  place: string,
  machine: AnyStateMachine,
): string[] => {
  const problems =
    typeof src === 'string'
      ? problemsOfSource(src, `${place} spawns`, machine)
      : [`${place}: spawnChild needs the name of its logic under setup({ actors })`];
  if (typeof id !== 'string' || !isId(id))
    problems.push(`${place}: spawnChild needs an id of its own: spawnChild('src', { id: 'name' })`);
  if (isAsync(input)) problems.push(asyncProblem(`the input of spawnChild in ${place}`));
  if (systemId !== undefined)
    problems.push(`${place}: systemId of spawnChild has no meaning here: send by address instead`);
  if (syncSnapshot === true) {
    problems.push(
      `${place}: syncSnapshot would log every snapshot of the child: let the child emit a message instead`,
    );
  }
  const failed = `xstate.error.actor.${String(id)}`;
  if (hasWildcard(machine.config) && !statesOf(machine.config).some(({ on }) => failed in asConfig(on))) {
    problems.push(
      `a "*" transition also takes the failure of "${String(id)}" and hides it: add a transition for '${failed}'`,
    );
  }
  return problems;
};

const problemsOfAssign = (assignment: unknown, place: string): string[] => {
  const functions = [assignment, ...Object.values(asConfig(assignment))].filter(
    (part) => typeof part === 'function',
  );
  return [
    ...(functions.some(isAsync) ? [asyncProblem(place)] : []),
    // XState returns no action for a spawn in assign, so that it can only be seen in the function's text.
    ...(functions.some((part) => /\bspawn\b/.test(String(part)))
      ? [
          `${place}: spawn inside assign cannot be made durable: emit(startActor({ id, machine, input })) instead`,
        ]
      : []),
  ];
};

const problemsOfEmit = (event: unknown, place: string): string[] => {
  if (typeof event === 'function') return isAsync(event) ? [asyncProblem(place)] : [];
  const { type } = asConfig(event);
  if (typeof type !== 'string') return [`${place}: what is emitted needs a string "type"`];
  return isReservedType(type) && type !== 'lw.start' && type !== 'lw.stop'
    ? [`${place}: "${type}" is a type of the runtime's own: choose another`]
    : [];
};

const problemsOfSendTo = (sendTo: Config, place: string): string[] => [
  // What begins with "#_" is no id but a word of XState's own: "#_parent" is what sendParent sends to.
  ...(typeof sendTo.to === 'string' && !sendTo.to.startsWith('#_')
    ? []
    : [
        `${place}: sendTo by reference and sendParent do not survive a restart: emit(({ context }) => ({ to: context.address, type: … })), with to: '..' for the parent; raise what the machine is to get itself`,
      ]),
  ...(isAsync(sendTo.event) ? [asyncProblem(place)] : []),
  ...(sendTo.delay === undefined
    ? []
    : [`${place}: sendTo with a delay: raise an event of your own with that delay, and send when it comes`]),
];

const problemsOfDelayName = (delay: string, place: string, machine: AnyStateMachine): string[] =>
  !Number.isNaN(Number(delay)) || delay in machine.implementations.delays
    ? []
    : [`${place}: there is no delay "${delay}": add it to setup({ delays })`];

const asyncProblem = (place: string): string =>
  `${place} is asynchronous, which XState does not wait for: call an agent with invoke`;

const isAsync = (value: unknown): boolean =>
  typeof value === 'function' && value.constructor.name === 'AsyncFunction';

const statesOf = (state: Config): readonly Config[] => [
  state,
  ...Object.values(asConfig(state.states)).flatMap((child) => statesOf(asConfig(child))),
];
const invokesOf = (root: Config): readonly Config[] =>
  statesOf(root).flatMap(({ invoke }) => toArray(invoke).map(asConfig));
const hasWildcard = (root: Config): boolean => statesOf(root).some(({ on }) => '*' in asConfig(on));

const asConfig = (value: unknown): Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Config) : {};
const toArray = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
