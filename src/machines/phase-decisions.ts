import type { Json } from '../events/json.ts';
import { noteEnd, route } from './phase-corrections.ts';
import { readPhases, told } from './phase-report.ts';
import {
  andThen,
  type Correction,
  type Defect,
  nextPhase,
  nothing,
  type PhaseOutcome,
  type PhaseState,
  phaseOf,
  stepNamed,
} from './phase-state.ts';
import type { QuestionInput, QuestionOutput } from './question-machine.ts';
import { acceptDebt, deadlineOf, isContinuing, morePasses, questionFor, raised } from './run-decisions.ts';
import { agentId } from './run-messages.ts';
import { type Feedback, keyOf, stepOf, withStep } from './run-state.ts';

/** What a person is asked: with the defects that wait for the answer, so that they can be put elsewhere first. */
export const askedOf = (state: PhaseState): QuestionInput => {
  const question = questionFor(state);
  const held = state.corrections.find(({ id }) => id === state.held);
  return {
    ...question,
    details: {
      ...(question.details as Readonly<Record<string, Json>>), // questionFor made it.
      defects: (held?.defects ?? []) as unknown as Json,
    },
  };
};

/** What a person's answer changes. */
export const decidePhases = (state: PhaseState, said: QuestionOutput, atMs: number): PhaseOutcome => {
  if (said.outcome !== 'answered') return { state, messages: [{ type: 'run.decided', option: 'expired' }] };
  const { option, note, by, value } = said;
  const decided: PhaseState = { ...state, decidedBy: by };
  const fact = { type: 'run.decided', option, note, by, halt: state.halt as unknown as Json };
  if (option === 'accept')
    return { state: { ...decided, ...acceptDebt(state.issues, note) }, messages: [fact] };
  if (!isContinuing(said)) return { state: decided, messages: [fact] };
  const more = morePasses(value);
  const next: PhaseState = {
    ...decided,
    halt: null,
    deadlineMs: deadlineOf(state, atMs),
    allowed: allowedNow(state, more),
    limits: raised(state, state.halt, { more, value }),
    // What is counted of things that come again starts anew.
    rounds: {},
    unchanged: 0,
    oscillations: 0,
    steps: Object.fromEntries(
      Object.entries(state.steps).map(([id, step]) => [
        id,
        step.status === 'failed' ? { ...step, status: 'waiting' as const, key: null } : step,
      ]),
    ),
  };
  return andThen({ state: next, messages: [{ ...fact, more }] }, route);
};

/** So many failed passes more from now on, of whatever has used up its own. */
const allowedNow = (state: PhaseState, more: number): PhaseState['allowed'] => {
  const { halt, allowed, limits } = state;
  if (halt?.met?.limit !== 'passes') return allowed;
  const [id] = halt.met.evidence;
  if (id === undefined) return { ...allowed, '': state.failed + more - (limits.passes ?? 0) };
  return { ...allowed, [id]: stepOf(state, id).rejections + more - (phaseOf(state, id).passes ?? 0) };
};

/** What a person says of an issue: which phases it is of. */
export interface Reclassification {
  /** Its id, or its fingerprint. */
  readonly issue: string;
  readonly phases: readonly string[];
  readonly note: string | null;
  /** Who says so: the fact keeps it. */
  readonly by?: string | null;
}

/** The defect that is meant: in the last correction that has it. */
const meant = (
  { corrections }: PhaseState,
  issue: string,
): { readonly correction: Correction; readonly defect: Defect } | undefined => {
  for (const correction of corrections.toReversed()) {
    const defect = correction.defects.find(({ id, fingerprint }) => id === issue || fingerprint === issue);
    if (defect) return { correction, defect };
  }
  return undefined;
};

/** Whether there is such an issue, and the phases could have made it. */
export const isReclassifiable = (state: PhaseState, { issue, phases }: Reclassification): boolean => {
  const found = typeof issue === 'string' ? meant(state, issue) : undefined;
  if (!found || !Array.isArray(phases)) return false;
  const read = readPhases(state, found.correction.detected, phases);
  return 'phases' in read && read.phases.length > 0;
};

