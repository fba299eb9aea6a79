import { hashText } from '../events/blob.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Failure, Json } from '../events/json.ts';
import type { Spent } from '../events/usage.ts';
import type { AgentReply, AgentSettings } from './agent-work.ts';
import { changed, withEntry } from './changed.ts';
import type { IssueRecord, IssueRegistry } from './issues.ts';
import type { Budget, Limits, MetLimit } from './limits.ts';
import { isBlocked, type LoopState, type Loops, openLoops } from './loop-state.ts';
import { needsOf, type Plan, type Step } from './plan.ts';

/** What a gate sends back to a step. */
export interface Feedback {
  readonly from: string;
  readonly pass: number;
  readonly issues: readonly Json[];
  /** The loop that it came through, and what was decided there. */
  readonly loop?: string;
  readonly decision?: Json;
}

/** A result of a step that was replaced by a later one, and what was said since the result before it. */
export interface EarlierResult {
  readonly output: Json;
  readonly feedback: readonly Feedback[];
}

export type StepAnswer = Omit<Extract<AgentReply, { type: 'agent.done' }>['answer'], 'artifacts'>;

/** Where a step stands. Whether it is stale is never written down: it follows from its key. */
export interface StepRecord {
  readonly status: 'waiting' | 'working' | 'done' | 'failed';
  /** The key of its inputs when it last ran, or runs now. */
  readonly key: string | null;
  /** The request that is open with each of its workers. */
  readonly pending: Readonly<Record<string, string>>;
  /** Answers of its workers in the run in hand, or in the last one. */
  readonly answers: Readonly<Record<string, StepAnswer>>;
  readonly failures: Readonly<Record<string, Failure>>;
  readonly runs: number;
  readonly output: Json;
  readonly hash: string | null;
  /** Of everything that it made, oldest first. */
  readonly hashes: readonly string[];
  readonly feedback: readonly Feedback[];
  /** How many of them the run in hand, or the last one, was given. */
  readonly seen: number;
  /** How many of them the result that stands was made with. */
  readonly heeded: number;
  /** How many of them had come when the result that stands was there: none of these is about it. */
  readonly outdated: number;
  readonly history: readonly EarlierResult[];
  /** How often it was rejected, if it is a gate. */
  readonly rejections: number;
}

/** Why a run does not go on by itself. */
export interface Halt {
  readonly verdict: 'exhausted' | 'stalled' | 'failed';
  readonly met: MetLimit | null;
  readonly step: string | null;
  readonly reason: string;
}

/** Everything that a plan run knows. */
export interface RunState {
  readonly task: Json;
  readonly plan: Plan;
  readonly limits: Limits;
  readonly unbounded: string | null;
  /** What a nested run may use at most, whatever persons allow it; null for the root of a run. */
  readonly cap: Budget | null;
  readonly onLimit: 'ask' | 'stop';
  readonly questionLevels: readonly { readonly to: string | null; readonly expiresMs: number | null }[];
  readonly onExpiry: 'cancel' | 'stop';
  readonly roles: Readonly<Record<string, AgentSettings>>;
  /** Roles whose actors are there. */
  readonly started: readonly string[];
  readonly steps: Readonly<Record<string, StepRecord>>;
  readonly issues: IssueRegistry;
  readonly spent: Spent;
  readonly feedbacks: number;
  readonly unchanged: number;
  readonly oscillations: number;
  /** How many more passes of each gate persons have allowed. */
  readonly allowed: number;
  /** Until when it may take, once a person has allowed more time; null while the time that it began with lasts. */
  readonly deadlineMs: number | null;
  readonly pauseReasons: readonly string[];
  /** Steps whose runs wait for a person. */
  readonly waiting: readonly string[];
  readonly halt: Halt | null;
  readonly debt: readonly IssueRecord[];
  readonly loops: Loops;
  /** How often each source has sent feedback to each target about each subject. */
  readonly rounds: Readonly<Record<string, number>>;
  readonly decidedBy: string | null;
}

/** What the rules of staleness look at. */
type Steps = Pick<RunState, 'plan' | 'steps'>;

const NEW_STEP: StepRecord = {
  status: 'waiting',
  key: null,
  pending: {},
  answers: {},
  failures: {},
  runs: 0,
  output: null,
  hash: null,
  hashes: [],
  feedback: [],
  seen: 0,
  heeded: 0,
  outdated: 0,
  history: [],
  rejections: 0,
};

export const stepOf = ({ steps }: Pick<RunState, 'steps'>, id: string): StepRecord => steps[id] ?? NEW_STEP;

