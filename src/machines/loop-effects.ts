import type { Json, JsonObject } from '../events/json.ts';
import type { Resolution } from './feedback-work.ts';
import { stepFor } from './fix-feedback.ts';
import type { IssueRecord } from './issues.ts';
import { budgetMet } from './limits.ts';
import { between, type LoopState, neededBy, openLoops } from './loop-state.ts';
import { after, hashOf } from './plan.ts';
import { raised } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { hasHeard, liftPause, nextRound, pairsOf, pauseFor } from './run-loops.ts';
import { chain, loopAddress, type Outcome, type RunMessage, toLoop } from './run-messages.ts';
import { freshSteps, keyOf, openRequests, type RunState, stepOf, withLoop, withStep } from './run-state.ts';

/** What was decided is done: steps run again, others are kept, debts are noted. The run may go on. */
export const applyResolution = (state: RunState, id: string, resolution: Resolution): Outcome => {
  const loop = state.loops[id];
  if (!loop) return { state, messages: [] };
  const { effect } = resolution;
  const rerun = stepsOf(state, loop, effect);
  const decided = withLoop(state, id, {
    phase: 'fixing',
    isWaiting: false,
    rerun,
    kept: effect.keep ? keptBy(state, loop, rerun) : [],
    isValidatedBySource: loop.isValidatedBySource && !(effect.debt && rerun.length === 0),
  });
  return chain(
    liftPause(decided, id),
    (next) => ({ state: noteDebt(next, loop, resolution), messages: [] }),
    ...rerun.map((step) => (next: RunState) => correct(next, step, { loop, resolution })),
  );
};

/** Results between what runs again and the source, and those of the other targets. */
const keptBy = ({ plan, steps }: RunState, loop: LoopState, rerun: readonly string[]): readonly string[] => {
  const later = after(plan, rerun);
  const others = loop.targets
    .map(({ step }) => step)
    .filter((step) => later.has(step) && !rerun.includes(step));
  return [...new Set([...between(plan, loop, rerun), ...others])].filter((step) => steps[step]?.hash != null);
};

/** The source is not among them: it goes on when all is resolved. */
const stepsOf = ({ plan }: RunState, loop: LoopState, { rerun }: Resolution['effect']): readonly string[] => {
  const named = rerun.flatMap((name) => stepFor(plan, name, loop)?.id ?? []);
  return [...new Set(named)].filter((id) => id !== loop.sourceStep);
};

/** Runs a step again with what was found and decided. One that failed may be tried again. */
const correct = (
  state: RunState,
  step: string,
  { loop, resolution }: { readonly loop: LoopState; readonly resolution: Resolution },
): Outcome => {
  const { id, source, round } = loop;
  const before = stepOf(state, step);
  const entry = {
    from: source,
    pass: round,
    issues: [issueOf(loop)],
    loop: loopAddress(id),
    decision: decisionOf(loop, resolution),
  };
  return {
    state: withStep(state, step, {
      feedback: [...before.feedback, entry],
      ...(before.status === 'failed' && { status: 'waiting' as const }),
    }),
    messages: [{ type: 'step.corrected', step, loop: loopAddress(id), round, from: source }],
  };
};

const issueOf = ({ feedback, subject }: LoopState): Json => {
  const { severity, type, description, requirement, details, action } = feedback;
  return { ...details, severity, category: type, description, requirement, subject, action };
};

/** What whoever works on gets to know of a resolution. */
const decisionOf = (loop: LoopState, { option, value, note, by }: Resolution): Json => ({
  loop: loopAddress(loop.id),
  type: loop.feedback.type,
  subject: loop.subject,
  description: loop.feedback.description,
  decision: option,
  value,
  note,
  by,
});

const noteDebt = (state: RunState, loop: LoopState, resolution: Resolution): RunState => {
  if (!resolution.effect.debt) return state;
  const debt = debtOf(loop, resolution.note);
  const isKnown = (other: IssueRecord) => other.gate === debt.gate && other.fingerprint === debt.fingerprint;
  return { ...state, debt: [...state.debt.filter((other) => !isKnown(other)), debt] };
};

/** What stays open, as a debt. */
export const debtOf = ({ feedback, source, subject }: LoopState, note: string | null): IssueRecord => {
  const debt: IssueRecord = {
    fingerprint: subject,
    severity: feedback.severity,
    category: feedback.type,
    description:
      typeof feedback.description === 'string' ? feedback.description : JSON.stringify(feedback.description),
    gate: source,
    firstPass: 1,
    lastPass: 1,
    inRow: 1,
    status: 'accepted',
    note,
  };
  return debt;
};

/** Tells the loops how far the steps are that run again because of them. */
export const settleLoops = (state: RunState): Outcome =>
  openLoops(state.loops)
    .filter(({ phase, status }) => phase === 'fixing' && status === 'open')
    .reduce<Outcome>((done, { id }) => chain(done, (next) => settle(next, id)), { state, messages: [] });

