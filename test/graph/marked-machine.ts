import { type AnyStateMachine, enqueueActions, StateMachine } from 'xstate';
import type { Workflow } from '../../src/index.ts';

type Config = Record<string, unknown>;

/** The states and transitions of a machine, by names that a reader finds again in its chart. */
export interface Marks {
  readonly states: Set<string>;
  readonly transitions: Set<string>;
}

export const createMarks = (): Marks => ({ states: new Set(), transitions: new Set() });

/** A workflow that tells which states it enters and which transitions it takes, and does the same otherwise. */
export interface Marked {
  readonly workflow: Workflow;
  /** All there are. */
  readonly all: Marks;
}

/** Tells of each step in a machine as it is taken. It adds actions that do nothing: states, guards and contexts stay. */
export const marked = (given: Workflow, taken: Marks): Marked => {
  const all = createMarks();
  const mark = (kind: keyof Marks, name: string): unknown => {
    all[kind].add(name);
    return enqueueActions(() => {
      taken[kind].add(name);
    });
  };
  const machine = given.machine;
  const markTransitions = (transitions: unknown, name: string): unknown => {
    if (transitions === undefined) return undefined;
    const list = Array.isArray(transitions) ? transitions : [transitions];
    return list.map((each: unknown, index) => {
      const transition: Config = typeof each === 'string' ? { target: each } : { ...(each as Config) };
      const place = list.length > 1 ? `${name} [${index}]` : name;
      return { ...transition, actions: [mark('transitions', place), ...toArray(transition['actions'])] };
    });
  };
  const markAll = (on: unknown, name: (key: string) => string): Config =>
    Object.fromEntries(
      Object.entries((on ?? {}) as Config).map(([key, each]) => [key, markTransitions(each, name(key))]),
    );
  const markState = (state: Config, id: string): Config => {
    const { on, after, always, invoke, states, entry } = state;
    return {
      ...state,
      entry: [mark('states', id), ...toArray(entry)],
      on: markAll(on, (type) => `${id}: ${type}`),
      ...(after !== undefined && { after: markAll(after, (delay) => `${id}: after ${delay}`) }),
      ...(always !== undefined && { always: markTransitions(always, `${id}: always`) }),
      ...(invoke !== undefined && {
        invoke: toArray(invoke).map((each) => {
          const call = each as Config;
          return {
            ...call,
            ...('onDone' in call && {
              onDone: markTransitions(call['onDone'], `${id}: ${String(call['id'])} done`),
            }),
            ...('onError' in call && {
              onError: markTransitions(call['onError'], `${id}: ${String(call['id'])} failed`),
            }),
          };
        }),
      }),
      ...(states !== undefined && {
        states: Object.fromEntries(
          Object.entries(states as Config).map(([key, child]) => [
            key,
            markState(child as Config, `${id}.${key}`),
          ]),
        ),
      }),
    };
  };
  const config = markState(machine.config as Config, machine.id);
  return {
    all,
    workflow: {
      ...given,
      // The config keeps the shape that the machine was made from.
      machine: new StateMachine(config as never, machine.implementations as never) as AnyStateMachine,
    },
  };
};

const toArray = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