export const withStep = <State extends Pick<RunState, 'steps'>>(
  state: State,
  id: string,
  change: Partial<StepRecord>,
): State => {
  const steps = withEntry(state.steps, id, changed(stepOf(state, id), change));
  // A state of any kind has its steps.
  return changed<Pick<RunState, 'steps'>>(state, { steps }) as State;
};

/** The run with what has changed of one of its loops. */
export const withLoop = (state: RunState, id: string, change: Partial<LoopState>): RunState => {
  const before = state.loops[id];
  return before ? { ...state, loops: { ...state.loops, [id]: { ...before, ...change } } } : state;
};

/** What a step is given. */
export const inputOf = (state: RunState, step: Step): Json => {
  const needs = needsOf(state.plan, step).filter(({ check }) => !check);
  const decisions = stepOf(state, step.id).feedback.flatMap(({ decision }) => decision ?? []);
  return {
    task: state.task,
    with: step.with,
    inputs: Object.fromEntries(needs.map(({ id }) => [id, stepOf(state, id).output])),
    ...(decisions.length > 0 && { decisions }),
  };
};

const texts = new WeakMap<object, string>();

/** Never changed in place: its text is made once. */
const textOf = (part: object): string => {
  const known = texts.get(part) ?? canonicalJson(part as unknown as Json);
  texts.set(part, known);
  return known;
};

const keys = new WeakMap<RunState['steps'], Map<Step, string>>();

/** What the work of a step depends on: the same key gives the same work, so that it need not be done again. */
export const keyOf = (state: Steps, step: Step): string => {
  const known = keys.get(state.steps) ?? new Map<Step, string>();
  keys.set(state.steps, known);
  const key = known.get(step) ?? newKeyOf(state, step);
  known.set(step, key);
  return key;
};

/** That of `[step, needs, feedback, rejections]` as a whole. */
const newKeyOf = (state: Steps, step: Step): string => {
  const { feedback, rejections } = stepOf(state, step.id);
  const needs = needsOf(state.plan, step).map(({ id }) => [id, stepOf(state, id).hash]);
  return hashText(`[${textOf(step)},${canonicalJson(needs)},${textOf(feedback)},${rejections}]`);
};

/** The steps whose results stand: made from what those that they need have made last. */
export const freshSteps = (state: Steps): ReadonlySet<string> => {
  const known = new Map<string, boolean>();
  const isFresh = (step: Step): boolean => {
    const found = known.get(step.id);
    if (found !== undefined) return found;
    const { status, key } = stepOf(state, step.id);
    const fresh = status === 'done' && needsOf(state.plan, step).every(isFresh) && key === keyOf(state, step);
    known.set(step.id, fresh);
    return fresh;
  };
  return new Set(state.plan.steps.filter(isFresh).map(({ id }) => id));
};

/** Steps that can run now: all that they need stands, and they have not run with it yet. */
export const readySteps = (state: RunState): readonly Step[] => {
  const fresh = freshSteps(state);
  return state.plan.steps.filter((step) => {
    const { status } = stepOf(state, step.id);
    if (status === 'working' || status === 'failed' || fresh.has(step.id)) return false;
    if (isBlocked(state.plan, state.loops, step)) return false;
    return needsOf(state.plan, step).every(({ id }) => fresh.has(id));
  });
};

/** Whether a step has a result that feedback can be about. Not of a gate, which judges the results of others. */
export const isFinished = (state: RunState, id: string): boolean =>
  state.plan.steps.some((step) => step.id === id && step.gate === null) && stepOf(state, id).hash !== null;

export const isComplete = (state: RunState): boolean =>
  openLoops(state.loops).length === 0 && freshSteps(state).size === state.plan.steps.length;

/** Requests that agents, or runs of steps, have not answered yet: by step and role. */
export const openRequests = (
  state: Steps,
): readonly {
  readonly step: string;
  readonly role: string;
  readonly request: string;
  readonly isNested: boolean;
}[] =>
  Object.entries(state.steps).flatMap(([step, { pending }]) => {
    // Not known by the role: an agent may have the name of a run.
    const isNested = state.plan.steps.some(({ id, nested }) => id === step && nested !== null);
    return Object.entries(pending).map(([role, request]) => ({ step, role, request, isNested }));
  });

/** The runs of steps that are under way. */
export const nestedRuns = (state: RunState): readonly string[] =>
  openRequests(state).flatMap(({ role, isNested }) => (isNested ? role : []));