const settle = (given: RunState, id: string): Outcome => {
  const state = keepResults(given, id);
  const loop = state.loops[id];
  if (!loop) return { state, messages: [] };
  const fresh = freshSteps(state);
  const begun = loop.rerun.filter((step) => {
    const { status, seen, feedback } = stepOf(state, step);
    // One that has begun and found out something itself is not begun again.
    const isAtWork = status === 'working' && seen === feedback.length;
    return loop.begun.includes(step) || fresh.has(step) || isAtWork;
  });
  const fixed = loop.rerun.filter((step) => fresh.has(step));
  const isDone = neededBy(state.plan, loop).every((step) => fresh.has(step));
  const roleOf = (step: string) => loop.targets.find((target) => target.step === step)?.role ?? step;
  const tell = (type: string, now: readonly string[], told: readonly string[]): readonly RunMessage[] =>
    now
      .filter((step) => !told.includes(step))
      .map((step) => toLoop(id, { type, target: roleOf(step), step }));
  return {
    state: withLoop(state, id, { begun, fixed, ...(isDone && { phase: 'fixed' as const }) }),
    messages: [
      ...(loop.feedback.mode === 'fix' ? tell('response.received', begun, loop.begun) : []),
      ...tell('fix.done', fixed, loop.fixed),
      ...(isDone ? [toLoop(id, { type: 'resolution.complete' })] : []),
    ],
  };
};

/** Once those that run again are done, results that are kept count as made from what there is now. */
const keepResults = (state: RunState, id: string): RunState => {
  const loop = state.loops[id];
  if (!loop || loop.kept.length === 0) return state;
  const fresh = freshSteps(state);
  if (!loop.rerun.every((step) => fresh.has(step))) return state;
  const inOrder = state.plan.steps.filter((step) => loop.kept.includes(step.id));
  const stamped = inOrder.reduce((next, step) => withStep(next, step.id, { key: keyOf(next, step) }), state);
  return withLoop(stamped, id, { kept: [] });
};

/** Has the resolution looked at: by the step that found the fault, or by nobody. */
export const validate = (state: RunState, id: string, resolution: Resolution): Outcome => {
  const loop = state.loops[id];
  if (!loop) return { state, messages: [] };
  if (!loop.isValidatedBySource)
    return {
      state: withLoop(state, id, { phase: 'over' }),
      messages: [toLoop(id, { type: 'validation.passed' })],
    };
  return {
    state: askSource(withLoop(state, id, { phase: 'validating' }), loop, resolution),
    messages: [],
  };
};

/** The source's step runs again with the decision. It was not wrong itself: what it gives is not compared with before. */
const askSource = (state: RunState, loop: LoopState, resolution: Resolution): RunState => {
  const { id, sourceStep, round } = loop;
  if (sourceStep === null) return withLoop(state, id, { isReported: false });
  const before = stepOf(state, sourceStep);
  const entry = {
    from: loopAddress(id),
    pass: round,
    issues: [],
    loop: loopAddress(id),
    decision: decisionOf(loop, resolution),
  };
  return withLoop(
    withStep(state, sourceStep, {
      feedback: [...before.feedback, entry],
      outdated: before.feedback.length + 1,
      ...(before.status === 'failed' && { status: 'waiting' as const }),
    }),
    id,
    { isReported: false },
  );
};

/** A step has ended: loops that have waited for its word go on. */
export const noteStep = (state: RunState, step: string): Outcome => {
  const waiting = openLoops(state.loops).filter(
    ({ phase, sourceStep }) => phase === 'validating' && sourceStep === step && hasHeard(state, step),
  );
  return {
    state: waiting.reduce((next, { id }) => withLoop(next, id, { phase: 'over' }), state),
    messages: waiting.map(({ id }) => toLoop(id, { type: 'validation.passed' })),
  };
};

/** A step that failed for good while loops wait for it: that is theirs to deal with. Undefined if none does. */
export const failLoops = (state: RunState, step: string, reason: string): Outcome | undefined => {
  const waiting = openLoops(state.loops).filter(
    (loop) =>
      (loop.phase === 'fixing' && neededBy(state.plan, loop).includes(step)) ||
      (loop.phase === 'validating' && loop.sourceStep === step),
  );
  if (waiting.length === 0) return undefined;
  const failed = `The step "${step}" failed: ${reason}`;
  return {
    state,
    messages: waiting.map(({ id, phase }) =>
      phase === 'fixing'
        ? toLoop(id, { type: 'resolution.failed', reason: failed })
        : toLoop(id, { type: 'validation.failed', reason: failed, met: null }),
    ),
  };
};

/** A step that was to work again has found out something itself, and waits: whoever waits for it would wait for ever. */
export const noteReport = (state: RunState, step: string): Outcome => ({
  state,
  messages: openLoops(state.loops)
    .filter(({ phase, rerun, begun }) => phase === 'fixing' && rerun.includes(step) && begun.includes(step))
    .map(({ id }) =>
      toLoop(id, { type: 'resolution.failed', reason: `the step "${step}" waits for feedback of its own` }),
    ),
});

