import { isRuntimeError } from '../../src/errors.ts';

/**
 * Whether a value was read back exactly: every key, item and prototype of it. Written without the encoder's code, and
 * slowly: it takes every property by its descriptor.
 */
export const isExactly = (given: unknown, readBack: unknown): boolean => {
  if (typeof readBack !== 'object' || readBack === null) return Object.is(given, readBack);
  if (typeof given !== 'object' || given === null || Array.isArray(given) !== Array.isArray(readBack))
    return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  const mayBeBare = prototype === null && !Array.isArray(given);
  if (prototype !== Object.getPrototypeOf(readBack) && !mayBeBare) return false;
  const keys = Reflect.ownKeys(given);
  return (
    keys.length === Reflect.ownKeys(readBack).length &&
    keys.every((key) => {
      const mine = Object.getOwnPropertyDescriptor(given, key);
      const other = Object.getOwnPropertyDescriptor(readBack, key);
      if (mine === undefined || other === undefined || mine.enumerable !== other.enumerable) return false;
      return 'value' in mine && isExactly(mine.value, other.value);
    })
  );
};

/**
 * Whether an error is one of ours, and its path leads to a value that JSON cannot hold (or that has no end). If so,
 * undefined; else what is wrong with it.
 */
export const faultOfRefusal = (value: unknown, error: unknown): string | undefined => {
  if (isRuntimeError(error, 'PAYLOAD_TOO_LARGE')) return undefined;
  if (!isRuntimeError(error, 'PAYLOAD_UNSUPPORTED')) return 'the error is not one of ours';
  const keys = keysIn(error.fields.path);
  if (keys === undefined) return `the path ${error.fields.path} cannot be read`;
  const around: unknown[] = [];
  let at = value;
  for (const [index, shown] of keys.entries()) {
    around.push(at);
    const key = wholeKey(at, shown);
    const property = Object.getOwnPropertyDescriptor(Object(at), key);
    const isLast = index === keys.length - 1;
    const isHole = property === undefined && Array.isArray(at) && Number(key) < at.length;
    if (isLast && (isHole || isRefusedKey(key) || (property !== undefined && 'get' in property)))
      return undefined;
    if (property === undefined) return `the path ${error.fields.path} leads nowhere`;
    at = property.value;
  }
  return isBad(at) || around.includes(at) ? undefined : `the value at ${error.fields.path} is not bad`;
};

const isRefusedKey = (key: string): boolean =>
  /^(?:__proto__|constructor|prototype)$/.test(key) || !key.isWellFormed();

/** An error shows the beginning of a long key. */
const wholeKey = (holder: unknown, shown: string): string =>
  shown.endsWith('…')
    ? (Object.keys(Object(holder)).find((key) => key.startsWith(shown.slice(0, -1))) ?? shown)
    : shown;

const keysIn = (path: string): readonly string[] | undefined => {
  const keys: string[] = [];
  const rest = path
    .slice('payload'.length)
    .replaceAll(
      /\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy,
      (_part, name?: string, index?: string, quoted?: string) => {
        keys.push(name ?? index ?? String(JSON.parse(quoted ?? 'null')));
        return '';
      },
    );
  return path.startsWith('payload') && rest === '' ? keys : undefined;
};

/** Whether JSON cannot hold a value for a reason of its own, and not for one of something inside it. */
const isBad = (value: unknown): boolean => {
  if (typeof value === 'string') return !value.isWellFormed();
  if (typeof value === 'number') return !Number.isFinite(value) || Object.is(value, -0);
  if (typeof value !== 'object' || value === null) return typeof value !== 'boolean' && value !== null;
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    const keys = Reflect.ownKeys(value);
    if (!Array.isArray(value)) {
      const isPlain = prototype === null || prototype === Object.prototype;
      return !isPlain || keys.some((key) => typeof key === 'symbol' || !isEnumerable(value, key));
    }
    const { length } = value;
    return (
      prototype !== Array.prototype || keys.length !== length + 1 || !value.every((_item, i) => i in value)
    );
  } catch {
    return true;
  }
};

const isEnumerable = (value: object, key: string): boolean =>
  Object.prototype.propertyIsEnumerable.call(value, key);
