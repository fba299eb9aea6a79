import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Json } from '../events/json.ts';

export interface AgentCallOptions<Input> {
  /** Which agent is called; the name under `actors` unless set. */
  readonly agent?: (input: Input) => string;
  /** What makes the call the same over retries: without it, each time the state is entered is a call of its own. */
  readonly request?: (input: Input) => { readonly callId: string; readonly attempt: number };
  /** Send the machine `call.begun` when the call leaves the agent's queue, so that it can tell waiting from working. */
  readonly announce?: boolean;
}

/** What the kernel reads off a call's logic. `Agent` says whether the agent is known by name, or chosen call by call. */
export interface AgentCallLogic<
  Input = Json,
  Output = Json,
  Agent extends 'named' | 'chosen' = 'named' | 'chosen',
> extends PromiseActorLogic<Output, Input> {
  readonly agentCall: AgentCallOptions<Input>;
  readonly agentIs?: Agent;
}

/**
 * A call of an agent, to be put under `actors` of a machine's `setup` and invoked by that name. The runtime makes it
 * durable: it is in the log before it starts, starts again after a crash, and is answered once.
 */
export function agentCall<Input, Output>(
  options: AgentCallOptions<Input> & { readonly agent: (input: Input) => string },
): AgentCallLogic<Input, Output, 'chosen'>;
export function agentCall<Input, Output>(
  options?: AgentCallOptions<Input>,
): AgentCallLogic<Input, Output, 'named'>;
export function agentCall<Input, Output>(
  options: AgentCallOptions<Input> = {},
): AgentCallLogic<Input, Output> {
  const logic = fromPromise<Output, Input>(() =>
    Promise.reject(new Error('An agent call runs in a Loopwright runtime only, not in a live XState actor.')),
  );
  return Object.assign(logic, { agentCall: options });
}

export const isAgentCall = (logic: unknown): logic is AgentCallLogic =>
  typeof logic === 'object' && logic !== null && 'agentCall' in logic;
