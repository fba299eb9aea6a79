import { z } from 'zod';
import { type Agent, type JsonObject, RuntimeError } from '../index.ts';
import { loadProvider } from './load-packages.ts';
import { modelAgentWith } from './model-agent.ts';
import { refuse } from './model-options.ts';
import { formOf } from './model-output.ts';

const usd = z.number().nonnegative();

/** A model as plain data: what a workflow file says of it. Keys are never in it, only the name of the variable that holds one. */
export const modelDescription = z.strictObject({
  model: z.string().min(1).describe('the name of the model, as its server knows it'),
  baseUrl: z.url({ protocol: /^https?$/ }).describe('where the server is: https://api.example.com/v1'),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional()
    .describe('the variable of the environment that holds the key'),
  provider: z.string().min(1).optional().describe('how messages name the server'),
  system: z.string().optional(),
  prompt: z.string().optional().describe('comes before the input, the feedback and the history'),
  output: z
    .union([z.enum(['text', 'review']), z.record(z.string(), z.json())])
    .optional()
    .describe('"text", "review" ({ passed, issues }) or a JSON Schema'),
  structuredOutputs: z
    .boolean()
    .optional()
    .describe('false if the server knows no response format of JSON Schema'),
  temperature: z.number().min(0).max(2).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  stream: z.boolean().optional(),
  price: z.strictObject({ inputUsd: usd, outputUsd: usd }).optional().describe('what a million tokens cost'),
  timeoutMs: z.number().positive().optional(),
  concurrency: z.int().min(1).optional(),
});

export type ModelDescription = Readonly<
  Omit<z.infer<typeof modelDescription>, 'output'> & { output?: 'text' | 'review' | JsonObject }
>;

/**
 * Makes an agent of a model on a server that speaks the protocol of OpenAI. It needs the packages `ai` and
 * `@ai-sdk/openai-compatible`, which are loaded by the first call.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const modelAgentFromDescription = <Input = unknown, Output = never>(
  given: ModelDescription,
): Agent<Input, Output> => {
  const {
    model,
    baseUrl,
    provider = new URL(checked(given).baseUrl).host,
    structuredOutputs = true,
    output,
    ...rest
  } = checked(given);
  const form = formOf(output ?? 'text');
  // What is absent stays absent.
  const options = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return modelAgentWith(
    {
      ...options,
      model: async () => {
        const apiKey = keyIn(given.apiKeyEnv, { model, provider });
        const { createOpenAICompatible } = await loadProvider();
        return createOpenAICompatible({
          name: provider,
          baseURL: baseUrl,
          includeUsage: true,
          supportsStructuredOutputs: structuredOutputs,
          ...(apiKey !== undefined && { apiKey }),
        })(model);
      },
    },
    form,
  );
};

const checked = (given: ModelDescription): ModelDescription => {
  const result = modelDescription.safeParse(given);
  // Checked as it is: the check changes nothing.
  if (result.success) return given;
  const [issue] = result.error.issues;
  return refuse(
    `model.${(issue?.path ?? []).map(String).join('.')}`,
    'wrong',
    issue?.message ?? 'what is documented',
  );
};

const keyIn = (
  variable: string | undefined,
  { model, provider }: { readonly model: string; readonly provider: string },
): string | undefined => {
  if (variable === undefined) return undefined;
  const key = process.env[variable];
  if (key !== undefined && key !== '') return key;
  const fields = { model, provider, status: null, variable, problem: 'the variable is not set' };
  throw Object.assign(new RuntimeError('MODEL_KEY_REFUSED', fields), { final: true });
};
