/**
 * Copies with something changed, for what rules do thousands of times. V8 copies an object by a spread alone at once; each member after it,
 * and each of a second spread, is defined anew, which takes half as long again in all, or more.
 */

export const changed = <Value extends object>(value: Value, change: Partial<Value>): Value =>
  Object.assign({ ...value }, change);

export const withEntry = <Entry>(
  entries: Readonly<Record<string, Entry>>,
  id: string,
  entry: Entry,
): Readonly<Record<string, Entry>> => {
  const copy: Record<string, Entry> = { ...entries };
  copy[id] = entry;
  return copy;
};
