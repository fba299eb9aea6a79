import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type ModelDescription, modelAgentFromDescription } from '../../src/ai/index.ts';
import {
  agentsOf,
  isRuntimeError,
  type Json,
  type JsonObject,
  readWorkflowFile,
  type WorkflowFile,
  workflowOf,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';
import { EXAMPLES, exampleText } from './examples.ts';

// Method: the published schema says where a file may have a text, whatever the loop. A text that a shell, a template or JavaScript would
// run is put at each of these places of an example, one at a time. The file is refused, or read, compiled and run: no place leaves a mark.

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly minimum?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
  readonly items?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}
interface Root extends Schema {
  readonly oneOf: readonly Schema[];
  readonly $defs: Readonly<Record<string, Schema>>;
}
const ROOT = JSON.parse(readFileSync('schema/workflow.schema.json', 'utf8')) as Root; // The schema that is published.

const folder = mkdtempSync(join(tmpdir(), 'loopwright-fields-'));
const MARK = join(folder, 'mark');
const TRAP = [
  `$(touch ${MARK})`,
  `\`touch ${MARK}\``,
  `; touch ${MARK} #`,
  `\${process.getBuiltinModule('fs').writeFileSync('${MARK}','')}`,
  `{{ constructor.constructor("process.getBuiltinModule('fs').writeFileSync('${MARK}','')")() }}`,
  `<%= process.getBuiltinModule('fs').writeFileSync('${MARK}','') %>`,
].join(' ');

const meant = (schema: Schema): Schema => {
  const name = schema.$ref?.slice('#/$defs/'.length);
  const found = name === undefined ? undefined : ROOT.$defs[name];
  return found ? meant(found) : schema;
};
const either = ({ anyOf, oneOf }: Schema): readonly Schema[] | undefined => anyOf ?? oneOf;

/** The least that fits. */
const least = (given: Schema): Json => {
  const schema = meant(given);
  const [first] = either(schema) ?? [];
  if (first) return least(first);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0] ?? null;
  if (schema.type === 'array')
    return typeof schema.items === 'object' && (schema.minItems ?? 0) > 0 ? [least(schema.items)] : [];
  if (schema.type === 'object')
    return Object.fromEntries(
      (schema.required ?? []).map((name) => [name, least(schema.properties?.[name] ?? {})]),
    );
  if (schema.type === 'boolean') return true;
  if (schema.type === 'number' || schema.type === 'integer') return schema.minimum ?? 1;
  return 'x';
};

interface Variant {
  readonly path: string;
  readonly value: Json;
}

/** The least that fits with the trap in it, for each place where a text may stand. */
const variantsOf = (given: Schema, depth = 0): readonly Variant[] => {
  const schema = meant(given);
  const branches = either(schema);
  if (depth > 8) return [];
  if (branches) return branches.flatMap((each) => variantsOf(each, depth + 1));
  if (schema.const !== undefined || schema.enum) return [];
  if (schema.type === 'array')
    return typeof schema.items === 'object'
      ? variantsOf(schema.items, depth + 1).map(({ path, value }) => ({ path: `[]${path}`, value: [value] }))
      : [{ path: '[]', value: [TRAP] }];
  if (schema.type === 'object') return [...membersOf(schema, depth), ...entriesOf(schema, depth)];
  // What has no type may be anything: also a text.
  return schema.type === 'string' || schema.type === undefined ? [{ path: '', value: TRAP }] : [];
};

const membersOf = (schema: Schema, depth: number): readonly Variant[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    variantsOf(member, depth + 1).map(({ path, value }) => ({
      path: `.${name}${path}`,
      value: { ...(least(schema) as JsonObject), [name]: value }, // The least of an object is one.
    })),
  );

const entriesOf = ({ additionalProperties: entry }: Schema, depth: number): readonly Variant[] =>
  typeof entry === 'object'
    ? [
        ...variantsOf(entry, depth + 1).map(({ path, value }) => ({
          path: `.*${path}`,
          value: { x: value },
        })),
        { path: '.<name>', value: { [TRAP]: least(entry) } },
      ]
    : [];

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const NOBODY = 'http://127.0.0.1:9/v1';

/** What some members of an agent are not allowed without. */
const companionsOf = (agent: JsonObject): JsonObject => ({
  ...('model' in agent && agent['baseUrl'] !== TRAP && { baseUrl: NOBODY }),
  ...('resultsFile' in agent && { results: 'junit' }),
});

/** An example with the variant in it: a member of its own where there is one, or in place of the first. */
const merged = (base: Json | undefined, variant: Json, path: readonly string[] = []): Json => {
  // An agent is of one kind: it is replaced as a whole.
  if (path.length === 2 && path[0] === 'agents')
    return isObject(variant) ? { ...variant, ...companionsOf(variant) } : variant;
  if (Array.isArray(base) && Array.isArray(variant)) {
    const [first, ...rest] = base as readonly Json[];
    return [merged(first, (variant as readonly Json[])[0] ?? null, [...path, '[]']), ...rest];
  }
  if (!isObject(base) || !isObject(variant)) return variant;
  const [own = 'x'] = Object.keys(base);
  const named = 'x' in variant && path.length === 1 && path[0] === 'agents';
  const entries = Object.entries(variant).map(([name, value]): readonly [string, Json] => [
    named && name === 'x' ? own : name,
    value,
  ]);
  return {
    ...base,
    ...Object.fromEntries(
      entries
        // What the example says already where the variant only needed something there.
        .filter(([name, value]) => !(name in base) || JSON.stringify(value).includes(MARK))
        .map(([name, value]) => [name, merged(base[name], value, [...path, name])]),
    ),
  };
};

