import type { AgentFunction } from '../actors/agent.ts';
import { envelopeDetails, isEnvelope } from '../actors/command-envelope.ts';
import { RuntimeError } from '../errors.ts';
import { answer } from '../events/answer.ts';
import { isJsonObject, type Json } from '../events/json.ts';

/** How many lines of a script a run has used up before this process: what its log says of the agent's calls. */
export type UsedLines = (agent: string, run: string) => number;

/** An agent that answers line by line, anew in each run. The same call made again gets the same line. */
export const scriptAgent = (
  name: string,
  lines: readonly Json[],
  used: UsedLines = () => 0,
): AgentFunction<never, unknown> => {
  const runs = new Map<string, { readonly from: number; readonly calls: Map<string, number> }>();
  return ({ run, idempotencyKey }) => {
    const known = runs.get(run) ?? { from: used(name, run), calls: new Map<string, number>() };
    runs.set(run, known);
    const index = known.calls.get(idempotencyKey) ?? known.from + known.calls.size;
    known.calls.set(idempotencyKey, index);
    const line = lines[index];
    // No attempt will find another line.
    if (line === undefined)
      throw Object.assign(new RuntimeError('SCRIPT_ENDED', { agent: name, lines: lines.length }), {
        final: true,
      });
    const failure = failureIn(line);
    if (failure !== undefined) throw new RuntimeError('SCRIPTED_FAILURE', { agent: name, problem: failure });
    if (!isEnvelope(line)) return line;
    const { output, details } = envelopeDetails(line);
    return answer(output, details);
  };
};

const failureIn = (line: Json): string | undefined => {
  const fail = isJsonObject(line) && Object.keys(line).length === 1 ? line['fail'] : undefined;
  return typeof fail === 'string' ? fail : undefined;
};

/** What is wrong with a line, if something is. */
export const problemOfLine = (line: Json): string | undefined =>
  isEnvelope(line) ? envelopeDetails(line).problem : undefined;