/** One that has a result after all waits no longer. */
export const noteResult = (state: RunState, step: string): RunState =>
  openLoops(state.loops)
    .filter(({ isReported, sourceStep }) => isReported && sourceStep === step)
    .reduce((next, { id }) => withLoop(next, id, { isReported: false }), state);

/** Loops whose steps wait for each other, while nothing else goes on: a person has to find the way out. */
export const breakDeadlock = (state: RunState): Outcome => {
  const open = openLoops(state.loops);
  const isStill = state.halt === null && state.pauseReasons.length === 0 && openRequests(state).length === 0;
  const isStuck = isStill && open.length > 0 && open.every(isWaitingForSteps);
  if (!isStuck) return { state, messages: [] };
  const reason = 'nothing can go on: the steps that have to work wait for each other';
  return {
    state,
    messages: open.map(({ id, phase }) =>
      toLoop(id, { type: phase === 'fixing' ? 'resolution.failed' : 'validation.failed', reason, met: null }),
    ),
  };
};

const isWaitingForSteps = ({ status, phase }: LoopState): boolean =>
  status === 'open' && (phase === 'fixing' || phase === 'validating');

/** A loop waits for a person; so does the run. */
export const escalateLoop = (state: RunState, id: string, reason: string): Outcome =>
  pauseFor(withLoop(state, id, { status: 'escalated' }), id, reason);

/** A person allows more: what was counted is forgotten. */
export const retryLoop = (state: RunState, id: string): Outcome => {
  const loop = state.loops[id];
  if (!loop) return { state, messages: [] };
  const rounds = { ...state.rounds };
  for (const pair of pairsOf(loop)) rounds[pair] = 0;
  const { feedbacks } = state.limits;
  const limits = {
    ...moreBudget(state),
    feedbacks: feedbacks === null ? null : Math.max(feedbacks, state.feedbacks + 1),
  };
  const restored = restoreFailed({ ...state, rounds, limits }, loop);
  const allowed = withLoop(restored, id, { status: 'open', phase: 'deciding', isWaiting: false });
  const next = allowed.loops[id];
  return next ? chain(liftPause(allowed, id), (now) => nextRound(now, next, [])) : liftPause(allowed, id);
};

/** As much again of what is used up. */
const moreBudget = (state: RunState): RunState['limits'] => {
  const met = budgetMet(state);
  return met ? raised(state, haltOf(met, null), { more: 0, value: null }) : state.limits;
};

/** The loop is resolved. What a person decided is done now; what has waited for it goes on. */
export const resolveLoop = (state: RunState, id: string, resolution: Resolution): Outcome => {
  const before = state.loops[id];
  if (!before) return { state, messages: [] };
  const applied = resolution.isManual ? applyResolution(state, id, resolution) : liftPause(state, id);
  return chain(applied, (next) => {
    const restored = restoreFailed(next, before);
    const waiting = goesOn(restored, before, resolution) ? goOn(restored, before, resolution) : restored;
    return {
      state: withLoop(decidedBy(waiting, resolution), id, {
        status: 'resolved',
        phase: 'over',
        isReported: false,
        isWaiting: false,
        kept: [],
      }),
      messages: [],
    };
  });
};

const decidedBy = (state: RunState, { isManual, by }: Resolution): RunState =>
  isManual ? { ...state, decidedBy: by[0] ?? null } : state;

/** Whoever has met with a constraint works with the decision, also if there was a result already. */
const goesOn = (
  state: RunState,
  { isReported, feedback, sourceStep }: LoopState,
  { isManual }: Resolution,
): boolean => {
  if (isReported) return true;
  if (feedback.type !== 'constraint_violation' || sourceStep === null) return false;
  return !isManual && stepOf(state, sourceStep).runs > 0 && stepOf(state, sourceStep).status !== 'working';
};

/** A check does not pass by being made again: a person took it as it is. An agent goes on with what was decided. */
const goOn = (state: RunState, loop: LoopState, resolution: Resolution): RunState => {
  const step = state.plan.steps.find(({ id }) => id === loop.sourceStep);
  if (!step?.check) return askSource(state, loop, resolution);
  if (resolution.effect.rerun.length > 0) return state;
  const output: JsonObject = { passed: false, accepted: decisionOf(loop, resolution) };
  const hash = hashOf(output);
  return withStep(state, step.id, { status: 'done', output, hash, key: keyOf(state, step) });
};

/** What a step had made before it failed stands, if a person has resolved what it was to correct. */
const restoreFailed = (state: RunState, loop: LoopState): RunState =>
  state.plan.steps
    .filter(({ id }) => neededBy(state.plan, loop).includes(id) || id === loop.sourceStep)
    .filter(({ id }) => stepOf(state, id).status === 'failed')
    .reduce((next, step) => {
      const hasResult = stepOf(next, step.id).hash !== null;
      return withStep(
        next,
        step.id,
        hasResult ? { status: 'done', key: keyOf(next, step) } : { status: 'waiting' },
      );
    }, state);