/** Puts an issue to other phases: those hear of it, and those that had not yet dealt with it need not. */
export const reclassify = (state: PhaseState, said: Reclassification): PhaseOutcome => {
  const found = meant(state, said.issue);
  const read = found && readPhases(state, found.correction.detected, said.phases);
  if (!found || !read || 'problem' in read) return nothing(state);
  const { correction, defect } = found;
  const [injected = defect.injected] = read.phases;
  const moved: Defect = { ...defect, phases: read.phases, injected, reason: 'A person has put it there.' };
  const next: PhaseState = {
    ...state,
    reclassified: { ...state.reclassified, [defect.fingerprint]: read.phases },
    corrections: state.corrections.map((each) =>
      each === correction
        ? { ...each, defects: each.defects.map((one) => (one === defect ? moved : one)) }
        : each,
    ),
  };
  const fact = {
    type: 'issue.reclassified',
    correction: correction.id,
    issue: defect.id,
    fingerprint: defect.fingerprint,
    from: defect.phases,
    phases: read.phases,
    note: said.note ?? null,
    by: said.by ?? null,
  };
  // What a limit holds back goes where it belongs once it goes; what is over is only put right in the record.
  const isUnderWay = correction.outcome === null && state.held !== correction.id;
  const moving = isUnderWay ? moveFeedback(next, correction, { from: defect, to: moved }) : next;
  return andThen({ state: moving, messages: [fact] }, withdrawStale);
};

const moveFeedback = (
  state: PhaseState,
  { detected, pass }: Correction,
  { from, to }: { readonly from: Defect; readonly to: Defect },
): PhaseState => {
  const isOf = (feedback: Feedback) => feedback.from === detected && feedback.pass === pass;
  let next = state;
  for (const phase of from.phases.filter((id) => !to.phases.includes(id))) {
    const { feedback, heeded } = stepOf(next, phase);
    // What a phase has dealt with cannot be taken back.
    const left = feedback.flatMap((each, index) => {
      if (index < heeded || !isOf(each)) return [each];
      const issues = each.issues.filter((issue) => !isTold(issue, from));
      return issues.some((issue) => isIssue(issue)) ? [{ ...each, issues }] : [];
    });
    next = withStep(next, phase, { feedback: left, seen: Math.min(stepOf(next, phase).seen, left.length) });
  }
  for (const phase of to.phases.filter((id) => !from.phases.includes(id))) {
    const { feedback, heeded } = stepOf(next, phase);
    const at = feedback.findIndex((each, index) => index >= heeded && isOf(each));
    const added: readonly Feedback[] =
      at < 0
        ? [...feedback, { from: detected, pass, issues: [told(to)] }]
        : feedback.map((each, index) =>
            index === at ? { ...each, issues: [told(to), ...each.issues] } : each,
          );
    next = withStep(next, phase, { feedback: added });
  }
  return next;
};

const idIn = (issue: Json): Json | undefined =>
  typeof issue === 'object' && issue !== null && !Array.isArray(issue)
    ? (issue as Readonly<Record<string, Json>>)['id']
    : undefined;
const isTold = (issue: Json, { id }: Defect): boolean => idIn(issue) === id;
/** And not merely something that a reviewer said besides. */
const isIssue = (issue: Json): boolean => idIn(issue) !== undefined;

/** Takes work back that no longer is what has to be done next. */
const withdrawStale = (state: PhaseState): PhaseOutcome => {
  const { work } = state;
  if (!work) return nothing(state);
  const step = stepNamed(state, work.phase);
  const isNext = nextPhase(state)?.id === work.phase && stepOf(state, work.phase).key === keyOf(state, step);
  return isNext ? nothing(state) : withdraw(state);
};

/** Takes back what is asked of agents. */
export const withdraw = (state: PhaseState): PhaseOutcome => {
  const { work } = state;
  if (!work) return nothing(state);
  const { pending, heeded } = stepOf(state, work.phase);
  const ended = noteEnd(state);
  return {
    state: withStep(ended.state, work.phase, { status: 'waiting', pending: {}, key: null, seen: heeded }),
    messages: [
      ...ended.messages,
      { type: 'phase.withdrawn', phase: work.phase },
      ...Object.entries(pending).map(([role, request]) => ({
        type: 'agent.cancel',
        to: `./${agentId(role)}`,
        request,
      })),
    ],
  };
};
