import { type FeedbackOption, type GivenFeedback, problemsOfForm } from '../events/feedback.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { agentIn, type Check, stepIn } from './check.ts';
import { fingerprint } from './issues.ts';
import type { Feedback, FeedbackMode, Target } from './loop-state.ts';
import { after, before, type Plan, type Step, workersOf } from './plan.ts';

/** Who sends what no agent has found, and may send it to everyone. */
export const ORCHESTRATOR = 'orchestrator';

const TIME_MS = 10 * 60_000;

const MODES: Readonly<Record<string, FeedbackMode>> = {
  constraint_violation: 'decide',
  missing_requirement: 'decide',
  inconsistency: 'align',
  technical_infeasibility: 'fix',
  quality_gate: 'fix',
};

/** What can be done about a constraint, if its finder names nothing. */
const CONSTRAINT_OPTIONS: readonly FeedbackOption[] = [
  { option: 'revise_architecture', impact: 'the architecture changes', rerun: ['architect'] },
  { option: 'change_hosting_provider', impact: 'the place where it runs changes', rerun: ['architect'] },
  { option: 'revise_requirement', impact: 'less is asked for', rerun: ['pm'] },
  { option: 'accept_limitation', impact: 'it stays open, as debt', debt: true },
];

/** What can be done about a gap between what was asked for and what was made. */
const gapOptions = (asker: string, maker: string): readonly FeedbackOption[] => [
  { option: 'add_missing_requirement', impact: 'all after it works again', rerun: [asker] },
  { option: 'fix_implementation', impact: 'the implementation changes', rerun: [maker] },
  { option: 'mark_as_limitation', impact: 'it stays open, as debt', debt: true },
  { option: 'revise_acceptance_criteria', impact: 'the implementation stays', rerun: [asker], keep: true },
];

/** Where a feedback comes from. */
export interface Origin {
  readonly source: string;
  readonly sourceStep: string | null;
  /** The step that a target works again, if the sender knows it. */
  readonly steps?: Readonly<Record<string, string>>;
}

export interface FixedFeedback {
  readonly feedback: Feedback;
  readonly targets: readonly Target[];
  readonly subject: string;
}

/**
 * Reads a feedback that somebody sent: its form, and whether it may go where it is meant to go.
 *
 * @returns everything that is wrong with it, or what it says
 */
export const fixFeedback = (
  plan: Plan,
  given: Json | undefined,
  origin: Origin,
): FixedFeedback | { readonly problems: readonly string[] } => {
  const problems = problemsOfForm(given);
  if (problems.length > 0) return { problems };
  const said = given as unknown as GivenFeedback; // Its form was checked.
  const asked = said.targets.map((role) => targetOf(plan, role, { origin, from: said.from }));
  const targets = asked.flatMap((target) => ('problem' in target ? [] : target));
  const place = { targets, ...origin };
  const options = said.options ?? usualOptions(plan, said, place);
  const mode = modeOf(said, options);
  const all = [
    ...asked.flatMap((target) => ('problem' in target ? target.problem : [])),
    ...problemsOfOptions(plan, options, place),
    ...problemsOfFrom(plan, said),
    ...(mode === 'fix'
      ? targets.flatMap(({ role, step }) => (isWorker(plan, role, step) ? [] : reviewer(role)))
      : []),
  ];
  if (all.length > 0) return { problems: all };
  const { requirement = null, action = null, rule = 'unanimous', timeMs = TIME_MS } = said;
  const description = said.description as Json;
  const { details = {} } = said;
  return {
    feedback: {
      type: said.type,
      mode,
      severity: said.severity,
      description,
      requirement,
      details,
      action,
      options,
      rule,
      timeMs,
    },
    targets,
    subject: requirement ?? subjectOf(said.type, description, details),
  };
};

/** Options make it a decision; without any, a type of the user's own asks for a fix. */
const modeOf = (
  { type, options: given }: GivenFeedback,
  options: readonly FeedbackOption[],
): FeedbackMode => {
  const usual = Object.hasOwn(MODES, type) ? (MODES[type] ?? 'fix') : 'fix';
  if (usual === 'align') return 'align';
  return given || usual === 'decide' ? (options.length > 0 ? 'decide' : 'fix') : usual;
};

const isWorker = ({ steps }: Plan, role: string, step: string): boolean =>
  steps.some(({ id, agent }) => id === step && agent === role);

const reviewer = (role: string): string => `"${role}" is a reviewer, who can decide but has nothing to fix`;

const problemsOfFrom = ({ steps }: Plan, { from, targets }: GivenFeedback): readonly string[] =>
  typeof from !== 'string' || steps.some(({ id, agent }) => id === from && targets.includes(agent ?? ''))
    ? []
    : [`"from" is "${from}", which is a step of none of the targets`];

/** Where a feedback is about to go. */
interface Place extends Origin {
  readonly targets: readonly Target[];
}

/** What runs again must not wait for the one that asks for it. */
const problemsOfOptions = (
  plan: Plan,
  options: readonly FeedbackOption[],
  place: Place,
): readonly string[] => {
  const { source, sourceStep } = place;
  const later = sourceStep === null ? undefined : after(plan, [sourceStep]);
  const names = new Set(options.flatMap(({ rerun = [] }) => rerun));
  return [...names].flatMap((name) => {
    const step = stepFor(plan, name, place);
    if (!step) return [`an option runs "${name}" again, which is no agent or step`];
    return later?.has(step.id) ? [`an option runs "${name}" again, which comes after "${source}"`] : [];
  });
};

