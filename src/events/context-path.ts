import { RuntimeError } from '../errors.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** A place in a run's context: its keys. */
export type ContextPath = readonly string[];

/** One change of a run's context, as the log keeps it. */
export type ContextChange =
  | { readonly type: 'context.set'; readonly path: ContextPath; readonly value: Json }
  /** Members of the object at the path are set, others stay. An element of a list is found by its `id`. */
  | { readonly type: 'context.update'; readonly path: ContextPath; readonly value: JsonObject }
  | { readonly type: 'context.push'; readonly path: ContextPath; readonly value: Json };

const KEYS_MAX = 64;
const KEY_LENGTH_MAX = 200;

/**
 * Reads a path: "agents.developer.status", or its keys as a list if one has a dot in it.
 *
 * @throws {RuntimeError} BAD_PATH
 */
export const readPath = (path: string | ContextPath): ContextPath => {
  const keys = typeof path === 'string' ? path.split('.') : path;
  const problem = problemOfPath(keys);
  if (problem) throw new RuntimeError('BAD_PATH', { path: keys.map(String).join('.').slice(0, 80), problem });
  return keys;
};

export const problemOfPath = (keys: ContextPath): string | undefined => {
  if (keys.length > KEYS_MAX) return `it has more than ${KEYS_MAX} keys`;
  for (const key of keys) {
    if (typeof key !== 'string' || key === '') return 'a key in it is empty';
    if (key.length > KEY_LENGTH_MAX) return `a key in it has more than ${KEY_LENGTH_MAX} characters`;
    if (key in Object.prototype || key === 'prototype') return `"${key}" cannot be a key`;
  }
  return undefined;
};

/** Whether a change can be made: one from a machine or a person may name any path, and have any value or none. */
export const isChangeable = ({ type, path, value }: ContextChange): boolean =>
  Array.isArray(path) &&
  path.length > 0 &&
  problemOfPath(path) === undefined &&
  (type === 'context.update' ? isJsonObject(value) : value !== undefined);

/** The value at a path; undefined if there is none. */
export const valueAt = (data: Json, path: ContextPath): Json | undefined => {
  let value: Json | undefined = data;
  for (const key of path) value = value === undefined ? undefined : memberOf(value, key);
  return value;
};

/** An element of a list is found by its index, or by its id. */
const memberOf = (value: Json, key: string): Json | undefined => {
  if (isList(value)) {
    const index = indexOf(value, key);
    return index === -1 ? undefined : value[index];
  }
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
};

const indexOf = (list: readonly Json[], key: string): number => {
  const byId = list.findIndex((item) => isJsonObject(item) && item['id'] === key);
  if (byId !== -1) return byId;
  const index = /^\d{1,15}$/.test(key) ? Number(key) : -1;
  return index < list.length ? index : -1;
};

/** The context after a change. Only what is on the way to it is copied. */
export const changed = (data: JsonObject, { type, path, value }: ContextChange): JsonObject =>
  // The root is an object, and stays one: a path has at least one key.
  replaced(data, path, (old) => {
    if (type === 'context.set') return value;
    if (type === 'context.push') return [...(old === undefined ? [] : isList(old) ? old : [old]), value];
    return isJsonObject(old) ? { ...old, ...value } : value;
  }) as JsonObject;

const replaced = (
  data: Json | undefined,
  [key, ...rest]: ContextPath,
  change: (old: Json | undefined) => Json,
): Json => {
  if (key === undefined) return change(data);
  if (data !== undefined && isList(data)) {
    const index = indexOf(data, key);
    if (index !== -1) return data.map((item, at) => (at === index ? replaced(item, rest, change) : item));
    // A new element, which keeps the name that it was given.
    const added = replaced(undefined, rest, change);
    return [...data, isJsonObject(added) && !('id' in added) ? { id: key, ...added } : added];
  }
  const object = data !== undefined && isJsonObject(data) ? data : {};
  const old = Object.hasOwn(object, key) ? object[key] : undefined;
  return { ...object, [key]: replaced(old, rest, change) };
};

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
