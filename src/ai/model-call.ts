import type { FinishReason, LanguageModelUsage, ModelMessage } from 'ai';
import type { AgentRequest, Usage } from '../index.ts';
import { loadSdk } from './load-packages.ts';
import type { ModelOptions, Price } from './model-options.ts';
import type { Form } from './model-output.ts';
import { renderRequest } from './render-request.ts';

type Sdk = typeof import('ai');

/** What a model wrote, and how it ended. */
export interface Written {
  readonly text: string;
  readonly reason: FinishReason | undefined;
  readonly usage: Usage;
}

/** Calls the model once, without retries of the SDK's own. Whatever goes wrong is thrown as the SDK throws it. */
export const callModel = async <Input>(
  options: ModelOptions<Input>,
  form: Form,
  request: AgentRequest<Input>,
): Promise<Written> => {
  const sdk = await loadSdk();
  const settings = await settingsOf(sdk, options, { form, request });
  const { text, reason, usage } = options.stream
    ? await streamed(sdk, settings, request)
    : await generated(sdk, settings);
  return { text, reason, usage: usageOf(usage, options.price) };
};

interface Raw {
  readonly text: string;
  readonly reason: FinishReason | undefined;
  readonly usage: LanguageModelUsage | undefined;
}

type Settings = Parameters<Sdk['generateText']>[0];

const settingsOf = async <Input>(
  sdk: Sdk,
  options: ModelOptions<Input>,
  { form, request }: { readonly form: Form; readonly request: AgentRequest<Input> },
): Promise<Settings> => {
  const { model, temperature, maxOutputTokens, providerOptions } = options;
  const schema = form && (await schemaFor(sdk, form));
  const system = [textOf(options.system, request), schema && instruction(schema.json)]
    .filter(Boolean)
    .join('\n\n');
  return {
    model,
    ...(system !== '' && { system }),
    ...promptFor(options, request),
    maxRetries: 0,
    abortSignal: request.signal,
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    // The SDK's type has lists that can be changed; nobody changes these.
    ...(providerOptions !== undefined && { providerOptions: providerOptions as never }),
    ...(schema && { output: sdk.Output.object({ schema: schema.given }) }),
  };
};

const textOf = <Input>(text: ModelOptions<Input>['system'], request: AgentRequest<Input>): string =>
  typeof text === 'function' ? text(request) : (text ?? '');

const promptFor = <Input>(
  { prompt, messages }: ModelOptions<Input>,
  request: AgentRequest<Input>,
): { readonly prompt: string } | { readonly messages: ModelMessage[] } => {
  if (messages) return { messages: messages(request) };
  return { prompt: typeof prompt === 'function' ? prompt(request) : renderRequest(request, prompt) };
};

/** The schema as the SDK takes it, and as a model can read it. */
const schemaFor = async (sdk: Sdk, { given }: NonNullable<Form>) => {
  // Both are JSON Schema, or Standard Schema; the SDK's types ask for more than it needs.
  const taken = 'json' in given ? sdk.jsonSchema(given.json) : (given.standard as never);
  return { given: taken, json: await sdk.asSchema(taken).jsonSchema };
};

/** Not every provider passes the schema on. */
const instruction = (json: object): string =>
  `Answer with one JSON document and nothing else. It must fit this JSON Schema:\n${JSON.stringify(json)}`;

const generated = async (sdk: Sdk, settings: Settings): Promise<Raw> => {
  try {
    const { text, finishReason, totalUsage } = await sdk.generateText(settings);
    return { text, reason: finishReason, usage: totalUsage };
  } catch (error) {
    // What does not fit was paid for: it is looked at as any other answer.
    if (!sdk.NoObjectGeneratedError.isInstance(error)) throw error;
    return { text: error.text ?? '', reason: error.finishReason, usage: error.usage };
  }
};

const streamed = async (sdk: Sdk, settings: Settings, request: AgentRequest<unknown>): Promise<Raw> => {
  // Without a handler of ours the SDK writes errors to the console.
  const { fullStream } = sdk.streamText({ ...settings, onError: () => undefined });
  let raw: Raw = { text: '', reason: undefined, usage: undefined };
  let text = '';
  for await (const part of fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw request.signal.reason;
    if (part.type === 'text-delta') {
      text += part.text;
      request.progress({ characters: text.length });
    }
    if (part.type === 'finish') raw = { text, reason: part.finishReason, usage: part.totalUsage };
  }
  if (raw.reason === undefined)
    throw new Error(`The stream broke off after ${text.length} characters, without a word of why.`);
  return raw;
};

const TOKENS_IN_PRICE = 1_000_000;

const usageOf = (usage: LanguageModelUsage | undefined, price: Price | undefined): Usage => {
  const { inputTokens, outputTokens } = usage ?? {};
  const isKnown = inputTokens !== undefined || outputTokens !== undefined;
  const costUsd =
    price && ((inputTokens ?? 0) * price.inputUsd + (outputTokens ?? 0) * price.outputUsd) / TOKENS_IN_PRICE;
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(costUsd !== undefined && isKnown && { costUsd }),
  };
};
