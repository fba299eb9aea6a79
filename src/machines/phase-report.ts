import { isBlobRef } from '../events/blob.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { freely, judge } from './gates.ts';
import { type Issue, readIssues, standing } from './issues.ts';
import { wordOf } from './phase-names.ts';
import { type Defect, isReview, type PhaseState, phaseOf, stepNamed } from './phase-state.ts';
import { before, type Step } from './plan.ts';
import { type StepAnswer, stepOf } from './run-state.ts';

export type Assessment = 'pass' | 'fail' | 'needs_improvement';

/** What a review comes to: all issues, and the same by the phases that they affect. */
export interface Report {
  readonly assessment: Assessment;
  readonly passed: boolean;
  readonly issues: readonly Defect[];
  readonly byPhase: Readonly<Record<string, readonly Defect[]>>;
  readonly approvals: readonly string[];
  readonly rejections: readonly string[];
  readonly absent: readonly string[];
  /** What reviewers said in words, besides. */
  readonly remarks: readonly Json[];
}

const ASSESSMENTS: ReadonlyMap<string, Assessment> = new Map([
  ['pass', 'pass'],
  ['passed', 'pass'],
  ['approve', 'pass'],
  ['approved', 'pass'],
  ['fail', 'fail'],
  ['failed', 'fail'],
  ['reject', 'fail'],
  ['rejected', 'fail'],
  ['needs-improvement', 'needs_improvement'],
]);

/** Words of people and agents for a phase that they do not know. */
const UNKNOWN = ['', 'unknown', 'uncertain', 'unsure'];
const BOTH: readonly string[] = ['planning', 'design'];

/** The phases that an issue of a phase may be about: those before it. A review may also have to mend itself. */
export const phasesBefore = (state: Pick<PhaseState, 'plan' | 'phases'>, id: string): readonly string[] => {
  const earlier = before(state.plan, stepNamed(state, id));
  return state.plan.steps
    .map((step) => step.id)
    .filter((each) => earlier.has(each) || (each === id && isReview(state, id)));
};

/** The phases that somebody has named, or what is wrong with the names. */
export const readPhases = (
  state: Pick<PhaseState, 'plan' | 'phases'>,
  detected: string,
  given: Json | undefined,
): { readonly phases: readonly string[] } | { readonly problem: string } => {
  const known = state.plan.steps.map(({ id }) => id);
  const allowed = phasesBefore(state, detected);
  const named = new Set<string>();
  for (const name of Array.isArray(given) ? (given as readonly Json[]) : [given ?? '']) {
    if (typeof name !== 'string')
      return { problem: `names ${JSON.stringify(name)}, which is not the name of a phase` };
    if (UNKNOWN.includes(wordOf(name))) continue;
    const meant = wordOf(name) === 'both' && !known.some((id) => wordOf(id) === 'both') ? BOTH : [name];
    for (const each of meant) {
      const id = known.find((phase) => wordOf(phase) === wordOf(each));
      if (id === undefined)
        return { problem: `names the phase "${each}", which is not in the pipeline (${known.join(', ')})` };
      if (!allowed.includes(id))
        return { problem: `names the phase "${id}", which does not come before "${detected}"` };
      named.add(id);
    }
  }
  return { phases: known.filter((id) => named.has(id)) };
};

const PHASE_KEYS = [
  'affectedPhases',
  'affected_phases',
  'affectedPhase',
  'affected_phase',
  'phases',
  'phase',
];

/** The phases that the finder of an issue has named, as it did. */
const namedBy = ({ details }: Issue): Json | undefined =>
  PHASE_KEYS.map((key) => details[key]).find((value) => value !== undefined && value !== null);

interface Found {
  readonly issue: Issue;
  readonly by: string;
}

/** The issues of a phase's pass as defects, or all that is wrong with them. The same one, found twice, is one. */
export const defectsOf = (
  state: PhaseState,
  detected: string,
  found: readonly Found[],
):
  | { readonly defects: readonly Defect[] }
  | { readonly problems: readonly (Found & { readonly problem: string })[] } => {
  const problems: (Found & { readonly problem: string })[] = [];
  const defects = new Map<string, Defect>();
  const pass = stepOf(state, detected).rejections + 1;
  for (const { issue, by } of found) {
    const read = readPhases(state, detected, namedBy(issue));
    if ('problem' in read) {
      problems.push({ issue, by, problem: read.problem });
      continue;
    }
    const known = defects.get(issue.fingerprint);
    const id = idOf(issue, [...defects.values()], `${detected}-${pass}-${defects.size + 1}`);
    const given = { ...issue, id: known?.id ?? id, foundBy: [...new Set([...(known?.foundBy ?? []), by])] };
    const named = [...(known?.reason === null ? known.phases : []), ...read.phases];
    defects.set(issue.fingerprint, placed(state, given, { detected, named }));
  }
  return problems.length > 0 ? { problems } : { defects: [...defects.values()] };
};

const idOf = ({ details }: Issue, others: readonly Defect[], otherwise: string): string => {
  const { id } = details;
  return typeof id === 'string' && id !== '' && !others.some((other) => other.id === id) ? id : otherwise;
};

/** Where an issue belongs: as a person has said, as its finder says, or else to the last phase before it. */
const placed = (
  state: PhaseState,
  issue: Omit<Defect, 'phases' | 'injected' | 'reason'>,
  { detected, named }: { readonly detected: string; readonly named: readonly string[] },
): Defect => {
  const corrected = state.reclassified[issue.fingerprint]?.filter((id) =>
    phasesBefore(state, detected).includes(id),
  );
  const order = state.plan.steps.map(({ id }) => id);
  const recent = phaseOf(state, detected).recent ?? detected;
  const isCorrected = corrected !== undefined && corrected.length > 0;
  const chosen = isCorrected ? corrected : named.length > 0 ? named : [recent];
  const phases = order.filter((id) => chosen.includes(id));
  const reason = isCorrected
    ? 'A person has put it there.'
    : named.length > 0
      ? null
      : `No phase was named: "${recent}" is the last one before "${detected}".`;
  return { ...issue, phases, injected: phases[0] ?? recent, reason };
};

