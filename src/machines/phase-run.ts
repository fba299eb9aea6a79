import { RuntimeError } from '../errors.ts';
import type { PureFunction } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import { isStandardSchema, problemsNow, type StandardSchema } from '../events/standard-schema.ts';
import { fixLimits, type GivenLimits } from './limits.ts';
import { GUIDELINE } from './phase-guideline.ts';
import { phaseMachine } from './phase-machine.ts';
import { fixPhases, type GivenPhase, PIPELINE } from './phase-plan.ts';
import { isAsynchronous } from './phase-shapes.ts';
import type { PhaseRunInput } from './phase-state.ts';
import { workersOf } from './plan.ts';
import { checkedExpiry, checkedLevels, type PlanRunOptions, settingsOf } from './plan-run.ts';
import { type Workflow, type WorkflowOptions, workflow } from './workflow.ts';

/** What the agent of a phase is given as its input. */
export interface PhaseInput {
  /** What the run was started with. */
  readonly task: Json;
  readonly phase: string;
  /** What the pipeline says for this phase. */
  readonly with: Json;
  /** What the phases that it needs have made. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** The phases that may be named as the cause of an issue, and how to tell. */
  readonly attribution?: { readonly phases: readonly string[]; readonly guideline: Json };
  /** Everything that was corrected, if the phase asks for it. */
  readonly history?: Json;
}

type Reviewers = Readonly<Record<string, readonly string[]>>;
/** No phase has the empty name. */
type NoPanels = Readonly<Record<'', readonly never[]>>;

export interface PhaseRunOptions<
  Phases extends readonly GivenPhase[],
  Panels extends Reviewers,
  Person extends string,
> extends Pick<WorkflowOptions<typeof phaseMachine>, 'version' | 'turnsMax'>,
    Pick<PlanRunOptions<[], Person>, 'onLimit' | 'ask' | 'onExpiry' | 'roles' | 'persons'> {
  /** The pipeline: planning, design, design review, code, code review, test and postmortem unless set. */
  readonly phases?: Phases;
  /** Who reviews, by the review: in place of one agent of its name. */
  readonly reviewers?: Panels;
  /** What a run must be started with. */
  readonly task?: StandardSchema;
  /** Functions that shapes name: pure, since they run again on every replay. A change of one, or of a schema, is a new version. */
  readonly functions?: Readonly<Record<string, PureFunction>>;
  /** `passes` bounds the failed passes of the whole run, 10 unless set; `rounds` how often the same defect may go back, 1 unless set. */
  readonly limits?: GivenLimits;
  /** What reviewers are told about finding the phase at fault. */
  readonly guideline?: Json;
  /** Whether a report that asks for improvement is corrected like a fail (default), or passes. */
  readonly needsImprovement?: 'fail' | 'pass';
  /** Above which correction rate (corrections by phases) somebody should look; 0.5 unless set, null for none. */
  readonly alertAbove?: number | null;
}

/** The agents that phases name. */
type RolesOf<Phase, Panels extends Reviewers> = Phase extends { readonly id: infer Id extends string }
  ? Id extends keyof Panels
    ? Panels[Id][number]
    : Phase extends { readonly reviewers: readonly (infer Role extends string)[] }
      ? Role
      : Phase extends { readonly agent: infer Role extends string }
        ? Role
        : Id
  : never;

/** A workflow that corrects defects in the phase that made them: started with a task, it ends with a verdict. */
export type PhaseRun<Name extends string, Role extends string> = Workflow<
  Name,
  typeof phaseMachine,
  { readonly given: Json; readonly roles: Role; readonly stepInput: PhaseInput }
>;

/** Usual bounds where a phase run has others than plans. */
const LIMITS_HERE = { passes: 10, rounds: 1 } as const;

/**
 * Declares a workflow of phases, in which what a later phase finds wrong goes back to the earliest phase that it is of.
 *
 * @throws {RuntimeError} BAD_PLAN, BAD_OPTION
 */
export const phaseRun = <
  const Name extends string,
  const Phases extends readonly GivenPhase[] = typeof PIPELINE,
  const Panels extends Reviewers = NoPanels,
  const Person extends string = never,
