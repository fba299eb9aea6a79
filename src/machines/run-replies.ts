import { delivery } from '../events/delivery.ts';
import { addSpent } from '../events/usage.ts';
import { type LoopState, openLoops } from './loop-state.ts';
import { type NestedEnd, replyOf } from './nested.ts';
import { withdrawn } from './run-dispatch.ts';
import type { RunEvent } from './run-machine.ts';
import { agentId, type Outcome } from './run-messages.ts';
import { record } from './run-rules.ts';
import { openRequests, type RunState, stepOf, withStep } from './run-state.ts';

/** Only the agent itself may speak for it: from outside, an answer could be forged. */
const isFrom = ({ role, isNested }: { readonly role: string; readonly isNested: boolean }): boolean => {
  const { from, self } = delivery();
  // A run of a step that is begun again has another number behind its address.
  if (isNested) return from === `${self}/${role}` || from?.startsWith(`${self}/${role}~`) === true;
  return from === `${self}/${agentId(role)}`;
};

export const isIdle = (state: RunState): boolean => openRequests(state).length === 0;

/** The step and role that a reply is for, if the run waits for it. A nested run is known by its address. */
export const placeOf = (state: RunState, event: RunEvent) => {
  if (event.type === 'run.ended' || event.type === 'run.waits')
    return openRequests(state).find((open) => open.isNested && isFrom(open));
  if (event.type !== 'agent.done' && event.type !== 'agent.failed') return undefined;
  return openRequests(state).find((open) => open.request === event.request && isFrom(open));
};

export const recorded = (state: RunState, event: RunEvent): Outcome => {
  const place = placeOf(state, event);
  if (place && event.type === 'run.ended') {
    const { request, step } = place;
    const isWithdrawn = state.halt?.met?.limit === 'timeMs' && event.output.verdict === 'cancelled';
    if (isWithdrawn) return takenBack(state, step, event);
    return record(state, replyOf({ request, run: stepOf(state, step).runs }, event), place);
  }
  if (place && (event.type === 'agent.done' || event.type === 'agent.failed'))
    return record(state, event, place);
  return { state, messages: [] };
};

/** A nested loop that was told to end since time is up: it has failed at nothing, and what it spent is spent. */
const takenBack = (state: RunState, step: string, { output }: NestedEnd): Outcome => ({
  state: {
    ...withStep(state, step, withdrawn(stepOf(state, step))),
    spent: addSpent(state.spent, output.spent),
  },
  messages: [],
});

export const isClosed = ({ loops }: RunState): boolean => Object.values(loops).every((loop) => loop.isClosed);

/** Whether this loop goes on only when a person has said something, or when others have. */
const isHeldUp = ({ status, isWaiting, phase }: LoopState): boolean =>
  status === 'escalated' || isWaiting || phase !== 'deciding';

/**
 * Whether a paused run goes on only when a person has said something about its feedback. Calls that were under way may still come
 * in, or are held by the pause themselves.
 */
export const waitsForDecision = ({ loops }: RunState): boolean => {
  const open = openLoops(loops);
  return open.some(({ status, isWaiting }) => status === 'escalated' || isWaiting) && open.every(isHeldUp);
};

/** All that is open is open with persons. */
export const waitsForPersons = (state: RunState): boolean => {
  const requests = openRequests(state);
  return (
    (requests.length > 0 || waitsForDecision(state)) &&
    openLoops(state.loops).every(isHeldUp) &&
    requests.every(({ step, role, isNested }) =>
      isNested ? state.waiting.includes(step) : state.roles[role]?.person != null,
    )
  );
};
