import type { Json } from '../events/json.ts';
import type { FeedbackItem, FeedbackKind, FeedbackText, Priority } from '../events/tree-feedback.ts';
import { cycleOf, type KnownTree, type Link, plannerFor } from './coordinator-checks.ts';
import type { PriorityQueue } from './coordinator-queue.ts';
import type { FixInput, Ways } from './fix-verify-machine.ts';
import type { Limits, MetLimit } from './limits.ts';
import { type RunMessage } from './run-messages.ts';

/** What came of a round that did not settle a feedback. */
export interface FeedbackAttempt {
  readonly round: number;
  readonly message: FeedbackText;
  readonly reason: string;
}

/** One feedback, as the coordinator keeps it until it has ended. */
export interface Entry {
  readonly id: string;
  readonly item: FeedbackItem;
  readonly kind: FeedbackKind;
  readonly from: string;
  /** Who gets it: not always whom the item names. */
  readonly to: string;
  readonly priority: Priority;
  /** Which round of the two nodes it is in. */
  readonly round: number;
  /** The feedback that led to it, oldest first. */
  readonly chain: readonly Link[];
  /** The feedback that it was put before the planner for. */
  readonly escalates: string | null;
  readonly attempts: readonly FeedbackAttempt[];
  readonly stage: 'queued' | 'fixing' | 'verifying' | 'asking';
  /** The actor that takes it to its end. */
  readonly slot: string | null;
}

export interface CoordinatorInput extends Pick<FixInput, 'onLimit' | 'questionLevels' | 'onExpiry'> {
  readonly tree: KnownTree;
  readonly limits: Limits;
  /** Of earlier runs, brought in: rounds by target and source, and what has not ended. */
  readonly before: {
    readonly made: number;
    readonly rounds: Rounds;
    readonly waiting: readonly Omit<Entry, 'stage' | 'slot'>[];
  };
}

/** By target, then by source. */
export type Rounds = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface CoordinatorState extends Omit<CoordinatorInput, 'before'> {
  /** What was brought in and is not queued yet. */
  readonly waiting: CoordinatorInput['before']['waiting'];
  /** How many were made, of which each has a number. */
  readonly made: number;
  /** How many rounds were opened in this run: as many as the log has entries that were queued. */
  readonly opened: number;
  /** Rounds that were used, with those of earlier runs. */
  readonly rounds: Rounds;
  /** Rounds that persons have allowed besides. */
  readonly granted: Rounds;
  /** What waits, by its target. */
  readonly queues: Readonly<Record<string, PriorityQueue<Entry>>>;
  /** What is under way: by its id. */
  readonly open: Readonly<Record<string, Entry>>;
  /** Which actor works on which feedback. */
  readonly slots: Readonly<Record<string, string>>;
}

/** What a rule makes of the coordinator. */
export interface CoordinatorOutcome {
  readonly state: CoordinatorState;
  readonly messages: readonly RunMessage[];
}

export const countOf = (rounds: Rounds, from: string, to: string): number => rounds[to]?.[from] ?? 0;

export const withCount = (rounds: Rounds, { from, to }: Pick<Link, 'from' | 'to'>, more: number): Rounds => ({
  ...rounds,
  [to]: { ...rounds[to], [from]: countOf(rounds, from, to) + more },
});

const roundsMax = ({ limits, granted }: CoordinatorState, from: string, to: string): number =>
  limits.pairRounds === null ? Number.MAX_SAFE_INTEGER : limits.pairRounds + countOf(granted, from, to);

const hasRounds = (state: CoordinatorState, from: string, to: string): boolean =>
  countOf(state.rounds, from, to) < roundsMax(state, from, to);

/** Whether this round is the last that the two nodes may have. */
export const isLastRound = (state: CoordinatorState, { from, to, round }: Entry): boolean =>
  round >= roundsMax(state, from, to);

/** The nearest planner above a target that does not plan itself, if the source may still put something before it. */
const upFrom = (state: CoordinatorState, { kind, from, to }: Entry): string | null => {
  const planner = kind === 'ARCHITECTURE_ISSUE' ? undefined : plannerFor(state.tree, to);
  return planner !== undefined && planner !== to && hasRounds(state, from, planner) ? planner : null;
};

