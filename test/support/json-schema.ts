import type { Json, JsonObject } from '../../src/index.ts';

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOf = (value: Json): readonly string[] => {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  return typeof value === 'number' && Number.isInteger(value) ? ['number', 'integer'] : [typeof value];
};

/** Words that say nothing about a value. */
const SILENT = ['$schema', 'title', 'description'];

/** What is wrong with a value, for as much of JSON Schema as our schemas use. @throws on a word that it does not know */
export const problemsIn = (schema: JsonObject, value: Json, path = '$'): readonly string[] =>
  Object.entries(schema).flatMap(([word, given]) => {
    if (SILENT.includes(word)) return [];
    const check = CHECKS[word];
    if (!check) throw new Error(`This check does not know "${word}".`);
    return check({ given, schema, value, path });
  });

interface Checked {
  readonly given: Json;
  readonly schema: JsonObject;
  readonly value: Json;
  readonly path: string;
}

const when = (isWrong: boolean, problem: string): readonly string[] => (isWrong ? [problem] : []);

const CHECKS: Readonly<Record<string, (checked: Checked) => readonly string[]>> = {
  type: ({ given, value, path }) =>
    when(
      !typeOf(value).some((type) => [given].flat().includes(type)),
      `${path}: not ${JSON.stringify(given)}`,
    ),
  const: ({ given, value, path }) => when(given !== value, `${path}: not ${JSON.stringify(given)}`),
  minimum: ({ given, value, path }) =>
    when(Number(value) < Number(given), `${path}: below ${JSON.stringify(given)}`),
  required: ({ given, value, path }) =>
    (given as readonly string[]).flatMap((name) =>
      when(isObject(value) && !Object.hasOwn(value, name), `${path}: without ${name}`),
    ),
  additionalProperties: ({ schema, value, path }) =>
    Object.keys(isObject(value) ? value : {}).flatMap((name) =>
      when(!Object.hasOwn(schema['properties'] as JsonObject, name), `${path}: with ${name}`),
    ),
  properties: ({ given, value, path }) =>
    Object.entries(given as JsonObject).flatMap(([name, inner]) => {
      const member = isObject(value) ? value[name] : undefined;
      return member === undefined ? [] : problemsIn(inner as JsonObject, member, `${path}.${name}`);
    }),
  items: ({ given, value, path }) =>
    (Array.isArray(value) ? (value as readonly Json[]) : []).flatMap((item, index) =>
      problemsIn(given as JsonObject, item, `${path}[${index}]`),
    ),
};
