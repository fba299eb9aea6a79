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

/** What was spent with one more call. Money is rounded to a millionth, so that sums do not depend on their order. */
export const spend = (spent: Spent, usage: Usage | undefined): Spent => ({
  calls: spent.calls + 1,
  tokens: spent.tokens + counted(usage?.inputTokens) + counted(usage?.outputTokens),
  costUsd: rounded(spent.costUsd + counted(usage?.costUsd)),
});

export const addSpent = (one: Spent, other: Spent): Spent => ({
  calls: one.calls + other.calls,
  tokens: one.tokens + other.tokens,
  costUsd: rounded(one.costUsd + other.costUsd),
});

/** An agent that claims to have used less than nothing must not win back a budget. */
const counted = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;

const rounded = (usd: number): number => Math.round(usd * 1e6) / 1e6;
