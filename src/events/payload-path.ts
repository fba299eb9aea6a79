/** Where a value stands in a payload: the keys and indices that lead to it. */
export type Path = readonly (string | number)[];

/** A key may be as long as the whole payload: an error shows its beginning. */
const KEY_SHOWN_MAX = 100;

/** `payload.items[3]["odd key"]`: as one would write it in code. */
export const pathText = (root: string, path: Path): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    const shown = key.length > KEY_SHOWN_MAX ? `${key.slice(0, KEY_SHOWN_MAX)}…` : key;
    return /^[A-Za-z_$][\w$]*$/.test(shown) ? `${text}.${shown}` : `${text}[${JSON.stringify(shown)}]`;
  }, root);

/** What an error calls a value that is not an object. It does not show strings: they could be secrets. */
export const describe = (value: unknown): string => {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return value === undefined ? 'undefined' : `a ${typeof value}`;
};

/** What an error calls an object of this prototype: its class, found without calling any code of it. */
export const describeObject = (prototype: unknown): string => {
  const name = ownValue(ownValue(prototype, 'constructor'), 'name');
  if (typeof name !== 'string' || !/^\w{1,60}$/.test(name) || name === 'Object')
    return 'an object that is not plain';
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`;
};

const ownValue = (holder: unknown, key: string): unknown =>
  (typeof holder === 'object' && holder !== null) || typeof holder === 'function'
    ? Object.getOwnPropertyDescriptor(holder, key)?.value
    : undefined;
