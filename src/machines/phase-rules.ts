import { delivery } from '../events/delivery.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { addSpent, NOTHING_SPENT } from '../events/usage.ts';
import { type AgentReply, NO_BUDGET, type WorkRequest } from './agent-work.ts';
import { compareArtifact, noteIssues, readIssues, standing } from './issues.ts';
import { budgetLeft, metLimit } from './limits.ts';
import {
  closeCorrections,
  correctionFor,
  failPass,
  halted,
  noteBegin,
  noteEnd,
  plain,
} from './phase-corrections.ts';
import { defectsOf, phasesBefore, type Report, reportOf } from './phase-report.ts';
import { shapeProblems } from './phase-shapes.ts';
import {
  andThen,
  type Defect,
  inputsOf,
  isReview,
  nextPhase,
  nothing,
  type PhaseOutcome,
  type PhaseState,
  phaseOf,
  stepNamed,
} from './phase-state.ts';
import { hashOf, needsOf, type Step, workersOf } from './plan.ts';
import { heededLast, startAgent } from './run-dispatch.ts';
import { haltOf } from './run-halts.ts';
import { agentId, CONTEXT_ID, type RunMessage } from './run-messages.ts';
import { keyOf, type StepAnswer, stepOf, withStep } from './run-state.ts';

/** Lets the next phase begin, unless something holds the run back. What has the wrong shape goes back without a call. */
export const advance = (state: PhaseState): PhaseOutcome => {
  if (state.halt || state.work || state.pauseReasons.length > 0) return nothing(state);
  const step = nextPhase(state);
  if (!step) return nothing(state);
  const met = budgetMet(state);
  if (met) return halted(nothing(state), haltOf(met, step.id));
  const looked = lookAgain(state, step);
  if (looked.state.halt) return looked;
  return andThen(looked, (next) => validated(next, step));
};

const budgetMet = ({ limits, spent }: PhaseState) =>
  metLimit(limits, {
    calls: { used: spent.calls },
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
  });

/** A phase that has failed and is given the same once more would fail once more: nothing was corrected. */
const lookAgain = (state: PhaseState, step: Step): PhaseOutcome => {
  const { feedback, seen } = stepOf(state, step.id);
  const key = keyOf(state, step);
  const failedWith = state.failedWith[step.id] ?? [];
  const isOwnFault = feedback.length > seen;
  if (failedWith.length === 0 || isOwnFault || state.noted[step.id] === key) return nothing(state);
  const inputs = inputsOf(state, step);
  const fate = compareArtifact(failedWith, inputs);
  if (fate === 'new') return nothing(state);
  const noted: PhaseState = {
    ...state,
    noted: { ...state.noted, [step.id]: key },
    unchanged: state.unchanged + (fate === 'unchanged' ? 1 : 0),
    oscillations: state.oscillations + (fate === 'oscillating' ? 1 : 0),
  };
  const met = metLimit(noted.limits, {
    ...(fate === 'unchanged' && { unchanged: { used: noted.unchanged, evidence: [step.id] } }),
    ...(fate === 'oscillating' && { oscillations: { used: noted.oscillations, evidence: [step.id] } }),
  });
  const told: PhaseOutcome = { state: noted, messages: [{ type: 'phase.same', phase: step.id, fate }] };
  return met ? halted(told, haltOf(met, step.id)) : told;
};

/** Looks at the input of a phase. */
const validated = (state: PhaseState, step: Step): PhaseOutcome => {
  const { input } = phaseOf(state, step.id);
  const found: Defect[] = [];
  for (const [from, name] of Object.entries(input)) {
    const read = wrongIn(state, { name, value: stepOf(state, from).output, made: from, detected: step.id });
    if ('failure' in read) return failPhase(state, step.id, { message: read.failure });
    found.push(...read.defects);
  }
  if (found.length === 0) return begin(state, step);
  return andThen(failPass(state, { detected: step.id, finding: 'structure', defects: found }), advance);
};

