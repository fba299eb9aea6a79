import { delivery } from '../events/delivery.ts';
import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Check } from './check.ts';

/** What a check found. */
export interface Finding {
  readonly passed: boolean;
  /** For those who have to deal with it. */
  readonly details: JsonObject;
}

/** Who works on a check that no agent makes. */
export const CHECKER = 'check';

/**
 * Compares what is in the context.
 *
 * @throws if a function of the user's does, or if there is none of its name
 */
export const evaluate = ({ paths, by, kind }: Check, given: Json): Finding => {
  const values: JsonObject = isJsonObject(given) ? given : {};
  const [one = null, other = null] = paths.map((path) => values[path] ?? null);
  const seen = kind === 'inconsistency' ? { values } : { actual: measure(one) ?? one };
  if (by === 'equal') return { passed: canonicalJson(one) === canonicalJson(other), details: seen };
  if (by === 'subset') return { passed: isWithin(one, other), details: seen };
  if ('function' in by) {
    const run = Object.hasOwn(delivery().functions, by.function)
      ? delivery().functions[by.function]
      : undefined;
    if (!run) throw new Error(`There is no function "${by.function}" in the workflow.`);
    return findingIn(run(...paths.map((path) => values[path] ?? null)), seen);
  }
  const number = measure(one);
  // What cannot be measured has not passed.
  if (number === undefined) return { passed: false, details: seen };
  const listed = Array.isArray(one) ? { ...seen, violations: one } : seen;
  if ('max' in by) return { passed: number <= by.max, details: listed };
  return { passed: 'min' in by && number >= by.min, details: listed };
};

/** What a function, or an agent, says of a comparison: yes or no, or an object with `passed` (or `consistent`) and more. */
export const findingIn = (output: Json, seen: JsonObject = {}): Finding => {
  if (!isJsonObject(output)) return { passed: output === true, details: seen };
  const { passed, consistent, ...details } = output;
  return { passed: (passed ?? consistent) === true, details: { ...seen, ...details } };
};

const measure = (value: Json): number | undefined => {
  if (typeof value === 'number') return value;
  return Array.isArray(value) ? value.length : undefined;
};

/** Whether all that the first says is in the second. */
const isWithin = (one: Json, other: Json): boolean => {
  if (isList(one)) return isList(other) && one.every((item) => other.some((each) => isWithin(item, each)));
  if (isJsonObject(one))
    return (
      isJsonObject(other) &&
      Object.entries(one).every(([name, value]) => {
        const its = other[name];
        return its !== undefined && isWithin(value, its);
      })
    );
  return canonicalJson(one) === canonicalJson(other);
};

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
