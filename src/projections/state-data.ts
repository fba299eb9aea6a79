import { RuntimeError } from '../errors.ts';

/** What a projection's state is at its root, and what all in it is that is not a scalar: an object or an array. */
export type StateData = Readonly<Record<PropertyKey, unknown>>;

export const isContainer = (value: unknown): value is StateData =>
  typeof value === 'object' && value !== null;

/** The member of that name, its own and no other: `constructor` is not a key unless someone made it one. */
export const memberOf = (container: StateData, key: PropertyKey): unknown =>
  Object.hasOwn(container, key) ? container[key] : undefined;

/**
 * Checks that JSON gives back exactly what is in `value`. Parts that are the same objects in `known` were checked before
 * and are passed over, so that checking a state costs what has changed in it.
 *
 * @throws {RuntimeError} PAYLOAD_UNSUPPORTED with the path of what is not JSON
 */
export const checkData = (value: unknown, known?: unknown, path = '$'): void => {
  if (Object.is(value, known) && value !== undefined) return;
  if (!isContainer(value)) return checkScalar(value, path);
  checkPlain(value, path);
  const before = isContainer(known) ? known : {};
  for (const key of keysOf(value)) {
    const next = value[key];
    // Most members are untouched. (What is not a member of `before`, but of every object, is never the same as data.)
    if (!Object.is(next, before[key]) || next === undefined) {
      checkData(next, memberOf(before, key), `${path}.${String(key)}`);
    }
  }
};

/** Every index of an array, also that of a hole: nothing is there, which is not JSON. */
const keysOf = (value: StateData): Iterable<PropertyKey> =>
  Array.isArray(value) ? value.keys() : Object.keys(value);

const isJsonScalar = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isFinite(value) && !Object.is(value, -0)
    : typeof value === 'string' || typeof value === 'boolean' || value === null;

function checkScalar(value: unknown, path: string): void {
  if (isJsonScalar(value)) return;
  const found =
    typeof value === 'number' ? `the number ${Object.is(value, -0) ? '-0' : value}` : typeof value;
  throw new RuntimeError('PAYLOAD_UNSUPPORTED', { path, found });
}

function checkPlain(value: StateData, path: string): void {
  if (Array.isArray(value)) return;
  if (isPlain(value) && Object.getOwnPropertySymbols(value).length === 0) return;
  throw new RuntimeError('PAYLOAD_UNSUPPORTED', { path, found: 'not a plain object' });
}

/**
 * The data of events may be objects without a prototype; and some test runners give each file an `Object` of its own, so that
 * ours is not the only one whose objects are plain.
 */
function isPlain(value: StateData): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return !isContainer(prototype) || Object.getPrototypeOf(prototype) === null;
}

/**
 * Whether each object in the data stands in one place only. Frozen objects (parts of events) may stand anywhere, since nobody
 * can change them.
 */
export const isTree = (root: StateData): boolean => {
  const seen = new Set<StateData>();
  const open: StateData[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Object.isFrozen(value)) continue;
    if (seen.has(value)) return false;
    seen.add(value);
    for (const member of Object.values(value)) if (isContainer(member)) open.push(member);
  }
  return true;
};

/** Whether JSON gives back exactly what is in the data, and each object of it stands in one place only: in one walk. */
export const isJsonTree = (root: StateData): boolean => isJsonTreeWith(root, new Set());

function isJsonTreeWith(value: StateData, seen: Set<StateData>): boolean {
  if (!Object.isFrozen(value)) {
    if (seen.has(value)) return false;
    seen.add(value);
  }
  if (!Array.isArray(value) && !(isPlain(value) && Object.getOwnPropertySymbols(value).length === 0))
    return false;
  for (const key of keysOf(value)) {
    const member = value[key];
    if (isContainer(member) ? !isJsonTreeWith(member, seen) : !isJsonScalar(member)) return false;
  }
  return true;
}
