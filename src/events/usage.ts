/** What a call of an agent used. Members that nobody knows are absent, and count as nothing. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
}

/** Added up over calls: what a budget is compared with. */
export interface Spent {
  readonly calls: number;
  readonly tokens: number;
  readonly costUsd: number;
}

export const NOTHING_SPENT: Spent = { calls: 0, tokens: 0, costUsd: 0 };

/** What was spent with one more call. Money is counted in millionths, so that sums do not depend on their order. */
export const spend = (spent: Spent, usage: Usage | undefined): Spent =>
  addSpent(spent, {
    calls: 1,
    tokens: Math.min(
      TOKENS_MAX,
      Math.ceil(counted(usage?.inputTokens)) + Math.ceil(counted(usage?.outputTokens)),
    ),
    costUsd: roundedUsd(counted(usage?.costUsd)),
  });

export const addSpent = (one: Spent, other: Spent): Spent => ({
  calls: one.calls + other.calls,
  tokens: Math.min(TOKENS_MAX, one.tokens + other.tokens),
  costUsd: roundedUsd(one.costUsd + other.costUsd),
});

/** To the millionth, in which money is counted. */
export const roundedUsd = (usd: number): number => Math.min(COST_MAX_USD, Math.round(usd * 1e6) / 1e6);

/** Sums stay here however much agents claim: beyond this a number is no longer exact, and in the end not one that JSON has. */
const TOKENS_MAX = Number.MAX_SAFE_INTEGER;
const COST_MAX_USD = 1e9;

/** An agent that claims to have used less than nothing must not win back a budget. */
const counted = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
