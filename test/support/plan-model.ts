import type { GateRule, GivenStep } from '../../src/machines/plan.ts';

/** One call of an agent, as the agent itself saw it. Times are places in the order of all that agents saw. */
export interface Call {
  readonly role: string;
  readonly request: string;
  readonly attempt: number;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly feedback: readonly unknown[];
  readonly beganAt: number;
  endedAt: number;
  outcome: 'working' | 'done' | 'threw';
  output: unknown;
}

export interface Review {
  readonly passed: boolean;
  readonly issues: readonly { readonly severity: string }[];
}

/** One run of a step: the calls with one request id. */
export interface Round {
  readonly step: GivenStep;
  readonly calls: readonly Call[];
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly feedback: readonly unknown[];
}

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** The steps that one needs, groups resolved. */
const neededBy = (plan: readonly GivenStep[], { needs = [] }: GivenStep): readonly GivenStep[] =>
  plan.filter(({ id, group }) => needs.includes(id) || (group != null && needs.includes(group)));

/** The runs of a step in order. A request is named after its step and the number of the run. */
export const roundsOf = (calls: readonly Call[], step: GivenStep): readonly Round[] => {
  const rounds: Round[] = [];
  for (let run = 1; ; run += 1) {
    const own = calls.filter(({ request }) => request === `${step.id}.${run}`);
    const [first] = own;
    if (!first) return rounds;
    rounds.push({ step, calls: own, inputs: first.inputs, feedback: first.feedback });
  }
};

/** Whether the reviewers of one round let the gate pass; those who failed for good have not approved. */
export const hasPassed = ({ step: { gate }, calls }: Round): boolean => {
  const reviews = calls.flatMap(({ outcome, output }) => (outcome === 'done' ? [output as Review] : []));
  const declared = gate?.reviewers.length ?? 0;
  const rule: GateRule = gate?.rule ?? 'any-blocker';
  const approvals = reviews.filter(({ passed }) => passed).length;
  if (rule === 'all') return approvals === declared;
  if (rule !== 'any-blocker') return approvals >= rule.quorum;
  return (
    reviews.length === declared &&
    !reviews.some(({ issues }) => issues.some(({ severity }) => severity === 'critical'))
  );
};

/** Calls that were made with a result that nobody had made yet. */
export const calledTooEarly = (plan: readonly GivenStep[], calls: readonly Call[]): readonly Call[] =>
  calls.filter(({ request, inputs, beganAt }) => {
    const step = plan.find(({ id }) => request.startsWith(`${id}.`));
    if (!step) return true;
    const needs = neededBy(plan, step);
    if (!isSame(Object.keys(inputs).sort(), needs.map(({ id }) => id).sort())) return true;
    return !needs.every((need) =>
      roundsOf(calls, need).some((round) => {
        const isOver = round.calls.every(
          ({ outcome, endedAt }) => outcome !== 'working' && endedAt < beganAt,
        );
        if (need.gate) return isOver && hasPassed(round) && isPass(inputs[need.id]);
        return isOver && isSame(round.calls.at(-1)?.output, inputs[need.id]);
      }),
    );
  });

const isPass = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'passed' in value && value.passed === true;

/** Runs of a step for which there was no reason: nothing that it is given had changed since its last one. */
export const calledInVain = (plan: readonly GivenStep[], calls: readonly Call[]): readonly Round[] =>
  plan.flatMap((step) => {
    const rounds = roundsOf(calls, step);
    return rounds.filter((round, index) => {
      const last = rounds[index - 1];
      if (!last || !isSame(last.inputs, round.inputs) || !isSame(last.feedback, round.feedback)) return false;
      // A gate that has rejected looks again at what was corrected, be it the same.
      return !step.gate || hasPassed(last);
    });
  });

/** Steps whose last run was made with something else than what those that it needs have made in the end. */
export const leftStale = (
  plan: readonly GivenStep[],
  calls: readonly Call[],
  outputs: Readonly<Record<string, unknown>>,
): readonly string[] =>
  plan.flatMap((step) => {
    const last = roundsOf(calls, step).at(-1);
    const rejections = plan
      .filter(({ gate }) => gate?.corrects === step.id)
      .flatMap((gate) => roundsOf(calls, gate).filter((round) => !hasPassed(round)));
    const isFresh =
      last !== undefined &&
      neededBy(plan, step).every(({ id }) => isSame(sorted(last.inputs[id]), sorted(outputs[id]))) &&
      last.feedback.length === rejections.length &&
      (step.gate ? hasPassed(last) : isSame(last.calls.at(-1)?.output, outputs[step.id]));
    return isFresh ? [] : [step.id];
  });

/** The log gives members back in an order of its own. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
};
