import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { judge } from './gates.ts';
import type { IssueRecord, IssueRegistry } from './issues.ts';
import { debtOf } from './loop-effects.ts';
import { openLoops } from './loop-state.ts';
import type { Gate, Step } from './plan.ts';
import type { QuestionInput, QuestionOption, QuestionOutput } from './question-machine.ts';
import { type Outcome, type RunMessage } from './run-messages.ts';
import { sendBack } from './run-rules.ts';
import { type RunState, stepOf } from './run-state.ts';

/** How many more passes a person allows who says no number. */
const MORE_PASSES = 3;

const LIMIT_OPTIONS: readonly QuestionOption[] = [
  {
    id: 'continue',
    label: 'Go on',
    impact: `${MORE_PASSES} more passes, or as much again of a budget; or as much as you give as the value`,
  },
  { id: 'accept', label: 'Take it as it is', impact: 'what is open is recorded as debt' },
  { id: 'cancel', label: 'Cancel the run', impact: 'nothing of it is taken' },
];
const FAILURE_OPTIONS: readonly QuestionOption[] = [
  { id: 'retry', label: 'Try the step again', impact: 'its agent is called again' },
  { id: 'stop', label: 'End the run', impact: 'it ends failed' },
  { id: 'cancel', label: 'Cancel the run', impact: 'nothing of it is taken' },
];

/** What a person is asked when a run does not go on by itself. */
export const questionFor = ({
  halt,
  questionLevels,
  onExpiry,
  issues,
}: Pick<RunState, 'halt' | 'questionLevels' | 'onExpiry' | 'issues'>): QuestionInput => ({
  text: halt?.reason ?? 'The run does not go on.',
  details: {
    halt: halt as unknown as Json,
    issues: Object.values(issues).filter(({ status }) => status === 'open') as unknown as Json,
  },
  options: halt?.met ? LIMIT_OPTIONS : FAILURE_OPTIONS,
  isFree: false,
  levels: questionLevels,
  onExpiry,
});

export const isContinuing = (said: QuestionOutput): boolean =>
  said.outcome === 'answered' && (said.option === 'continue' || said.option === 'retry');

/** The verdict that an answer ends a run with. */
export const verdictOf = ({ halt }: Pick<RunState, 'halt'>, said: QuestionOutput): Verdict => {
  if (said.outcome === 'expired')
    return said.onExpiry === 'cancel' ? 'cancelled' : (halt?.verdict ?? 'failed');
  if (said.option === 'accept') return 'accepted';
  return said.option === 'cancel' ? 'cancelled' : (halt?.verdict ?? 'failed');
};

/** What a decision changes, and who made it. */
export const applyDecision = (state: RunState, said: QuestionOutput, atMs: number): Outcome => {
  if (said.outcome !== 'answered') return { state, messages: [{ type: 'run.decided', option: 'expired' }] };
  const { option, note, by, value } = said;
  const decided = { ...state, decidedBy: by };
  const told = { type: 'run.decided', option, note, by, halt: state.halt as unknown as Json };
  if (option === 'accept') return { state: { ...decided, ...acceptAll(state, note) }, messages: [told] };
  if (!isContinuing(said)) return { state: decided, messages: [told] };
  const more = morePasses(value);
  const deadlineMs = deadlineOf(state, atMs);
  const next = goOn({ ...decided, deadlineMs, halt: null }, state.halt, { more, value });
  return { state: next.state, messages: [{ ...told, more }, ...next.messages] };
};

/** Issues, feedback that is not resolved, and what was a debt already. */
const acceptAll = (state: RunState, note: string | null): Pick<RunState, 'issues' | 'debt'> => {
  const { issues, debt } = acceptDebt(state.issues, note);
  return {
    issues,
    debt: [...state.debt, ...debt, ...openLoops(state.loops).map((loop) => debtOf(loop, note))],
  };
};

