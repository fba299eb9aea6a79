import { RuntimeError } from '../errors.ts';
import { roundedUsd, type Spent } from '../events/usage.ts';

/**
 * Every bound that makes a loop end, in one place: its usual value, and what it counts. A limit is met when what was used has
 * reached it.
 */
export const LIMITS = {
  /** How often a gate may reject before the loop ends; a person may allow more. */
  passes: { usual: 5, counts: 'passes of a gate that were rejected' },
  /** In how many passes in a row the same issue may be found. */
  sameIssue: { usual: 3, counts: 'passes in a row with the same issue' },
  /** In how many runs of the tests in a row the same failure may be found. */
  sameFailure: { usual: 3, counts: 'runs of the tests in a row with the same failure' },
  /** How often in a row a review, or the tests, may fail for whatever reasons. */
  failuresInRow: { usual: null, counts: 'failures of one kind of check in a row' },
  /** How often an agent may be called again on its own task before it says that it is done. */
  repeats: { usual: 10, counts: 'repeats of an agent on its own task' },
  /** How often a corrected step may give what it gave before. */
  unchanged: { usual: 1, counts: 'corrections that left the artifact as it was' },
  /** How often a corrected step may give what it gave some time before. */
  oscillations: { usual: 1, counts: 'corrections that brought an earlier artifact back' },
  /** How often the same agent may send feedback to the same other about the same subject. */
  rounds: { usual: 3, counts: 'rounds of one source, target and subject' },
  /** How often a story may be sent back by its review; a story may set a limit of its own. */
  reworks: { usual: 3, counts: 'refinements of a story' },
  /** How often a reviewer of a story that failed to review is asked again. */
  reviewRetries: { usual: 2, counts: 'further tries of a review that failed to run' },
  /** How often the file of a story that somebody else is changing is looked at before an action. */
  fileTries: { usual: 3, counts: 'looks at a file that changes' },
  /** How many feedbacks a run may send back. */
  feedbacks: { usual: 20, counts: 'feedbacks in the run' },
  /** How many rounds of fix and verification an ordered pair of nodes may have in a run. */
  pairRounds: { usual: 2, counts: 'rounds between two nodes' },
  /** How many feedbacks may follow from one another. */
  hops: { usual: 3, counts: 'feedbacks in a chain of causes' },
  /** How often the plan of a run may be changed by its planners. */
  replans: { usual: 3, counts: 'changes of the plan' },
  /** How many nodes the planners of a run may add to it. */
  addedNodes: { usual: 20, counts: 'nodes that were added' },
  /** How many calls of agents a run may make, retries included. */
  calls: { usual: 1_000, counts: 'calls of agents' },
  costUsd: { usual: null, counts: 'cost in dollars' },
  tokens: { usual: null, counts: 'tokens' },
  /** How long a run may take, in milliseconds. */
  timeMs: { usual: null, counts: 'milliseconds' },
} as const satisfies Record<string, { readonly usual: number | null; readonly counts: string }>;

export type LimitName = keyof typeof LIMITS;

/** The bounds in force. Null is no bound: allowed for money and time, since counts end the loop all the same. */
export type Limits = { readonly [Name in LimitName]: number | null };

/** Taking a count away means that the loop may never end: the reason is kept in the log. */
export interface GivenLimits extends Partial<Limits> {
  readonly unbounded?: string;
}

/** What of these limits makes a loop end by counting. Without any of them nothing does. */
const COUNTS: readonly LimitName[] = ['passes', 'calls'];

/**
 * The limits of a loop, fixed when it starts.
 *
 * @throws {RuntimeError} BAD_OPTION for a name that there is not, a value that is no bound, or a loop without a bound
 */
