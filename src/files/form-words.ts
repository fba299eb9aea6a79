import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Path } from './place.ts';

/** What a JSON Schema allows at each place, in words. */
export interface FormWords {
  /** Of a mapping; of the nth of so many kinds, if it may be of several. */
  readonly keysAt: (path: Path, kind?: Kind) => readonly string[];
  readonly wordsAt: (path: Path) => string;
}

/** One of the forms that a schema lets a value have. */
export interface Kind {
  readonly index: number;
  readonly of: number;
}

export const wordsOfForm = (root: JsonObject): FormWords => {
  /** All forms that a schema lets a value have. */
  const formsOf = (schema: Json | undefined): readonly JsonObject[] => {
    if (!isJsonObject(schema)) return [];
    const { $ref } = schema;
    if (typeof $ref === 'string') return formsOf(definitionOf(root, $ref));
    const options = schema['anyOf'] ?? schema['oneOf'];
    return Array.isArray(options) ? options.flatMap((option: Json) => formsOf(option)) : [schema];
  };
  const formsAt = (path: Path): readonly JsonObject[] =>
    path.reduce<readonly JsonObject[]>(
      (forms, key) => forms.flatMap((form) => formsOf(memberOf(form, key))),
      formsOf(root),
    );
  return {
    keysAt: (path, kind) => {
      const forms = formsAt(path);
      const chosen = kind && kind.of === forms.length ? forms.slice(kind.index, kind.index + 1) : forms;
      return [...new Set(chosen.flatMap((form) => keysOf(form)))];
    },
    wordsAt: (path) => inWords([...new Set(formsAt(path).map(describe))]),
  };
};

const definitionOf = (root: JsonObject, ref: string): Json | undefined =>
  ref
    .split('/')
    .slice(1)
    .reduce<Json | undefined>((value, key) => (isJsonObject(value) ? value[key] : undefined), root);

const keysOf = ({ properties }: JsonObject): readonly string[] =>
  isJsonObject(properties) ? Object.keys(properties) : [];

const memberOf = (form: JsonObject, key: string | number): Json | undefined => {
  const { properties, additionalProperties, items, prefixItems } = form;
  if (typeof key === 'number') return (Array.isArray(prefixItems) ? prefixItems[key] : undefined) ?? items;
  return isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
};

/** What the pattern of ids says. */
export const NAME = 'letters, digits, "_", ".", ":" and "-", at most 100';

const ID = '^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$';

const shown = (value: Json): string => JSON.stringify(value);

const describe = (form: JsonObject): string => {
  const { const: only, enum: known, type, pattern, description, minItems, minLength } = form;
  if (only !== undefined) return shown(only);
  if (Array.isArray(known)) return inWords(known.map((value: Json) => shown(value)));
  if (type === 'number' || type === 'integer') return numberInWords(form);
  if (type === 'boolean') return 'true or false';
  if (type === 'null') return 'null';
  if (type === 'string' && typeof pattern === 'string')
    return pattern === ID ? `a name (${NAME})` : `a text as this says: ${JSON.stringify(description)}`;
  if (type === 'string') return textInWords(minLength);
  if (type === 'array') return minItems === undefined ? 'a list' : `a list of ${shown(minItems)} or more`;
  const keys = keysOf(form);
  if (type === 'object') return keys.length === 0 ? 'a mapping' : `{ ${keys.join(', ')} }`;
  return 'any value';
};

const textInWords = (minLength: Json | undefined): string => {
  if (minLength === undefined) return 'a text';
  return minLength === 1 ? 'a text that is not empty' : `a text of ${shown(minLength)} characters or more`;
};

const numberInWords = ({ type, minimum, exclusiveMinimum, maximum }: JsonObject): string => {
  const kind = type === 'integer' ? 'an integer' : 'a number';
  const to = typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? ` to ${maximum}` : '';
  if (typeof exclusiveMinimum === 'number') return `${kind} above ${exclusiveMinimum}`;
  return typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER
    ? `${kind} from ${minimum}${to}`
    : kind;
};

const inWords = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;

/** The name that was meant, if one is near. */
export const nearest = (name: string, known: readonly string[]): string | undefined => {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const same = known.find((each) => plain(each) === plain(name));
  if (same !== undefined || name.length > NAME_LENGTH_MAX) return same;
  const distances = known.map((each) => ({ each, distance: distanceOf(plain(name), plain(each)) }));
  const best = distances.toSorted((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(1, Math.floor(name.length / NEAR)) ? best.each : undefined;
};

const NAME_LENGTH_MAX = 60;
/** One letter in so many may be wrong: two that are exchanged are two. */
const NEAR = 2.5;

/** How many letters have to be put in, taken out or changed. */
const distanceOf = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of one.split('').entries()) {
    const next = [index + 1];
    for (const [at, against] of other.split('').entries())
      next.push(
        Math.min((next[at] ?? 0) + 1, (row[at + 1] ?? 0) + 1, (row[at] ?? 0) + (letter === against ? 0 : 1)),
      );
    row = next;
  }
  return row[other.length] ?? 0;
};
