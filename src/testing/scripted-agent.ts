import type { AgentFunction, AgentRequest, Answer, Json } from '../index.ts';

/** What a scripted agent does with a call: answers with a value, throws an error, or does what a function says. */
export type Line<Input, Output> = Output | Error | AgentFunction<Input, Output>;

/** An agent that answers by a script, and remembers what it was asked. */
export interface ScriptedAgent<Input, Output> extends AgentFunction<Input, Output> {
  /** Every request that it was given, oldest first. */
  readonly requests: readonly AgentRequest<Input>[];
}

/**
 * An agent that answers its calls with these lines, one after the other. The same call made again (after a restart) gets the same
 * line: by its idempotency key.
 *
 * @throws in a call for which the script has no line left, so that a test sees what was not foreseen
 */
export const scriptedAgent = <Input = unknown, Output = Json | Answer<Json>>(
  ...lines: readonly Line<Input, Output>[]
): ScriptedAgent<Input, Output> => {
  const requests: AgentRequest<Input>[] = [];
  const given = new Map<string, number>();
  const answer = (request: AgentRequest<Input>): Output | PromiseLike<Output> => {
    requests.push(request);
    const index = given.get(request.idempotencyKey) ?? given.size;
    given.set(request.idempotencyKey, index);
    if (index >= lines.length)
      throw new Error(`The script has ${lines.length} lines, and this is call ${index + 1}.`);
    const line = lines[index] as Line<Input, Output>;
    if (line instanceof Error) throw line;
    return isFunction(line) ? line(request) : line;
  };
  return Object.assign(answer, { requests });
};

const isFunction = <Input, Output>(line: Line<Input, Output>): line is AgentFunction<Input, Output> =>
  typeof line === 'function';
