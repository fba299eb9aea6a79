import { randomUUID } from 'node:crypto';
import { RuntimeError } from '../errors.ts';
import { createRedactor } from '../events/redact.ts';
import type { AgentFunction, AgentRequest } from './agent.ts';
import { LINK } from './call-link.ts';
import { environmentFor, inputText } from './command-input.ts';
import type { CommandSpec } from './command-options.ts';
import { createOutputReader } from './command-output.ts';
import { type ProcessEnd, runProcess } from './command-process.ts';
import { createResultsReader } from './command-results.ts';

/**
 * An agent's function that starts the command anew for each call, gives it the request on standard input and takes its answer
 * from standard output. Nothing of it is left running when the call is over, however it was ended.
 */
export const commandFunction =
  <Input, Output>(command: CommandSpec): AgentFunction<Input, Output> =>
  async (request) => {
    const { signal, progress } = request;
    signal.throwIfAborted();
    const start = randomUUID();
    const link = request[LINK];
    const redact = link?.redact ?? createRedactor({}).text;
    const reader = await readerFor(command, { progress, redact });
    const running = runProcess({
      command,
      env: environmentFor(command, request, { log: link?.log ?? 'none', start }),
      start,
      // What machines send is JSON: the door has let it through.
      stdin: inputText(command, request as never),
      take: (piece) => reader.take(piece),
      signal,
      redact,
    });
    link?.hold(running.then(({ gone }) => gone));
    const end = await running;
    if (signal.aborted) {
      await end.gone;
      throw signal.reason;
    }
    if (end.fault !== undefined) throw end.fault;
    // Which form its answer has is between the command and the machine that calls it: the types say what was agreed.
    return (await reader.finish({ ...end, exitCode: answeredWith(command, end) })) as Output;
  };

interface Reader {
  take(piece: Buffer): void;
  finish(end: { readonly exitCode: number; readonly stderr: string }): unknown;
}

interface Reading {
  readonly progress: AgentRequest<unknown>['progress'];
  readonly redact: (text: string) => string;
}

const readerFor = (command: CommandSpec, { progress, redact }: Reading): Reader | Promise<Reader> => {
  if (command.results !== undefined) return createResultsReader(command, redact);
  const reader = createOutputReader(command, progress);
  return { take: (piece) => reader.take(piece), finish: ({ exitCode }) => reader.finish(exitCode) };
};

/** @throws {RuntimeError} AGENT_EXITED */
const answeredWith = ({ file, exitCodes }: CommandSpec, { exitCode, signal, stderr }: ProcessEnd): number => {
  const isAnswer =
    exitCode !== null &&
    (exitCodes === 'any' || (exitCodes === 'zero' ? exitCode === 0 : exitCodes.includes(exitCode)));
  if (!isAnswer) throw new RuntimeError('AGENT_EXITED', { file, exitCode, signal, stderr });
  return exitCode;
};