interface Shaped {
  readonly name: string;
  readonly value: Json;
  readonly made: string;
  readonly detected: string;
}

const wrongIn = (
  state: PhaseState,
  { name, value, made, detected }: Shaped,
): { readonly defects: readonly Defect[] } | { readonly failure: string } => {
  let problems: readonly Json[];
  try {
    problems = shapeProblems(name, value);
  } catch (error) {
    return {
      failure: `"${name}" cannot be checked: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  const issues = standing(state.issues, readIssues(problems.map((problem) => asIssue(problem))));
  const pass = stepOf(state, detected).rejections + 1;
  return {
    defects: issues.map((issue, index) => ({
      ...issue,
      id: `${detected}-${pass}-${made}-${index + 1}`,
      phases: [made],
      injected: made,
      reason: null,
      foundBy: [detected],
    })),
  };
};

const asIssue = (problem: Json): JsonObject => ({
  severity: 'high',
  category: 'structure',
  ...(typeof problem === 'object' && problem !== null && !Array.isArray(problem)
    ? (problem as JsonObject)
    : { description: problem }),
});

/** Its input has the right shape: the agents of the phase are asked. */
const begin = (state: PhaseState, step: Step): PhaseOutcome => {
  const before = stepOf(state, step.id);
  const isRerun = before.runs > 0;
  const inputs = inputsOf(state, step);
  const kept = state.kept[step.id]?.inputs === inputs ? (state.kept[step.id]?.answers ?? {}) : {};
  const workers = workersOf(step).filter((role) => !Object.hasOwn(kept, role));
  const missing = workers.filter((role) => !state.started.includes(role));
  const id = `${step.id}.${before.runs + 1}`;
  // What it had found wrong with the shape of its input is mended now.
  const start = closeCorrections(
    state,
    ({ detected, finding, defects }) =>
      detected === step.id &&
      finding === 'structure' &&
      !defects.some(({ phases }) => phases.includes(step.id)),
    'verified',
  );
  const correction = isRerun ? (correctionFor(start.state, step.id)?.id ?? null) : null;
  const { [step.id]: _, ...others } = state.kept;
  const begun: PhaseState = {
    ...withStep(start.state, step.id, {
      status: 'working',
      key: keyOf(state, step),
      runs: before.runs + 1,
      pending: Object.fromEntries(workers.map((role) => [role, id])),
      answers: kept,
      failures: {},
      seen: before.feedback.length,
      history:
        before.status === 'done'
          ? [...before.history, { output: before.output, feedback: heededLast(before) }]
          : before.history,
    }),
    kept: others,
    started: [...state.started, ...missing],
    work: { phase: step.id, sinceMs: delivery().atMs, correction, spent: NOTHING_SPENT },
  };
  return andThen(
    {
      state: begun,
      messages: [
        ...start.messages,
        ...missing.map((role) => startAgent(state, role)),
        ...workers.map((role) => requestFor(begun, step, { role, id })),
      ],
    },
    (next) => noteBegin(next, step.id),
  );
};

const requestFor = (
  state: PhaseState,
  step: Step,
  { role, id }: { readonly role: string; readonly id: string },
): RunMessage => {
  const { feedback, history } = stepOf(state, step.id);
  const request: WorkRequest = {
    id,
    input: inputFor(state, step),
    feedback: feedback as unknown as Json[],
    history: history as unknown as Json[],
    context: null,
    budget: budgetLeft(state.limits, state.spent),
  };
  return { type: 'agent.request', to: `./${agentId(role)}`, request: request as unknown as Json };
};

const inputFor = (state: PhaseState, step: Step): Json => {
  const made = needsOf(state.plan, step).filter(({ id }) => !isReview(state, id));
  const earlier = phasesBefore(state, step.id);
  return {
    task: state.task,
    phase: step.id,
    with: step.with,
    inputs: Object.fromEntries(made.map(({ id }) => [id, stepOf(state, id).output])),
    ...(earlier.length > 0 && { attribution: { phases: earlier, guideline: state.guideline } }),
    ...(phaseOf(state, step.id).history && { history: historyOf(state) }),
  };
};

/** All that was corrected, and how often each phase ran: what a postmortem is made of. */
const historyOf = ({ corrections, steps, failed, spent, debt }: PhaseState): Json => ({
  corrections: corrections as unknown as Json,
  runs: Object.fromEntries(Object.entries(steps).map(([id, { runs }]) => [id, runs])),
  failedPasses: failed,
  spent: { ...spent },
  debt: debt as unknown as Json,
});

/** Takes a reply in, and ends the phase if it was the last one that it waited for. */
export const take = (state: PhaseState, reply: AgentReply, role: string): PhaseOutcome => {
  const id = state.work?.phase ?? '';
  const before = stepOf(state, id);
  const { [role]: _, ...pending } = before.pending;
  const heard: PhaseState = {
    ...state,
    spent: addSpent(state.spent, reply.spent),
    work: state.work && { ...state.work, spent: addSpent(state.work.spent, reply.spent) },
  };
  const noted = withStep(heard, id, {
    pending,
    ...(reply.type === 'agent.done'
      ? { answers: { ...before.answers, [role]: answerIn(reply.answer) } }
      : { failures: { ...before.failures, [role]: reply.failure } }),
  });
  if (Object.keys(pending).length > 0) return nothing(noted);
  const step = stepNamed(state, id);
  return andThen(noteEnd(noted), (over) => (step.gate ? endReview(over, step) : endWork(over, step)));
};

const answerIn = ({ output, issues }: StepAnswer): StepAnswer => ({
  output,
  ...(issues === undefined ? {} : { issues }),
});

const endWork = (state: PhaseState, step: Step): PhaseOutcome => {
  const [role = ''] = workersOf(step);
  const { answers, failures } = stepOf(state, step.id);
  const failure = failures[role];
  if (failure) return failPhase(state, step.id, failure);
  const { output = null, issues }: Partial<StepAnswer> = answers[role] ?? {};
  const found = output === null ? standing(state.issues, readIssues(issues)) : [];
  if (found.length > 0) {
    if (phaseOf(state, step.id).recent === null)
      return failPhase(state, step.id, {
        message: 'it has found issues, but no phase before it could have made them',
      });
    const read = defectsOf(
      state,
      step.id,
      found.map((issue) => ({ issue, by: role })),
    );
    return 'defects' in read
      ? failPass(state, { detected: step.id, finding: 'work', defects: read.defects })
      : refuse(state, step, {
          [role]: read.problems.map(
            ({ issue, problem }) => `the issue "${issue.description.slice(0, 200)}" ${problem}`,
          ),
        });
  }
  const name = phaseOf(state, step.id).output;
  if (name !== null) {
    const read = wrongIn(state, { name, value: output, made: step.id, detected: step.id });
    if ('failure' in read) return failPhase(state, step.id, { message: read.failure });
    if (read.defects.length > 0)
      return failPass(state, { detected: step.id, finding: 'structure', defects: read.defects });
  }
  const done = endWith(state, step, output);
  const path = ['agents', role, 'outputs', step.id];
  const shared: RunMessage = { type: 'context.set', to: `./${CONTEXT_ID}`, path, value: output };
  return { state: done.state, messages: [...done.messages, shared] };
};

/** The result of a phase stands. */
const endWith = (state: PhaseState, step: Step, output: Json): PhaseOutcome => {
  const before = stepOf(state, step.id);
  const hash = hashOf(output);
  const done = withStep(state, step.id, {
    status: 'done',
    output,
    hash,
    hashes: [...before.hashes, hash],
    heeded: before.seen,
    outdated: before.feedback.length,
  });
  const fate = compareArtifact(before.hashes, hash);
  const ended = { type: 'phase.done', phase: step.id, run: before.runs, hash, fate };
  const closed = closeCorrections(done, ({ detected }) => detected === step.id, 'verified');
  // What it found before, it has not found again. Nothing is noted, so that no pass has to be named.
  const issues = noteIssues(state.issues, [], { gate: step.id, pass: 0 });
  return { state: { ...closed.state, issues }, messages: [ended, ...closed.messages] };
};

const failPhase = (
  state: PhaseState,
  id: string,
  { message, code }: { readonly message: string; readonly code?: string },
): PhaseOutcome => {
  const failed = { ...withStep(state, id, { status: 'failed', pending: {} }), work: null };
  const told = { state: failed, messages: [{ type: 'phase.failed', phase: id, reason: message }] };
  const met = code === NO_BUDGET.code ? budgetMet(failed) : undefined;
  const reason = `The phase "${id}" failed: ${message}`;
  return halted(told, met ? haltOf(met, id) : { verdict: 'failed', met: null, step: id, reason });
};

const endReview = (state: PhaseState, step: Step): PhaseOutcome => {
  const read = reportOf(state, step);
  if ('refused' in read) return refuse(state, step, read.refused);
  const { report } = read;
  const { failures, rejections: failed } = stepOf(state, step.id);
  const isUnseen = report.absent.length > 0 && report.issues.length === 0 && report.rejections.length === 0;
  if (!report.passed && isUnseen) {
    const reasons = Object.values(failures).map(({ message }) => message);
    const code = Object.values(failures).find((failure) => failure.code === NO_BUDGET.code)?.code;
    const message = `no review by ${report.absent.join(', ')}: ${reasons.join('; ')}`;
    return failPhase(state, step.id, { message, ...(code !== undefined && { code }) });
  }
  const told: RunMessage = { type: 'review.reported', phase: step.id, pass: failed + 1, ...plain(report) };
  if (report.passed) {
    const ended = endWith(state, step, PASSED);
    return { state: ended.state, messages: [told, ...ended.messages] };
  }
  const defects = report.issues.length > 0 ? report.issues : [unnamed(state, step, report)];
  const sent = failPass(state, { detected: step.id, finding: 'review', defects, remarks: report.remarks });
  return { state: sent.state, messages: [told, ...sent.messages] };
};

/** Whoever waits for a review waits for it to pass, and not for what it says. */
const PASSED: Json = { passed: true };

/** A fail that names no issue. Each is another one: nobody knows whether it is the same. */
const unnamed = (state: PhaseState, step: Step, { rejections }: Report): Defect => {
  const recent = phaseOf(state, step.id).recent ?? step.id;
  const pass = stepOf(state, step.id).rejections + 1;
  const description = `"${step.id}" failed in pass ${pass} without naming an issue.`;
  const [issue] = readIssues([{ severity: 'high', category: 'unnamed', description }]);
  if (!issue) throw new Error('An issue was given.');
  return {
    ...issue,
    id: `${step.id}-${pass}-1`,
    phases: [recent],
    injected: recent,
    reason: `No issue was named: "${recent}" is the last phase before "${step.id}".`,
    foundBy: rejections,
  };
};

/** Reports that cannot be understood go back to whoever wrote them; the others need not write theirs again. */
const refuse = (
  state: PhaseState,
  step: Step,
  refused: Readonly<Record<string, readonly string[]>>,
): PhaseOutcome => {
  const { answers, rejections } = stepOf(state, step.id);
  const good = Object.entries(answers).filter(([role]) => !Object.hasOwn(refused, role));
  const problems = Object.entries(refused).flatMap(([role, own]) =>
    own.map((problem) => ({
      severity: 'high',
      category: 'report',
      description: `the report of "${role}": ${problem}`,
    })),
  );
  const defects = readIssues(problems).map(
    (issue, index): Defect => ({
      ...issue,
      id: `${step.id}-${rejections + 1}-${index + 1}`,
      phases: [step.id],
      injected: step.id,
      reason: null,
      foundBy: [step.id],
    }),
  );
  const kept: PhaseState = {
    ...state,
    kept: { ...state.kept, [step.id]: { inputs: inputsOf(state, step), answers: Object.fromEntries(good) } },
  };
  return failPass(kept, { detected: step.id, finding: 'report', defects });
};
