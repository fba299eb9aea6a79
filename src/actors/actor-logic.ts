import type { AnyStateMachine } from 'xstate';
import { isAgentCall } from '../machines/agent-call.ts';

/** What may stand under `actors` of a machine: a call of an agent, a promise that is one, another machine, or none of these. */
export type LogicKind = 'agent' | 'promise' | 'machine' | 'other';

export const kindOfLogic = (logic: unknown): LogicKind => {
  if (isAgentCall(logic)) return 'agent';
  if (isStateMachine(logic)) return 'machine';
  return isPromiseLogic(logic) ? 'promise' : 'other';
};

export const isStateMachine = (logic: unknown): logic is AnyStateMachine =>
  typeof logic === 'object' && logic !== null && '__xstatenode' in logic;

/** The function inside `fromPromise`: it becomes the agent, unless the host registers another under that name. */
export type PromiseCreator = (args: {
  readonly input: unknown;
  readonly signal: AbortSignal;
}) => PromiseLike<unknown>;

interface PromiseLogic {
  readonly config: PromiseCreator;
  readonly transition: (snapshot: object, event: object, scope: object) => { readonly status?: string };
}

/** `fromPromise` and its siblings look alike; only a promise's logic is done when its promise is resolved. */
export const isPromiseLogic = (logic: unknown): logic is PromiseLogic => {
  if (typeof logic !== 'object' || logic === null || !('config' in logic) || !('transition' in logic))
    return false;
  try {
    // Each of XState's logics has this shape; a foreign one that throws here is none of ours.
    const resolved = (logic as PromiseLogic).transition(
      { status: 'active', input: undefined },
      { type: 'xstate.promise.resolve', data: null },
      { self: {}, system: {} },
    );
    return resolved.status === 'done';
  } catch {
    return false;
  }
};
