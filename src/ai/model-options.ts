import type { LanguageModel, ModelMessage } from 'ai';
import {
  type AgentOptions,
  type AgentRequest,
  type JsonObject,
  RuntimeError,
  type StandardSchema,
} from '../index.ts';

/** What a million tokens cost. */
export interface Price {
  readonly inputUsd: number;
  readonly outputUsd: number;
}

/** A text, or what makes one of the request. */
type TextOf<Input> = string | ((request: AgentRequest<Input>) => string);

/**
 * What the answer must be. `text` (default): the output is { text }. `review`: { passed, issues }, for reviewers. A schema: what fits
 * it, as a Standard Schema (zod, valibot, arktype) or as a JSON Schema.
 */
export type ModelOutput = 'text' | 'review' | StandardSchema | JsonObject;

/** How a model is called, and what it is told. */
export interface ModelOptions<Input> extends Omit<AgentOptions, 'schema'> {
  /** Any language model of the AI SDK: `openai('gpt-…')`, `anthropic('claude-…')`, one of a provider that speaks the same protocol. */
  readonly model: LanguageModel;
  readonly system?: TextOf<Input>;
  /**
   * A text: it comes first, then the input, what was said about earlier work, what was done before, and why the last attempt failed.
   * A function: what it returns is all that the model is given.
   */
  readonly prompt?: TextOf<Input>;
  /** In place of a prompt: the messages themselves. */
  readonly messages?: (request: AgentRequest<Input>) => ModelMessage[];
  readonly output?: ModelOutput;
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  /** Takes the answer piece by piece, and tells of it as progress; false unless set. */
  readonly stream?: boolean;
  /** What only this provider understands. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
  /** With it, what a call cost is recorded and counts against budgets. */
  readonly price?: Price;
  /** The variable that holds the provider's key: named if the key is refused, and its value is never in a message. */
  readonly apiKeyEnv?: string;
}

type Check = readonly [isGood: (value: unknown) => boolean, expected: string];

const isAmount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isTextOrFunction = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'function';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const CHECKS: Readonly<Record<string, Check>> = {
  model: [
    (value) => (typeof value === 'string' && value !== '') || isObject(value),
    'a language model of the AI SDK',
  ],
  system: [isTextOrFunction, 'a text, or a function that makes one of the request'],
  prompt: [isTextOrFunction, 'a text, or a function that makes one of the request'],
  messages: [(value) => typeof value === 'function', 'a function that makes messages of the request'],
  output: [
    (value) => value === 'text' || value === 'review' || isObject(value) || typeof value === 'function',
    '"text", "review" or a schema',
  ],
  temperature: [isAmount, 'a number from 0'],
  maxOutputTokens: [(value) => Number.isSafeInteger(value) && Number(value) >= 1, 'an integer from 1'],
  stream: [(value) => typeof value === 'boolean', 'true or false'],
  providerOptions: [isObject, 'an object by the name of the provider'],
  price: [
    (value) =>
      isObject(value) &&
      'inputUsd' in value &&
      isAmount(value.inputUsd) &&
      'outputUsd' in value &&
      isAmount(value.outputUsd),
    '{ inputUsd, outputUsd }: what a million tokens cost',
  ],
  apiKeyEnv: [(value) => typeof value === 'string' && value !== '', 'the name of a variable'],
  timeoutMs: [() => true, ''],
  concurrency: [() => true, ''],
  quarantine: [() => true, ''],
};

/** @throws {RuntimeError} BAD_OPTION */
export const checkOptions = (options: object): void => {
  for (const [option, value] of Object.entries(options)) {
    const check = Object.hasOwn(CHECKS, option) ? CHECKS[option] : undefined;
    if (!check) refuse(option, 'unknown', `one of these names: ${Object.keys(CHECKS).join(', ')}`);
    else if (value !== undefined && !check[0](value))
      refuse(option, `a ${typeof value} that it cannot be`, check[1]);
  }
  if (!('model' in options)) refuse('model', 'missing', 'a language model of the AI SDK');
  if ('messages' in options && 'prompt' in options)
    refuse('messages', 'given beside "prompt"', 'one of the two');
};

export const refuse = (option: string, found: string, expected: string): never => {
  throw new RuntimeError('BAD_OPTION', { option, found, expected });
};
