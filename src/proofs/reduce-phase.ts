import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { readIssues } from '../machines/issues.ts';
import { inputsOf, type PhaseState, passesMax, phaseOf } from '../machines/phase-state.ts';
import { hashOf, needsOf, type Step } from '../machines/plan.ts';
import {
  freshSteps,
  keyOf,
  type StepAnswer,
  type StepRecord,
  stepOf,
  withStep,
} from '../machines/run-state.ts';
import { budgetOf, counted, FRESH, isFresh, isNewIssue, made, type Reduce } from './reduce.ts';

/** What the guards of a phase run can see of it. */
export const reducePhases: Reduce = (given) => {
  const state = given as PhaseState; // Kept for the machine of phase runs only.
  const { limits, spent, halt } = state;
  const fresh = freshSteps(state);
  const news = new Set(
    Object.values(state.issues)
      .filter(isNewIssue)
      .map(({ fingerprint }) => fingerprint),
  );
  return {
    steps: state.plan.steps.map((step) => reduceStep(state, step, fresh)),
    failed: counted(passesMax(state, null), state.failed),
    // What is new never comes back.
    rounds: Object.entries(state.rounds)
      .filter(([round]) => !news.has(round.slice(round.lastIndexOf(' ') + 1)))
      .map(([round, used]) => [round, counted(limits.rounds, used)]),
    rejected: Object.values(state.issues)
      .filter(({ status }) => status === 'rejected')
      .map(({ fingerprint }) => fingerprint),
    reclassified: Object.entries(state.reclassified).map(([print, phases]) => [print, phases]),
    budget: budgetOf(limits, spent),
    counts: [counted(limits.unchanged, state.unchanged), counted(limits.oscillations, state.oscillations)],
    held: state.held !== null,
    work: state.work?.phase ?? null,
    started: [...state.started].sort(),
    paused: state.pauseReasons,
    halt: halt && [halt.verdict, halt.met?.limit ?? null, halt.step],
  };
};

const reduceStep = (state: PhaseState, step: Step, fresh: ReadonlySet<string>): Json => {
  const record = stepOf(state, step.id);
  const noted = state.noted[step.id];
  const failedWith = state.failedWith[step.id] ?? [];
  const kept = state.kept[step.id];
  const hasPast = record.key !== null || failedWith.length > 0 || kept !== undefined;
  const worlds = hasPast ? worldsOf(state, step) : [];
  const isIn = (test: (world: World) => boolean): Json => worlds.filter(test).map(({ labels }) => labels);
  const isWorking = record.status === 'working';
  return {
    id: step.id,
    status: record.status,
    fresh: fresh.has(step.id),
    pending: Object.keys(record.pending),
    answers: isWorking ? Object.entries(record.answers).map(saidOf) : [],
    failures: isWorking ? Object.keys(record.failures) : [],
    passes: counted(passesMax(state, step.id) ?? passesMax(state, null), record.rejections),
    unseen: record.feedback.length > record.seen,
    runs: record.runs > 0,
    made: step.gate ? record.hash : made(record),
    // With what it is given it would stand, be looked at once more, or keep answers.
    stands: isIn(({ key }) => record.key === key),
    noted: isIn(({ key }) => noted === key),
    failedWith: [
      isIn(({ inputs }) => failedWith.at(-1) === inputs),
      isIn(({ inputs }) => failedWith.includes(inputs)),
    ],
    kept: kept
      ? [isIn(({ inputs }) => kept.inputs === inputs), Object.entries(kept.answers).map(saidOf)]
      : [],
    recent: phaseOf(state, step.id).recent,
  };
};

interface World {
  readonly labels: readonly Json[];
  readonly key: string;
  readonly inputs: string;
}

/** Everything that the phases before a step may have made when it is looked at next: as far as it was there before. */
const worldsOf = (state: PhaseState, step: Step): readonly World[] =>
  needsOf(state.plan, step)
    .filter(({ gate }) => gate === null)
    .reduce<readonly { labels: readonly Json[]; world: PhaseState }[]>(
      (worlds, need) =>
        worlds.flatMap(({ labels, world }) =>
          mayReturn(stepOf(state, need.id)).map(({ label, hash }) => ({
            labels: [...labels, label],
            world: withStep(world, need.id, { hash }),
          })),
        ),
      [{ labels: [], world: passing(state, step) }],
    )
    .map(({ labels, world }) => ({ labels, key: keyOf(world, step), inputs: inputsOf(world, step) }));

/** Reviews give nothing but that they have passed. */
const passing = (state: PhaseState, step: Step): PhaseState =>
  needsOf(state.plan, step)
    .filter(({ gate }) => gate !== null)
    .reduce((world, { id }) => withStep(world, id, { hash: PASSED }), state);

const PASSED = hashOf({ passed: true });

interface MayReturn {
  readonly label: Json;
  readonly hash: string | null;
}

/** A record is never changed in place, and most steps of a state are those of the state before it. */
const returns = new WeakMap<StepRecord, readonly MayReturn[]>();

const mayReturn = (record: StepRecord): readonly MayReturn[] => {
  const found = returns.get(record) ?? returnsOf(record);
  returns.set(record, found);
  return found;
};

/** Of what is new only the last and the one before it can be told apart, and come back. */
const returnsOf = ({ history, output, hash }: StepRecord): readonly MayReturn[] => {
  const outputs = [...history.map((earlier) => earlier.output), ...(hash === null ? [] : [output])];
  if (outputs.length === 0) return [{ label: 'nothing', hash: null }];
  const hashes = outputs.map(hashOf);
  const last = hashes.at(-1) ?? '';
  const earlier = hashes.findLast((each) => each !== last);
  const known = hashes.filter((_, index) => !isFresh(outputs[index] ?? null));
  const labels = new Map<string, Json>([
    ...(earlier === undefined ? [] : [[earlier, 'earlier'] as const]),
    [last, 'last'],
    ...known.map((each) => [each, each] as const),
  ]);
  return [...labels].map(([each, label]) => ({ label, hash: each })).sort(byLabel);
};

const byLabel = (one: MayReturn, other: MayReturn): number =>
  canonicalJson(one.label) < canonicalJson(other.label) ? -1 : 1;

/** What of an answer counts when the others have answered. */
const saidOf = ([role, { output, issues: beside }]: [string, StepAnswer]): Json => {
  const review: JsonObject = isJsonObject(output) ? output : {};
  const { issues: inside, ...rest } = review;
  return [
    role,
    isFresh(output) ? FRESH : isJsonObject(output) ? rest : output,
    readIssues(beside ?? inside).map(({ severity, category, fingerprint, details }) => [
      category === FRESH ? FRESH : fingerprint,
      severity,
      details,
    ]),
  ];
};
