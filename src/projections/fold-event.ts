import { freeze, Immer } from 'immer';
import type { RecordedEvent } from '../events/event.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import { checkData, type StateData } from './state-data.ts';

/** Our own, since whoever shares the package with us may have changed the settings of the common one. */
const immer = new Immer({ autoFreeze: true });

/**
 * The state after an event, with whatever the event left alone shared between both. The same object means that nothing
 * changed. Throws what the fold throws, and if it left something that JSON would change.
 */
export const foldDraft = (
  projection: CompiledProjection,
  state: StateData,
  event: RecordedEvent,
): StateData => {
  const next = immer.produce(state, (draft) => foldInPlace(projection, draft, event));
  checkData(next, state);
  return next;
};

/** Folds an event into plain data or a draft. What the fold sees of the event is frozen: others read the same object. */
export const foldInPlace = (projection: CompiledProjection, state: StateData, event: RecordedEvent): void => {
  const fold = projection.foldOf(event.type);
  if (fold === undefined) return;
  // Typed as void, but an async function passes for one: it would go on to change the state after we have read it.
  const returned: unknown = fold(state, frozen(event));
  if (!(returned instanceof Promise)) return;
  returned.catch(() => undefined);
  throw new TypeError(`The fold of "${event.type}" returns a promise. A fold does not wait.`);
};

/** A log may have frozen the event itself and nothing in it. */
function frozen(event: RecordedEvent): RecordedEvent {
  freeze(event.data, true);
  freeze(event.state, true);
  return Object.freeze(event);
}
