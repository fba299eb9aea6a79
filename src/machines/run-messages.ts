import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { RunState } from './run-state.ts';

/** What a run says: to its agents, to its context, or, without a receiver, for the record. */
export type RunMessage = { readonly type: string; readonly to?: string } & Readonly<Record<string, Json>>;

/** What a rule makes of a run. Rules are pure: the machine applies what they give. */
export interface Outcome {
  readonly state: RunState;
  readonly messages: readonly RunMessage[];
}

/** One rule after the other, each on what those before it have made. */
export const chain = (start: Outcome, ...rules: readonly ((state: RunState) => Outcome)[]): Outcome =>
  rules.reduce((done, rule) => {
    const next = rule(done.state);
    return { state: next.state, messages: [...done.messages, ...next.messages] };
  }, start);

export const agentId = (role: string): string => `agent:${role}`;
/** What the run of a step is called among the children of its run, and among the workers of its step. */
export const nestedId = (step: string): string => `run:${step}`;
export const CONTEXT_ID = 'context';

/** What a loop is known by outside of its run. */
export const loopAddress = (id: string): string => `${delivery().self}/${id}`;

export const toLoop = (id: string, message: RunMessage): RunMessage => ({ ...message, to: `./${id}` });
