import { asText, inputInWords } from '../events/input-in-words.ts';
import type { Json } from '../events/json.ts';
import type { AgentRequest } from './agent.ts';
import type { CallLink } from './call-link.ts';
import { type CommandSpec, SEEN_BY_ALL } from './command-options.ts';
import { TAGS } from './processes.ts';

type Request = AgentRequest<Json>;

/** What the command reads from standard input. All that comes from a run goes this way: no argument is ever made of it. */
export const inputText = ({ input: form }: Pick<CommandSpec, 'input'>, request: Request): string => {
  if (form === 'text') return plainText(request);
  const { callId, idempotencyKey, attempt, run, actor, input, feedback, history, context, failure } = request;
  const document = {
    loopwright: 1,
    callId,
    idempotencyKey,
    attempt,
    run,
    actor,
    input,
    feedback,
    history,
    context,
    failure,
  };
  return `${JSON.stringify(document)}\n`;
};

const plainText = ({ input, feedback }: Request): string => {
  const sections = feedback.map((item, index) => `\nFeedback ${index + 1}:\n\n${asText(item)}\n`);
  return `${inputInWords(input)}\n${sections.join('')}`;
};

/** For people who look at processes. The key comes from a machine, and an environment has limits. */
const CALL_LENGTH_MAX = 1_000;

/** All that the command sees of an environment: what everyone may see, what it was allowed, what it was given, and its tags. */
export const environmentFor = (
  { env, passEnv }: Pick<CommandSpec, 'env' | 'passEnv'>,
  { idempotencyKey }: Pick<Request, 'idempotencyKey'>,
  { log, start }: Pick<CallLink, 'log'> & { readonly start: string },
): Readonly<Record<string, string>> => {
  const seen = [...SEEN_BY_ALL, ...passEnv].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(seen),
    ...env,
    [TAGS.log]: log,
    [TAGS.call]: idempotencyKey.replaceAll('\0', '').slice(0, CALL_LENGTH_MAX),
    [TAGS.start]: start,
  };
};
