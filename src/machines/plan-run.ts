import { RuntimeError } from '../errors.ts';
import { readPath } from '../events/context-path.ts';
import type { PureFunction } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import { AGENT_DEFAULTS, type AgentSettings, type PersonSettings } from './agent-work.ts';
import type { GivenCheck } from './check.ts';
import { feedbackOfCheck, fixFeedback, ORCHESTRATOR, stepsOfCheck } from './fix-feedback.ts';
import type { GapRule } from './gap.ts';
import { fixLimits, type GivenLimits } from './limits.ts';
import { fixPlan, type GivenStep, type Plan, workersOf } from './plan.ts';
import type { QuestionLevel } from './question-machine.ts';
import { type RunInput, runMachine } from './run-machine.ts';
import { type Workflow, type WorkflowOptions, workflow } from './workflow.ts';

/** What the agent of a step is given as its input. */
export interface StepInput {
  /** What the run was started with. */
  readonly task: Json;
  /** What the plan says for this step. */
  readonly with: Json;
  /** What the steps that it needs have made. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** What was decided about feedback that this step sent, or was told of, oldest first. */
  readonly decisions?: readonly Decision[];
}

/** How a feedback was resolved, for those who work on. */
export interface Decision {
  readonly loop: string;
  readonly type: string;
  /** The requirement, or what else it was about. */
  readonly subject: string;
  readonly description: string;
  /** The option that was chosen; null for a fix, or a value of somebody's own. */
  readonly decision: string | null;
  readonly value: Json;
  readonly note: string | null;
  readonly by: readonly string[];
}

/** How an agent is called in a run. */
export type RoleOptions = Partial<Pick<AgentSettings, 'attempts' | 'backoffMs' | 'timeLimitMs'>>;

/** A role that is a person's: its requests are questions. */
export interface PersonOptions extends Partial<PersonSettings> {
  readonly text: string;
}

export interface PlanRunOptions<Steps extends readonly GivenStep[], Person extends string>
  extends Pick<WorkflowOptions<typeof runMachine>, 'version' | 'turnsMax'> {
  readonly steps: Steps;
  /** What must hold between results, or of one: consistency rules and quality gates. */
  readonly checks?: readonly GivenCheck[];
  /** Where requirements and implementation are, for feedback that something is missing. */
  readonly gap?: GapRule;
  /** Functions that checks call by name: pure, since they run again on every replay. A change of one is a new version of the plan. */
  readonly functions?: Readonly<Record<string, PureFunction>>;
  readonly limits?: GivenLimits;
  /** What happens at a limit, or when a step has failed for good: a person is asked (default), or the run ends. */
  readonly onLimit?: 'ask' | 'stop';
  /** Who is asked, one after the other, and for how long; one person for as long as it takes unless set. */
  readonly ask?: readonly QuestionLevel[];
  /** What happens if nobody answers in time; `stop` unless set. Never accept or continue. */
  readonly onExpiry?: 'cancel' | 'stop';
  readonly roles?: Readonly<Record<string, RoleOptions>>;
  readonly persons?: Readonly<Record<Person, PersonOptions>>;
}

/** The agents that the steps of a plan name. */
type RolesOf<Step> = Step extends { readonly run: unknown }
  ? never
  : Step extends {
        readonly gate: { readonly reviewers: readonly (infer Role extends string)[] };
      }
    ? Role
    : Step extends { readonly agent: infer Role extends string }
      ? Role
      : Step extends { readonly id: infer Role extends string }
        ? Role
        : never;

/** A workflow that runs a plan: started with a task, it ends with a verdict. */
export type PlanRun<Name extends string, Role extends string> = Workflow<
  Name,
  typeof runMachine,
  { readonly given: Json; readonly roles: Role; readonly stepInput: StepInput }
>;

/**
 * Declares a workflow that works through steps, sends back what its gates reject, and ends within its limits.
 *
 * @throws {RuntimeError} BAD_PLAN, BAD_OPTION
 */
export const planRun = <
  const Name extends string,
  const Steps extends readonly GivenStep[],
  const Person extends string = never,
>(
  name: Name,
  options: PlanRunOptions<Steps, Person>,
): PlanRun<Name, Exclude<RolesOf<Steps[number]>, Person>> => {
  const {
    steps,
    limits,
    onLimit = 'ask',
    ask = [{ to: null, expiresMs: null }],
    onExpiry = 'stop',
  } = options;
  const { version, turnsMax } = options;
  const { checks = [], gap, functions = {} } = options;
  checkFunctions(checks, gap, functions);
  const plan = { ...fixPlan(steps, checks), ...(gap && { gap: checkedGap(gap) }) };
  checkDelivery(plan);
  const fixed: Omit<RunInput, 'task'> = {
    plan,
    limits: fixLimits(limits),
    unbounded: limits?.unbounded ?? null,
    cap: null,
    onLimit,
    questionLevels: checkedLevels('ask', ask),
    onExpiry: checkedExpiry(onExpiry),
    roles: settingsOf(plan.steps.flatMap(workersOf), options),
  };
  return workflow(name, runMachine, {
    ...(version !== undefined && { version }),
    ...(turnsMax !== undefined && { turnsMax }),
    functions,
    counters: {
      feedbacks: {
        value: ({ feedbacks }) => feedbacks,
        counts: ({ kind, type }) => kind === 'fact' && type === 'feedback.sent',
      },
    },
    asStep: { task: null, ...fixed },
    // Written into the log with the start: a run goes on with the plan and the limits that it began with.
    // The door refuses a task that is not JSON.
    prepare: (task) => ({ task: (task ?? null) as Json, ...fixed }),
  }) as unknown as PlanRun<Name, Exclude<RolesOf<Steps[number]>, Person>>;
};

