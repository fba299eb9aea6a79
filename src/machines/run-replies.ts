import { delivery } from '../events/delivery.ts';
import { openLoops } from './loop-state.ts';
import type { RunEvent } from './run-machine.ts';
import { agentId, type Outcome } from './run-messages.ts';
import { record, replyOf } from './run-rules.ts';
import { openRequests, type RunState } from './run-state.ts';

/** Only the agent itself may speak for it: from outside, an answer could be forged. */
const isFrom = ({ role, isNested }: { readonly role: string; readonly isNested: boolean }): boolean => {
  const { from, self } = delivery();
  // A run of a step that is begun again has another number behind its address.
  if (isNested) return from === `${self}/${role}` || from?.startsWith(`${self}/${role}~`) === true;
  return from === `${self}/${agentId(role)}`;
};

export const isIdle = (state: RunState): boolean => openRequests(state).length === 0;

/** The runs of steps that are under way. */
export const nestedRuns = (state: RunState): readonly string[] =>
  openRequests(state).flatMap(({ role, isNested }) => (isNested ? role : []));

/** The step and role that a reply is for, if the run waits for it. A nested run is known by its address. */
export const placeOf = (state: RunState, event: RunEvent) => {
  if (event.type === 'run.ended' || event.type === 'run.waits')
    return openRequests(state).find((open) => open.isNested && isFrom(open));
  if (event.type !== 'agent.done' && event.type !== 'agent.failed') return undefined;
  return openRequests(state).find((open) => open.request === event.request && isFrom(open));
};

export const recorded = (state: RunState, event: RunEvent): Outcome => {
  const place = placeOf(state, event);
  if (place && event.type === 'run.ended') return record(state, replyOf(place.request, event), place);
  if (place && (event.type === 'agent.done' || event.type === 'agent.failed'))
    return record(state, event, place);
  return { state, messages: [] };
};

export const isClosed = ({ loops }: RunState): boolean => Object.values(loops).every((loop) => loop.isClosed);

/** Nothing is at work, and a person has to resolve a feedback. */
export const waitsForLoops = (state: RunState): boolean =>
  isIdle(state) &&
  openLoops(state.loops).length > 0 &&
  openLoops(state.loops).every(({ status }) => status === 'escalated');
