import { isRuntimeError, RuntimeError } from '../errors.ts';
import { hashText } from '../events/blob.ts';
import { readPath } from '../events/context-path.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { type Check, type CheckStep, fixCheck, type GivenCheck, problemsOfCheck, stepIn } from './check.ts';
import type { GapRule } from './gap.ts';

/** When a gate with several reviewers passes. All rules count against those that are declared: an absent one has not approved. */
export type GateRule =
  /** Every reviewer has answered, and none has a blocking or critical issue. */
  | 'any-blocker'
  /** Every reviewer approves. */
  | 'all'
  /** So many of them approve. */
  | { readonly quorum: number };

export interface Gate {
  readonly reviewers: readonly string[];
  /** `all` unless set. */
  readonly rule: GateRule;
  /** The step that runs again with what the gate found. */
  readonly corrects: string;
}

/** A workflow that is run as a step, and what it is started with besides what the step is given. */
export interface NestedRun {
  readonly workflow: string;
  readonly input: JsonObject;
  /** When time is up it is told to end, and says what it spent. Those of plans that were stored without it are stopped. */
  readonly isTold?: true;
}

/** A unit of a run, worked by one agent, by the reviewers of a gate, by a run of its own, or by comparing what others made. */
export interface Step {
  readonly id: string;
  readonly agent: string | null;
  readonly gate: Gate | null;
  /** What it compares, if it is a check. */
  readonly check: Check | null;
  /** A loop that is run as this step, within what is left of the budget of the plan. */
  readonly nested: NestedRun | null;
  /** Steps, or groups of steps, whose results it needs. */
  readonly needs: readonly string[];
  /** Steps of a group run side by side; whoever needs the group needs all of them. */
  readonly group: string | null;
  /** What it is given besides the task and the results that it needs. */
  readonly with: Json;
  /** Paths of the run's context that its agent is given. */
  readonly reads: readonly string[];
}

export interface Plan {
  readonly steps: readonly Step[];
  /** How what was asked for is compared with what was made. */
  readonly gap?: GapRule;
}

/** A step as a user writes it. */
export interface GivenStep extends Partial<Omit<Step, 'gate' | 'check' | 'nested'>> {
  readonly id: string;
  /** What `planRun`, `tightLoop`, `repeatLoop`, `storyLoop`, `phaseRun` or `treeRun` gave: it must be registered too. */
  readonly run?: { readonly name: string; readonly options: { readonly asStep?: object } };
  readonly gate?: Partial<Gate> & Pick<Gate, 'reviewers' | 'corrects'>;
}

/**
 * A plan that can be run.
 *
 * @throws {RuntimeError} BAD_PLAN with everything that is wrong with it
 */
export const fixPlan = (given: readonly GivenStep[], checks: readonly GivenCheck[] = []): Plan => {
  const plain = given.map(fixStep);
  const fixed = checks.map(fixCheck);
  const steps = withChecks(plain, fixed);
  const problems = [
    ...problemsOf(steps),
    ...fixed.flatMap((check) => problemsOfCheckIn({ steps: plain }, check)),
  ];
  if (problems.length > 0) throw new RuntimeError('BAD_PLAN', { problems });
  return { steps };
};

/** Of a workflow that cannot be a step. */
const NO_STEP: JsonObject = {};
const STEPS = 'planRun, tightLoop, repeatLoop, storyLoop, phaseRun and treeRun make some that can';

const fixStep = ({ id, agent, gate, run, needs, group, with: given, reads }: GivenStep): Step => ({
  id,
  agent: agent ?? (gate || run ? null : id),
  // What makes a loop a step is JSON, like all that a loop is started with.
  nested: run
    ? { workflow: run.name, input: (run.options.asStep ?? NO_STEP) as JsonObject, isTold: true }
    : null,
  check: null,
  gate: gate ? { reviewers: gate.reviewers, rule: gate.rule ?? 'all', corrects: gate.corrects } : null,
  needs: needs ?? [],
  group: group ?? null,
  with: given ?? null,
  reads: reads ?? [],
});

/** A check comes after what it compares. Whoever needs that, or what it may have corrected, needs the check too. */
const withChecks = (plain: readonly Step[], checks: readonly CheckStep[]): readonly Step[] => {
  let steps = plain;
  for (const { id, check, after } of checks) {
    const sides = plain.filter((step) => check.paths.some((path) => stepIn(path) === step.id));
    const needs = needsOfCheck(plain, { id, check, after });
    const { by } = check;
    const step: Step = {
      ...fixStep({ id, needs: [...new Set(needs)], reads: check.paths }),
      agent: typeof by === 'object' && 'agent' in by ? by.agent : null,
      check,
    };
    const earlier = before({ steps }, step);
    const named = plain.filter((each) => step.needs.some((need) => need === each.id || need === each.group));
    const guarded = plain.filter(
      (each) =>
        sides.includes(each) ||
        named.includes(each) ||
        (each.agent !== null && check.targets.includes(each.agent)),
    );
    // Checks do not wait for each other, unless one says so.
    const waits = ({ id: other, needs: its, check: isCheck }: Step): boolean =>
      !isCheck &&
      !earlier.has(other) &&
      guarded.some((each) => its.includes(each.id) || (each.group !== null && its.includes(each.group)));
    steps = [...steps.map((each) => (waits(each) ? { ...each, needs: [...each.needs, id] } : each)), step];
  }
  return steps;
};

/** The steps that it compares, with their groups, or those that it names. */
const needsOfCheck = (plain: readonly Step[], { check, after: named }: CheckStep): readonly string[] =>
  named ??
  plain
    .filter((step) => check.paths.some((path) => stepIn(path) === step.id))
    .map((step) => step.group ?? step.id);

