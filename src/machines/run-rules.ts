import type { Failure, Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { addSpent, type Spent } from '../events/usage.ts';
import { startActor, stopActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import { type AgentReply, NO_BUDGET, type WorkRequest } from './agent-work.ts';
import { judge } from './gates.ts';
import { compareArtifact, noteIssues } from './issues.ts';
import { budgetLeft, type LimitName, type Limits, type MetLimit, metLimit, nestedLimits } from './limits.ts';
import { hashOf, type NestedRun, type Step, workersOf } from './plan.ts';
import {
  type Halt,
  inputOf,
  keyOf,
  openRequests,
  type RunState,
  readySteps,
  type StepAnswer,
  stepOf,
  withStep,
} from './run-state.ts';

/** What a run says: to its agents, to its context, or, without a receiver, for the record. */
export type RunMessage = { readonly type: string; readonly to?: string } & Readonly<Record<string, Json>>;

/** What a rule makes of a run. Rules are pure: the machine applies what they give. */
export interface Outcome {
  readonly state: RunState;
  readonly messages: readonly RunMessage[];
}

export const agentId = (role: string): string => `agent:${role}`;
/** What the run of a step is called among the children of its run, and among the workers of its step. */
const nestedId = (step: string): string => `run:${step}`;
export const CONTEXT_ID = 'context';

/** Starts every step that can run, unless something holds the run back. */
export const dispatch = (state: RunState): Outcome => {
  if (state.halt || state.pauseReasons.length > 0) return { state, messages: [] };
  let next = state;
  const messages: RunMessage[] = [];
  for (const step of readySteps(state)) {
    const met = metLimit(next.limits, {
      calls: { used: next.spent.calls },
      costUsd: { used: next.spent.costUsd },
      tokens: { used: next.spent.tokens },
    });
    if (met) return halted(next, messages, haltOf(met, step.id));
    const begun = begin(next, step);
    next = begun.state;
    messages.push(...begun.messages);
  }
  return { state: next, messages };
};

const begin = (state: RunState, step: Step): Outcome => {
  const before = stepOf(state, step.id);
  const id = `${step.id}.${before.runs + 1}`;
  const workers = step.nested ? [nestedId(step.id)] : workersOf(step);
  const begun = withStep(state, step.id, {
    status: 'working',
    key: keyOf(state, step),
    runs: before.runs + 1,
    pending: Object.fromEntries(workers.map((role) => [role, id])),
    answers: {},
    failures: {},
    seen: before.feedback.length,
    // A run that failed or was taken back has made nothing: what stood before it is in the history already.
    history:
      before.status === 'done'
        ? [...before.history, { output: before.output, feedback: before.feedback.slice(0, before.heeded) }]
        : before.history,
  });
  if (step.nested) {
    const waiting = state.waiting.filter((each) => each !== step.id);
    return { state: { ...begun, waiting }, messages: [startNested(begun, step, step.nested)] };
  }
  const missing = workers.filter((role) => !state.started.includes(role));
  const messages = workers.map((role) =>
    step.reads.length === 0
      ? requestOf(begun, step, { role, id, context: null })
      : { type: 'context.get', to: `./${CONTEXT_ID}`, request: id, role, paths: step.reads },
  );
  return {
    state: { ...begun, started: [...state.started, ...missing] },
    messages: [...missing.map((role) => startAgent(state, role)), ...messages],
  };
};

/** A run of its own, which has no more than what is left of this one's budget. */
const startNested = (state: RunState, step: Step, { workflow, input }: NestedRun): RunMessage => {
  const cap = budgetLeft(state.limits, state.spent);
  const limits = nestedLimits(input['limits'] as unknown as Limits, cap); // fixLimits made them
  const { feedback, history } = stepOf(state, step.id);
  const task = { input: inputOf(state, step), feedback, history } as unknown as Json;
  return startActor({
    id: nestedId(step.id),
    machine: workflow,
    input: { ...input, limits: { ...limits }, cap: { ...cap }, task },
  });
};

const startAgent = ({ roles }: RunState, role: string): RunMessage =>
  startActor({ id: agentId(role), machine: AGENT, input: roles[role] as unknown as Json });

/** The request to an agent, once what it may know of the context is at hand. */
export const requestOf = (
  state: RunState,
  step: Step,
  { role, id, context }: { readonly role: string; readonly id: string; readonly context: Json },
): RunMessage => {
  const { feedback, history } = stepOf(state, step.id);
  const request: WorkRequest = {
    id,
    input: inputOf(state, step),
    // They are JSON: what they are made of came through the door.
    feedback: feedback as unknown as Json[],
    history: history as unknown as Json[],
    context,
    budget: budgetLeft(state.limits, state.spent),
  };
  return { type: 'agent.request', to: `./${agentId(role)}`, request: request as unknown as Json };
};

/** Takes a reply in, and ends its step if it was the last one that the step waited for. */
export const record = (
  state: RunState,
  reply: AgentReply,
  { step: id, role }: { readonly step: string; readonly role: string },
): Outcome => {
  const before = stepOf(state, id);
  const { [role]: _, ...pending } = before.pending;
  const noted = withStep({ ...state, spent: addSpent(state.spent, reply.spent) }, id, {
    pending,
    ...(reply.type === 'agent.done'
      ? { answers: { ...before.answers, [role]: withoutArtifacts(reply.answer) } }
      : { failures: { ...before.failures, [role]: reply.failure } }),
  });
  const step = noted.plan.steps.find((each) => each.id === id);
  if (!step || Object.keys(pending).length > 0) return { state: noted, messages: [] };
  return step.gate ? endGate(noted, step) : endStep(noted, step);
};

/** What is named beside an output is for whoever asked the agent itself: a step's artifact is its output. */
const withoutArtifacts = ({ output, issues }: StepAnswer): StepAnswer => ({
  output,
  ...(issues === undefined ? {} : { issues }),
});

const endStep = (state: RunState, step: Step): Outcome => {
  const [role = nestedId(step.id)] = workersOf(step);
  const before = stepOf(state, step.id);
  const failure = before.failures[role];
  if (failure) return failStep(state, step.id, failure);
  const output = before.answers[role]?.output ?? null;
  const hash = hashOf(output);
  const fate = compareArtifact(before.hashes, hash);
  // One that ran again only because others had changed was not asked for anything else than before.
  // Nor was one that was told, while it worked already, what was wrong with its result of before.
  const isCorrection = before.seen > before.outdated;
  const isUnchanged = isCorrection && fate === 'unchanged';
  const isOscillating = isCorrection && fate === 'oscillating';
  const done = withStep(state, step.id, {
    status: 'done',
    output,
    hash,
    hashes: [...before.hashes, hash],
    heeded: before.seen,
    outdated: before.feedback.length,
  });
  const counted: RunState = {
    ...done,
    unchanged: done.unchanged + (isUnchanged ? 1 : 0),
    oscillations: done.oscillations + (isOscillating ? 1 : 0),
  };
  const messages: RunMessage[] = [
    { type: 'step.done', step: step.id, run: before.runs, hash, fate },
    {
      type: 'context.set',
      to: `./${CONTEXT_ID}`,
      path: step.nested ? ['loops', step.id] : ['agents', role, 'outputs', step.id],
      value: output,
    },
  ];
  const met = metLimit(counted.limits, {
    ...(isUnchanged && { unchanged: { used: counted.unchanged, evidence: [step.id, hash] } }),
    ...(isOscillating && { oscillations: { used: counted.oscillations, evidence: [step.id, hash] } }),
  });
  return met ? halted(counted, messages, haltOf(met, step.id)) : { state: counted, messages };
};

/** A step whose agent failed for good. Others at work finish; nothing new begins. */
const failStep = (state: RunState, id: string, { message: reason, code }: Omit<Failure, 'name'>): Outcome => {
  const failed = withStep(state, id, { status: 'failed' });
  const message: RunMessage = { type: 'step.failed', step: id, reason };
  const met = code === NO_BUDGET.code ? budgetMet(failed) : undefined;
  // A nested run that met a limit of its own did not fail.
  const verdict = code === 'exhausted' || code === 'stalled' ? code : 'failed';
  const halt: Halt = met
    ? haltOf(met, id)
    : { verdict, met: null, step: id, reason: `The step "${id}" failed: ${reason}` };
  return halted(failed, [message], halt);
};

const budgetMet = ({ limits, spent }: RunState): MetLimit | undefined =>
  metLimit(limits, {
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
    calls: { used: spent.calls },
  });

const endGate = (state: RunState, step: Step): Outcome => {
  const before = stepOf(state, step.id);
  const pass = before.rejections + 1;
  const verdict = judge(step, before, state.issues);
  const issues = noteIssues(state.issues, verdict.issues, { gate: step.id, pass });
  const noted = { ...state, issues };
  const told = { gate: step.id, pass, approvals: verdict.approvals, absent: verdict.absent };
  if (verdict.passed) {
    const output: Json = { passed: true, issues: verdict.issues as unknown as Json };
    const hash = hashOf(output);
    const done = withStep(noted, step.id, {
      status: 'done',
      output,
      hash,
      hashes: [...before.hashes, hash],
      heeded: before.seen,
    });
    return { state: done, messages: [{ type: 'gate.passed', ...told }] };
  }
  // Nobody has looked at it, so that there is nothing to correct.
  if (verdict.absent.length > 0 && verdict.issues.length === 0 && verdict.rejections.length === 0) {
    const failures = Object.values(before.failures);
    const reasons = failures.map(({ message }) => message).join('; ');
    const code = failures.find((failure) => failure.code === NO_BUDGET.code)?.code;
    const message = `no review by ${verdict.absent.join(', ')}: ${reasons}`;
    return failStep(noted, step.id, { message, ...(code !== undefined && { code }) });
  }
  const rejected = withStep(noted, step.id, { status: 'waiting', rejections: pass });
  const messages: RunMessage[] = [
    { type: 'gate.rejected', ...told, issues: verdict.issues as unknown as Json },
  ];
  const repeated = Object.values(issues).filter(
    ({ gate, status, lastPass }) => gate === step.id && status === 'open' && lastPass === pass,
  );
  const longest = Math.max(0, ...repeated.map(({ inRow }) => inRow));
  const met = metLimit(limitsInForce(rejected), {
    sameIssue: {
      used: longest,
      evidence: repeated.filter(({ inRow }) => inRow === longest).map(({ fingerprint }) => fingerprint),
    },
    passes: { used: pass, evidence: [step.id] },
    feedbacks: { used: rejected.feedbacks },
  });
  if (met) return halted(rejected, messages, haltOf(met, step.id));
  const sent = sendBack(rejected, step.gate?.corrects ?? '', {
    from: step.id,
    pass,
    issues: verdict.feedback,
  });
  return { state: sent.state, messages: [...messages, ...sent.messages] };
};

/** Persons may have allowed more passes than there were at first. */
const limitsInForce = ({ limits, allowed }: RunState): RunState['limits'] => ({
  ...limits,
  passes: limits.passes === null ? null : limits.passes + allowed,
});

/**
 * Runs a step again with feedback, and then whatever depends on it and whose inputs have changed: that follows from the
 * keys, of which feedback is a part.
 */
export const sendBack = (
  state: RunState,
  id: string,
  feedback: { readonly from: string; readonly pass: number; readonly issues: readonly Json[] },
): Outcome => {
  const before = stepOf(state, id);
  return {
    state: withStep({ ...state, feedbacks: state.feedbacks + 1 }, id, {
      feedback: [...before.feedback, feedback],
    }),
    messages: [{ type: 'feedback.sent', step: id, ...feedback, nth: state.feedbacks + 1 }],
  };
};

/** The same on demand: of a person, or of an actor that found something out. It counts against the limit of feedbacks. */
export const rerun = (
  state: RunState,
  id: string,
  feedback: { readonly from: string; readonly pass: number; readonly issues: readonly Json[] },
): Outcome => {
  const met = metLimit(state.limits, { feedbacks: { used: state.feedbacks } });
  return met ? halted(state, [], haltOf(met, id)) : sendBack(state, id, feedback);
};

const STALLS: readonly LimitName[] = ['sameIssue', 'sameFailure', 'unchanged', 'oscillations'];

export const haltOf = (met: MetLimit, step: string | null): Halt => ({
  verdict: STALLS.includes(met.limit) ? 'stalled' : 'exhausted',
  met,
  step,
  reason: `The limit "${met.limit}" of ${met.bound} was met.`,
});

export const halted = (state: RunState, messages: readonly RunMessage[], halt: Halt): Outcome =>
  state.halt
    ? { state, messages }
    : {
        state: { ...state, halt },
        messages: [
          ...messages,
          { type: 'run.halted', ...(halt as unknown as Readonly<Record<string, Json>>) },
        ],
      };

/** How a nested run ended, as the reply of an agent: whoever waits for a step need not know who worked on it. */
export const replyOf = (request: string, { output }: NestedEnd): AgentReply => {
  const { verdict, outputs, spent, reason } = output;
  return verdict === 'verified' || verdict === 'accepted'
    ? { type: 'agent.done', request, answer: { output: { verdict, outputs } }, attempts: 1, spent }
    : {
        type: 'agent.failed',
        request,
        failure: {
          name: 'NestedRun',
          message: `Its run ended ${verdict}. ${reason ?? ''}`.trim(),
          code: verdict,
        },
        attempts: 1,
        spent,
      };
};

/** What a nested run tells its parent at its end. */
export interface NestedEnd {
  readonly output: {
    readonly verdict: Verdict;
    readonly outputs: Readonly<Record<string, Json>>;
    readonly spent: Spent;
    readonly reason: string | null;
  };
}

/** Takes back every request that is open. */
export const withdrawAll = (state: RunState): Outcome => {
  const open = openRequests(state);
  const steps = Object.fromEntries(
    Object.entries(state.steps).map(([id, step]) => [
      id,
      step.status === 'working' ? { ...step, status: 'waiting' as const, pending: {}, key: null } : step,
    ]),
  );
  return {
    state: { ...state, steps },
    messages: open.map(({ role, request, isNested }) =>
      isNested ? stopActor(role) : { type: 'agent.cancel', to: `./${agentId(role)}`, request },
    ),
  };
};
