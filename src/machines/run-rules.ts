import { feedbackIn } from '../events/feedback.ts';
import type { Failure, Json } from '../events/json.ts';
import { addSpent } from '../events/usage.ts';
import { type AgentReply, NO_BUDGET } from './agent-work.ts';
import { feedbackOfCheck, ORCHESTRATOR, type Origin, stepsOfCheck } from './fix-feedback.ts';
import { judge } from './gates.ts';
import { compareArtifact, noteIssues } from './issues.ts';
import { budgetMet, metLimit } from './limits.ts';
import { failLoops, noteReport, noteResult, noteStep } from './loop-effects.ts';
import { hashOf, type Step, workersOf } from './plan.ts';
import { evaluate, type Finding, findingIn } from './run-checks.ts';
import { halted, haltOf } from './run-halts.ts';
import { openLoop } from './run-loops.ts';
import { CONTEXT_ID, chain, nestedId, type Outcome, type RunMessage } from './run-messages.ts';
import { type Halt, type RunState, type StepAnswer, stepOf, withStep } from './run-state.ts';

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
  if (!step) return { state: noted, messages: [] };
  const found = reply.type === 'agent.done' ? feedbackIn(reply.answer.feedback) : [];
  const isReport = found.length > 0 && reply.type === 'agent.done' && reply.answer.output === null;
  const isOver = Object.keys(pending).length === 0;
  // A step without a result waits for what its agent has found out to be resolved; reviewers are judged by what they say.
  if (isReport && !step.gate) {
    const sent = report(withoutResult(noted, id), step, { found, role, isReported: true });
    return chain(sent, (next) => noteReport(next, id));
  }
  const ended = isOver ? endOf(noted, step) : { state: noted, messages: [] };
  const reported = found.length === 0 ? ended : report(ended, step, { found, role, isReported: false });
  return isOver ? chain(reported, (next) => validated(next, id)) : reported;
};

const endOf = (state: RunState, step: Step): Outcome => {
  if (step.check) return endAgentCheck(state, step);
  return step.gate ? endGate(state, step) : endStep(state, step);
};

const validated = (state: RunState, id: string): Outcome =>
  stepOf(state, id).status === 'failed' ? { state, messages: [] } : noteStep(state, id);

const withoutResult = (state: RunState, id: string): Outcome => ({
  state: withStep(state, id, { status: 'waiting', key: null }),
  messages: [],
});

/** What an agent has found out goes to those who must deal with it. What cannot be delivered is a failure of its step. */
const report = (
  start: Outcome,
  step: Step,
  given: { readonly found: readonly Json[]; readonly role: string; readonly isReported: boolean },
): Outcome => {
  const { found, role, isReported } = given;
  const origin: Origin = { source: role, sourceStep: step.id };
  const problems: string[] = [];
  const sent = found.reduce<Outcome>(
    (done, feedback) =>
      chain(done, (next) => {
        const opened = openLoop(next, feedback, { origin, isReported });
        problems.push(...opened.problems);
        return opened;
      }),
    start,
  );
  if (problems.length === 0) return sent;
  const message = `its feedback cannot be delivered: ${problems.join('; ')}`;
  return chain(sent, (next) => failStep(next, step.id, { message }));
};

/** The values that a check compares are at hand. */
export const recordCheck = (state: RunState, step: Step, values: Json): Outcome => {
  const noted = withStep(state, step.id, { pending: {} });
  if (!step.check) return { state: noted, messages: [] };
  try {
    return endCheck(noted, step, evaluate(step.check, values));
  } catch (error) {
    return failStep(noted, step.id, { message: error instanceof Error ? error.message : String(error) });
  }
};

const endAgentCheck = (state: RunState, step: Step): Outcome => {
  const [role = ''] = workersOf(step);
  const { failures, answers } = stepOf(state, step.id);
  const failure = failures[role];
  return failure
    ? failStep(state, step.id, failure)
    : endCheck(state, step, findingIn(answers[role]?.output ?? null));
};

/** A check that fails reports it, like an agent that has found something out. */
const endCheck = (state: RunState, step: Step, { passed, details }: Finding): Outcome => {
  const { check } = step;
  if (!check) return { state, messages: [] };
  const told = { check: step.id, details };
  if (!passed) {
    const waiting = withoutResult(state, step.id);
    const failed = { ...waiting, messages: [{ type: 'check.failed', ...told }] };
    const origin: Origin = { source: ORCHESTRATOR, sourceStep: step.id };
    const feedback = feedbackOfCheck(step.id, check, details);
    return chain(failed, (next) => {
      const opened = openLoop(next, feedback, { origin, isReported: true, steps: stepsOfCheck(check) });
      const message = `its feedback cannot be delivered: ${opened.problems.join('; ')}`;
      return opened.problems.length === 0 ? opened : failStep(next, step.id, { message });
    });
  }
  const output = { passed: true };
  const hash = hashOf(output);
  const { hashes } = stepOf(state, step.id);
  const done = withStep(state, step.id, { status: 'done', output, hash, hashes: [...hashes, hash] });
  return chain({ state: done, messages: [{ type: 'check.passed', ...told }] }, (next) =>
    noteStep(next, step.id),
  );
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
  const done = withStep(noteResult(state, step.id), step.id, {
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
  const loops = code === NO_BUDGET.code ? undefined : failLoops(failed, id, reason);
  if (loops) return { state: loops.state, messages: [message, ...loops.messages] };
  const met = code === NO_BUDGET.code ? budgetMet(failed) : undefined;
  // A nested run that met a limit of its own did not fail.
  const verdict = code === 'exhausted' || code === 'stalled' ? code : 'failed';
  const halt: Halt = met
    ? haltOf(met, id)
    : { verdict, met: null, step: id, reason: `The step "${id}" failed: ${reason}` };
  return halted(failed, [message], halt);
};

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
