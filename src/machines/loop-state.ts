import type { DecisionRule, FeedbackOption } from '../events/feedback.ts';
import type { Json, JsonObject } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';
import { after, before, type Plan, type Step } from './plan.ts';

/**
 * How a feedback is resolved: its targets decide between options, both sides of a conflict align, or the targets fix what they
 * made.
 */
export type FeedbackMode = 'decide' | 'align' | 'fix';

/** A feedback with everything that its sender left out. */
export interface Feedback {
  readonly type: string;
  readonly mode: FeedbackMode;
  readonly severity: Severity;
  /** A large one is a reference. */
  readonly description: Json;
  readonly requirement: string | null;
  readonly details: JsonObject;
  readonly action: string | null;
  readonly options: readonly FeedbackOption[];
  readonly rule: DecisionRule;
  readonly timeMs: number;
}

/** An agent that is told, and the step that it works again if it has to. */
export interface Target {
  readonly role: string;
  readonly step: string;
}

/** What a run knows of one of its feedback loops. The loop itself is an actor. */
export interface LoopState {
  readonly id: string;
  /** Source, type, targets and subject: feedback that has the same is of the same loop. */
  readonly identity: string;
  readonly source: string;
  readonly sourceStep: string | null;
  readonly targets: readonly Target[];
  readonly subject: string;
  readonly feedback: Feedback;
  readonly round: number;
  readonly status: 'open' | 'escalated' | 'resolved';
  readonly phase: 'deciding' | 'fixing' | 'fixed' | 'validating' | 'over';
  /** Whether its source's step has no result, and waits for the resolution. */
  readonly isReported: boolean;
  /** Whether this round began because the resolution of the one before did not hold. */
  readonly isRetried: boolean;
  readonly isValidatedBySource: boolean;
  /** Steps that run again because of it. */
  readonly rerun: readonly string[];
  /** Steps whose results are kept, although what they were made from changes. */
  readonly kept: readonly string[];
  /** Of those that run again, the ones that have begun, and the ones that are done. */
  readonly begun: readonly string[];
  readonly fixed: readonly string[];
  readonly pauseReason: string | null;
  /** Whether all that it waits for are persons. */
  readonly isWaiting: boolean;
  /** Whether it knows that the run is complete. */
  readonly isClosed: boolean;
}

export type Loops = Readonly<Record<string, LoopState>>;

export const openLoops = (loops: Loops): readonly LoopState[] =>
  Object.values(loops).filter(({ status }) => status !== 'resolved');

/** The steps between those that run again and the source: it can be asked again when they stand. */
export const between = (
  plan: Plan,
  { sourceStep }: LoopState,
  rerun: readonly string[],
): readonly string[] => {
  const source = plan.steps.find(({ id }) => id === sourceStep);
  if (!source) return [];
  const later = after(plan, rerun);
  return [...before(plan, source)].filter((id) => later.has(id) && !rerun.includes(id));
};

/** Steps that must stand before the resolution of a loop is complete. */
export const neededBy = (plan: Plan, loop: LoopState): readonly string[] => {
  const later = after(plan, loop.rerun);
  const onTheWay = plan.steps
    .filter(({ id }) => loop.rerun.includes(id))
    .flatMap((step) => [...before(plan, step)].filter((id) => later.has(id)));
  return [...new Set([...loop.rerun, ...onTheWay, ...between(plan, loop, loop.rerun)])];
};

/**
 * Whether a loop keeps a step from beginning: one that waits for its own feedback, one whose result is kept, and whatever comes
 * after those that the loop is about. Not one that some loop needs: two loops could wait for each other.
 */
export const isBlocked = (plan: Plan, loops: Loops, { id }: Step): boolean => {
  const open = openLoops(loops);
  if (open.length === 0) return false;
  // Two beside each other may each wait for the other to work again: then they do.
  const isWanted = open.some(
    ({ phase, rerun, begun }) => phase === 'fixing' && rerun.includes(id) && !begun.includes(id),
  );
  const isHeld = open.some(
    (loop) => (loop.isReported && loop.sourceStep === id && !isWanted) || loop.kept.includes(id),
  );
  if (isHeld) return true;
  const isNeeded = open.some(
    (loop) =>
      (isAtWork(loop) && neededBy(plan, loop).includes(id)) ||
      (loop.phase === 'validating' && loop.sourceStep === id),
  );
  return !isNeeded && open.some((loop) => after(plan, placesOf(loop)).has(id));
};

/** What it needs may go stale again while it is looked at. */
const isAtWork = ({ phase }: LoopState): boolean => phase === 'fixing' || phase === 'validating';

const placesOf = ({ targets, rerun, sourceStep }: LoopState): readonly string[] => [
  ...targets.map(({ step }) => step),
  ...rerun,
  ...(sourceStep === null ? [] : [sourceStep]),
];

/** The reason for which a loop pauses its run; nobody but the loop takes it back. */
export const reasonOf = (loop: string, why: string): string => `feedback ${loop}: ${why}`;

export const isReasonOfLoop = (reason: string): boolean => reason.startsWith('feedback loop-');
