import { delivery } from '../events/delivery.ts';
import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';

/** Where requirements and implementation are in the context, and who compares them: a function of the workflow, if one is named. */
export interface GapRule {
  readonly requirements: string;
  readonly implementation: string;
  readonly function?: string;
}

/** What differs between two lists of things with ids. */
export type Gap = {
  /** Asked for, and not there. */
  readonly missing: readonly Json[];
  /** There, and not asked for. */
  readonly extra: readonly Json[];
  /** There, but not as it was asked for: only in what both of them say. */
  readonly differing: readonly { readonly id: string; readonly asked: Json; readonly made: Json }[];
};

export const gapBetween = (rule: GapRule, values: JsonObject): Json => {
  const [asked = null, made = null] = [values[rule.requirements], values[rule.implementation]];
  if (rule.function === undefined) return compareLists(asked, made);
  try {
    return delivery().functions[rule.function]?.(asked, made) ?? null;
  } catch (error) {
    // It is shown to those who decide, and decides nothing itself.
    return { problem: `the function "${rule.function}" failed: ${String(error)}` };
  }
};

/** Compares two lists by the ids of their elements; an element that is a text is its own id. */
export const compareLists = (asked: Json, made: Json): Gap => {
  const wanted = byId(asked);
  const found = byId(made);
  return {
    missing: [...wanted].filter(([id]) => !found.has(id)).map(([, item]) => item),
    extra: [...found].filter(([id]) => !wanted.has(id)).map(([, item]) => item),
    differing: [...wanted].flatMap(([id, item]) => {
      const other = found.get(id);
      return other === undefined || agree(item, other) ? [] : [{ id, asked: item, made: other }];
    }),
  };
};

const byId = (list: Json): ReadonlyMap<string, Json> => {
  if (isJsonObject(list)) return new Map(Object.entries(list));
  return new Map(Array.isArray(list) ? list.map((item: Json) => [idOf(item), item]) : []);
};

const idOf = (item: Json): string => {
  const id = isJsonObject(item) ? item['id'] : item;
  return typeof id === 'string' ? id : canonicalJson(id ?? item);
};

/** Whether both say the same where both say something. */
const agree = (one: Json, other: Json): boolean => {
  if (!isJsonObject(one) || !isJsonObject(other)) return isText(one, other) || same(one, other);
  return Object.entries(one).every(([name, value]) => {
    const its = other[name];
    return its === undefined || same(value, its);
  });
};

/** A bare name stands for the whole of what has that name as its id. */
const isText = (one: Json, other: Json): boolean => typeof one === 'string' || typeof other === 'string';

const same = (one: Json, other: Json): boolean => canonicalJson(one) === canonicalJson(other);
