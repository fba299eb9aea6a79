import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import type { MetLimit } from '../machines/limits.ts';

/** The limit that a fact says was met, if it says so: every loop states one as `met`, wherever it keeps it. */
export const metIn = ({ kind, data }: RecordedEvent): MetLimit | undefined => {
  if (kind !== 'fact') return undefined;
  const { met, halt } = data;
  return asMet(met) ?? (isJsonObject(halt) ? asMet(halt['met']) : undefined);
};

export const asMet = (value: Json | undefined): MetLimit | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { limit, bound, used } = value;
  const isMet = typeof limit === 'string' && typeof bound === 'number' && typeof used === 'number';
  // A loop of the package wrote it.
  return isMet ? ({ evidence: [], ...value } as unknown as MetLimit) : undefined;
};

/** Whether a fact is what halts a loop, and no later mention of that. */
export const isHalt = (event: RecordedEvent): boolean =>
  event.type.endsWith('.halted') && metIn(event) !== undefined;
