import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import { roundedUsd } from '../events/usage.ts';
import { noteIssues } from './issues.ts';
import { type MetLimit, metLimit } from './limits.ts';
import { groupedByPhase, told } from './phase-report.ts';
import {
  andThen,
  type Correction,
  type Defect,
  type Finding,
  inputsOf,
  isReview,
  nothing,
  type PhaseOutcome,
  type PhaseState,
  passesMax,
  stepNamed,
} from './phase-state.ts';
import { before } from './plan.ts';
import { haltOf } from './run-halts.ts';
import { type Feedback, type Halt, stepOf, withStep } from './run-state.ts';

/** A pass that failed: which phase's, how, and on what grounds. */
export interface FailedPass {
  readonly detected: string;
  readonly finding: Finding;
  readonly defects: readonly Defect[];
  /** What was said besides, for all who have to correct something. */
  readonly remarks?: readonly Json[];
}

export const halted = ({ state, messages }: PhaseOutcome, halt: Halt): PhaseOutcome =>
  state.halt
    ? { state, messages }
    : { state: { ...state, halt }, messages: [...messages, { type: 'run.halted', ...plain(halt) }] };

/** Facts are JSON: what they are made of came through the door. */
export const plain = (value: object): Readonly<Record<string, Json>> =>
  value as Readonly<Record<string, Json>>;

/** Counts a failed pass, and sends its defects back to the phases that made them, unless a limit is met. */
export const failPass = (state: PhaseState, failed: FailedPass): PhaseOutcome => {
  const { detected, finding, defects } = failed;
  const step = stepNamed(state, detected);
  const pass = stepOf(state, detected).rejections + 1;
  const correction: Correction = {
    id: `c${state.corrections.length + 1}`,
    detected,
    pass,
    finding,
    openedAtMs: delivery().atMs,
    defects,
    remarks: failed.remarks ?? [],
    attempts: {},
    costUsd: 0,
    tokens: 0,
    latencyMs: 0,
    reviews: { runs: 0, costUsd: 0, latencyMs: 0 },
    outcome: null,
  };
  const ended = closeCorrections(state, ({ detected: by }) => by === detected, 'repeated');
  const { status } = stepOf(state, detected);
  const noted: PhaseState = {
    // A result that there is stays until there is another; that it no longer stands follows from its key.
    ...withStep(ended.state, detected, {
      status: status === 'done' ? 'done' : 'waiting',
      rejections: pass,
    }),
    issues: noteIssues(state.issues, defects, { gate: detected, pass }),
    failed: state.failed + 1,
    failedWith: {
      ...state.failedWith,
      [detected]: [...(state.failedWith[detected] ?? []), inputsOf(state, step)],
    },
    corrections: [...ended.state.corrections, correction],
    held: correction.id,
  };
  const opened: PhaseOutcome = {
    state: noted,
    messages: [
      ...ended.messages,
      {
        type: 'correction.opened',
        id: correction.id,
        detected,
        pass,
        finding,
        failed: noted.failed,
        defects: defects as unknown as Json,
        remarks: correction.remarks,
      },
    ],
  };
  const halt = haltFor(noted, correction);
  return halt ? halted(opened, halt) : andThen(opened, route);
};

const roundOf = (detected: string, phase: string, { fingerprint }: Defect): string =>
  `${detected} > ${phase} ${fingerprint}`;

/** Whether a correction may be made: the same defect must not go back and forth, and passes are counted. */
const haltFor = (state: PhaseState, { detected, pass, defects }: Correction): Halt | undefined => {
  const again = defects.flatMap((defect) =>
    defect.phases.flatMap((phase) => {
      const used = state.rounds[roundOf(detected, phase, defect)] ?? 0;
      return used > 0 ? [{ defect, phase, used }] : [];
    }),
  );
  const used = Math.max(0, ...again.map((each) => each.used));
  const evidence = [...new Set(again.map(({ defect }) => defect.fingerprint))];
  const back = metLimit(state.limits, again.length === 0 ? {} : { rounds: { used, evidence } });
  if (back) {
    const [first] = again;
    const reason = `"${first?.defect.description.slice(0, 200)}" goes back from "${detected}" to "${first?.phase}" once more.`;
    return { verdict: 'stalled', met: back, step: detected, reason };
  }
  const met = passesMet(state, detected, pass);
  return met && { ...haltOf(met.limit, detected), reason: met.reason };
};

const passesMet = (
  state: PhaseState,
  detected: string,
  pass: number,
): { readonly limit: MetLimit; readonly reason: string } | undefined => {
  const own = metLimit(
    { ...state.limits, passes: passesMax(state, detected) },
    { passes: { used: pass, evidence: [detected] } },
  );
  if (own)
    return { limit: own, reason: `"${detected}" has failed ${own.used} passes, and may fail ${own.bound}.` };
  const all = metLimit(
    { ...state.limits, passes: passesMax(state, null) },
    { passes: { used: state.failed } },
  );
  return all && { limit: all, reason: `The run has failed ${all.used} passes, and may fail ${all.bound}.` };
};

