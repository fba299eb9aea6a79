import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';
import type { Spent } from '../events/usage.ts';
import { AGENT, type AgentContext } from '../machines/agent-machine.ts';
import { CONTEXT } from '../machines/context-machine.ts';
import { FEEDBACK } from '../machines/feedback-work.ts';
import { type IssueRecord, knownIssue, readIssues } from '../machines/issues.ts';
import type { Budget } from '../machines/limits.ts';
import { hashOf } from '../machines/plan.ts';
import { QUESTION } from '../machines/question-machine.ts';
import { freshSteps, keyOf, type RunState, type StepAnswer, type StepRecord } from '../machines/run-state.ts';
import { reduceFeedback, reduceLoops } from './reduce-feedback.ts';

/**
 * Reduces the context of a machine to what its guards can see. Two contexts that reduce to the same value must lead to the
 * same states, whatever happens: the explorer takes samples, and a difference makes its result inconclusive.
 */
export type Reduce = (context: unknown) => Json;

export type Reductions = Readonly<Record<string, Reduce>>;

/** A bound that is far away is not counted down: a loop that only such a bound ends shows as endless, which is on the safe side. */
export const FAR = 200;

const reduceAgent: Reduce = (given) => {
  const { queue, current, attempt, paused } = given as AgentContext; // Kept under the name of its machine only.
  const left = current?.request.budget;
  return {
    queue: queue.map(({ request }) => workOf(request.id)),
    current: current && workOf(current.request.id),
    // Of a request that has ended nobody looks at it.
    attempt: current ? attempt : 0,
    paused,
    budget: left ? [near(left.calls), left.costUsd, left.tokens] : null,
  };
};

/** The id of a request counts the runs of its step, which nobody looks at. */
const workOf = (request: string): string => request.slice(0, request.lastIndexOf('.'));

export const near = (left: number | null, far = FAR): Json => (left === null || left > far ? 'many' : left);

/** What is left of a budget. */
export const budgetOf = ({ calls, costUsd, tokens }: Budget, spent: Spent): Json => [
  near(calls === null ? null : calls - spent.calls),
  costUsd === null ? 0 : spent.costUsd,
  tokens === null ? 0 : spent.tokens,
];

/** The same with what a person allows who lets a run go on: as much again as its limits are. One that is far away is not met before. */
export const withGrants =
  (reduce: Reduce): Reduce =>
  (given) => {
    const { limits, spent } = given as Partial<Pick<RunState, 'limits' | 'spent'>>; // Loops have both.
    if (!limits || !spent) return reduce(given);
    const { calls, costUsd, tokens } = limits;
    const isFar = calls === null || calls - spent.calls > FAR;
    return [reduce(given), isFar ? null : calls, costUsd, tokens];
  };

/** A plan run has the machine of all plan runs, under a name of its user's. */
export const reduceRun: Reduce = (given) => {
  const state = given as RunState;
  const fresh = freshSteps(state);
  const { limits, spent, issues, halt } = state;
  return {
    steps: Object.fromEntries(
      Object.entries(state.steps).map(([id, step]) => [
        id,
        {
          status: step.status,
          fresh: fresh.has(id),
          // What it was made from, or is being made from, may stand again although what it needs is made anew just now.
          current: isMadeFromLast(state, id),
          pending: Object.keys(step.pending),
          // Of a step that has ended, they have been counted.
          answers:
            step.status === 'working'
              ? Object.entries(step.answers).map((said) => saidOf(state, id, said))
              : [],
          failures: step.status === 'working' ? Object.keys(step.failures) : [],
          // What persons have allowed is more of the same.
          rejections: limits.passes === null ? 'any' : limits.passes + state.allowed - step.rejections,
          // A step that waits for feedback of its own has heeded nothing yet, however much it has heard.
          unseen: [step.feedback.length - step.seen, Math.min(step.seen - step.heeded, 1)],
          corrects: [step.seen > step.outdated, step.feedback.length > step.outdated],
          made: made(step),
        },
      ]),
    ),
    // One that was resolved and comes back counts like a new one.
    issues: Object.values(issues)
      .filter(({ status }) => status === 'open' || status === 'rejected')
      .map(({ gate, inRow, status, lastPass, category, fingerprint }) => [
        category === FRESH ? FRESH : fingerprint,
        gate,
        counted(limits.sameIssue, inRow),
        status,
        // In the last pass, or some time ago.
        Math.min((state.steps[gate]?.rejections ?? 0) - lastPass, 1),
      ]),
    budget: budgetOf(limits, spent),
    counts: [
      counted(limits.feedbacks, state.feedbacks),
      counted(limits.unchanged, state.unchanged),
      counted(limits.oscillations, state.oscillations),
    ],
    paused: state.pauseReasons,
    feedback: reduceLoops(state),
    waiting: [...state.waiting].sort(),
    halt: halt && [halt.verdict, halt.met?.limit ?? null, halt.step],
  };
};

