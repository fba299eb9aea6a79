import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import type { IssueRecord, IssueRegistry } from './issues.ts';
import type { QuestionInput, QuestionOption, QuestionOutput } from './question-machine.ts';
import type { Outcome } from './run-rules.ts';
import { sendBack } from './run-rules.ts';
import { type RunState, stepOf, withStep } from './run-state.ts';

/** How many more passes a person allows who says no number. */
const MORE_PASSES = 3;

const LIMIT_OPTIONS: readonly QuestionOption[] = [
  {
    id: 'continue',
    label: 'Go on',
    impact: `${MORE_PASSES} more passes, or as many as you give as the value`,
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
export const applyDecision = (state: RunState, said: QuestionOutput): Outcome => {
  if (said.outcome !== 'answered') return { state, messages: [{ type: 'run.decided', option: 'expired' }] };
  const { option, note, by, value } = said;
  const decided = { ...state, decidedBy: by };
  const told = { type: 'run.decided', option, note, by, halt: state.halt as unknown as Json };
  if (option === 'accept')
    return { state: { ...decided, ...acceptDebt(state.issues, note) }, messages: [told] };
  if (!isContinuing(said)) return { state: decided, messages: [told] };
  const more = morePasses(value);
  const next = goOn({ ...decided, halt: null }, state.halt, more);
  return { state: next.state, messages: [{ ...told, more }, ...next.messages] };
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

/** The repeat counters start anew, and what was held back is done. */
const goOn = (state: RunState, halt: RunState['halt'], more: number): Outcome => {
  const fresh: RunState = {
    ...state,
    allowed: state.allowed + (halt?.met ? more : 0),
    unchanged: 0,
    oscillations: 0,
    issues: countAnew(state.issues),
    limits: raised(state, halt, more),
  };
  const step = fresh.plan.steps.find(({ id }) => id === halt?.step);
  if (!step) return { state: fresh, messages: [] };
  const record = stepOf(fresh, step.id);
  if (record.status === 'failed')
    return { state: withStep(fresh, step.id, { status: 'waiting', key: null }), messages: [] };
  // A gate that had rejected, and whose feedback the limit had held back.
  const isHeldBack = step.gate !== null && record.status === 'waiting' && record.rejections > 0;
  if (!isHeldBack) return { state: fresh, messages: [] };
  const issues = Object.values(fresh.issues).filter(
    ({ gate, lastPass, status }) => gate === step.id && lastPass === record.rejections && status === 'open',
  );
  return sendBack(fresh, step.gate?.corrects ?? '', {
    from: step.id,
    pass: record.rejections,
    issues: issues as unknown as Json[],
  });
};

/** A budget grows only by a person: by as much again as it was. */
export const raised = (
  { limits, feedbacks = 0 }: Pick<RunState, 'limits'> & { readonly feedbacks?: number },
  halt: RunState['halt'],
  more: number,
): RunState['limits'] => {
  const limit = halt?.met?.limit;
  switch (limit) {
    case 'costUsd':
    case 'tokens':
    case 'calls':
      return {
        ...limits,
        [limit]: Math.max(limits[limit] ?? 0, halt?.met?.used ?? 0) + (halt?.met?.bound ?? 0),
      };
    case 'feedbacks':
      return { ...limits, feedbacks: feedbacks + more };
    default:
      return limits;
  }
};
