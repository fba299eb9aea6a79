import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { addSpent, type Spent } from '../events/usage.ts';
import type { Resolution } from './feedback-work.ts';
import { originOf } from './fix-feedback.ts';
import { budgetMet, type MetLimit } from './limits.ts';
import { applyResolution, escalateLoop, resolveLoop, retryLoop, validate } from './loop-effects.ts';
import { halted } from './run-halts.ts';
import { liftPause, openLoop } from './run-loops.ts';
import { chain, type Outcome } from './run-messages.ts';
import { type RunState, stepOf, withLoop } from './run-state.ts';

/** What a run hears about feedback: from its loops, and from outside. */
export type LoopEvent =
  | { type: 'feedback.trigger'; source: string; feedback: Json }
  | { type: 'loop.apply'; resolution: Resolution }
  | { type: 'loop.validate'; resolution: Resolution }
  | { type: 'loop.resolved'; resolution: Resolution }
  | { type: 'loop.spent'; spent: Spent }
  /** All that it waits for are persons, or no longer. */
  | { type: 'loop.waits'; waits: boolean }
  /** A target that was asked has found out something itself. */
  | { type: 'loop.report'; source: string; feedback: Json }
  | { type: 'loop.escalated'; reason: string; met: MetLimit | null }
  /** A person wants it tried again. */
  | { type: 'loop.retry' }
  /** Nobody has decided in time, or somebody has decided to end the run. */
  | { type: 'loop.over'; isCancel: boolean; reason: string; met: MetLimit | null }
  | { type: 'loop.idle' };

/** The loop that a message is from. Nobody else may speak for it. */
export const loopOf = ({ loops }: RunState): string | undefined => {
  const { from, self } = delivery();
  const id = from?.startsWith(`${self}/`) ? from.slice(self.length + 1) : '';
  return Object.hasOwn(loops, id) ? id : undefined;
};

export const heard = (state: RunState, event: LoopEvent): Outcome => {
  if (event.type === 'feedback.trigger') return triggered(state, event);
  const id = loopOf(state);
  if (id === undefined) return { state, messages: [] };
  switch (event.type) {
    case 'loop.apply':
      return applyResolution(state, id, event.resolution);
    case 'loop.validate':
      return validate(state, id, event.resolution);
    case 'loop.resolved':
      return resolveLoop(state, id, event.resolution);
    case 'loop.spent':
      return { state: { ...state, spent: addSpent(state.spent, event.spent) }, messages: [] };
    case 'loop.waits':
      return { state: withLoop(state, id, { isWaiting: event.waits }), messages: [] };
    case 'loop.report':
      return triggered(state, event);
    case 'loop.escalated':
      return state.onLimit === 'ask' ? escalateLoop(state, id, event.reason) : givenUp(state, id, event);
    case 'loop.retry':
      return retryLoop(state, id);
    case 'loop.over':
      return givenUp(state, id, event);
    case 'loop.idle':
      return { state: withLoop(state, id, { isClosed: true }), messages: [] };
  }
};

const triggered = (state: RunState, { source, feedback }: { source: string; feedback: Json }): Outcome => {
  const origin = originOf(state.plan, source, (step) => stepOf(state, step).status === 'working');
  if (!origin) {
    const problems = [`"${source}" is no agent of this run`];
    return { state, messages: [{ type: 'feedback.refused', source, problems }] };
  }
  return openLoop(state, feedback, { origin, isReported: false });
};

/** The run ends with what its loop could not resolve. */
const givenUp = (
  state: RunState,
  id: string,
  { reason, met }: { readonly reason: string; readonly met: MetLimit | null },
): Outcome => {
  const loop = state.loops[id];
  // What was used up is why, if anything is.
  const limit = met ?? budgetMet(state) ?? null;
  const verdict: Extract<Verdict, 'exhausted' | 'stalled'> = limit ? 'exhausted' : 'stalled';
  const why = `The feedback "${loop?.subject}" of ${loop?.source} was not resolved: ${reason}`;
  const halt = { verdict, met: limit, step: loop?.sourceStep ?? null, reason: why };
  return chain(liftPause(state, id), (next) => halted(next, [], halt));
};
