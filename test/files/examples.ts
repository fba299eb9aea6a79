import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/index.ts';

export const EXAMPLES = ['tight', 'plan', 'stories', 'phases', 'tree', 'repeat'] as const;

export const exampleText = (name: string): string => readFileSync(`examples/workflows/${name}.yaml`, 'utf8');

/** Changes a document in one place. */
type Change = (document: Json) => Json;

/** What a place is replaced by: gone, or something else. */
type Replace = (value: Json) => Json | undefined;

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Does it to the value at one of all places, chosen by a number. */
const replaceAt = (document: Json, nth: number, replace: Replace): Json | undefined => {
  let left = nth;
  const walk = (value: Json): Json | undefined => {
    if (left === 0) {
      left -= 1;
      return replace(value);
    }
    left -= 1;
    if (Array.isArray(value)) return (value as readonly Json[]).flatMap((item) => walk(item) ?? []);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, member]) => {
        const changed = walk(member);
        return changed === undefined ? [] : [[key, changed]];
      }),
    );
  };
  return walk(document);
};

const sizeOf = (value: Json): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value as JsonObject).reduce<number>((sum, each) => sum + sizeOf(each), 0)
    : 1;

const anyValue: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
  null,
  true,
  0,
  -1,
  2.5,
  1e308,
  '',
  'text',
  'tight',
  '../../etc/passwd',
  [],
  [''],
  {},
  { id: 'x' },
  { command: ['true'] },
  { script: [], person: { text: 'who?' } },
);

const NAMES = [
  'limits',
  'Limits',
  'maxIteration',
  'command',
  'x',
  '',
  'toString',
  'id',
  'loop',
  'person',
  'needs',
];

const anyReplace: fc.Arbitrary<Replace> = fc.oneof(
  fc.constant<Replace>(() => undefined),
  anyValue.map(
    (value): Replace =>
      () =>
        value,
  ),
  fc.constantFrom(...NAMES).map(
    (name): Replace =>
      (value) => {
        if (!isObject(value)) return name;
        const [first, ...rest] = Object.entries(value);
        return Object.fromEntries([...(first ? [[name, first[1]]] : [[name, null]]), ...rest]) as JsonObject;
      },
  ),
  fc.tuple(fc.constantFrom(...NAMES), anyValue).map(
    ([name, added]): Replace =>
      (value) =>
        isObject(value) ? { ...value, [name]: added } : added,
  ),
);

/** A value of another type, a key that is gone, renamed or too many: at any place. */
export const anyChange: fc.Arbitrary<Change> = fc.tuple(fc.nat(10_000), anyReplace).map(
  ([place, replace]): Change =>
    (document) =>
      replaceAt(document, place % sizeOf(document), replace) ?? null,
);