>(
  name: Name,
  options: PhaseRunOptions<Phases, Panels, Person> = {},
): PhaseRun<Name, Exclude<RolesOf<Phases[number], Panels>, Person>> => {
  const { version, turnsMax, onLimit = 'ask', onExpiry = 'stop', guideline = GUIDELINE, task } = options;
  const { ask = [{ to: null, expiresMs: null }], limits: given, needsImprovement = 'fail' } = options;
  const declared = withPanels(options.phases ?? PIPELINE, options.reviewers ?? {});
  const { plan, phases, functions } = fixPhases(declared, options.functions ?? {});
  checkTask(task);
  const fixed: Omit<PhaseRunInput, 'task'> = {
    plan,
    phases,
    limits: fixLimits({ ...LIMITS_HERE, ...given }),
    unbounded: given?.unbounded ?? null,
    onLimit,
    questionLevels: checkedLevels('ask', ask),
    onExpiry: checkedExpiry(onExpiry),
    roles: settingsOf(plan.steps.flatMap(workersOf), options),
    guideline,
    needsImprovement: checkedImprovement(needsImprovement),
    alertAbove: checkedRate(options.alertAbove),
  };
  return workflow(name, phaseMachine, {
    ...(version !== undefined && { version }),
    ...(turnsMax !== undefined && { turnsMax }),
    functions,
    counters: {
      failedPasses: {
        value: ({ failed }) => failed,
        counts: ({ kind, type }) => kind === 'fact' && type === 'correction.opened',
      },
    },
    asStep: fixed,
    prepare: (started) => ({ task: taskOf(started, task), ...fixed }),
  }) as unknown as PhaseRun<Name, Exclude<RolesOf<Phases[number], Panels>, Person>>;
};

const withPanels = (phases: readonly GivenPhase[], panels: Reviewers): readonly GivenPhase[] => {
  const strangers = Object.keys(panels).filter(
    (id) => !phases.some((phase) => phase.id === id && (phase.kind ?? 'work') !== 'work'),
  );
  if (strangers.length > 0)
    throw new RuntimeError('BAD_PLAN', {
      problems: strangers.map(
        (id) => `"${id}" has reviewers, but is neither a review nor a test of the pipeline`,
      ),
    });
  return phases.map((phase) => {
    const reviewers = Object.hasOwn(panels, phase.id) ? panels[phase.id] : undefined;
    if (!reviewers) return phase;
    const { agent: _, ...rest } = phase;
    return { ...rest, reviewers };
  });
};

const checkTask = (task: StandardSchema | undefined): void => {
  if (task === undefined || (isStandardSchema(task) && !isAsynchronous(task))) return;
  throw new RuntimeError('BAD_OPTION', {
    option: 'task',
    found: isStandardSchema(task) ? 'an asynchronous schema' : 'no schema',
    expected: 'a schema (standardschema.dev) that answers at once',
  });
};

/** Of a task nobody in the pipeline could mend the shape: it is refused at the start. The door refuses what is not JSON. */
const taskOf = (given: unknown, schema: StandardSchema | undefined): Json => {
  const problems = schema ? problemsNow(schema, given) : [];
  if (problems.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'task',
      found: 'of another shape',
      expected: `one that fits: ${problems.join('; ')}`,
    });
  return (given ?? null) as Json;
};

const checkedImprovement = (given: string): 'fail' | 'pass' => {
  if (given === 'fail' || given === 'pass') return given;
  throw new RuntimeError('BAD_OPTION', {
    option: 'needsImprovement',
    found: `"${given}"`,
    expected: '"fail" or "pass"',
  });
};

const ALERT_ABOVE = 0.5;

const checkedRate = (given: number | null = ALERT_ABOVE): number | null => {
  if (given === null || (typeof given === 'number' && given >= 0 && Number.isFinite(given))) return given;
  throw new RuntimeError('BAD_OPTION', {
    option: 'alertAbove',
    found: String(given),
    expected: 'a number from 0, or null for no alert',
  });
};
