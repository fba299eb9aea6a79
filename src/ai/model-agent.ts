import type { LanguageModel } from 'ai';
import {
  type Agent,
  type AgentOptions,
  type AgentRequest,
  type Answer,
  agent,
  answer,
  isRuntimeError,
} from '../index.ts';
import { callModel, type Written } from './model-call.ts';
import { failureOfCall } from './model-errors.ts';
import { checkOptions, type ModelOptions } from './model-options.ts';
import { type Form, formOf, readAnswer, schemaOf, Unusable } from './model-output.ts';

/** A model that has not answered after so long is not waited for. */
const TIMEOUT_MS = 10 * 60_000;

/**
 * Makes an agent of a model: any of the AI SDK. What it used is in its answer. An answer that does not fit is a failed attempt; the
 * next one is told what was wrong with it. The SDK's own retries are off: those of the runtime count, and are in the log.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const modelAgent = <Input = unknown, Output = never>(
  options: ModelOptions<Input>,
): Agent<Input, Output> => {
  checkOptions(options);
  const form = formOf(options.output ?? 'text');
  return modelAgentWith({ ...options, model: async () => options.model }, form);
};

/** As above, for a model that is made by the first call. */
export const modelAgentWith = <Input, Output>(
  options: Omit<ModelOptions<Input>, 'model'> & { readonly model: () => Promise<LanguageModel> },
  form: Form,
): Agent<Input, Output> => {
  const run = async (request: AgentRequest<Input>): Promise<Answer> => {
    request.signal.throwIfAborted();
    const model = await options.model();
    try {
      const written = await callModel({ ...options, model }, form, request);
      return answer(outputOf(form, written), { usage: written.usage });
    } catch (error) {
      if (request.signal.aborted || isRuntimeError(error)) throw error;
      throw failureOfCall(error, { ...namesOf(model), apiKeyEnv: options.apiKeyEnv, nowMs: Date.now() });
    }
  };
  // What its answer holds is between its schema and the machine that calls it, as for commands.
  return agent(run as unknown as (request: AgentRequest<Input>) => Promise<Output>, {
    ...agentOptions(options),
    schema: schemaOf(form),
  });
};

const agentOptions = ({
  timeoutMs = TIMEOUT_MS,
  concurrency,
  quarantine,
}: Omit<AgentOptions, 'schema'>): AgentOptions => ({
  timeoutMs,
  ...(concurrency !== undefined && { concurrency }),
  ...(quarantine !== undefined && { quarantine }),
});

const outputOf = (form: Form, { text, reason }: Written): unknown => {
  if (reason === 'length')
    return new Unusable(
      'the answer was cut off at the limit of tokens: answer in fewer words, or raise maxOutputTokens',
    );
  if (reason === 'content-filter') return new Unusable('the provider withheld the answer (content filter)');
  return readAnswer(form, text);
};

const namesOf = (model: LanguageModel): { readonly model: string; readonly provider: string } =>
  typeof model === 'string'
    ? { model, provider: 'the gateway of the AI SDK' }
    : { model: model.modelId, provider: model.provider };