export const fixLimits = ({ unbounded, ...given }: GivenLimits = {}): Limits => {
  for (const [name, value] of Object.entries<unknown>(given)) {
    if (!Object.hasOwn(LIMITS, name)) {
      throw new RuntimeError('BAD_OPTION', {
        option: `limits.${name}`,
        found: 'unknown',
        expected: `one of ${Object.keys(LIMITS).join(', ')}`,
      });
    }
    const isBound = typeof value === 'number' && value >= 0 && Number.isFinite(value);
    if (value !== null && value !== undefined && !isBound) {
      throw new RuntimeError('BAD_OPTION', {
        option: `limits.${name}`,
        found: shown(value),
        expected: 'a number from 0, or null for none',
      });
    }
  }
  const fixed = Object.fromEntries(
    Object.entries(LIMITS).map(([name, { usual }]) => {
      const value = given[name as LimitName]; // The keys of LIMITS are the names.
      return [name, value === undefined ? usual : value];
    }),
  ) as unknown as Limits;
  const missing = COUNTS.filter((name) => fixed[name] === null);
  if (missing.length > 0 && !isReason(unbounded)) {
    throw new RuntimeError('BAD_OPTION', {
      option: `limits.${missing.join(', limits.')}`,
      found: 'no bound',
      expected: 'a number, or `unbounded` with the reason why this loop may go on for ever',
    });
  }
  return fixed;
};

/** Types keep other values out; limits that are read from a file are not kept by them. */
const isReason = (given: unknown): boolean => typeof given === 'string' && given.trim() !== '';

const shown = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : `a value of type ${typeof value}`;
};

/** A limit that was met: what decides how a loop ends, and what a person is shown. */
export interface MetLimit {
  readonly limit: LimitName;
  readonly bound: number;
  readonly used: number;
  /** What it counted: steps, fingerprints, artifacts. */
  readonly evidence: readonly string[];
}

/** How much was used, and of what. */
export interface Use {
  readonly used: number;
  readonly evidence?: readonly string[];
}

/** The one question that every loop asks before it goes on: the first limit that is met, or undefined to proceed. */
export const metLimit = (
  limits: Limits,
  uses: { readonly [Name in LimitName]?: Use },
): MetLimit | undefined => {
  for (const [name, { used, evidence = [] }] of Object.entries(uses)) {
    const limit = name as LimitName; // The type of `uses` has no other keys.
    const bound = limits[limit];
    if (bound !== null && used >= bound) return { limit, bound, used, evidence };
  }
  return undefined;
};

/** The part of a run's own budget that is used up, if any is. */
export const budgetMet = ({
  limits,
  spent,
}: {
  readonly limits: Limits;
  readonly spent: Spent;
}): MetLimit | undefined =>
  metLimit(limits, {
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
    calls: { used: spent.calls },
  });

/** What of a budget is left: what a nested loop, or one request, is given. */
export interface Budget {
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly calls: number | null;
}

export const budgetLeft = (limits: Budget, spent: Spent): Budget => ({
  costUsd: left(limits.costUsd, spent.costUsd, roundedUsd),
  tokens: left(limits.tokens, spent.tokens),
  calls: left(limits.calls, spent.calls),
});

/** The limits of a nested loop: its own, but no more than its parent has left. */
export const nestedLimits = (own: Limits, parent: Budget): Limits => ({
  ...own,
  costUsd: least(own.costUsd, parent.costUsd),
  tokens: least(own.tokens, parent.tokens),
  calls: least(own.calls, parent.calls),
});

/** The part of a budget that is used up, if any is. */
export const usedUp = (budget: Budget, spent: Spent): LimitName | undefined =>
  (['costUsd', 'tokens', 'calls'] as const).find((name) => {
    const bound = budget[name];
    return bound !== null && spent[name] >= bound;
  });

/** Money is rounded, or else 1.1 - 0.8 would leave a bit more than 0.3. */
const left = (bound: number | null, used: number, rounded = (rest: number) => rest): number | null =>
  bound === null ? null : Math.max(0, rounded(bound - used));

const least = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);