/** The step that is meant by its id, by a target, or by an agent: the nearest one that does not come after the source. */
export const stepFor = (
  plan: Plan,
  name: string,
  { targets, sourceStep }: Pick<Place, 'targets' | 'sourceStep'>,
): Step | undefined => {
  const step = targets.find(({ role }) => role === name)?.step ?? name;
  const named = plan.steps.find(({ id, check, gate }) => id === step && !check && !gate);
  if (named) return named;
  const own = plan.steps.filter(({ agent, check }) => agent === name && check === null);
  return nearest(plan, own, sourceStep) ?? own.at(-1);
};

/** The last one before the source, else the last beside it. */
const nearest = (plan: Plan, own: readonly Step[], sourceStep: string | null): Step | undefined => {
  const source = plan.steps.find(({ id }) => id === sourceStep);
  if (!source) return own.at(-1);
  const earlier = before(plan, source);
  const beside = own.filter((step) => step.id !== sourceStep && !before(plan, step).has(source.id));
  return own.findLast(({ id }) => earlier.has(id)) ?? beside.at(-1);
};

/** What a feedback without a requirement is about: a gate by its name, else what is said. */
const subjectOf = (type: string, description: Json, { gate, check }: JsonObject): string => {
  const name = gate ?? check;
  if (typeof name === 'string') return name;
  const text = typeof description === 'string' ? description : JSON.stringify(description);
  return fingerprint({ category: type, description: text });
};

const usualOptions = (
  plan: Plan,
  { type, targets }: GivenFeedback,
  place: Place,
): readonly FeedbackOption[] => {
  const has = (name: string) => problemsOfOptions(plan, [{ option: '', rerun: [name] }], place).length === 0;
  if (type === 'constraint_violation')
    return CONSTRAINT_OPTIONS.map(({ rerun = [], ...option }) => ({ ...option, rerun: rerun.filter(has) }));
  if (type !== 'missing_requirement') return [];
  const [first = '', second = first] = targets;
  return gapOptions(has('pm') ? 'pm' : first, targets.includes('developer') ? 'developer' : second);
};

/** The step that a target works again: the nearest one, or the one that the sender names. */
const targetOf = (
  plan: Plan,
  role: string,
  { origin, from }: { readonly origin: Origin; readonly from: string | number | undefined },
): Target | { readonly problem: string } => {
  const { source, sourceStep, steps = {} } = origin;
  const own = plan.steps.filter((step) => workersOf(step).includes(role) && step.check === null);
  if (own.length === 0)
    return { problem: `no step is of the agent "${role}"; there are ${agentsOf(plan).join(', ')}` };
  if (role === source) return { problem: `"${role}" cannot send feedback to itself` };
  const named =
    from === undefined
      ? undefined
      : typeof from === 'number'
        ? own[from - 1]
        : own.find(({ id }) => id === from);
  const known = Object.hasOwn(steps, role) ? own.find(({ id }) => id === steps[role]) : undefined;
  if (typeof from === 'number' && !named) return { problem: `"${role}" has no step number ${from}` };
  const step = named ?? known ?? nearest(plan, own, sourceStep);
  if (!step || (sourceStep !== null && before(plan, step).has(sourceStep)))
    return { problem: `"${role}" comes after "${source}": feedback goes to those before or beside` };
  return { role, step: step.id };
};

const agentsOf = ({ steps }: Plan): readonly string[] => [
  ...new Set(steps.flatMap((step) => (step.check ? [] : workersOf(step)))),
];

/** Where feedback of an agent comes from: the step that it works on, else its last one. */
export const originOf = (
  plan: Plan,
  source: string,
  isWorking: (step: string) => boolean,
): Origin | undefined => {
  if (source === ORCHESTRATOR) return { source, sourceStep: null };
  const own = plan.steps.filter((step) => workersOf(step).includes(source));
  const step = own.find(({ id }) => isWorking(id)) ?? own.at(-1);
  return step && { source, sourceStep: step.id };
};

/** What a check that failed sends. */
export const feedbackOfCheck = (id: string, check: Check, found: JsonObject): Json => ({
  type: check.kind,
  targets: check.targets,
  severity: check.severity,
  description: check.description,
  ...(check.requirement !== null && { requirement: check.requirement }),
  details: { ...check.details, check: id, ...found },
  ...(check.options !== null && { options: check.options as unknown as Json }),
  rule: check.rule as Json,
});

/** The steps whose results a check compares, by their agents: it is they that have to change. */
export const stepsOfCheck = ({ paths, targets, details }: Check): Readonly<Record<string, string>> => {
  const { artifact } = details;
  const compared = paths.flatMap((path) => {
    const [role, step] = [agentIn(path), stepIn(path)];
    return role !== undefined && step !== undefined && targets.includes(role) ? [[role, step] as const] : [];
  });
  const named = typeof artifact === 'string' ? targets.map((role) => [role, artifact] as const) : [];
  return Object.fromEntries([...named, ...compared]);
};
