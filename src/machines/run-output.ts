import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import type { Spent } from '../events/usage.ts';
import type { IssueRecord } from './issues.ts';
import type { MetLimit } from './limits.ts';
import type { RunState } from './run-state.ts';

/** What a plan run gives at its end. */
export interface RunOutput {
  readonly verdict: Verdict;
  readonly outputs: Readonly<Record<string, Json>>;
  /** Hash of what each step made. */
  readonly artifacts: Readonly<Record<string, string>>;
  readonly reason: string | null;
  readonly limit: MetLimit | null;
  /** What was open when a person took the result as it is. */
  readonly debt: readonly IssueRecord[];
  readonly spent: Spent;
  readonly decidedBy: string | null;
}

export const outputOf = (context: RunState, verdict: Verdict): RunOutput => ({
  verdict,
  outputs: Object.fromEntries(Object.entries(context.steps).map(([id, { output }]) => [id, output])),
  artifacts: Object.fromEntries(
    Object.entries(context.steps).flatMap(([id, { hash }]) => (hash === null ? [] : [[id, hash]])),
  ),
  reason: context.halt?.reason ?? null,
  limit: context.halt?.met ?? null,
  debt: context.debt,
  spent: context.spent,
  decidedBy: context.decidedBy,
});