const schemaOf = (loop: string): Schema => {
  const found = ROOT.oneOf.find(({ properties }) => properties?.['loop']?.const === loop);
  if (!found) throw new Error(`The schema has no loop "${loop}".`);
  return found;
};

interface Tried {
  readonly place: string;
  readonly file: WorkflowFile | undefined;
}

const tryPlace = async (loop: string, { path, value }: Variant, nth: number): Promise<Tried> => {
  const base = parse(exampleText(loop)) as JsonObject; // An example of a workflow file.
  const document = merged(base, value) as JsonObject; // Both are objects.
  const at = join(folder, `${loop}-${nth}.yaml`);
  writeFileSync(
    at,
    stringify({
      name: `${loop}-${nth}`,
      ...document,
      ...(path === '.name' ? {} : { name: `${loop}-${nth}` }),
    }),
  );
  try {
    return { place: `${loop}${path}`, file: await readWorkflowFile(at) };
  } catch (error) {
    if (!isRuntimeError(error, 'BAD_WORKFLOW_FILE')) throw error;
    return { place: `${loop}${path}`, file: undefined };
  }
};

const isCommand = (agent: object): boolean => 'command' in agent;

/** Agents of the file as they are, but for programs and models of the examples, which are none of this machine. */
const agentsFor = ({ agents }: WorkflowFile) =>
  agentsOf(
    Object.fromEntries(
      Object.entries(agents).map(([name, agent]) => [
        name,
        isCommand(agent) && !JSON.stringify(agent).includes(MARK) ? { script: [{}] } : agent,
      ]),
    ),
    {
      directory: folder,
      makeModelAgent: (_name, description) =>
        // Nobody answers there; its form was checked.
        modelAgentFromDescription({
          ...(description as unknown as ModelDescription),
          baseUrl: NOBODY,
        }),
    },
  );

it('S18: code at any place where a file of any loop may have a text is refused, or is only letters', async () => {
  const tried: Tried[] = [];
  for (const loop of EXAMPLES)
    for (const [nth, variant] of variantsOf(schemaOf(loop)).entries())
      tried.push(await tryPlace(loop, variant, nth));
  const places = tried.map(({ place }) => place);
  for (const place of [
    'tight.agents.*.cwd',
    'tight.agents.*.resultsFile',
    'tight.agents.*.system',
    'tight.agents.*.prompt',
    'tight.agents.*.person.text',
    'tight.agents.*.command[]',
    'plan.checks[].id',
    'tree.nodes[].id',
    'phases.phases[].id',
  ])
    expect(places, place).toContain(place);
  const accepted = tried.flatMap(({ file }) => file ?? []);
  const read = tried.flatMap(({ place, file }) => (file ? place.slice(place.indexOf('.')) : []));
  expect(read).toEqual(
    expect.arrayContaining([
      '.agents.*.cwd',
      '.agents.*.system',
      '.agents.*.prompt',
      '.agents.*.person.text',
      '.nodes[].with',
      '.checks[].description',
    ]),
  );
  expect([tried.length, accepted.length]).toEqual([
    expect.toSatisfy(atLeast(200)),
    expect.toSatisfy(atLeast(80)),
  ]);
  const workflows = new Map(accepted.map((file) => [file.name, file]));
  const runtime = await open({
    file: temporaryFile(),
    workflows: [...workflows.values()].map(({ definition }) => workflowOf(definition, 1)),
    agents: {},
    agentsByWorkflow: Object.fromEntries([...workflows].map(([name, file]) => [name, agentsFor(file)])),
    printEscalations: false,
  });
  let begun = 0;
  for (const [name, { input }] of workflows) {
    try {
      await runtime.start(name, input ?? 'x', { id: name });
      begun += 1;
    } catch (error) {
      // An input that is a text is none for some loops.
      if (!isRuntimeError(error)) throw error;
    }
  }
  expect(begun).toBeGreaterThan(60);
  const calls = async () =>
    (await runtime.audit({ types: ['lw.call.done', 'lw.call.failed'], limit: 10_000 })).length;
  await expect.poll(calls, { timeout: 30_000 }).toBeGreaterThan(begun);
  await runtime.close();
  expect(existsSync(MARK)).toBe(false);
  execFileSync('/bin/sh', ['-c', `echo ${TRAP.slice(0, TRAP.indexOf(')') + 1)}`]);
  expect(existsSync(MARK)).toBe(true);
});

const atLeast = (count: number) => (found: number) => found >= count;