const isMadeFromLast = (state: RunState, id: string): boolean =>
  state.plan.steps.some((step) => step.id === id && state.steps[id]?.key === keyOf(state, step));

/** What of an answer will count when the others of its gate have answered. */
const saidOf = (
  { issues }: RunState,
  gate: string,
  [role, { output, issues: beside }]: [string, StepAnswer],
): Json => {
  const { passed = null, issues: inside }: JsonObject = isJsonObject(output) ? output : {};
  const found = readIssues(beside ?? inside).map(({ severity, category, fingerprint }) => [
    category === FRESH ? FRESH : fingerprint,
    severity,
    knownIssue(issues, gate, fingerprint)?.inRow ?? 0,
    knownIssue(issues, gate, fingerprint)?.status ?? 'new',
  ]);
  return [role, passed, found];
};

/**
 * What is left of a limit, which persons may raise: that is all that guards see of a counter. Without a limit nobody looks at it, and the
 * endless loop shows as a cycle.
 */
export const counted = (limit: number | null, count: number): Json =>
  limit === null ? 'any' : limit - count;

/**
 * What a step has made so far. Things that are just new, whichever they are, are alike: what matters of them is which came
 * last, and whether there are others to go back to. Others go by what they are, since they may come again.
 */
export const made = ({ history, output, hash }: StepRecord): Json => {
  const outputs = [...history.map((earlier) => earlier.output), ...(hash === null ? [] : [output])];
  const last = outputs.at(-1) ?? null;
  const others = new Set(outputs.map((each) => hashOf(each)).filter((each) => each !== hashOf(last)));
  const known = outputs.filter((each) => !isFresh(each)).map(hashOf);
  return [
    outputs.length === 0 ? 'nothing' : isFresh(last) ? FRESH : hashOf(last),
    others.size > 0,
    [...new Set(known)].sort(),
  ];
};

export const FRESH = '$fresh';

/** An artifact that is like no other of the way. */
export const freshArtifact = (nth: number): Json => ({ [FRESH]: nth });

/** An issue that is like no other of the way. */
export const freshIssue = (nth: number, severity: Severity = 'high'): JsonObject => ({
  severity,
  category: FRESH,
  description: `${NEW_ISSUE}${nth}`,
});

const NEW_ISSUE = 'new issue no';

/** Whether something that was found can never be found again. A report of one that was refused quotes it. */
export const isNewIssue = ({
  category,
  description,
}: Pick<IssueRecord, 'category' | 'description'>): boolean =>
  category === FRESH || description.includes(NEW_ISSUE);

export const isFresh = (output: Json | undefined): boolean => {
  if (!isJsonObject(output ?? null)) return false;
  const { [FRESH]: nth, issues, verdict, run } = output as JsonObject;
  // A gate gives the issues with which it passed; a run in a run gives what its steps made.
  return (
    nth !== undefined ||
    // A loop in a run that cannot say what it made has the number of its run.
    (typeof verdict === 'string' && typeof run === 'number') ||
    readIssues(issues).some(({ category }) => category === FRESH) ||
    Object.values(output as JsonObject).some(isFresh)
  );
};

/** What is written to a context decides nothing in the machines that come with the package. */
const reduceToNothing: Reduce = () => null;

export const REDUCTIONS: Reductions = {
  [AGENT]: reduceAgent,
  [CONTEXT]: reduceToNothing,
  [QUESTION]: (given) => (given as { level: number }).level,
  [FEEDBACK]: reduceFeedback,
};