/** Why a feedback is not let through. */
export interface Violation {
  readonly reason: string;
  readonly met: MetLimit | null;
  readonly cycle: readonly string[] | null;
}

/**
 * From each source to the next: whoever got a feedback has sent the next one, or has added the node that did. A feedback that comes back
 * to one of them closes a cycle.
 */
const cycleWith = (
  chain: readonly Link[],
  next: Pick<Link, 'from' | 'to'>,
): readonly string[] | undefined => {
  const sources = chain.map((link, index) => ({ from: link.from, to: chain[index + 1]?.from ?? next.from }));
  // Shown with those who got a feedback and did not send the next one themselves.
  return cycleOf(sources, next)?.flatMap((node, index, cycle) => {
    const link = chain.find(({ from, to }) => from === node && to !== cycle[index + 1]);
    return link && index < cycle.length - 2 ? [node, link.to] : [node];
  });
};

/** Everything that may stand against one more feedback, but its form. */
export const violationOf = (
  state: CoordinatorState,
  { id, from, to, chain }: Pick<Entry, 'id' | 'from' | 'to' | 'chain'>,
  { hasRound = false }: { readonly hasRound?: boolean } = {},
): Violation | undefined => {
  const { limits } = state;
  const cycle = cycleWith(chain, { from, to });
  if (cycle)
    return { reason: `${id} would close a cycle of feedback: ${cycle.join(' → ')}.`, met: null, cycle };
  if (limits.hops !== null && chain.length >= limits.hops) {
    const way = [...chain.map((link) => link.from), from, to].join(' → ');
    const met = {
      limit: 'hops',
      bound: limits.hops,
      used: chain.length,
      evidence: chain.map((link) => link.id),
    } as const;
    return {
      reason: `${id} would be hop ${chain.length + 1} of a chain of feedback (${way}); ${limits.hops} are allowed.`,
      met,
      cycle: null,
    };
  }
  if (limits.feedbacks !== null && state.made > limits.feedbacks) {
    const met = { limit: 'feedbacks', bound: limits.feedbacks, used: state.made - 1, evidence: [] } as const;
    return { reason: `The run has had its ${limits.feedbacks} feedbacks before ${id}.`, met, cycle: null };
  }
  return hasRound || hasRounds(state, from, to) ? undefined : outOfRounds(state, { id, from, to });
};

const outOfRounds = (
  state: CoordinatorState,
  { id, from, to }: Pick<Entry, 'id' | 'from' | 'to'>,
): Violation => {
  const used = countOf(state.rounds, from, to);
  const met = {
    limit: 'pairRounds',
    bound: roundsMax(state, from, to),
    used,
    evidence: [`${from} → ${to}`],
  } as const;
  return {
    reason: `${from} → ${to} has had its ${used} rounds, and ${id} is not settled.`,
    met,
    cycle: null,
  };
};

/** What may follow on a round, or on a refusal, and what a person would be shown. */
export const waysOf = (state: CoordinatorState, entry: Entry, violation: Violation | null): Ways => {
  const mayGoUp = violation === null || violation.met?.limit === 'pairRounds';
  const { reason, met } = violation ?? outOfRounds(state, entry);
  const last = entry.attempts.at(-1);
  return {
    hasRounds: violation === null && hasRounds(state, entry.from, entry.to),
    up: mayGoUp ? upFrom(state, entry) : null,
    reason: last && violation === null ? `${reason} The last one: ${last.reason}` : reason,
    met,
    about: { ...shown(entry), cycle: violation?.cycle ?? null, attempts: entry.attempts as unknown as Json },
  };
};

/** What facts and questions say of a feedback. `to` would be the receiver of a message. */
export const shown = ({ id, from, to, kind, item, priority, round, chain, escalates }: Entry) => ({
  id,
  source: from,
  target: to,
  kind,
  item: item as unknown as Json,
  priority,
  round,
  chain: chain as unknown as Json,
  escalates,
});
