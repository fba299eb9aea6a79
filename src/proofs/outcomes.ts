import type { Outcome } from '../actors/stimulus.ts';
import { RuntimeError } from '../errors.ts';
import { encode } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import type { OpenCall } from '../events/turn.ts';
import { AGENT } from '../machines/agent-machine.ts';
import type { Attempt } from '../machines/agent-work.ts';
import type { EarlierResult } from '../machines/run-state.ts';

/** One thing that an agent may do with a call. */
export interface AgentOutcome {
  readonly name: string;
  /** What it answers; a function can give another answer for each call of the way, or the one of before. */
  readonly output?: Json | ((call: { readonly nth: number; readonly made: readonly Json[] }) => Json);
  /** Beside the output; a function can give other ones for each call of the way. */
  readonly issues?: Json | ((call: { readonly nth: number }) => Json);
  /** What it reports to others. */
  readonly feedback?: Json | ((call: { readonly input: Json }) => Json);
  /** It throws, hangs or answers garbage: the attempt fails. */
  readonly fails?: boolean;
}

/** What each agent may do, by its name, and by what it is given. */
export type Outcomes = (agent: string, input: Json) => readonly AgentOutcome[];

/** What an agent answers, in parts. */
export interface Said {
  readonly output: Json;
  readonly issues?: Json;
  readonly feedback?: Json;
}

/** What an outcome comes to for a call: one that is to be new differs by the call's number from all others of the way. */
export const saidIn = (
  { output = null, issues, feedback }: AgentOutcome,
  { nth, made, input }: { readonly nth: number; readonly made: readonly Json[]; readonly input: Json },
): Said => {
  const found = typeof issues === 'function' ? issues({ nth }) : issues;
  const reported = typeof feedback === 'function' ? feedback({ input }) : feedback;
  return {
    output: typeof output === 'function' ? output({ nth, made }) : output,
    ...(found !== undefined && { issues: found }),
    ...(reported !== undefined && { feedback: reported }),
  };
};

/** What the kernel is given for an outcome. */
export const answerTo = (call: OpenCall, outcome: AgentOutcome, nth: number): Outcome => {
  if (outcome.fails) return { failure: { name: 'Explored', message: outcome.name } };
  const said = saidIn(outcome, { nth, made: madeBefore(call), input: inputOf(call) });
  return { output: encode(call.machine === AGENT ? said : said.output) };
};

/** Whether it is the same for every call. */
export const isFixed = ({ output, issues, feedback, fails }: AgentOutcome): boolean =>
  fails === true || [output, issues, feedback].every((part) => typeof part !== 'function');

export const outcomesFor = (outcomes: Outcomes, call: OpenCall): readonly AgentOutcome[] => {
  const known = outcomes(call.agent, inputOf(call));
  if (known.length > 0) return known;
  throw new RuntimeError('BAD_OPTION', {
    option: `outcomes of "${call.agent}"`,
    found: 'empty',
    expected: 'at least one thing that the agent may do',
  });
};

const inputs = new WeakMap<OpenCall, Json>();

/** A call is looked at for each of its outcomes, in many states. */
const parsed = (call: OpenCall): Json => {
  const known = inputs.get(call);
  if (known !== undefined) return known;
  const input = JSON.parse(call.input) as Json;
  inputs.set(call, input);
  return input;
};

/** What the agent is given to work on. */
const inputOf = (call: OpenCall): Json => {
  const given = parsed(call);
  // The machine of agents makes nothing but attempts.
  return call.machine === AGENT ? (given as unknown as Attempt).work.input : given;
};

/** What the same step made before, oldest first. */
const madeBefore = (call: OpenCall): readonly Json[] => {
  if (call.machine !== AGENT) return [];
  const { work } = parsed(call) as unknown as Attempt;
  return earlierOutputs(work.history);
};

export const earlierOutputs = (history: readonly Json[]): readonly Json[] =>
  (history as unknown as readonly Partial<EarlierResult>[]).flatMap(({ output }) => output ?? []);
