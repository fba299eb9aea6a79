import { roundedUsd } from '../events/usage.ts';
import type { PhaseTelemetry } from './phase-telemetry.ts';

export interface PhaseYield {
  /** Defects that were there when it began, or that it made itself, and that nobody had found before. */
  present: number;
  /** Those of them that it found. */
  caught: number;
  /** Null if there were none. */
  yield: number | null;
}

/** Figures of a run of phases. */
export interface PhaseMetrics {
  yieldByPhase: Record<string, PhaseYield>;
  /** Defects that reviews found against those that tests found. */
  review: { caughtInReview: number; caughtInTest: number; yield: number | null };
  defectsByPhase: Record<string, number>;
  defectsByCategory: Record<string, number>;
  correctionsByPhase: Record<string, number>;
  corrections: number;
  /** How many phases have run at all. */
  firstRuns: number;
  /** Corrections by first runs of phases; null before the first. */
  correctionRate: number | null;
  reworkCostUsd: number;
  reworkLatencyMs: number;
  /** Of reviews that looked again, which is not a part of the above. */
  reviewCostUsd: number;
  reviewLatencyMs: number;
}

export const phaseMetrics = ({
  phases,
  defects,
  corrections,
  runs,
}: Pick<PhaseTelemetry, 'phases' | 'defects' | 'corrections' | 'runs'>): PhaseMetrics => {
  const attempts = corrections.flatMap((correction) => Object.entries(correction.attempts));
  const total = sum(attempts.map(([, count]) => count));
  const firstRuns = Object.keys(runs).length;
  const kindOf = (id: string) => phases.find((phase) => phase.id === id)?.kind;
  const caughtInReview = defects.filter(({ detected }) => kindOf(detected) === 'review').length;
  const caughtInTest = defects.filter(({ detected }) => kindOf(detected) === 'test').length;
  return {
    yieldByPhase: Object.fromEntries(phases.map(({ id }) => [id, yieldOf({ phases, defects }, id)])),
    review: { caughtInReview, caughtInTest, yield: share(caughtInReview, caughtInReview + caughtInTest) },
    defectsByPhase: counted(defects.map(({ injected }) => [injected, 1])),
    defectsByCategory: counted(defects.map(({ category }) => [category, 1])),
    correctionsByPhase: counted(attempts),
    corrections: total,
    firstRuns,
    correctionRate: share(total, firstRuns),
    reworkCostUsd: roundedUsd(sum(corrections.map(({ costUsd }) => costUsd))),
    reworkLatencyMs: sum(corrections.map(({ latencyMs }) => latencyMs)),
    reviewCostUsd: roundedUsd(sum(corrections.map(({ reviews }) => reviews.costUsd))),
    reviewLatencyMs: sum(corrections.map(({ reviews }) => reviews.latencyMs)),
  };
};

const yieldOf = ({ phases, defects }: Pick<PhaseTelemetry, 'phases' | 'defects'>, id: string): PhaseYield => {
  const isUpTo = (one: string, other: string): boolean =>
    one === other || phases.find((phase) => phase.id === other)?.after.includes(one) === true;
  const present = defects.filter(({ injected, detected }) => isUpTo(injected, id) && isUpTo(id, detected));
  const caught = present.filter(({ detected }) => detected === id).length;
  return { present: present.length, caught, yield: share(caught, present.length) };
};

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A name may be that of something that every object has; one of them cannot be a key at all. */
const counted = (entries: readonly (readonly [string, number])[]): Record<string, number> => {
  const counts = new Map<string, number>();
  for (const [given, count] of entries) {
    const name = given === '__proto__' ? '(__proto__)' : given;
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return Object.fromEntries(counts);
};
