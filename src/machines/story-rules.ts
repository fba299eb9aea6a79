import type { Json } from '../events/json.ts';
import { addSpent } from '../events/usage.ts';
import { startActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import { type AgentReply, NO_BUDGET, type WorkRequest } from './agent-work.ts';
import { budgetLeft, type MetLimit, metLimit } from './limits.ts';
import type { ReworkOutput } from './rework-machine.ts';
import { haltOf } from './run-halts.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import type { Halt } from './run-state.ts';
import { phaseAtFault, phasesFrom, type StoryPhase, WORK_PHASES, type WorkPhase } from './story-phases.ts';
import { joinReviews, type ReviewResult, readReview, summaryOfReview } from './story-review.ts';
import { type Attempt, isBreakerOpen, isoOf, limitsInForce, maxOf, type StoryState } from './story-state.ts';
import { feedbackOf, historyOf, workInput } from './story-text.ts';

/** What a rule makes of a story. */
export interface StoryOutcome {
  readonly state: StoryState;
  readonly messages: readonly RunMessage[];
}

/** The phase that an action works on. */
export const phaseOf = ({ action, target }: Pick<StoryState, 'action' | 'target'>): StoryPhase => {
  if (action === 'rework') return target ?? 'implement';
  return action === null || action === 'manual-intervention' ? 'implement' : action;
};

/** Asks whoever works on the phase, unless a budget is used up: of a review those who have not answered yet. */
export const ask = (given: StoryState): StoryOutcome => {
  const phase = given.phase ?? phaseOf(given);
  const met = budgetMet(given);
  if (met) return halted({ ...given, phase, action: null, afterSync: 'settled' }, haltOf(met, phase));
  const roles =
    phase === 'review' ? given.settings.reviewers.filter((role) => !given.answers[role]) : [phase as string];
  let state: StoryState = { ...given, phase, action: null, afterSync: 'settled' };
  const messages: RunMessage[] = [];
  const { refinements: iteration, key: story } = state;
  const isRefinement = iteration > 0 && phase === state.target;
  for (const role of roles) {
    const id = `${role}.${state.requests + 1}`;
    const to = `./${agentId(role)}`;
    const isNew = !state.started.includes(role);
    if (isNew)
      messages.push(
        startActor({
          id: agentId(role),
          machine: AGENT,
          input: state.settings.roles[role] as unknown as Json,
        }),
      );
    // An agent that is only started now has not heard of the pause.
    if (isNew && state.pauseReasons.length > 0) messages.push({ type: 'agent.pause', to });
    messages.push(
      { type: 'story.called', story, phase, role, iteration, isRefinement },
      { type: 'agent.request', to, request: requestOf(state, phase, id) as unknown as Json },
    );
    state = {
      ...state,
      requests: state.requests + 1,
      pending: { ...state.pending, [role]: id },
      started: isNew ? [...state.started, role] : state.started,
    };
  }
  return { state, messages };
};

const requestOf = (state: StoryState, phase: StoryPhase, id: string): WorkRequest => ({
  id,
  // They are JSON: what they are made of came through the door.
  input: workInput(state, phase) as unknown as Json,
  feedback: phase === 'review' || phase === 'create-pr' ? [] : feedbackOf(state),
  history: historyOf(state, phase) as unknown as Json[],
  context: null,
  budget: budgetLeft(limitsInForce(state.settings), state.spent),
});

const budgetMet = ({ settings, spent }: StoryState): MetLimit | undefined =>
  metLimit(limitsInForce(settings), {
    calls: { used: spent.calls },
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
  });

const halted = (state: StoryState, halt: Halt): StoryOutcome => ({
  state: { ...state, halt, pending: {}, lastError: halt.reason },
  messages: [
    { type: 'story.halted', story: state.key, ...(halt as unknown as Readonly<Record<string, Json>>) },
  ],
});

/** What a reply of an agent changes. */
export const take = (state: StoryState, reply: AgentReply, role: string): StoryOutcome => {
  const { [role]: _, ...pending } = state.pending;
  const heard = { ...state, pending, spent: addSpent(state.spent, reply.spent) };
  return heard.phase === 'review' ? reviewed(heard, reply, role) : worked(heard, reply);
};

const worked = (state: StoryState, reply: AgentReply): StoryOutcome => {
  const phase = state.phase ?? 'implement';
  if (reply.type === 'agent.failed') {
    const met = reply.failure.code === NO_BUDGET.code ? budgetMet(state) : undefined;
    if (met) return halted(state, haltOf(met, phase));
    const reason = `The phase "${phase}" failed: ${reply.failure.message}`;
    return halted(state, { verdict: 'failed', met: null, step: phase, reason });
  }
  const { output } = reply.answer;
  const length = JSON.stringify(output).length;
  // It goes with every later request: long texts are kept elsewhere, and do not count.
  if (length > OUTPUT_LENGTH_MAX) {
    const reason = `What the phase "${phase}" gave is too large (${length} characters): let it write a file, and name that.`;
    return halted(state, { verdict: 'failed', met: null, step: phase, reason });
  }
  const attempt: Attempt = { iteration: state.refinements, output, review: null };
  const done: StoryState = {
    ...state,
    phase: null,
    action: null,
    lastError: null,
    work: { ...state.work, [phase]: output },
    attempts: { ...state.attempts, [phase]: [...(state.attempts[phase] ?? []), attempt] },
    complete: isWork(phase) ? { ...state.complete, [phase]: true } : state.complete,
    verdict: phase === 'create-pr' ? (state.isAccepted ? 'accepted' : 'verified') : null,
  };
  return {
    state: done,
    messages: [{ type: 'story.phase', story: state.key, phase, iteration: state.refinements }],
  };
};

const OUTPUT_LENGTH_MAX = 100_000;

const isWork = (phase: StoryPhase): phase is WorkPhase => WORK_PHASES.some((each) => each === phase);

const reviewed = (state: StoryState, reply: AgentReply, role: string): StoryOutcome => {
  const result = reply.type === 'agent.done' ? readReview(reply.answer) : undefined;
  if (result && result.decision !== 'failed')
    return endReview({ ...state, answers: { ...state.answers, [role]: result } });
  const said = result && (typeof result.feedback === 'string' ? result.feedback : 'it failed');
  const reason = reply.type === 'agent.failed' ? reply.failure.message : (said ?? '');
  if (reply.type === 'agent.failed' && reply.failure.code === NO_BUDGET.code) {
    const met = budgetMet(state);
    if (met) return halted(state, haltOf(met, 'review'));
  }
  const times = (state.failures[role]?.times ?? 0) + 1;
  const failed = { ...state, failures: { ...state.failures, [role]: { times, reason } } };
  const told: RunMessage = { type: 'story.unreviewed', story: state.key, reviewer: role, times, reason };
  const next = endReview(failed);
  return { state: next.state, messages: [told, ...next.messages] };
};

/** Reviewers who failed and may be asked again. */
export const toRetry = ({ failures, answers, settings }: StoryState): readonly string[] => {
  const bound = settings.limits.reviewRetries;
  return Object.entries(failures).flatMap(([role, { times }]) =>
    !answers[role] && (bound === null || times <= bound) ? role : [],
  );
};

/** Nothing, while somebody is still to answer; else all that was said as one result. */
const endReview = (state: StoryState): StoryOutcome => {
  if (Object.keys(state.pending).length > 0 || toRetry(state).length > 0) return { state, messages: [] };
  const missing = state.settings.reviewers.filter((role) => !state.answers[role]);
  const joined = joinReviews(inOrder(state));
  if (missing.length > 0 && joined.decision !== 'rejected') {
    const reasons = missing.map((role) => `${role}: ${state.failures[role]?.reason ?? ''}`).join('; ');
    const reason = `The review failed to run. ${reasons}`;
    return halted(
      { ...state, answers: {}, failures: {} },
      { verdict: 'failed', met: null, step: 'review', reason },
    );
  }
  return judged(state, joined);
};

/** As they were declared, whoever was the first to answer. */
const inOrder = ({ settings, answers }: StoryState): Readonly<Record<string, ReviewResult>> =>
  Object.fromEntries(
    settings.reviewers.flatMap((role) => {
      const answer = answers[role];
      return answer ? [[role, answer]] : [];
    }),
  );

/** Counted by the time of the turn, which the machine knows. */
const judged = (state: StoryState, review: ReviewResult): StoryOutcome => {
  const { decision, issues, severity, feedback, passed } = review;
  const summary = passed ? 'Review passed' : summaryOfReview(review);
  const target = passed ? null : phaseAtFault(issues, state.settings.faults);
  const next: StoryState = {
    ...state,
    phase: null,
    action: null,
    answers: {},
    failures: {},
    lastError: null,
    review: passed ? 'approved' : 'rejected',
    last: review,
    target,
    iterations: state.iterations.map((each) =>
      each.result === 'in_progress' ? { ...each, result: passed ? 'passed' : 'failed' } : each,
    ),
  };
  const told: RunMessage = {
    type: 'story.reviewed',
    story: state.key,
    iteration: state.refinements,
    decision,
    severity,
    summary,
    target,
    issues: issues as unknown as Json,
    feedback,
  };
  return { state: next, messages: [told] };
};

/** Notes the review in the history that the file shows. */
export const noteReview = (before: StoryState, after: StoryState, atMs: number): StoryState => {
  if (after.last === null || after.last === before.last) return after;
  const { decision, severity, passed, issues, feedback } = after.last;
  const at = isoOf(atMs);
  const summary = passed ? 'Review passed' : summaryOfReview(after.last);
  // What was rejected is noted by the rework: but at the limit there is none.
  const isForRework = !passed && !isBreakerOpen(after);
  return {
    ...after,
    reviews: [...after.reviews, { at, decision, severity, summary, phase: after.target }],
    notes: isForRework
      ? after.notes
      : [...after.notes, { kind: 'review', at, summary, decision, issues, feedback }],
  };
};

/** Takes over what the rework actor has made. */
export const applyRework = (state: StoryState, output: ReworkOutput): StoryOutcome => {
  const { refinement, record, complete, resets, notes } = output;
  if (!refinement) return { state: { ...state, action: null, phase: null }, messages: [] };
  const { iteration, target, summary, review } = refinement;
  const { issues, feedback } = review;
  const attempts = Object.fromEntries(
    phasesFrom(target).map((phase) => [
      phase,
      (state.attempts[phase] ?? []).map((attempt, index, all) =>
        index === all.length - 1 && attempt.review === null
          ? { ...attempt, review: { summary, issues, feedback } }
          : attempt,
      ),
    ]),
  );
  // At the limit it was noted already, and a person has let it go on.
  const isNoted = state.notes.at(-1)?.kind === 'review';
  const next: StoryState = {
    ...state,
    complete,
    review: 'none',
    refinements: iteration,
    reworks: state.reworks + 1,
    // From now on nothing but a person changes it.
    fixed: state.fixed ?? { max: maxOf(state) },
    iterations: [...state.iterations, record],
    resets: [...state.resets, ...resets],
    notes: [...state.notes, ...(isNoted ? notes.slice(1) : notes)],
    attempts: { ...state.attempts, ...attempts },
    lastError: null,
  };
  return { state: next, messages: [{ type: 'story.reworked', story: state.key, iteration, target }] };
};

/** What is to become of the story now: at its limit its policy says. */
export const settle = (state: StoryState): StoryOutcome => {
  if (state.verdict !== null) return { state, messages: [] };
  const { policy, onFailure } = state.settings;
  if (state.halt) {
    // A limit of its budget, or an agent that failed for good.
    if (state.halt.met === null) return onFailure === 'stop' ? ended(state, 'failed') : same(state);
    return policy === 'manual' ? same(state) : atLimit(state);
  }
  if (!isBreakerOpen(state)) return same(state);
  const bound = maxOf(state) ?? 0;
  const used = state.refinements;
  const reason = `${used} of ${bound} refinements are used, and the review still rejects.`;
  const met: MetLimit = {
    limit: 'reworks',
    bound,
    used,
    evidence: state.iterations.map(({ reviewFeedback }) => reviewFeedback),
  };
  const stopped = halted(
    // The limit that was enforced is the one that the file shows.
    { ...state, fixed: state.fixed ?? { max: bound } },
    { verdict: 'exhausted', met, step: 'review', reason },
  );
  const told: RunMessage = { type: 'story.limit', story: state.key, refinements: used, max: bound, policy };
  const next = policy === 'manual' ? same(stopped.state) : atLimit(stopped.state);
  return { state: next.state, messages: [...stopped.messages, told, ...next.messages] };
};

const same = (state: StoryState): StoryOutcome => ({ state, messages: [] });

const atLimit = (state: StoryState): StoryOutcome =>
  state.settings.policy === 'error'
    ? ended(state, 'failed')
    : ended({ ...state, isSkipped: true }, state.halt?.verdict ?? 'exhausted');

export const ended = (state: StoryState, verdict: NonNullable<StoryState['verdict']>): StoryOutcome => ({
  state: { ...state, verdict, phase: null, action: null },
  messages: [],
});
