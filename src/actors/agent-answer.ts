import { RuntimeError } from '../errors.ts';
import { isAnswer } from '../events/answer.ts';
import { blobRefsIn, isBlobRef } from '../events/blob.ts';
import type { Admitted } from '../events/door.ts';
import { canonicalJson, type Encoded } from '../events/encode.ts';
import { failureOf } from '../events/failure.ts';
import { problemsOfReport } from '../events/feedback.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { checkAgainst, type StandardSchema } from '../events/standard-schema.ts';
import type { OpenCall } from '../events/turn.ts';
import { AGENT } from '../machines/agent-machine.ts';
import type { Attempt, Envelope } from '../machines/agent-work.ts';
import type { Agent, AgentRequest } from './agent.ts';

type WorkFields = Pick<AgentRequest<never>, 'input' | 'feedback' | 'history' | 'context' | 'failure'>;

/** A call of an agent actor carries a whole request; one of a user's machine just an input. */
const isWork = ({ machine }: Pick<OpenCall, 'machine'>): boolean => machine === AGENT;

/** What an agent is given to work on. */
export const workOf = (call: Pick<OpenCall, 'machine'>, input: Json): WorkFields => {
  // The types of both sides are checked where they are registered; the machine of agents makes nothing but attempts.
  if (!isWork(call))
    return { input: input as never, feedback: [], history: [], context: null, failure: null };
  const { work, failure } = input as unknown as Attempt;
  return { ...work, input: work.input as never, failure };
};

/**
 * What the log keeps of what an agent returned. An agent actor gets it in an envelope, and one that does not fit the agent's
 * schema with what is wrong with it, since it was paid for. A user's machine gets the output, or the failure.
 *
 * @throws {RuntimeError} ANSWER_REFUSED
 */
export const answerOf = async (
  call: Pick<OpenCall, 'machine' | 'agent'>,
  agent: Agent,
  returned: unknown,
): Promise<unknown> => {
  const { schema } = agent.options;
  const answer = isAnswer(returned) ? returned.plain() : { output: returned ?? null };
  const checked = await checkedAnswer(answer, schema);
  if ('problem' in checked) {
    if (!isWork(call))
      throw new RuntimeError('ANSWER_REFUSED', { agent: call.agent, problem: checked.problem });
    const { usage } = answer;
    return { output: null, refused: checked.problem, ...(usage && { usage }) } satisfies Envelope;
  }
  if (isWork(call) || isAnswer(returned)) return { ...answer, output: checked.value };
  return checked.value;
};

/** An agent that waits for others, or has found faults in what it was given, has no output yet that could fit its schema. */
const checkedAnswer = async (
  {
    output,
    feedback,
    issues = [],
  }: { readonly output: unknown; readonly feedback?: unknown; readonly issues?: readonly unknown[] },
  schema: StandardSchema | undefined,
): ReturnType<typeof checkAgainst> => {
  const problems = problemsOfReport(feedback);
  if (problems.length > 0) return { problem: problems.join('; ') };
  const isReport = output === null && (feedback !== undefined || issues.length > 0);
  return schema && !isReport ? check(schema, output) : { value: output };
};

/** A schema that fails has not let the answer in, which was paid for all the same. */
const check = async (schema: StandardSchema, output: unknown): ReturnType<typeof checkAgainst> => {
  try {
    return await checkAgainst(schema, output);
  } catch (error) {
    return { problem: `the schema failed: ${failureOf(error).message}` };
  }
};

/** How much of a large text a machine can read, from its beginning and from its end. */
const EXCERPT_LENGTH = 4_000;

/** Where agents write what machines read. */
const TEXTS = ['summary', 'implementation', 'text'];

/** A machine sees a reference in place of a large text: with it comes what it needs to know what the text says. */
export const withExcerpt = (call: Pick<OpenCall, 'machine'>, { value, json, blobs }: Admitted): Encoded => {
  const { output = null }: JsonObject = isWork(call) && isJsonObject(value) ? value : {};
  const texts = isJsonObject(output) && !isBlobRef(output) ? TEXTS.map((name) => output[name]) : [output];
  const [hash = ''] = texts.flatMap((each) => (isBlobRef(each) ? blobRefsIn(each) : []));
  const text = blobs.get(hash);
  if (text === undefined || !isJsonObject(value)) return { value, json };
  const whole = { ...value, excerpt: excerptOf(text) };
  return { value: whole, json: canonicalJson(whole) };
};

const excerptOf = (text: string): string =>
  text.length <= 2 * EXCERPT_LENGTH
    ? text
    : `${text.slice(0, EXCERPT_LENGTH)}\n…\n${text.slice(-EXCERPT_LENGTH)}`.toWellFormed();