/** What a phase is told of its faults. */
export const told = ({
  id,
  severity,
  category,
  description,
  large,
  details,
  phases,
  reason,
  foundBy,
}: Defect): Json => ({
  ...details,
  id,
  severity,
  category,
  description: large ?? description,
  affectedPhases: phases,
  foundBy,
  ...(reason !== null && { reason }),
});

export const groupedByPhase = (defects: readonly Defect[]): Readonly<Record<string, readonly Defect[]>> => {
  const groups: Record<string, readonly Defect[]> = {};
  for (const defect of defects)
    for (const phase of defect.phases) groups[phase] = [...(groups[phase] ?? []), defect];
  return groups;
};

interface Said {
  readonly assessment: Assessment | null;
  readonly answer: StepAnswer;
}

/** What one reviewer says, in one form; or why it cannot be understood. */
const readReview = ({ output: given, issues: beside }: StepAnswer): Said | { readonly problem: string } => {
  const output = freely(given);
  const review: JsonObject = isJsonObject(output) && !isBlobRef(output) ? output : {};
  const { assessment, overallAssessment, overall_assessment: overall, passed, decision, option } = review;
  const word =
    assessment ?? overallAssessment ?? overall ?? (typeof output === 'string' ? output : undefined);
  const meant = typeof word === 'string' ? ASSESSMENTS.get(wordOf(word)) : undefined;
  if (word !== undefined && word !== null && meant === undefined)
    return {
      problem: `gives the assessment ${JSON.stringify(word).slice(0, 100)}, which is none of pass, fail and needs improvement`,
    };
  const issues = [...listOf(beside ?? review['issues']), ...groupedIn(review)];
  const isSaid = meant !== undefined || typeof output === 'boolean' || typeof passed === 'boolean';
  const isListed = beside !== undefined || Array.isArray(review['issues']) || issues.length > 0;
  // A person may answer in words alone.
  if (!isSaid && !isListed && decision === undefined && option === undefined)
    return { problem: 'has neither an assessment nor a list of issues' };
  return {
    assessment: meant ?? null,
    answer: { output: meant === undefined ? given : output, ...(isListed && { issues }) },
  };
};

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const GROUP = /^(.+)_phase_issues$/;

/** Lists such as `planning_phase_issues`: what is in one is of that phase, unless it says otherwise. */
const groupedIn = (review: JsonObject): readonly Json[] =>
  Object.entries(review).flatMap(([key, list]) => {
    const phase = GROUP.exec(key)?.[1];
    if (phase === undefined) return [];
    return listOf(list).map((issue) => (isJsonObject(issue) ? { affectedPhases: phase, ...issue } : issue));
  });

/** What all reviewers of a phase together say, or whose reports cannot be taken and why. */
export const reportOf = (
  state: PhaseState,
  step: Step,
): { readonly report: Report } | { readonly refused: Readonly<Record<string, readonly string[]>> } => {
  const { answers } = stepOf(state, step.id);
  const refused: Record<string, readonly string[]> = {};
  const said: Record<string, Said> = {};
  for (const [role, answer] of Object.entries(answers)) {
    const read = readReview(answer);
    if ('problem' in read) refused[role] = [read.problem];
    else said[role] = read;
  }
  const found = Object.entries(said).flatMap(([by, { answer }]) =>
    standing(state.issues, readIssues(issuesOf(answer))).map((issue) => ({ issue, by })),
  );
  const placedIssues = defectsOf(state, step.id, found);
  if ('problems' in placedIssues)
    for (const { issue, by, problem } of placedIssues.problems)
      refused[by] = [...(refused[by] ?? []), `the issue "${issue.description.slice(0, 200)}" ${problem}`];
  if (Object.keys(refused).length > 0 || !('defects' in placedIssues)) return { refused };
  return { report: judged(state, step, { said, defects: placedIssues.defects }) };
};

const issuesOf = ({ output, issues }: StepAnswer): Json | undefined =>
  issues ?? (isJsonObject(output) ? output['issues'] : undefined);

const judged = (
  state: PhaseState,
  step: Step,
  { said, defects }: { readonly said: Readonly<Record<string, Said>>; readonly defects: readonly Defect[] },
): Report => {
  const passes = (assessment: Assessment): boolean =>
    assessment === 'pass' || (assessment === 'needs_improvement' && state.needsImprovement === 'pass');
  const answers = Object.fromEntries(
    Object.entries(said).map(([role, { assessment, answer }]) => [
      role,
      assessment === null
        ? answer
        : {
            ...answer,
            output: { ...(isJsonObject(answer.output) ? answer.output : {}), passed: passes(assessment) },
          },
    ]),
  );
  const { passed, approvals, rejections, absent, feedback } = judge(step, { answers }, state.issues);
  const weakest = (roles: readonly string[]) =>
    roles.length > 0 && roles.every((role) => said[role]?.assessment === 'needs_improvement');
  const isWeak = weakest(passed ? approvals.filter((role) => said[role]?.assessment !== 'pass') : rejections);
  return {
    assessment: isWeak ? 'needs_improvement' : passed ? 'pass' : 'fail',
    passed,
    issues: defects,
    byPhase: groupedByPhase(defects),
    approvals,
    rejections,
    absent,
    remarks: feedback.filter((each) => isJsonObject(each) && 'text' in each),
  };
};
