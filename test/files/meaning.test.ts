import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { modelDescription } from '../../src/ai/index.ts';
import { ROLE_OPTIONS } from '../../src/files/form-parts.ts';
import { workflowSchema } from '../../src/files/json-schema.ts';
import {
  agentsOf,
  isRuntimeError,
  type Json,
  type JsonObject,
  parseWorkflowFile,
  workflowOf,
} from '../../src/index.ts';
import { EXAMPLES, exampleText } from './examples.ts';

const tight = (rest: string): string =>
  `loop: tight\n${rest}\nagents: { developer: { script: [] }, reviewer: { script: [] }, tester: { script: [] } }\n`;
const read = (text: string) => parseWorkflowFile(text, { path: 'some/loop.yaml' });
const limitsOf = (text: string): unknown => {
  const start = workflowOf(read(text).definition, 1).options.prepare?.('task');
  return (start as { readonly limits?: unknown } | undefined)?.limits;
};

it('T1, R4: settings may have the names that other tools give them, at the top or in a block', () => {
  const names =
    'max_feedback_iterations: 7\nmax_consecutive_review_failures: 2\nmax_consecutive_test_failures: 4';
  const expected = { passes: 7, sameIssue: 2, sameFailure: 4 };
  expect(limitsOf(tight(names))).toMatchObject(expected);
  expect(limitsOf(tight(`settings:\n${names.replaceAll(/^/gm, '  ')}`))).toMatchObject(expected);
  expect(limitsOf(tight('maxIterations: 7\nlimits: { sameIssue: 2, sameFailure: 4 }'))).toMatchObject(
    expected,
  );
  const refinement = '{ maxIterations: 1, escalateOnMaxAttempts: error, enableCircuitBreaker: true }';
  const stories = (where: string): JsonObject =>
    read(exampleText('stories').replace(/refinement:\n.*\n.*\n/, `${where.replace('X', refinement)}\n`))
      .definition;
  expect(stories('settings: { refinement: X }')).toEqual(stories('refinement: X'));
});

it('a setting under two names must have one value', () => {
  expect(read(tight('maxIterations: 7\nmax_iterations: 7')).definition).toEqual(
    read(tight('max_iterations: 7')).definition,
  );
  expect(() => read(tight('maxIterations: 7\nmax_iterations: 6'))).toThrow(
    /some\/loop.yaml:3:1 max_iterations: it is another name of "maxIterations", which has another value/,
  );
  expect(() => read(tight('strict: true\nsettings: { strict: false }'))).toThrow(
    /:3:13 settings.strict: it is another name of "strict"/,
  );
});

it('how an agent is called may be said with the agent, and is part of the definition', () => {
  const said = tight('').replace(
    'developer: { script: [] }',
    'developer: { script: [], attempts: 2, backoffMs: 5 }',
  );
  const { definition, agents } = read(said);
  expect(definition).toEqual(read(tight('roles: { developer: { attempts: 2, backoffMs: 5 } }')).definition);
  expect(agents['developer']).toEqual({ script: [] });
});

/** The same document with the members of all mappings in another order. */
const shuffled = (value: Json, turn: number): Json => {
  if (Array.isArray(value)) return value.map((each: Json) => shuffled(each, turn));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as JsonObject).map(
    ([key, each]) => [key, shuffled(each, turn)] as const,
  );
  const at = entries.length === 0 ? 0 : turn % entries.length;
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)].toReversed());
};

it('equal files have equal definitions, as YAML or JSON, whatever the order of their keys', () => {
  fc.assert(
    fc.property(fc.constantFrom(...EXAMPLES), fc.nat(20), (name, turn) => {
      const text = exampleText(name);
      const other = JSON.stringify(shuffled(parse(text) as Json, turn), undefined, '\t');
      const [one, two] = [text, other].map((each) => JSON.stringify(read(each).definition));
      expect(two).toBe(one);
    }),
    { numRuns: 30 },
  );
});

it('a definition is compiled to the same workflow again and again, and refused if it is of another kind', () => {
  for (const name of EXAMPLES) {
    const { definition, input } = read(exampleText(name));
    const made = [1, 2].map(() => workflowOf(structuredClone(definition), 3));
    expect(made.map(({ name: its, version }) => [its, version])).toEqual(
      made.map(() => [definition['name'], 3]),
    );
    expect(made[1]?.options.prepare?.(input)).toEqual(made[0]?.options.prepare?.(input));
    for (const bad of [{ ...definition, format: 2 }, { ...definition, loop: 'constructor' }, {}])
      expect(() => workflowOf(bad, 1)).toThrow(
        expect.toSatisfy((error) => isRuntimeError(error, 'BAD_DEFINITION')),
      );
  }
});

it('a workflow is named after its file, unless it has a name or the file cannot give one', () => {
  expect(read(tight('')).name).toBe('loop');
  expect(read(tight('name: other')).name).toBe('other');
  expect(() => parseWorkflowFile(tight(''), { path: 'a loop.yaml' })).toThrow(/"name" is missing/);
});

it('anchors spare words, within the bounds of a file', () => {
  const text =
    'loop: tight\nagents: { developer: &none { script: [] }, reviewer: *none, tester: *none }\ninput: { a: &a [1], b: *a }';
  const { agents, input } = read(text);
  expect(agents).toEqual({ developer: { script: [] }, reviewer: { script: [] }, tester: { script: [] } });
  expect(input).toEqual({ a: [1], b: [1] });
});

it('a model is made by whoever can, and without such a one the file is still read', () => {
  const text = tight('').replace(
    'developer: { script: [] }',
    'developer: { model: small, baseUrl: "http://127.0.0.1:1/v1", output: text }',
  );
  const { agents } = read(text);
  expect(() => agentsOf(agents, { directory: '.' })).toThrow(/agents.developer.model/);
  const made: unknown[] = [];
  const { developer } = agentsOf(agents, {
    directory: '.',
    makeModelAgent: (name, description) => {
      made.push([name, description]);
      const { reviewer } = agentsOf({ reviewer: { script: [] } }, { directory: '.' });
      if (!reviewer) throw new Error('there is one');
      return reviewer;
    },
  });
  expect(developer).toBeDefined();
  expect(made).toEqual([['developer', { model: 'small', baseUrl: 'http://127.0.0.1:1/v1', output: 'text' }]]);
});

it('a file can say of a model what the model agent takes, and no more', () => {
  const { $defs } = workflowSchema() as { $defs: { model: { properties: JsonObject } } };
  const ofFiles = Object.keys($defs.model.properties).filter((name) => !ROLE_OPTIONS.includes(name));
  expect(ofFiles.toSorted()).toEqual(Object.keys(modelDescription.shape).toSorted());
});
