/** What a step, or a way of several steps, takes. */
export interface Weight {
  readonly turns: number;
  /** Attempts of agents in all, and of each: answered, or begun and called off. */
  readonly calls: number;
  readonly callsByAgent: Readonly<Record<string, number>>;
  /** Requests to agents that were answered, well or ill. */
  readonly requests: number;
  /** Feedbacks that the nodes of a tree made. */
  readonly feedbacks: number;
}

export const WEIGHS_NOTHING: Weight = { turns: 0, calls: 0, callsByAgent: {}, requests: 0, feedbacks: 0 };

/** One after the other. */
export const sumOfWeights = (one: Weight, other: Weight): Weight => {
  if (one === WEIGHS_NOTHING) return other;
  return {
    turns: one.turns + other.turns,
    calls: one.calls + other.calls,
    callsByAgent: byAgent(one, other, (some, more) => some + more),
    requests: one.requests + other.requests,
    feedbacks: one.feedbacks + other.feedbacks,
  };
};

/** So often one after the other. */
export const timesWeight = (one: Weight, times: number): Weight => {
  let sum = WEIGHS_NOTHING;
  for (let time = 0; time < times; time += 1) sum = sumOfWeights(sum, one);
  return sum;
};

/** Whichever is more, in every respect. */
export const greaterWeight = (one: Weight, other: Weight): Weight =>
  isWithin(one, other)
    ? other
    : isWithin(other, one)
      ? one
      : {
          turns: Math.max(one.turns, other.turns),
          calls: Math.max(one.calls, other.calls),
          callsByAgent: byAgent(one, other, Math.max),
          requests: Math.max(one.requests, other.requests),
          feedbacks: Math.max(one.feedbacks, other.feedbacks),
        };

/** Whether one is no more than the other in any respect. */
export const isWithin = (one: Weight, other: Weight): boolean =>
  one.turns <= other.turns &&
  one.calls <= other.calls &&
  one.requests <= other.requests &&
  one.feedbacks <= other.feedbacks &&
  Object.entries(one.callsByAgent).every(([agent, calls]) => calls <= (other.callsByAgent[agent] ?? 0));

const byAgent = (
  { callsByAgent: one }: Weight,
  { callsByAgent: other }: Weight,
  join: (some: number, more: number) => number,
): Readonly<Record<string, number>> => {
  const joined: Record<string, number> = { ...one };
  for (const agent of Object.keys(other)) joined[agent] = join(joined[agent] ?? 0, other[agent] ?? 0);
  return joined;
};

/** What one takes more than the other. */
export const lessWeight = (one: Weight, other: Weight): Weight => ({
  turns: Math.max(0, one.turns - other.turns),
  calls: Math.max(0, one.calls - other.calls),
  callsByAgent: byAgent(one, other, (some, less) => Math.max(0, some - less)),
  requests: Math.max(0, one.requests - other.requests),
  feedbacks: Math.max(0, one.feedbacks - other.feedbacks),
});