/** What is open is taken as it is, and kept as debt. */
export const acceptDebt = (
  issues: IssueRegistry,
  note: string | null,
): { readonly issues: IssueRegistry; readonly debt: readonly IssueRecord[] } => ({
  debt: Object.values(issues).filter(({ status }) => status === 'open'),
  issues: Object.fromEntries(
    Object.entries(issues).map(([key, issue]) => [
      key,
      issue.status === 'open' ? { ...issue, status: 'accepted' as const, note } : issue,
    ]),
  ),
});

/** How many more passes a person allows. */
export const morePasses = (value: Json): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : MORE_PASSES;

/** Counters of what is found again and again start anew. */
export const countAnew = (issues: IssueRegistry): IssueRegistry =>
  Object.fromEntries(Object.entries(issues).map(([key, issue]) => [key, { ...issue, inRow: 0 }]));

/** The repeat counters start anew, what has failed may be tried again, and what was held back is done. */
const goOn = (
  state: RunState,
  halt: RunState['halt'],
  { more, value }: { readonly more: number; readonly value: Json },
): Outcome => {
  let next: RunState = {
    ...state,
    allowed: state.allowed + (halt?.met ? more : 0),
    unchanged: 0,
    oscillations: 0,
    // Not only the step that halted the run: those beside it may have failed while they finished.
    steps: Object.fromEntries(
      Object.entries(state.steps).map(([id, step]) => [
        id,
        step.status === 'failed' ? { ...step, status: 'waiting' as const, key: null } : step,
      ]),
    ),
    issues: countAnew(state.issues),
    limits: raised(state, halt, { more, value }),
  };
  const messages: RunMessage[] = [];
  for (const { step, gate } of heldBack(next)) {
    const { passed, feedback } = judge(step, stepOf(next, step.id), next.issues);
    // A person has thrown out all that it was rejected for: it is looked at again as it is.
    if (passed) continue;
    const pass = stepOf(next, step.id).rejections;
    const sent = sendBack(next, gate.corrects, { from: step.id, pass, issues: feedback });
    next = sent.state;
    messages.push(...sent.messages);
  }
  return { state: next, messages };
};

/** Gates that have rejected, and whose feedback a limit has held back. */
const heldBack = (state: RunState): readonly { readonly step: Step; readonly gate: Gate }[] =>
  state.plan.steps.flatMap((step) => {
    const { gate } = step;
    const { status, rejections } = stepOf(state, step.id);
    if (!gate || status !== 'waiting' || rejections === 0) return [];
    const isSent = stepOf(state, gate.corrects).feedback.some(
      ({ from, pass }) => from === step.id && pass === rejections,
    );
    return isSent ? [] : [{ step, gate }];
  });

/** Time that was used up is given once more. */
export const deadlineOf = (
  { halt, limits, deadlineMs }: Pick<RunState, 'halt' | 'limits' | 'deadlineMs'>,
  atMs: number,
): number | null => {
  if (halt?.met?.limit !== 'timeMs') return deadlineMs;
  return limits.timeMs ? atMs + limits.timeMs : null;
};

/**
 * A budget grows only by a person: by as much as they say, else by as much again as it was. A nested run's never grows beyond
 * what its parent had left for it: whoever wants to give more asks the parent.
 */
export const raised = (
  { limits, feedbacks = 0, cap = null }: Raisable,
  halt: RunState['halt'],
  { more, value }: { readonly more: number; readonly value: Json },
): RunState['limits'] => {
  const limit = halt?.met?.limit;
  switch (limit) {
    case 'costUsd':
    case 'tokens':
    case 'calls': {
      const given = typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;
      const step = given ?? (halt?.met?.bound || 1);
      const next = Math.max(limits[limit] ?? 0, halt?.met?.used ?? 0) + step;
      return { ...limits, [limit]: Math.min(next, cap?.[limit] ?? Number.MAX_SAFE_INTEGER) };
    }
    case 'feedbacks':
      return { ...limits, feedbacks: feedbacks + more };
    default:
      return limits;
  }
};

interface Raisable extends Pick<RunState, 'limits'> {
  readonly feedbacks?: number;
  readonly cap?: RunState['cap'];
}