/** Gives each affected phase its own feedback: the earliest runs first, then what depends on it and has changed. */
export const route = (state: PhaseState): PhaseOutcome => {
  const correction = state.corrections.find(({ id }) => id === state.held);
  if (!correction) return nothing(state);
  const { id, detected, pass, defects, remarks } = correction;
  const counts = defects.filter(({ fingerprint }) => !isRejected(state, fingerprint));
  const groups = groupedByPhase(counts);
  const to = state.plan.steps.map((step) => step.id).filter((phase) => groups[phase] !== undefined);
  let next: PhaseState = { ...state, held: null };
  const rounds = { ...state.rounds };
  for (const phase of to) {
    const own = groups[phase] ?? [];
    const feedback: Feedback = { from: detected, pass, issues: [...own.map(told), ...remarks] };
    next = withStep(next, phase, { feedback: [...stepOf(next, phase).feedback, feedback] });
    for (const defect of own) {
      const round = roundOf(detected, phase, defect);
      rounds[round] = (rounds[round] ?? 0) + 1;
    }
  }
  // Nobody has to correct anything, since a person has thrown all of it out: it is looked at again as it is.
  if (to.length === 0) next = { ...next, failedWith: { ...next.failedWith, [detected]: [] } };
  return {
    state: { ...next, rounds },
    messages: [{ type: 'correction.routed', id, phases: to, earliest: to[0] ?? null }],
  };
};

const isRejected = ({ issues }: PhaseState, fingerprint: string): boolean =>
  Object.values(issues).some((known) => known.fingerprint === fingerprint && known.status === 'rejected');

/** Ends corrections whose outcome is known. */
export const closeCorrections = (
  state: PhaseState,
  isMeant: (correction: Correction) => boolean,
  outcome: 'verified' | 'repeated',
): PhaseOutcome => {
  const closing = state.corrections.filter((each) => each.outcome === null && isMeant(each));
  if (closing.length === 0) return nothing(state);
  return {
    state: {
      ...state,
      corrections: state.corrections.map((each) => (closing.includes(each) ? { ...each, outcome } : each)),
    },
    messages: closing.map((each) => ({ type: 'correction.closed', ...plain({ ...each, outcome }) })),
  };
};

/** The correction for which a phase runs again: the last one that is open and whose finder comes after it. */
export const correctionFor = (state: PhaseState, id: string): Correction | undefined =>
  state.corrections.findLast(
    ({ outcome, detected }) =>
      outcome === null && (detected === id || before(state.plan, stepNamed(state, detected)).has(id)),
  );

/** Whether a run of a phase counts as an attempt to correct, or merely as another look. */
const isAttempt = (state: PhaseState, { defects }: Correction, phase: string): boolean =>
  !isReview(state, phase) || defects.some(({ phases }) => phases.includes(phase));

const withCorrection = (
  state: PhaseState,
  id: string | null,
  change: (correction: Correction) => Correction,
): PhaseState => ({
  ...state,
  corrections: state.corrections.map((each) => (each.id === id ? change(each) : each)),
});

/** A phase begins to run, for the first time or because of a correction. */
export const noteBegin = (state: PhaseState, phase: string): PhaseOutcome => {
  const id = state.work?.correction ?? null;
  const begun = {
    type: 'phase.begun',
    phase,
    run: stepOf(state, phase).runs,
    correction: id,
    as: roleIn(state, id, phase),
  };
  const next = withCorrection(state, id, (correction) =>
    isAttempt(state, correction, phase)
      ? {
          ...correction,
          attempts: { ...correction.attempts, [phase]: (correction.attempts[phase] ?? 0) + 1 },
        }
      : { ...correction, reviews: { ...correction.reviews, runs: correction.reviews.runs + 1 } },
  );
  const rate = attemptsIn(next) / state.plan.steps.length;
  // Of all phases that there are: however many still run for the first time, it will not be less.
  const isAlert = !state.isAlerted && state.alertAbove !== null && rate > state.alertAbove;
  return {
    state: { ...next, isAlerted: state.isAlerted || isAlert },
    messages: [begun, ...(isAlert ? [{ type: 'correction.alert', rate, above: state.alertAbove }] : [])],
  };
};

const attemptsIn = ({ corrections }: PhaseState): number =>
  corrections.flatMap(({ attempts }) => Object.values(attempts)).reduce((sum, count) => sum + count, 0);

/** What a run of a phase is for a correction. */
const roleIn = (state: PhaseState, id: string | null, phase: string): 'correction' | 'review' | null => {
  const correction = state.corrections.find((each) => each.id === id);
  if (!correction) return null;
  return isAttempt(state, correction, phase) ? 'correction' : 'review';
};

/** The phase at work has ended, or was taken back: what it took counts for its correction. */
export const noteEnd = (state: PhaseState): PhaseOutcome => {
  const { work } = state;
  if (!work) return nothing(state);
  const { phase, correction: id, spent } = work;
  const tookMs = Math.max(0, delivery().atMs - work.sinceMs);
  const as = roleIn(state, id, phase);
  const next = withCorrection(state, id, (correction) => {
    const { costUsd, tokens, latencyMs, reviews } = correction;
    return as === 'correction'
      ? {
          ...correction,
          costUsd: roundedUsd(costUsd + spent.costUsd),
          tokens: tokens + spent.tokens,
          latencyMs: latencyMs + tookMs,
        }
      : {
          ...correction,
          reviews: {
            ...reviews,
            costUsd: roundedUsd(reviews.costUsd + spent.costUsd),
            latencyMs: reviews.latencyMs + tookMs,
          },
        };
  });
  const { runs: run } = stepOf(state, phase);
  return {
    state: { ...next, work: null },
    messages: [{ type: 'phase.ended', phase, run, correction: id, as, spent: { ...spent }, tookMs }],
  };
};
