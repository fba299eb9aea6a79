import {
  type AgentFunction,
  type AgentRequest,
  type AnswerDetails,
  answer,
  type EventLog,
  type Json,
  type JsonObject,
  openLog,
  type RecordedCall,
  type RecordedWork,
  recordedCalls,
  type Workflow,
} from '../index.ts';

/** Which run it is whose agents are to be heard again. */
export interface RecordedRun {
  readonly run: string;
  /** The workflows that the run was made with, and those that they invoke. */
  readonly workflows: readonly Workflow[];
}

/** Answers as an agent did in a run that was recorded. */
export type RecordedAgent = AgentFunction<unknown, unknown>;

/**
 * Agents that answer as those of a recorded run did, by their names: whoever is given the same (input, feedback, history, context
 * and why the attempt before failed) says the same, fails where it failed, and in the same order if it was asked the same again.
 * A call that is made again after a restart gets the answer that it had.
 *
 * An agent throws if it is asked what it was never asked in that run, and says what is different.
 *
 * @throws {RuntimeError} UNKNOWN_RUN, LOG_NOT_FOUND; REPLAY_DIVERGED or MACHINE_MISSING if the workflows are not those of the run
 */
export const recordedAgents = async (
  log: EventLog | string,
  { run, workflows }: RecordedRun,
): Promise<Readonly<Record<string, RecordedAgent>>> => {
  const calls = await callsOf(log, { run, workflows });
  const names = [...new Set(calls.map(({ agent }) => agent))];
  return Object.fromEntries(names.map((name) => [name, speaking(name, run, calls)]));
};

/** One of them. It need not have been called in the run: then it throws whenever it is. */
export const recordedAgent = async (
  log: EventLog | string,
  { agent, ...recorded }: RecordedRun & { readonly agent: string },
): Promise<RecordedAgent> => speaking(agent, recorded.run, await callsOf(log, recorded));

const callsOf = async (
  log: EventLog | string,
  { run, workflows }: RecordedRun,
): Promise<readonly RecordedCall[]> => {
  if (typeof log !== 'string') return recordedCalls(log, { run, workflows });
  const opened = await openLog(log);
  try {
    return await recordedCalls(opened, { run, workflows });
  } finally {
    await opened.close();
  }
};

const speaking = (name: string, run: string, all: readonly RecordedCall[]): RecordedAgent => {
  const calls = all.filter(({ agent }) => agent === name);
  const keys = new Map(calls.map((call) => [call, keyOf(call.work, run)]));
  const used = new Set<RecordedCall>();
  const given = new Map<string, RecordedCall>();
  return (request) => {
    const work = workIn(request);
    const key = keyOf(work, request.run);
    const alike = calls.filter((call) => keys.get(call) === key);
    const call = given.get(request.idempotencyKey) ?? alike.find((each) => !used.has(each));
    if (!call) throw new Error(unknown({ name, run, work, calls, alike }));
    used.add(call);
    given.set(request.idempotencyKey, call);
    return said(call);
  };
};

/** How many passes a loop, or a story, may have in all is no part of the work. */
const workIn = ({ input, feedback, history, context, failure }: AgentRequest<unknown>): RecordedWork => {
  const plain = { input, feedback, history, context, failure } as unknown as RecordedWork;
  const copy = JSON.parse(JSON.stringify(plain)) as RecordedWork; // It came out of JSON.
  return isObject(copy.input) ? { ...copy, input: withoutBound(copy.input) } : copy;
};

/** The name of a feedback has the run and the time in it, which are others in every run. */
const FEEDBACK_NAME = /loop-\d{13}-(?=\d{4})/g;

const keyOf = (work: Json | readonly Json[] | RecordedWork, run: string): string =>
  JSON.stringify(ordered(work as Json))
    .replaceAll(FEEDBACK_NAME, 'loop-')
    .replaceAll(`${run}/loop-`, 'loop-');

const ordered = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key] ?? null)]));
};

const withoutBound = (input: JsonObject): JsonObject => {
  const { passesMax: _, ...work } = input;
  const { maxIterations: __, ...ofStory } = work;
  return 'iteration' in work && 'refinement' in work ? ofStory : work;
};

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const said = ({ output, failure, isEnvelope }: RecordedCall): unknown => {
  if (failure) throw Object.assign(new Error(failure.message), failure);
  if (!isEnvelope || output === undefined) return output;
  const { refused, output: made = null, excerpt: _, ...details } = output as JsonObject; // The runtime wrote it.
  if (typeof refused === 'string')
    throw Object.assign(new Error(refused), { name: 'AnswerRefused', code: 'ANSWER_REFUSED' });
  return answer(made, details as AnswerDetails);
};

interface Unknown {
  readonly name: string;
  readonly run: string;
  readonly work: RecordedWork;
  readonly calls: readonly RecordedCall[];
  readonly alike: readonly RecordedCall[];
}

const SHOWN_MAX = 300;

const unknown = ({ name, run, work, calls, alike }: Unknown): string => {
  const asked = `"${name}" is asked ${shown(work.input)}`;
  if (alike.length > 0)
    return `${asked} once more than in the run "${run}", in which it was asked this ${alike.length} times.`;
  const nearest = calls
    .map((call) => ({ call, parts: differing(call.work, work) }))
    .sort((one, other) => one.parts.length - other.parts.length)
    .at(0);
  if (!nearest) return `${asked}, and was never called in the run "${run}".`;
  const [part = 'input'] = nearest.parts;
  return (
    `${asked}, which it was not in the run "${run}": ${nearest.parts.join(', ')} not as in anything that it was asked there. ` +
    `The nearest had as its ${part} ${shown(nearest.call.work[part])}, and here it is ${shown(work[part])}. ` +
    'Record the run anew, or answer this with a scripted agent.'
  );
};

const PARTS = ['input', 'feedback', 'history', 'context', 'failure'] as const;

const differing = (one: RecordedWork, other: RecordedWork): readonly (keyof RecordedWork)[] =>
  PARTS.filter((part) => keyOf(one[part], '') !== keyOf(other[part], ''));

const shown = (value: Json | readonly Json[]): string => {
  const text = JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
};
