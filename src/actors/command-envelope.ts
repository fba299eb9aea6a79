import type { AnswerDetails } from '../events/answer.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';

/** Whether a command says more than its output: see schema/agent-answer.schema.json. */
export const isEnvelope = (value: Json): value is JsonObject =>
  isJsonObject(value) && value['loopwright'] === 1;

const isAmount = (value: Json | undefined): boolean => typeof value === 'number' && value >= 0;
const isCount = (value: Json | undefined): boolean => Number.isSafeInteger(value) && isAmount(value);

const USAGE: Readonly<Record<string, readonly [(value: Json | undefined) => boolean, string]>> = {
  inputTokens: [isCount, 'an integer from 0'],
  outputTokens: [isCount, 'an integer from 0'],
  costUsd: [isAmount, 'a number from 0'],
};

const MEMBERS = ['loopwright', 'output', 'issues', 'usage', 'artifacts', 'feedback'];

export interface EnvelopeDetails {
  /** What is wrong with it; then nothing else of it counts. */
  readonly problem?: string;
  readonly output: Json;
  readonly details: AnswerDetails;
}

/** What an envelope holds, or the first thing that is wrong with it. */
export const envelopeDetails = (envelope: JsonObject): EnvelopeDetails => {
  const problem = problemOf(envelope);
  if (problem !== undefined) return { problem, output: null, details: {} };
  const { loopwright: _version, output = null, ...details } = envelope;
  return { output, details };
};

const problemOf = (envelope: JsonObject): string | undefined => {
  const { issues, usage, artifacts } = envelope;
  const unknown = Object.keys(envelope).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined)
    return `its answer has a member "${unknown}"; known are ${MEMBERS.join(', ')} (put others into "output")`;
  if (!Object.hasOwn(envelope, 'output')) return 'its answer has no "output"';
  if (issues !== undefined && !(Array.isArray(issues) && issues.every(isJsonObject)))
    return '"issues" of its answer is not a list of objects';
  if (artifacts !== undefined && !isJsonObject(artifacts))
    return '"artifacts" of its answer is not an object';
  return usage === undefined ? undefined : usageProblem(usage);
};

const usageProblem = (usage: Json): string | undefined => {
  if (!isJsonObject(usage)) return '"usage" of its answer is not an object';
  for (const [name, value] of Object.entries(usage)) {
    const check = Object.hasOwn(USAGE, name) ? USAGE[name] : undefined;
    if (!check)
      return `"usage" of its answer has a member "${name}"; known are ${Object.keys(USAGE).join(', ')}`;
    const [isGood, expected] = check;
    if (!isGood(value)) return `"usage.${name}" of its answer is not ${expected}`;
  }
  return undefined;
};
