import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';

export type Scope = Parameters<AnyStateMachine['transition']>[2];

/** One of XState's own actions: a function with its arguments as properties. */
export interface Builtin {
  readonly type: string;
  readonly execute?: unknown;
  resolve(
    scope: Scope,
    snapshot: AnyMachineSnapshot,
    ...rest: unknown[]
  ): readonly [AnyMachineSnapshot, unknown, unknown];
}

/** An action that only changes the context or asks for something. `params` may be a function of context and event. */
export type PlainAction =
  | { readonly kind: 'data'; readonly params: unknown; readonly type: string }
  | { readonly kind: 'assign'; readonly params: unknown; readonly assignment: unknown }
  | { readonly kind: 'emit'; readonly params: unknown; readonly event: unknown }
  | {
      readonly kind: 'enqueue';
      readonly params: unknown;
      readonly collect: (args: object, params: unknown) => void;
    }
  | { readonly kind: 'other'; readonly params: unknown; readonly builtin: Builtin };

/** Undefined if one of them is not plain. */
export const toActions = (
  machine: AnyStateMachine,
  actions: readonly unknown[],
): readonly PlainAction[] | undefined => {
  const plain = actions.map((action) => toAction(machine, action));
  return plain.every((action) => action !== undefined) ? plain : undefined;
};

export const toAction = (machine: AnyStateMachine, action: unknown): PlainAction | undefined => {
  if (typeof action === 'function') return ofBuiltin(action, undefined);
  // The config of a machine has functions, names, and objects with a name.
  const { type, params } = (typeof action === 'string' ? { type: action } : action) as {
    readonly type: string;
    readonly params?: unknown;
  };
  const implementation: unknown = machine.implementations.actions[type];
  return implementation === undefined ? { kind: 'data', type, params } : ofBuiltin(implementation, params);
};

const ofBuiltin = (action: unknown, params: unknown): PlainAction | undefined => {
  if (typeof action !== 'function' || !('resolve' in action) || !('type' in action)) return undefined;
  // XState gives each of its own actions these members; the contract test holds them.
  const given = action as unknown as Builtin & {
    readonly assignment: unknown;
    readonly event: unknown;
    readonly collect: (args: object, params: unknown) => void;
  };
  switch (given.type) {
    case 'xstate.assign':
      return { kind: 'assign', params, assignment: given.assignment };
    case 'xstate.emit':
      return { kind: 'emit', params, event: given.event };
    case 'xstate.enqueueActions':
      return { kind: 'enqueue', params, collect: given.collect };
    case 'xstate.raise':
    case 'xstate.cancel':
      return { kind: 'other', params, builtin: given };
    default:
      return undefined;
  }
};
