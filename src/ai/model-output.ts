import { z } from 'zod';
import type { JsonObject, StandardSchema } from '../index.ts';
import { type ModelOutput, refuse } from './model-options.ts';

/** An answer that is none: with what is wrong with it, for the next attempt. */
export class Unusable {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

/** What reviewers of gates and tight loops answer. */
const review = z.object({
  passed: z.boolean().describe('whether the work may be taken as it is'),
  issues: z
    .array(
      z.object({
        severity: z.enum(['low', 'medium', 'high', 'critical']),
        category: z.string(),
        description: z.string().describe('what is wrong, in words that stay the same if it is found again'),
        file: z.string().optional(),
        line: z.number().int().optional(),
      }),
    )
    .describe('every fault that was found; none if it passed'),
});

/** The form that is asked for: null for text. */
export type Form = {
  readonly schema: StandardSchema;
  /** As the SDK is given it: the schema itself, or a JSON Schema. */
  readonly given: { readonly standard: StandardSchema } | { readonly json: JsonObject };
} | null;

/** @throws {RuntimeError} BAD_OPTION */
export const formOf = (output: ModelOutput): Form => {
  if (output === 'text') return null;
  if (output === 'review') return { schema: review, given: { standard: review } };
  if (isStandard(output)) return { schema: output, given: { standard: output } };
  try {
    return { schema: z.fromJSONSchema(output), given: { json: output } };
  } catch (error) {
    return refuse(
      'output',
      `a JSON Schema that cannot be used (${error instanceof Error ? error.message : String(error)})`,
      'a JSON Schema of types, properties, items, enum and the like',
    );
  }
};

const isStandard = (output: StandardSchema | JsonObject): output is StandardSchema => '~standard' in output;

/** The schema of the agent: it also refuses what never was an answer, in words of its own. */
export const schemaOf = (form: Form): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'loopwright',
    validate: (value) => {
      if (value instanceof Unusable) return { issues: [{ message: value.problem }] };
      return form ? form.schema['~standard'].validate(value) : { value };
    },
  },
});

const PROBLEM_LENGTH_MAX = 200;

/** What the model wrote, as the form asks for it. Some put a fence of Markdown around JSON. */
export const readAnswer = (form: Form, text: string): unknown => {
  if (text.trim() === '') return new Unusable('the answer is empty');
  if (!form) return { text };
  const [, fenced = text] = /^\s*```(?:json)?[ \t]*\n([^]*?)\n?```\s*$/.exec(text) ?? [];
  try {
    return JSON.parse(fenced);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return new Unusable(
      `the answer is not JSON (${why}); it begins with: ${text.trim().slice(0, PROBLEM_LENGTH_MAX).toWellFormed()}`,
    );
  }
};
