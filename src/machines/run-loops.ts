import { delivery } from '../events/delivery.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { isGrave } from '../events/severity.ts';
import { startActor } from '../events/vocabulary.ts';
import { FEEDBACK, type LoopInput } from './feedback-work.ts';
import { type FixedFeedback, fixFeedback, type Origin } from './fix-feedback.ts';
import { type GapRule, gapBetween } from './gap.ts';
import { budgetLeft, type MetLimit, metLimit } from './limits.ts';
import { isReasonOfLoop, type LoopState, reasonOf } from './loop-state.ts';
import { hashOf } from './plan.ts';
import { CONTEXT_ID, chain, loopAddress, type Outcome, type RunMessage, toLoop } from './run-messages.ts';
import { paused, resumed } from './run-pauses.ts';
import { nestedRuns, type RunState, stepOf, withLoop } from './run-state.ts';

/** What came of a feedback that somebody sent. */
export interface Opened extends Outcome {
  readonly problems: readonly string[];
}

/** Where a feedback comes from, and which steps its targets should work again, if that is known. */
interface Report {
  readonly origin: Origin;
  readonly isReported: boolean;
  readonly steps?: Readonly<Record<string, string>>;
}

/** Takes a feedback in: a new loop, the next round of one, or more of one that is open. */
export const openLoop = (
  state: RunState,
  given: Json | undefined,
  { origin, isReported, steps = {} }: Report,
): Opened => {
  const fixed = fixFeedback(state.plan, given, { ...origin, steps });
  if ('problems' in fixed) {
    const { problems } = fixed;
    return { state, messages: [{ type: 'feedback.refused', source: origin.source, problems }], problems };
  }
  const identity = identityOf(fixed, origin);
  const known = loopFor(state, identity, fixed);
  const change = { feedback: fixed.feedback, targets: fixed.targets, isReported };
  if (!known) {
    const loop = newLoop(state, fixed, { origin, identity, isReported });
    const messages = [startLoop(state, loop)];
    return {
      ...nextRound({ ...state, loops: { ...state.loops, [loop.id]: loop } }, loop, messages),
      problems: [],
    };
  }
  if (known.status === 'resolved' || known.phase === 'validating')
    return { ...nextRound(withLoop(state, known.id, change), { ...known, ...change }, []), problems: [] };
  // It was said already: whoever says it again waits for the same resolution.
  const joined: RunMessage = { type: 'feedback.joined', loop: loopAddress(known.id), source: origin.source };
  const waits = known.isReported || isReported;
  return { state: withLoop(state, known.id, { isReported: waits }), messages: [joined], problems: [] };
};

/** The loop that a feedback belongs to. One that says something else while its loop is open has one of its own: nothing is lost. */
const loopFor = (state: RunState, identity: string, { feedback }: FixedFeedback): LoopState | undefined => {
  const alike = Object.values(state.loops).filter((loop) => loop.identity === identity);
  const said = hashOf(feedback as unknown as Json);
  const isOpen = ({ status, phase }: LoopState) => status !== 'resolved' && phase !== 'validating';
  return (
    alike.find(({ phase, sourceStep }) => phase === 'validating' && hasHeard(state, sourceStep)) ??
    alike.find((loop) => isOpen(loop) && hashOf(loop.feedback as unknown as Json) === said) ??
    alike.findLast(({ status }) => status === 'resolved')
  );
};

/** Whether the work in hand, or the last, of a step was begun with all that it was told. */
export const hasHeard = (state: RunState, step: string | null): boolean => {
  if (step === null) return true;
  const { seen, feedback } = stepOf(state, step);
  return seen === feedback.length;
};

const identityOf = ({ feedback, targets, subject }: FixedFeedback, { source, sourceStep }: Origin): string =>
  hashOf([source, sourceStep, feedback.type, targets.map(({ role }) => role).toSorted(), subject]);

const newLoop = (
  state: RunState,
  { feedback, targets, subject }: FixedFeedback,
  {
    origin,
    identity,
    isReported,
  }: { readonly origin: Origin; readonly identity: string; readonly isReported: boolean },
): LoopState => {
  const nth = Object.keys(state.loops).length + 1;
  return {
    // Sorted by the time at which they began, and never two alike.
    id: `loop-${String(delivery().atMs).padStart(13, '0')}-${String(nth).padStart(4, '0')}`,
    identity,
    ...origin,
    targets,
    subject,
    feedback,
    round: 0,
    status: 'open',
    phase: 'deciding',
    isReported,
    isRetried: false,
    isValidatedBySource: false,
    rerun: [],
    kept: [],
    begun: [],
    fixed: [],
    pauseReason: null,
    isWaiting: false,
    isClosed: false,
  };
};

const startLoop = (state: RunState, { id, source, targets, subject }: LoopState): RunMessage => {
  const { roles, onLimit, questionLevels, onExpiry, task } = state;
  const input: LoopInput = {
    id,
    source,
    targets: targets.map(({ role }) => role),
    subject,
    task,
    roles: Object.fromEntries(targets.flatMap(({ role }) => (roles[role] ? [[role, roles[role]]] : []))),
    onLimit,
    questionLevels,
    onExpiry,
    isPaused: isHeld(state),
  };
  return startActor({ id, machine: FEEDBACK, input: input as unknown as Json });
};

