import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { workflowSchema } from '../../src/files/json-schema.ts';
import { LOOP_FORMS, type LoopName } from '../../src/files/loop-forms.ts';
import type { Json, JsonObject } from '../../src/index.ts';
import { problemsIn } from '../support/json-schema.ts';
import { rounds } from '../support/runtimes.ts';
import { anyChange, EXAMPLES, exampleText } from './examples.ts';

const published = JSON.parse(readFileSync('schema/workflow.schema.json', 'utf8')) as JsonObject;

it('the schema that is published is the one that files are read by', () => {
  expect(published, 'write it anew with scripts/write-schema.mjs').toEqual(workflowSchema());
});

it.each(EXAMPLES)('an editor has nothing against the example %s, and knows its schema', (name) => {
  const text = exampleText(name);
  expect(problemsIn(published, parse(text) as Json)).toEqual([]);
  expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../../schema/workflow.schema.json');
});

// Method: documents that are an example but for one or two changes. The control: both answers must come up.
it('an editor refuses what the reader refuses for its form, and nothing else', () => {
  const answers = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.constantFrom(...EXAMPLES),
      fc.array(anyChange, { minLength: 1, maxLength: 2 }),
      (name, changes) => {
        const example = parse(exampleText(name)) as Json;
        const document = changes.reduce((before, change) => change(before), example);
        const loop = (document as JsonObject | null)?.['loop'];
        const form =
          typeof loop === 'string' && Object.hasOwn(LOOP_FORMS, loop)
            ? LOOP_FORMS[loop as LoopName]
            : undefined;
        const isAccepted = form?.safeParse(document).success ?? false;
        expect(problemsIn(published, document).length === 0).toBe(isAccepted);
        answers[isAccepted ? 'accepted' : 'refused'] += 1;
      },
    ),
    { numRuns: rounds(150, 20_000) },
  );
  expect(Math.min(answers.accepted, answers.refused)).toBeGreaterThan(10);
});

/** Every member of every mapping that the schema knows. */
const membersIn = (schema: Json): readonly JsonObject[] => {
  if (Array.isArray(schema)) return schema.flatMap((each: Json) => membersIn(each));
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, ...rest } = schema as JsonObject;
  const own = typeof properties === 'object' ? Object.values(properties as JsonObject) : [];
  return [...(own as JsonObject[]), ...own.flatMap(membersIn), ...Object.values(rest).flatMap(membersIn)];
};

it('most of what an editor can complete is explained', () => {
  const members = membersIn(published);
  const explained = members.filter(
    (member) => 'description' in member || '$ref' in member || 'const' in member,
  );
  expect(explained.length / members.length).toBeGreaterThan(0.75);
});