const checkFunctions = (
  checks: readonly GivenCheck[],
  gap: GapRule | undefined,
  functions: Readonly<Record<string, PureFunction>>,
): void => {
  const named = [
    ...checks.flatMap(({ id, by }) =>
      typeof by === 'object' && 'function' in by ? [[`check "${id}"`, by.function]] : [],
    ),
    ...(gap?.function === undefined ? [] : [['the gap', gap.function]]),
  ];
  const problems = named
    .filter(([, name = '']) => !Object.hasOwn(functions, name))
    .map(([place, name]) => `${place} calls the function "${name}", which is not among \`functions\``);
  if (problems.length > 0) throw new RuntimeError('BAD_PLAN', { problems });
};

/** What a check sends when it fails must get there. */
const checkDelivery = (plan: Plan): void => {
  const problems = plan.steps.flatMap(({ id, check }) => {
    if (!check) return [];
    const origin = { source: ORCHESTRATOR, sourceStep: id, steps: stepsOfCheck(check) };
    const fixed = fixFeedback(plan, feedbackOfCheck(id, check, {}), origin);
    return 'problems' in fixed ? fixed.problems.map((problem) => `check "${id}": ${problem}`) : [];
  });
  if (problems.length > 0) throw new RuntimeError('BAD_PLAN', { problems });
};

/** A path that cannot be read would stop the run when it is needed. */
const checkedGap = (gap: GapRule): GapRule => {
  readPath(gap.requirements);
  readPath(gap.implementation);
  return gap;
};

/** Types keep other values out; options that are read from a file are not kept by them. */
export const checkedExpiry = (onExpiry: string): 'cancel' | 'stop' => {
  if (onExpiry === 'cancel' || onExpiry === 'stop') return onExpiry;
  throw new RuntimeError('BAD_OPTION', {
    option: 'onExpiry',
    found: `"${onExpiry}"`,
    expected: '"cancel" or "stop": to accept or go on needs a person',
  });
};

/** How the agents and persons of a run are asked, by their roles. */
export interface Roles {
  readonly roles?: Readonly<Record<string, RoleOptions>>;
  readonly persons?: Readonly<Record<string, PersonOptions>>;
}

/** @throws {RuntimeError} BAD_PLAN with what was found `wrong` before, and each role that is set up although no `place` names it */
export const settingsOf = (
  given: readonly string[],
  { roles = {}, persons = {} }: Roles,
  { place = 'step', wrong = [] }: { readonly place?: string; readonly wrong?: readonly string[] } = {},
): Readonly<Record<string, AgentSettings>> => {
  const names = [...new Set(given)];
  const strangers = Object.keys({ ...roles, ...persons }).filter((name) => !names.includes(name));
  const problems = [...wrong, ...strangers.map((name) => `"${name}" is set up, but no ${place} names it`)];
  if (problems.length > 0) throw new RuntimeError('BAD_PLAN', { problems });
  return Object.fromEntries(
    names.map((role) => [
      role,
      checkedSettings({
        role,
        ...AGENT_DEFAULTS,
        ...(Object.hasOwn(roles, role) ? roles[role] : {}),
        person: Object.hasOwn(persons, role) ? personOf(role, persons[role]) : null,
      }),
    ]),
  );
};

const personOf = (role: string, given: PersonOptions | undefined): PersonSettings => {
  const options = given?.options ?? [];
  const isFree = given?.isFree ?? options.length === 0;
  if (!isFree && options.length === 0)
    throw new RuntimeError('BAD_OPTION', {
      option: `persons.${role}.options`,
      found: 'none',
      expected: 'at least one option, or `isFree`: this question could not be answered',
    });
  const levels = checkedLevels(`persons.${role}.levels`, given?.levels ?? [{ to: null, expiresMs: null }]);
  return { text: given?.text ?? '', options, isFree, levels };
};

/** A time that is no time would expire at once, before anybody can answer. */
export const checkedLevels = (option: string, levels: readonly QuestionLevel[]): readonly QuestionLevel[] => {
  for (const [index, { expiresMs }] of levels.entries()) {
    const isTime = typeof expiresMs === 'number' && expiresMs > 0 && Number.isFinite(expiresMs);
    if (!isTime && expiresMs !== null)
      throw new RuntimeError('BAD_OPTION', {
        option: `${option}[${index}].expiresMs`,
        found: String(expiresMs),
        expected: 'milliseconds above 0, or null for as long as it takes',
      });
  }
  return levels;
};

export const checkedSettings = (settings: AgentSettings): AgentSettings => {
  const { role, attempts, backoffMs, timeLimitMs } = settings;
  const refuse = (option: string, found: unknown, expected: string): never => {
    throw new RuntimeError('BAD_OPTION', {
      option: `roles.${role}.${option}`,
      found: String(found),
      expected,
    });
  };
  if (!Number.isSafeInteger(attempts) || attempts < 1) refuse('attempts', attempts, 'an integer from 1');
  if (!(backoffMs >= 0 && Number.isFinite(backoffMs))) refuse('backoffMs', backoffMs, 'milliseconds from 0');
  if (timeLimitMs !== null && !(timeLimitMs > 0 && Number.isFinite(timeLimitMs)))
    refuse('timeLimitMs', timeLimitMs, 'milliseconds above 0, or null for none');
  return settings;
};
