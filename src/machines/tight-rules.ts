import type { Json } from '../events/json.ts';
import { addSpent } from '../events/usage.ts';
import { startActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import { type AgentReply, NO_BUDGET, type WorkRequest } from './agent-work.ts';
import { compareArtifact, noteIssues, standing } from './issues.ts';
import { budgetLeft, type LimitName, type MetLimit, metLimit } from './limits.ts';
import { hashOf } from './plan.ts';
import type { QuestionOutput } from './question-machine.ts';
import { acceptDebt, countAnew, deadlineOf, isContinuing, morePasses, raised } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import { readCheck, saysDone, summaryOf } from './tight-results.ts';
import {
  type Check,
  type CheckResult,
  newPass,
  type Pass,
  passesAtFirst,
  passesMax,
  type Resume,
  type TightRole,
  type TightState,
} from './tight-state.ts';
import { checkerInput, developerInput } from './tight-text.ts';

/** What a rule makes of a loop. */
export interface TightOutcome {
  readonly state: TightState;
  readonly messages: readonly RunMessage[];
}

/** Asks an agent for its part of the pass, unless a budget is used up. */
export const ask = (state: TightState, role: TightRole): TightOutcome => {
  const met = budgetMet(state);
  if (met) return stop(state, met, STATE_OF[role]);
  const id = `${role}.${state.requests + 1}`;
  const isNew = !state.started.includes(role);
  const request: WorkRequest = {
    id,
    input: inputFor(state, role),
    feedback: [],
    // They are JSON: what they are made of came through the door.
    history: role === 'developer' ? (historyOf(state.passes) as unknown as Json[]) : [],
    context: null,
    budget: budgetLeft(state.limits, state.spent),
  };
  const to = `./${agentId(role)}`;
  return {
    state: {
      ...state,
      pending: { role, request: id },
      requests: state.requests + 1,
      started: isNew ? [...state.started, role] : state.started,
    },
    messages: [
      ...(isNew
        ? [startActor({ id: agentId(role), machine: AGENT, input: state.roles[role] as unknown as Json })]
        : []),
      // An agent that is only started now has not heard of the pause.
      ...(isNew && state.pauseReasons.length > 0 ? [{ type: 'agent.pause', to }] : []),
      { type: 'agent.request', to, request: request as unknown as Json },
    ],
  };
};

/** How many findings of all passes together go with a request. The scratchpad has them all. */
const HISTORY_ISSUES_MAX = 500;

/** All passes; the oldest without their findings if those are too many for one event. */
const historyOf = (passes: readonly Pass[]): readonly Pass[] => {
  let left = HISTORY_ISSUES_MAX;
  const bare = (result: CheckResult | null) => result && { ...result, issues: [] };
  return passes
    .toReversed()
    .map((pass) => {
      left -= (pass.review?.issues.length ?? 0) + (pass.test?.issues.length ?? 0);
      return left >= 0 ? pass : { ...pass, review: bare(pass.review), test: bare(pass.test) };
    })
    .toReversed();
};

const inputFor = (state: TightState, role: TightRole): Json =>
  role === 'developer'
    ? (developerInput(state) as unknown as Json)
    : checkerInput(state, state.current.implementation);

const budgetMet = ({ limits, spent }: TightState): MetLimit | undefined =>
  metLimit(limits, {
    calls: { used: spent.calls },
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
  });

export const stateOf = (role: TightRole): Resume => STATE_OF[role];

const STATE_OF = { developer: 'implementing', reviewer: 'reviewing', tester: 'testing' } as const;

const stop = (state: TightState, met: MetLimit, resume: Resume): TightOutcome => ({
  state: { ...state, halt: haltOf(met, null), resume },
  messages: [{ type: 'loop.halted', met: met as unknown as Json }],
});

/** What a reply of an agent changes. */
export const take = (state: TightState, reply: AgentReply): TightOutcome => {
  const role = state.pending?.role ?? 'developer';
  const heard = { ...state, pending: null, spent: addSpent(state.spent, reply.spent) };
  if (reply.type === 'agent.failed') return failed(heard, role, reply.failure);
  if (role === 'developer') return implemented(heard, reply.answer);
  return checked(heard, role === 'reviewer' ? 'review' : 'test', reply.answer);
};

const failed = (
  state: TightState,
  role: TightRole,
  { message, code }: { readonly message: string; readonly code?: string },
): TightOutcome => {
  const met = code === NO_BUDGET.code ? budgetMet(state) : undefined;
  if (met) return stop(state, met, STATE_OF[role]);
  const reason = `The ${role} failed: ${message}`;
  return {
    state: { ...state, halt: { verdict: 'failed', met: null, step: role, reason }, resume: STATE_OF[role] },
    messages: [{ type: 'loop.halted', reason, role }],
  };
};

type Answer = Extract<AgentReply, { type: 'agent.done' }>['answer'];

const implemented = (state: TightState, answer: Answer): TightOutcome => {
  const { artifacts } = answer;
  const current: Pass = { ...state.current, implementation: summaryOf(answer) };
  const isDone = !state.repeats || saysDone(answer);
  const told = { type: 'loop.implemented', pass: current.number, implementation: current.implementation };
  const next: TightState = { ...state, current, repeat: isDone ? 1 : state.repeat + 1 };
  if (!isDone) {
    const met = metLimit(state.limits, { repeats: { used: state.repeat, evidence: ['developer'] } });
    return met ? stop(next, met, 'implementing') : { state: next, messages: [told] };
  }
  // Only what the developer names as made can be compared: what it says of its work is often the same words.
  if (artifacts === undefined) return { state: next, messages: [told] };
  const hash = hashOf(artifacts);
  const fate = state.passes.length === 0 ? 'new' : compareArtifact(state.artifacts, hash);
  const noted: TightState = {
    ...next,
    artifacts: [...state.artifacts, hash],
    unchanged: state.unchanged + (fate === 'unchanged' ? 1 : 0),
    oscillations: state.oscillations + (fate === 'oscillating' ? 1 : 0),
  };
  const met = metLimit(noted.limits, {
    ...(fate === 'unchanged' && { unchanged: { used: noted.unchanged, evidence: [hash] } }),
    ...(fate === 'oscillating' && { oscillations: { used: noted.oscillations, evidence: [hash] } }),
  });
  return met ? stop(noted, met, 'reviewing') : { state: noted, messages: [told] };
};

/** What a check said of the pass under way. */
export const checked = (
  state: TightState,
  check: Check,
  answer: Pick<Answer, 'output' | 'issues' | 'excerpt'>,
): TightOutcome => {
  const said = readCheck(check, answer);
  const issues = said.passed ? [] : standing(state.issues, said.issues);
  // A failure for reasons that a person has thrown out all of is none.
  const passed = said.passed || (said.issues.length > 0 && issues.length === 0);
  const run = state.ran[check] + 1;
  const next: TightState = {
    ...state,
    current: { ...state.current, [check]: { passed, issues, text: passed ? null : said.text } },
    issues: noteIssues(state.issues, said.passed ? [] : said.issues, { gate: check, pass: run }),
    ran: { ...state.ran, [check]: run },
    failedInRow: { ...state.failedInRow, [check]: passed ? 0 : state.failedInRow[check] + 1 },
  };
  if (passed && check === 'review') return { state: next, messages: [] };
  return endPass(next, check);
};

/** The pass is over: it was good, or another one may follow. */
const endPass = (state: TightState, check: Check): TightOutcome => {
  const { current } = state;
  const isGood = current.test?.passed === true;
  const ended: TightState = { ...state, passes: [...state.passes, current] };
  const met = isGood ? undefined : limitMet(ended, check);
  const told: RunMessage = {
    type: 'loop.pass',
    ...(current as unknown as Readonly<Record<string, Json>>),
    status: isGood ? 'verified' : met ? 'limit' : 'continuing',
    passesMax: passesMax(ended),
    failedInRow: { ...ended.failedInRow },
  };
  if (!met) return { state: ended, messages: [told] };
  const halted = stop(ended, met, 'nextPass');
  return { state: halted.state, messages: [told, ...halted.messages] };
};

const limitMet = (state: TightState, check: Check): MetLimit | undefined => {
  const name = check === 'review' ? 'sameIssue' : 'sameFailure';
  const found = Object.values(state.issues).filter(
    ({ gate, status, lastPass }) => gate === check && status === 'open' && lastPass === state.ran[check],
  );
  const longest = Math.max(0, ...found.map(({ inRow }) => inRow));
  const evidence = found.filter(({ inRow }) => inRow === longest).map(({ fingerprint }) => fingerprint);
  const limits = { ...state.limits, passes: passesMax(state) };
  return metLimit(limits, {
    [name]: { used: longest, evidence },
    failuresInRow: { used: state.failedInRow[check], evidence: [check] },
    passes: { used: state.passes.length },
  });
};

/** Begins the next pass. */
export const nextPass = (state: TightState): TightState => ({
  ...state,
  current: newPass(state.passes.length + 1),
  repeat: 1,
});

const BUDGETS: readonly LimitName[] = ['calls', 'costUsd', 'tokens', 'timeMs'];

const isOfBudget = (halt: TightState['halt']): boolean =>
  halt?.met != null && BUDGETS.includes(halt.met.limit);

/** What a person's answer changes. */
export const decideTight = (state: TightState, said: QuestionOutput, atMs: number): TightOutcome => {
  if (said.outcome !== 'answered') return { state, messages: [{ type: 'loop.decided', option: 'expired' }] };
  const { option, note, by, value } = said;
  const decided = { ...state, decidedBy: by };
  const told = { type: 'loop.decided', option, note, by, halt: state.halt as unknown as Json };
  if (option === 'accept')
    return { state: { ...decided, ...acceptDebt(state.issues, note) }, messages: [told] };
  if (!isContinuing(said)) return { state: decided, messages: [told] };
  const more = morePasses(value);
  const isRetry = option === 'retry';
  const next: TightState = {
    ...decided,
    halt: null,
    deadlineMs: deadlineOf(state, atMs),
    // So many from now on, whatever was left: unless it was not for passes that it was held up.
    allowed:
      isRetry || isOfBudget(state.halt)
        ? state.allowed
        : state.passes.length + more - (passesAtFirst(state) ?? 0),
    limits: raised(state, state.halt, { more, value }),
    issues: countAnew(state.issues),
    failedInRow: isRetry ? state.failedInRow : { review: 0, test: 0 },
    unchanged: 0,
    oscillations: 0,
    repeat: 1,
  };
  const counts = { passesMax: passesMax(next), failedInRow: { ...next.failedInRow } };
  return { state: next, messages: [{ ...told, more: isRetry ? 0 : more, ...counts }] };
};
