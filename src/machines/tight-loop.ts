import { RuntimeError } from '../errors.ts';
import type { Json } from '../events/json.ts';
import { AGENT_DEFAULTS } from './agent-work.ts';
import { fixLimits, type GivenLimits } from './limits.ts';
import { checkedExpiry, checkedLevels, checkedSettings, type RoleOptions } from './plan-run.ts';
import type { QuestionLevel } from './question-machine.ts';
import { tightMachine } from './tight-machine.ts';
import { type ReadProgress, startOf } from './tight-progress.ts';
import type { TightInput, TightRole } from './tight-state.ts';
import type { DeveloperInput } from './tight-text.ts';
import { type Workflow, type WorkflowOptions, workflow } from './workflow.ts';

export interface TightLoopOptions extends Pick<WorkflowOptions<typeof tightMachine>, 'version' | 'turnsMax'> {
  /** `tight-loop` unless set. */
  readonly name?: string;
  /** How many passes there may be; 5 unless set. */
  readonly maxIterations?: number;
  /** Limits failures of any kind in a row to 3 for each check, too. */
  readonly strict?: boolean;
  /** False: a single pass. */
  readonly enabled?: boolean;
  /** Calls the developer again until it says that it is done, so many times at most; true for 10. */
  readonly repeat?: boolean | number;
  readonly limits?: GivenLimits;
  /** What happens at a limit, or when an agent has failed for good: a person is asked (default), or the run ends. */
  readonly onLimit?: 'ask' | 'stop';
  readonly ask?: readonly QuestionLevel[];
  readonly onExpiry?: 'cancel' | 'stop';
  readonly roles?: Readonly<Partial<Record<TightRole, RoleOptions>>>;
  /** Names under which other tools know the limits. */
  readonly max_feedback_iterations?: number;
  readonly max_consecutive_review_failures?: number;
  readonly max_consecutive_test_failures?: number;
}

const ROLES: readonly TightRole[] = ['developer', 'reviewer', 'tester'];
const STRICT_FAILURES = 3;

/** What each agent of a tight loop is given as its input. */
export interface CheckerInput {
  readonly task: Json;
  readonly pass: number;
  readonly implementation: string;
  readonly scratchpad: string | null;
}

export type TightLoop<Name extends string> = Workflow<
  Name,
  typeof tightMachine,
  /** The task; or, for a loop that is under way already, { task, progress } with what its progress file has. */
  { readonly given: Json; readonly roles: TightRole; readonly stepInput: DeveloperInput & CheckerInput }
>;

/**
 * Declares a loop that implements, reviews and tests until review and tests both pass in the same pass, or a limit is met.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const tightLoop = <const Name extends string = 'tight-loop'>(
  options: TightLoopOptions & { readonly name?: Name } = {},
): TightLoop<Name> => {
  const { name = 'tight-loop' as Name, version, turnsMax, repeat = false } = options;
  const {
    onLimit = 'ask',
    ask = [{ to: null, expiresMs: null }],
    onExpiry = 'stop',
    enabled = true,
  } = options;
  const { limits, unbounded } = limitsOf(options);
  const fixed: Omit<TightInput, 'task' | 'folder'> = {
    limits,
    unbounded,
    enabled,
    repeats: repeat !== false,
    onLimit,
    questionLevels: checkedLevels('ask', ask),
    onExpiry: checkedExpiry(onExpiry),
    roles: rolesOf(options.roles ?? {}),
  };
  return workflow(name, tightMachine, {
    ...(version !== undefined && { version }),
    ...(turnsMax !== undefined && { turnsMax }),
    counters: {
      passes: {
        value: ({ passes }) => passes.length,
        counts: ({ kind, type }) => kind === 'fact' && type === 'loop.pass',
      },
    },
    // Files go by the run, and belong to its root.
    asStep: { ...fixed, folder: null },
    prepare: (given, at) => {
      const { task, progress } = startOf(given);
      return { task, folder: at?.folder ?? null, ...fixed, ...(progress && earlierOf(progress, fixed)) };
    },
  }) as unknown as TightLoop<Name>;
};

/** A loop that is under way already keeps the bound that it had. */
const earlierOf = (
  { enabled, passesMax, passes }: ReadProgress,
  fixed: Pick<TightInput, 'limits' | 'enabled'>,
): Pick<TightInput, 'limits' | 'enabled' | 'earlier'> => ({
  limits: { ...fixed.limits, passes: passesMax ?? fixed.limits.passes },
  enabled: fixed.enabled && enabled,
  earlier: passes,
});

const limitsOf = (options: TightLoopOptions) => {
  const { maxIterations, strict = false, repeat = true, limits: given = {} } = options;
  const named = one('maxIterations', maxIterations, options.max_feedback_iterations);
  const passes = one('limits.passes', given.passes, named);
  const sameIssue = one('limits.sameIssue', given.sameIssue, options.max_consecutive_review_failures);
  const sameFailure = one('limits.sameFailure', given.sameFailure, options.max_consecutive_test_failures);
  const repeats = one('limits.repeats', given.repeats, typeof repeat === 'number' ? repeat : undefined);
  const merged: GivenLimits = {
    ...given,
    ...(strict && given.failuresInRow === undefined && { failuresInRow: STRICT_FAILURES }),
    ...(passes !== undefined && { passes }),
    ...(sameIssue !== undefined && { sameIssue }),
    ...(sameFailure !== undefined && { sameFailure }),
    ...(repeats !== undefined && { repeats }),
  };
  return { limits: fixLimits(merged), unbounded: given.unbounded ?? null };
};

/** The same limit under two names must not have two values. */
const one = <Value extends number | null>(
  option: string,
  value: Value | undefined,
  alias: Value | undefined,
): Value | undefined => {
  if (value === undefined || alias === undefined || value === alias)
    return value === undefined ? alias : value;
  throw new RuntimeError('BAD_OPTION', {
    option,
    found: `${value}, and ${alias} under its other name`,
    expected: 'one value',
  });
};

const rolesOf = (given: Readonly<Partial<Record<TightRole, RoleOptions>>>): TightInput['roles'] => {
  const strangers = Object.keys(given).filter((name) => !ROLES.some((role) => role === name));
  if (strangers.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'roles',
      found: strangers.join(', '),
      expected: `settings of ${ROLES.join(', ')} only`,
    });
  const settings = ROLES.map((role) => [role, checkedSettings({ role, ...AGENT_DEFAULTS, ...given[role] })]);
  return Object.fromEntries(settings) as TightInput['roles']; // One for each of them.
};
