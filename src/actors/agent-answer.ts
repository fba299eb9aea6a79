import { RuntimeError } from '../errors.ts';
import { isAnswer } from '../events/answer.ts';
import { failureOf } from '../events/failure.ts';
import type { Json } from '../events/json.ts';
import type { OpenCall } from '../events/turn.ts';
import { AGENT } from '../machines/agent-machine.ts';
import type { Attempt, Envelope } from '../machines/agent-work.ts';
import type { Agent, AgentRequest } from './agent.ts';
import { checkAgainst, type StandardSchema } from './standard-schema.ts';

type WorkFields = Pick<AgentRequest<never>, 'input' | 'feedback' | 'history' | 'context' | 'failure'>;

/** A call of an agent actor carries a whole request; one of a user's machine just an input. */
const isWork = ({ machine }: Pick<OpenCall, 'machine'>): boolean => machine === AGENT;

/** What an agent is given to work on. */
export const workOf = (call: OpenCall, input: Json): WorkFields => {
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
export const answerOf = async (call: OpenCall, agent: Agent, returned: unknown): Promise<unknown> => {
  const { schema } = agent.options;
  const answer = isAnswer(returned) ? returned.plain() : { output: returned ?? null };
  const checked = schema ? await check(schema, answer.output) : { value: answer.output };
  if ('problem' in checked) {
    if (!isWork(call))
      throw new RuntimeError('ANSWER_REFUSED', { agent: call.agent, problem: checked.problem });
    const { usage } = answer;
    return { output: null, refused: checked.problem, ...(usage && { usage }) } satisfies Envelope;
  }
  if (isWork(call) || isAnswer(returned)) return { ...answer, output: checked.value };
  return checked.value;
};

/** A schema that fails has not let the answer in, which was paid for all the same. */
const check = async (schema: StandardSchema, output: unknown): ReturnType<typeof checkAgainst> => {
  try {
    return await checkAgainst(schema, output);
  } catch (error) {
    return { problem: `the schema failed: ${failureOf(error).message}` };
  }
};
