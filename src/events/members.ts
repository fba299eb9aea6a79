import type { Json } from './json.ts';

/** What is known of a key before its value is read. */
export interface Member {
  readonly key: string;
  /** The key in the text of an object, if it is the first member and if it is not. */
  readonly first: string;
  readonly next: string;
  /** Why no object may have it, if none may. */
  readonly problem: string | undefined;
  /** Whether `Object.prototype` has it, too. */
  readonly isInherited: boolean;
}

/** A node of a tree of keys: objects with the same keys in the same order have their members from one node. */
interface Shape {
  members: readonly Member[] | undefined;
  readonly next: Map<string, Shape>;
}

const newShape = (): Shape => ({ members: undefined, next: new Map() });

/** Most objects have few keys, and many others have the same. The rest is not worth being kept. */
const SHAPE_KEYS_MAX = 16;
const SHAPE_KEY_LENGTH_MAX = 64;
const SHAPES_MAX = 4_000;

const shapes = { root: newShape(), count: 0 };

/** The members of an object with these keys, in canonical order. Sorting and quoting them anew took half the time. */
export const membersOf = (keys: string[]): readonly Member[] => {
  if (keys.length > SHAPE_KEYS_MAX) return toMembers(keys);
  let shape = shapes.root;
  for (const key of keys) {
    const next = shape.next.get(key);
    if (next === undefined) return learn(keys);
    shape = next;
  }
  shape.members ??= toMembers(keys);
  return shape.members;
};

const learn = (keys: string[]): readonly Member[] => {
  const members = toMembers([...keys]);
  if (keys.some((key) => key.length > SHAPE_KEY_LENGTH_MAX)) return members;
  if (shapes.count >= SHAPES_MAX) Object.assign(shapes, { root: newShape(), count: 0 });
  let shape = shapes.root;
  for (const key of keys) {
    let next = shape.next.get(key);
    if (next === undefined) {
      next = newShape();
      shape.next.set(key, next);
      shapes.count += 1;
    }
    shape = next;
  }
  shape.members = members;
  return members;
};

/**
 * The canonical order is the one in which an object has its keys that was given them sorted by UTF-16 code units:
 * JavaScript puts those that are integers first.
 */
const toMembers = (keys: string[]): readonly Member[] => {
  const object: Record<string, Json> = {};
  for (const key of keys.sort()) define(object, { key, isInherited: key in Object.prototype }, null);
  return Object.keys(object).map((key) => ({
    key,
    first: `{${JSON.stringify(key)}:`,
    next: `,${JSON.stringify(key)}:`,
    problem: problemOf(key),
    isInherited: key in Object.prototype,
  }));
};

const problemOf = (key: string): string | undefined => {
  if (UNSAFE_KEYS.has(key)) return 'a member by a name that could reach a prototype';
  return key.isWellFormed() ? undefined : 'a member with half a surrogate pair in its key';
};

/** Assigning to one of these could reach a prototype: in our code, or in code that merges the value into another. */
export const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Assignment alone would not do for "toString": it fails once `Object.prototype` is frozen. */
export const define = (
  object: Record<string, Json>,
  { key, isInherited }: Pick<Member, 'key' | 'isInherited'>,
  value: Json,
): void => {
  if (isInherited)
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
};

/** The same value, with the members of every object in canonical order. */
export const inOrder = (value: Json): Json => {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(inOrder);
  const copy: Record<string, Json> = {};
  for (const member of membersOf(Object.keys(value))) {
    const content = value[member.key];
    if (content !== undefined) define(copy, member, inOrder(content));
  }
  return copy;
};

const isList = (value: object): value is readonly Json[] => Array.isArray(value);
