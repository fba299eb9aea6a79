import { DEFAULT_LIMITS, type Encoded, encode } from './encode.ts';
import type { Json } from './json.ts';

/**
 * Encodes what our own machines made: the same rules and the same text as `encode`, but members that are undefined are left
 * out, and a value that is in canonical order already is not copied. Machines never change a value in place, and this runs
 * for every message: whatever is out of the ordinary goes through `encode`, which refuses it with its path.
 */
export const encodeOwn = (value: unknown, root: string): Encoded => {
  size = 0;
  const own = acceptable(order(value, 0));
  return own ?? encode(value, { undefinedMembers: 'drop', root });
};

/** The same of an object without some of its members. */
export const encodeOwnWithout = (value: object, omitted: ReadonlySet<string>, root: string): Encoded => {
  size = 0;
  const own = acceptable(orderMembers(value, 0, omitted));
  if (own) return own;
  const rest: Record<string, unknown> = { ...value };
  for (const key of omitted) delete rest[key];
  return encode(rest, { undefinedMembers: 'drop', root });
};

const acceptable = (ordered: Json | typeof UNUSUAL): Encoded | undefined => {
  if (ordered === UNUSUAL) return undefined;
  const own = new OwnEncoded(ordered);
  // Sizes that count bytes: rare enough to be looked at closely.
  const isLarge = size > SIZE_UNSUSPICIOUS && own.json.length > LENGTH_UNSUSPICIOUS;
  return isLarge ? undefined : own;
};

/** Its text is made when somebody asks for it: what is tried out, and not written down, does without. */
class OwnEncoded implements Encoded {
  readonly value: Json;
  #json: string | undefined;

  constructor(value: Json) {
    this.value = value;
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.value);
    return this.#json;
  }
}

const UNUSUAL = Symbol('unusual');
/** A character takes up to four bytes. */
const LENGTH_UNSUSPICIOUS = DEFAULT_LIMITS.bytes / 4;
/** Where it is escaped, it takes up to six characters: a value of this size has no longer text, which need not be made to know that. */
const SIZE_UNSUSPICIOUS = LENGTH_UNSUSPICIOUS / 6;
/** What anything takes that is not a text: as many characters as a number may have, by six. */
const SIZE_OF_ANY = 5;
const DEPTH_UNSUSPICIOUS = 16;
const ITEMS_UNSUSPICIOUS = 1_000;

/** How large the value is that is looked at: at least a sixth of the length of its text. */
let size = 0;

/** The value itself if it is in canonical order, else a copy that is. */
const order = (value: unknown, depth: number): Json | typeof UNUSUAL => {
  size += SIZE_OF_ANY;
  switch (typeof value) {
    case 'string':
      size += value.length;
      return value.isWellFormed() ? value : UNUSUAL;
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : UNUSUAL;
    case 'object':
      if (value === null) return null;
      if (depth > DEPTH_UNSUSPICIOUS) return UNUSUAL;
      return Array.isArray(value) ? orderItems(value, depth) : orderMembers(value, depth);
    default:
      return UNUSUAL;
  }
};

const orderItems = (items: readonly unknown[], depth: number): Json | typeof UNUSUAL => {
  if (items.length > ITEMS_UNSUSPICIOUS || Object.getPrototypeOf(items) !== Array.prototype) return UNUSUAL;
  let copy: Json[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const ordered = order(item, depth + 1);
    if (ordered === UNUSUAL) return UNUSUAL;
    // Everything before the first item that had to be copied was found to be as it should.
    if (ordered !== item && !copy) copy = items.slice(0, index) as Json[];
    copy?.push(ordered);
  }
  // Each item was looked at, and none had to be changed.
  return copy ?? (items as readonly Json[]);
};

const orderMembers = (value: object, depth: number, omitted?: ReadonlySet<string>): Json | typeof UNUSUAL => {
  if (Object.getPrototypeOf(value) !== Object.prototype) return UNUSUAL;
  const keys = Object.keys(value);
  if (keys.length > ITEMS_UNSUSPICIOUS) return UNUSUAL;
  let isOrdered = omitted === undefined;
  for (let index = 0, before = ''; index < keys.length; index += 1) {
    const key = keys[index] ?? '';
    if (key in Object.prototype || key === 'prototype') return UNUSUAL;
    if (key < before) isOrdered = false;
    if (!key.isWellFormed()) return UNUSUAL;
    size += key.length + 1;
    before = key;
  }
  const members = omitted ? keys.filter((key) => !omitted.has(key)) : keys;
  if (!isOrdered) members.sort();
  return copyMembers(value as Readonly<Record<string, unknown>>, members, { depth, isOrdered });
};

/** From the first member on that has to be changed, if the keys are in order. */
const copyMembers = (
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  { depth, isOrdered }: { depth: number; isOrdered: boolean },
): Json | typeof UNUSUAL => {
  let copy: Record<string, Json> | undefined = isOrdered ? undefined : {};
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] ?? '';
    const member = value[key];
    const ordered = member === undefined ? undefined : order(member, depth + 1);
    if (ordered === UNUSUAL) return UNUSUAL;
    if (ordered === undefined || ordered !== member) copy ??= firstMembers(value, keys.slice(0, index));
    if (copy && ordered !== undefined) copy[key] = ordered;
  }
  // Each member was looked at, and none had to be changed.
  return copy ?? (value as Readonly<Record<string, Json>>);
};

/** Members that were found to be as they should. */
const firstMembers = (
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, Json> => {
  const copy: Record<string, Json> = {};
  for (const key of keys) copy[key] = value[key] as Json;
  return copy;
};