const problemsOfCheckIn = ({ steps }: Plan, given: CheckStep): string[] => {
  const place = `check "${given.id}"`;
  const strangers = given.check.targets.filter((role) => !steps.some(({ agent }) => agent === role));
  const sides = given.check.paths.filter((path) => !steps.some(({ id }) => id === stepIn(path)));
  return [
    ...problemsOfCheck(given).map((problem) => `${place}: ${problem}`),
    ...strangers.map((role) => `${place}: no step is of the agent "${role}"`),
    ...(given.after === null
      ? sides.map(
          (path) => `${place}: "${path}" is not in the output of a step: say \`after\` which it is made`,
        )
      : []),
  ];
};

/** Part of addresses and of paths in the context: so no names that every object has. */
const ID = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$/;
export const isId = (id: string): boolean => ID.test(id) && !(id in Object.prototype) && id !== 'prototype';

const problemsOf = (steps: readonly Step[]): string[] => {
  const ids = steps.map(({ id }) => id);
  const groups = new Set(steps.flatMap(({ group }) => group ?? []));
  const problems: string[] = steps.length === 0 ? ['it has no steps'] : [];
  for (const [index, { id, agent, gate, nested, check, needs, group, reads }] of steps.entries()) {
    const place = `step "${id}"`;
    if (!isId(id)) problems.push(`${place}: an id is of letters, digits, "_", ".", ":" and "-"`);
    if (ids.indexOf(id) !== index) problems.push(`${place} is there twice`);
    if (groups.has(id)) problems.push(`${place} has the name of a group`);
    if ([agent, gate, nested].filter((kind) => kind !== null).length > 1)
      problems.push(`${place} has more than one of agent, gate and run: choose one`);
    if (nested?.input === NO_STEP)
      problems.push(`${place} runs "${nested.workflow}", which cannot be a step: ${STEPS}`);
    for (const need of needs)
      if (!ids.includes(need) && !groups.has(need))
        problems.push(`${place} needs "${need}", which is neither a step nor a group`);
    if (check && needs.length === 0) problems.push(`${place} compares nothing that a step makes`);
    if (group !== null && needs.includes(group)) problems.push(`${place} needs its own group`);
    for (const role of [...(gate?.reviewers ?? []), ...(agent === null ? [] : [agent])])
      if (!isId(role)) problems.push(`${place}: "${role}" cannot be the name of an agent`);
    if (gate) problems.push(...problemsOfGate(place, gate));
    problems.push(
      ...reads.filter((path) => !isPath(path)).map((path) => `${place} reads "${path}", which is no path`),
    );
  }
  const plan = { steps };
  return [...problems, ...problemsOfOrder(plan), ...problemsOfCorrections(plan)];
};

/** The context would refuse it in the middle of a run. */
const isPath = (path: string): boolean => {
  try {
    return readPath(path).length > 0;
  } catch (error) {
    if (isRuntimeError(error, 'BAD_PATH')) return false;
    throw error;
  }
};

const problemsOfGate = (place: string, { reviewers, rule }: Gate): string[] => {
  const problems: string[] = [];
  if (reviewers.length === 0) problems.push(`${place} has no reviewers`);
  if (new Set(reviewers).size !== reviewers.length) problems.push(`${place} has a reviewer twice`);
  const quorum = typeof rule === 'object' ? rule.quorum : 1;
  if (!Number.isSafeInteger(quorum) || quorum < 1 || quorum > reviewers.length)
    problems.push(`${place} has ${reviewers.length} reviewers, of whom ${quorum} cannot approve`);
  return problems;
};

const problemsOfOrder = (plan: Plan): string[] => {
  const done = new Set<string>();
  for (let before = -1; before !== done.size; ) {
    before = done.size;
    for (const step of plan.steps) if (needsOf(plan, step).every(({ id }) => done.has(id))) done.add(step.id);
  }
  const stuck = plan.steps.filter(({ id }) => !done.has(id)).map(({ id }) => id);
  return stuck.length === 0 ? [] : [`the steps ${stuck.join(', ')} wait for each other`];
};

const problemsOfCorrections = (plan: Plan): string[] =>
  plan.steps.flatMap((step) => {
    const { gate } = step;
    if (!gate || before(plan, step).has(gate.corrects)) return [];
    return [`the gate "${step.id}" corrects "${gate.corrects}", which is not a step before it`];
  });

/** All steps that one depends on, however far back. */
export const before = (plan: Plan, step: Step): ReadonlySet<string> => {
  const found = new Set<string>();
  const walk = (from: Step): void => {
    for (const need of needsOf(plan, from)) {
      if (found.has(need.id)) continue;
      found.add(need.id);
      walk(need);
    }
  };
  walk(step);
  return found;
};

/** The steps whose results a step needs, in the order of the plan. */
export const needsOf = ({ steps }: Plan, { needs }: Step): readonly Step[] =>
  steps.filter(({ id, group }) => needs.includes(id) || (group !== null && needs.includes(group)));

/** All steps that depend on one of these, however far on. */
export const after = (plan: Plan, ids: readonly string[]): ReadonlySet<string> =>
  new Set(plan.steps.filter((step) => ids.some((id) => before(plan, step).has(id))).map(({ id }) => id));

/** The agents of a step. */
export const workersOf = ({ agent, gate }: Step): readonly string[] =>
  gate ? gate.reviewers : agent === null ? [] : [agent];

/** Equal for equal values, whatever the order of their members. */
export const hashOf = (value: Json): string => hashText(canonicalJson(value));
