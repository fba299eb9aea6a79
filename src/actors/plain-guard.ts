import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';

/** What a guard looks at. The snapshot is made only for those that ask which state a machine is in. */
export interface Seen {
  readonly machine: AnyStateMachine;
  readonly context: AnyMachineSnapshot['context'];
  readonly event: EventObject;
  readonly snapshot: AnyMachineSnapshot;
}

/** A guard of XState's own making (`and`, `not`, `stateIn`), or a function of its author. */
interface Guard {
  (args: object, params: unknown): boolean;
  check?(snapshot: AnyMachineSnapshot, args: object, guard: Guard): boolean;
}

/** Whether a guard lets a transition pass. One that has no implementation is XState's to complain of: undefined. */
export const passes = (guard: unknown, seen: Seen): boolean | undefined => {
  if (typeof guard === 'function') return holds(guard as unknown as Guard, undefined, seen); // As it was declared.
  const { type, params } = (typeof guard === 'string' ? { type: guard } : guard) as {
    readonly type: string;
    readonly params?: unknown;
  };
  const implementation: unknown = seen.machine.implementations.guards[type];
  if (implementation === undefined) return undefined;
  if (typeof implementation !== 'function') return passes(implementation, seen);
  const { context, event } = seen;
  const given: unknown = typeof params === 'function' ? params({ context, event }) : params;
  return holds(implementation as unknown as Guard, given, seen);
};

const holds = (guard: Guard, params: unknown, seen: Seen): boolean => {
  const args = { context: seen.context, event: seen.event };
  return guard.check ? guard.check(seen.snapshot, args, guard) : guard(args, params);
};
