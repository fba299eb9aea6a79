import { z } from 'zod';
import { count, json, levels, milliseconds, option, questionOption, roleShape, text } from './form-parts.ts';
import { forms } from './form-registry.ts';

const shared = {
  concurrency: option(count, 'How many calls may run at once; 8 unless set.'),
  timeoutMs: option(z.number().gt(0), 'How long one call may run, in milliseconds; 30 minutes unless set.'),
  quarantine: option(
    z.strictObject({ failures: count, forMs: milliseconds }),
    'After how many failures in a row it is not called for a while.',
  ),
  ...roleShape,
};

const command = z
  .strictObject({
    command: z
      .array(text)
      .min(1)
      .describe(
        'The program and its arguments, each an item. A path is relative to this file. There is no shell: nothing is expanded.',
      ),
    cwd: option(text.min(1), 'Where it runs; the folder of this file unless set, which it is relative to.'),
    env: option(
      z.record(text, text),
      'Variables of its environment, as they are. No secrets: they would be in the log.',
    ),
    passEnv: option(z.array(text.min(1)), 'Names of variables that it may see of the environment.'),
    input: option(z.enum(['json', 'text']), 'What it is given on standard input; `json` unless set.'),
    output: option(
      z.enum(['json', 'json-lines', 'text']),
      'What it writes to standard output; `json` unless set.',
    ),
    exitCodes: option(
      z.union([z.enum(['zero', 'any']), z.array(z.int().min(0).max(255))]),
      'Exit codes with which it has answered.',
    ),
    outputBytes: option(count, 'How much it may write; 10 MiB unless set.'),
    graceMs: option(milliseconds, 'How long it has between SIGTERM and SIGKILL; 5 seconds unless set.'),
    results: option(
      z.enum(['junit', 'vitest', 'jest']),
      'Of which kind its test results are. Its answer is then made from them.',
    ),
    resultsFile: option(
      text.min(1),
      'Where it writes them: inside of its `cwd`. On its standard output unless set.',
    ),
    allowNoTests: option(z.boolean(), 'Whether a run without a single test has passed; false unless set.'),
    ...shared,
  })
  .register(forms, { id: 'command', description: 'A program that is started for each call.' });

const price = z.strictObject({ inputUsd: z.number().min(0), outputUsd: z.number().min(0) });

const model = z
  .strictObject({
    model: text.min(1).describe('The name of the model, as its provider knows it.'),
    baseUrl: text
      .regex(/^https?:\/\/\S+$/)
      .describe('Where its provider answers, an API that is compatible with that of OpenAI: https://…'),
    apiKeyEnv: option(
      text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
      'The name of the variable that has the key. The key itself is never in a file.',
    ),
    provider: option(text.min(1), 'What its provider is called.'),
    system: option(text, 'What it is told before all else.'),
    prompt: option(text, 'What it is told before its input.'),
    output: option(
      z.union([z.enum(['text', 'review']), z.record(text, json)]),
      'What it answers: a text, a review, or what fits a JSON Schema.',
    ),
    structuredOutputs: option(
      z.boolean(),
      'Whether its provider takes a JSON Schema for the answer; true unless set. It is told the schema in words as well.',
    ),
    temperature: option(z.number().min(0).max(2), 'How freely it chooses its words.'),
    maxOutputTokens: option(count, 'How long its answer may be.'),
    stream: option(z.boolean(), 'Whether its answer is shown while it is made.'),
    price: option(price, 'What a million tokens cost.'),
    timeoutMs: shared.timeoutMs,
    concurrency: shared.concurrency,
    ...roleShape,
  })
  .register(forms, { id: 'model', description: 'A language model.' });

const person = z
  .strictObject({
    person: z.strictObject({
      text: text.min(1).describe('What the person is asked.'),
      options: option(z.array(questionOption), 'What the person may choose.'),
      isFree: option(z.boolean(), 'Whether the answer may be anything else; true without options.'),
      levels: option(levels, 'Who is asked, one after the other, and for how long.'),
    }),
    ...roleShape,
  })
  .register(forms, { id: 'person', description: 'A person: each request is a question.' });

const script = z
  .strictObject({
    script: z
      .array(json)
      .describe(
        'Its answers, one for each call: any value; { loopwright: 1, output, issues, usage, … } to say more; { fail: "why" } to fail.',
      ),
    ...shared,
  })
  .register(forms, {
    id: 'script',
    description: 'Answers that are known before: for demonstrations and tests.',
  });

/** The kinds of agents by the key that tells them. */
const AGENT_FORMS = { command, model, person, script } as const;

export const agentForm = z.union(Object.values(AGENT_FORMS));
