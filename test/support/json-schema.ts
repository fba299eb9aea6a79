import type { Json, JsonObject } from '../../src/index.ts';

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOf = (value: Json): readonly string[] => {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  return typeof value === 'number' && Number.isInteger(value) ? ['number', 'integer'] : [typeof value];
};

/** Words that say nothing about a value. */
const SILENT = ['$schema', '$defs', 'title', 'description'];

/** What is wrong with a value, for as much of JSON Schema as our schemas use. @throws on a word that it does not know */
export const problemsIn = (
  schema: JsonObject,
  value: Json,
  path = '$',
  root: JsonObject = schema,
): readonly string[] =>
  Object.entries(schema).flatMap(([word, given]) => {
    if (SILENT.includes(word)) return [];
    const check = CHECKS[word];
    if (!check) throw new Error(`This check does not know "${word}".`);
    return check({ given, schema, value, path, root });
  });

interface Checked {
  readonly given: Json;
  readonly schema: JsonObject;
  readonly value: Json;
  readonly path: string;
  readonly root: JsonObject;
}

const when = (isWrong: boolean, problem: string): readonly string[] => (isWrong ? [problem] : []);

const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
const fitting = ({ given, value, path, root }: Checked): number =>
  listOf(given).filter((each) => problemsIn(each as JsonObject, value, path, root).length === 0).length;

const definitionIn = (root: JsonObject, ref: string): JsonObject => {
  const [, definitions, name] = /^#\/(\$defs)\/(.+)$/.exec(ref) ?? [];
  return (root[definitions ?? ''] as JsonObject)[name ?? ''] as JsonObject;
};

const CHECKS: Readonly<Record<string, (checked: Checked) => readonly string[]>> = {
  type: ({ given, value, path }) =>
    when(
      !typeOf(value).some((type) => [given].flat().includes(type)),
      `${path}: not ${JSON.stringify(given)}`,
    ),
  const: ({ given, value, path }) => when(given !== value, `${path}: not ${JSON.stringify(given)}`),
  enum: ({ given, value, path }) => when(!listOf(given).includes(value), `${path}: none of them`),
  minimum: ({ given, value, path }) =>
    when(typeof value === 'number' && value < Number(given), `${path}: below ${JSON.stringify(given)}`),
  exclusiveMinimum: ({ given, value, path }) =>
    when(typeof value === 'number' && value <= Number(given), `${path}: not above ${JSON.stringify(given)}`),
  maximum: ({ given, value, path }) =>
    when(typeof value === 'number' && value > Number(given), `${path}: above ${JSON.stringify(given)}`),
  minLength: ({ given, value, path }) =>
    when(typeof value === 'string' && value.length < Number(given), `${path}: too short`),
  pattern: ({ given, value, path }) =>
    when(typeof value === 'string' && !new RegExp(given as string, 'u').test(value), `${path}: another text`),
  minItems: ({ given, value, path }) =>
    when(Array.isArray(value) && value.length < Number(given), `${path}: too few`),
  maxItems: ({ given, value, path }) =>
    when(Array.isArray(value) && value.length > Number(given), `${path}: too many`),
  required: ({ given, value, path }) =>
    (given as readonly string[]).flatMap((name) =>
      when(isObject(value) && !Object.hasOwn(value, name), `${path}: without ${name}`),
    ),
  additionalProperties: ({ given, schema, value, path, root }) =>
    Object.entries(isObject(value) ? value : {}).flatMap(([name, member]) => {
      if (Object.hasOwn((schema['properties'] ?? {}) as JsonObject, name)) return [];
      return isObject(given) ? problemsIn(given, member, `${path}.${name}`, root) : [`${path}: with ${name}`];
    }),
  propertyNames: ({ given, value, path, root }) =>
    Object.keys(isObject(value) ? value : {}).flatMap((name) =>
      problemsIn(given as JsonObject, name, `${path}.${name}`, root),
    ),
  properties: ({ given, value, path, root }) =>
    Object.entries(given as JsonObject).flatMap(([name, inner]) => {
      const member = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
      return member === undefined ? [] : problemsIn(inner as JsonObject, member, `${path}.${name}`, root);
    }),
  prefixItems: ({ given, value, path, root }) =>
    listOf(value)
      .slice(0, listOf(given).length)
      .flatMap((item, index) =>
        problemsIn(listOf(given)[index] as JsonObject, item, `${path}[${index}]`, root),
      ),
  items: ({ given, schema, value, path, root }) =>
    listOf(value)
      .slice(listOf(schema['prefixItems'] ?? []).length)
      .flatMap((item, index) => problemsIn(given as JsonObject, item, `${path}[${index}]`, root)),
  anyOf: (checked) => when(fitting(checked) === 0, `${checked.path}: of no form`),
  oneOf: (checked) => when(fitting(checked) !== 1, `${checked.path}: not of one form`),
  $ref: ({ given, value, path, root }) => problemsIn(definitionIn(root, given as string), value, path, root),
};
