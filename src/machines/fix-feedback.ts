import { type FeedbackOption, type GivenFeedback, problemsOfForm } from '../events/feedback.ts';
import type { Json, JsonObject } from '../events/json.ts';
import type { Check } from './check.ts';
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
  const targets = said.targets.map((role) => targetOf(plan, role, { origin, from: said.from }));
  const bad = targets.flatMap((target) => ('problem' in target ? target.problem : []));
  const good = targets.flatMap((target) => ('problem' in target ? [] : target));
  const options = said.options ?? usualOptions(plan, said, origin);
  const all = [...bad, ...problemsOfOptions(plan, options, origin)];
  if (all.length > 0) return { problems: all };
  const { requirement = null, action = null, rule = 'unanimous', timeMs = TIME_MS } = said;
  const description = said.description as Json;
  const { details = {} } = said;
  const mode = said.options && MODES[said.type] !== 'align' ? 'decide' : (MODES[said.type] ?? 'fix');
  return {
    feedback: {
      type: said.type,
      mode: options.length === 0 && mode === 'decide' ? 'fix' : mode,
      severity: said.severity,
      description,
      requirement,
      details,
      action,
      options,
      rule,
      timeMs,
    },
    targets: good,
    subject: requirement ?? subjectOf(said.type, description, details),
  };
};

/** What runs again must not wait for the one that asks for it. */
const problemsOfOptions = (
  plan: Plan,
  options: readonly FeedbackOption[],
  { source, sourceStep }: Origin,
): readonly string[] => {
  const later = sourceStep === null ? undefined : after(plan, [sourceStep]);
  const names = new Set(options.flatMap(({ rerun = [] }) => rerun));
  return [...names].flatMap((name) => {
    const step = stepNamed(plan, name);
    if (!step) return [`an option runs "${name}" again, which is no agent or step`];
    return later?.has(step.id) ? [`an option runs "${name}" again, which comes after "${source}"`] : [];
  });
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
  origin: Origin,
): readonly FeedbackOption[] => {
  if (type === 'constraint_violation')
    return CONSTRAINT_OPTIONS.map(({ rerun = [], ...option }) => ({
      ...option,
      rerun: rerun.filter(
        (name) => problemsOfOptions(plan, [{ option: '', rerun: [name] }], origin).length === 0,
      ),
    }));
  if (type !== 'missing_requirement') return [];
  const [first = '', second = first] = targets;
  const asker = targets.includes('pm') ? 'pm' : first;
  return gapOptions(asker, targets.includes('developer') ? 'developer' : second);
};

/** The step that a target works again: its last one before the source, or the one that the sender names. */
const targetOf = (
  plan: Plan,
  role: string,
  { origin, from }: { readonly origin: Origin; readonly from: string | number | undefined },
): Target | { readonly problem: string } => {
  const own = plan.steps.filter(({ agent, check }) => agent === role && check === null);
  if (own.length === 0)
    return { problem: `no step is of the agent "${role}"; there are ${agentsOf(plan).join(', ')}` };
  if (role === origin.source) return { problem: `"${role}" cannot send feedback to itself` };
  const source = plan.steps.find(({ id }) => id === origin.sourceStep);
  const reachable = source ? own.filter((step) => !before(plan, step).has(source.id)) : own;
  if (reachable.length === 0)
    return { problem: `"${role}" comes after "${origin.source}": feedback goes to those before or beside` };
  if (from === undefined) return { role, step: reachable.at(-1)?.id ?? '' };
  const named = typeof from === 'number' ? own[from - 1] : own.find(({ id }) => id === from);
  // With several targets it is the step of one of them.
  if (!named && typeof from === 'string' && stepNamed(plan, from))
    return { role, step: reachable.at(-1)?.id ?? '' };
  if (!named || !reachable.includes(named))
    return { problem: `"${role}" has no step "${from}" that is before or beside "${origin.source}"` };
  return { role, step: named.id };
};

const agentsOf = ({ steps }: Plan): readonly string[] => [
  ...new Set(steps.flatMap(({ agent, check }) => (agent === null || check ? [] : agent))),
];

/** A step by its id, or the last step of an agent. */
export const stepNamed = ({ steps }: Plan, name: string): Step | undefined =>
  steps.find(({ id, check, gate }) => id === name && !check && !gate) ??
  steps.findLast(({ agent, check }) => agent === name && check === null);

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