export const pairsOf = ({ source, targets, subject }: LoopState): readonly string[] =>
  targets.map(({ role }) => `${source} > ${role}: ${subject}`);

/** Counts a round, unless a limit is met: then the loop asks a person in its place. */
export const nextRound = (state: RunState, loop: LoopState, messages: readonly RunMessage[]): Outcome => {
  const { id, feedback, source, sourceStep } = loop;
  const met = roundsMet(state, loop);
  // One that is too many has a record of its own, unless it is what the resolution of the last one came to.
  const round = met && loop.phase === 'validating' ? loop.round : loop.round + 1;
  const rounds = Object.fromEntries(pairsOf(loop).map((pair) => [pair, (state.rounds[pair] ?? 0) + 1]));
  const isSourceWorking = sourceStep !== null && stepOf(state, sourceStep).status === 'working';
  const counted: RunState = met
    ? state
    : { ...state, feedbacks: state.feedbacks + 1, rounds: { ...state.rounds, ...rounds } };
  const seesGap = !met && state.plan.gap && feedback.type === 'missing_requirement';
  const begun = withLoop(counted, id, {
    isRetried: loop.phase === 'validating',
    round,
    status: 'open',
    phase: 'deciding',
    rerun: [],
    kept: [],
    begun: [],
    fixed: [],
    // One that is still at work hears of the resolution in its call. A decision needs no check: whoever asked works with it.
    isValidatedBySource: sourceStep !== null && !isSourceWorking && feedback.type !== 'constraint_violation',
  });
  const told: RunMessage = {
    type: 'feedback.sent',
    loop: loopAddress(id),
    round,
    source,
    targets: loop.targets.map(({ role }) => role),
    feedbackType: feedback.type,
    requirement: feedback.requirement,
    nth: counted.feedbacks,
  };
  const sent: Outcome = {
    state: begun,
    messages: [
      ...messages,
      ...(met ? [] : [told]),
      seesGap ? gapRequest(id, state.plan.gap) : triggerOf(begun, id, met ?? null),
    ],
  };
  const pauses = feedback.type === 'constraint_violation' || isGrave(feedback.severity);
  return pauses && !met ? chain(sent, (next) => pauseFor(next, id, 'a decision is needed')) : sent;
};

const triggerOf = (state: RunState, id: string, met: MetLimit | null): RunMessage => {
  const { isRetried, round, feedback } = state.loops[id] ?? {};
  return toLoop(id, {
    type: isRetried ? 'validation.failed' : 'feedback.triggered',
    reason: null,
    round: round ?? 0,
    feedback: feedback as unknown as Json,
    budget: budgetLeft(state.limits, state.spent) as unknown as Json,
    met: met as unknown as Json,
  });
};

const GAP = 'gap';

/** What was asked for and what was made is in the context. */
const gapRequest = (request: string, { requirements, implementation }: GapRule): RunMessage => ({
  type: 'context.get',
  to: `./${CONTEXT_ID}`,
  request,
  role: GAP,
  paths: [requirements, implementation],
});

/** The gap is at hand: the loop that is about it begins. Undefined if no loop waits for these values. */
export const noteGap = (
  state: RunState,
  { request: id, role, values }: { readonly request: string; readonly role: string; readonly values: Json },
): Outcome | undefined => {
  const [loop, rule] = [state.loops[id], state.plan.gap];
  if (role !== GAP || !loop || !rule) return undefined;
  const gap = gapBetween(rule, isJsonObject(values) ? values : {});
  const details = { ...loop.feedback.details, gap };
  const next = withLoop(state, id, { feedback: { ...loop.feedback, details } });
  return { state: next, messages: [triggerOf(next, id, null)] };
};

const roundsMet = (state: RunState, loop: LoopState): MetLimit | undefined => {
  const pairs = pairsOf(loop);
  const [most = ''] = pairs.toSorted((a, b) => (state.rounds[b] ?? 0) - (state.rounds[a] ?? 0));
  return metLimit(state.limits, {
    rounds: { used: state.rounds[most] ?? 0, evidence: [most] },
    feedbacks: { used: state.feedbacks },
  });
};

export const pauseFor = (state: RunState, id: string, why: string): Outcome => {
  const reason = reasonOf(id, why);
  return chain(
    liftPause(state, id),
    (next) => paused(next, reason, nestedRuns(next)),
    (next) => ({ state: withLoop(next, id, { pauseReason: reason }), messages: [] }),
  );
};

export const liftPause = (state: RunState, id: string): Outcome => {
  const reason = state.loops[id]?.pauseReason ?? null;
  if (reason === null) return { state, messages: [] };
  const lifted = resumed(state, reason, nestedRuns(state));
  return { state: withLoop(lifted.state, id, { pauseReason: null }), messages: lifted.messages };
};

const isHeld = ({ pauseReasons }: RunState): boolean =>
  pauseReasons.some((reason) => !isReasonOfLoop(reason));

/** Pauses by others hold the loops back as well, which those of loops do not: someone has to decide. */
export const holdLoops = (before: RunState, { state, messages }: Outcome): Outcome => {
  if (isHeld(before) === isHeld(state)) return { state, messages };
  const type = isHeld(state) ? 'loop.pause' : 'loop.resume';
  return { state, messages: [...messages, ...Object.keys(state.loops).map((id) => toLoop(id, { type }))] };
};
