import { RuntimeError } from '../errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { AGENT_DEFAULTS, type AgentSettings } from './agent-work.ts';
import { boardMachine } from './board-machine.ts';
import type { StoriesInput } from './board-state.ts';
import { fixLimits, type GivenLimits, type Limits } from './limits.ts';
import { checkedExpiry, checkedLevels, checkedSettings, type RoleOptions } from './plan-run.ts';
import type { QuestionLevel } from './question-machine.ts';
import { checkedPriorities, type StoryPriorities } from './story-actions.ts';
import { type GivenStory, storiesOf } from './story-given.ts';
import { checkedFaultTable, type FaultTable, type StoryPhase } from './story-phases.ts';
import type { LimitPolicy } from './story-state.ts';
import type { StoryWork } from './story-text.ts';
import { type Workflow, type WorkflowOptions, workflow } from './workflow.ts';

export interface GivenStories {
  readonly stories: readonly GivenStory[];
  /** That of the workflow unless set. */
  readonly mode?: 'auto' | 'manual';
}

export interface RefinementOptions {
  /** How often a story may be sent back; 3 unless set: 4 reviews. */
  readonly maxIterations?: number;
  /** What happens then: a person is asked (default), the run ends failed, or the story ends and the others go on. */
  readonly escalateOnMaxAttempts?: LimitPolicy;
  /** False: there is no limit. `limits.unbounded` must say why. */
  readonly enableCircuitBreaker?: boolean;
}

export interface StoryLoopOptions<Reviewer extends string = string>
  extends Pick<WorkflowOptions<typeof boardMachine>, 'version' | 'turnsMax'> {
  readonly refinement?: RefinementOptions;
  /** `auto` runs until nothing is left; `manual` (default) does one action for each `stories.next`. */
  readonly mode?: 'auto' | 'manual';
  /** The agents that review, side by side; `review` alone unless set. All must approve. */
  readonly reviewers?: readonly Reviewer[];
  /** Which phase a finding points to. */
  readonly faults?: Partial<FaultTable>;
  readonly priorities?: Partial<StoryPriorities>;
  /** How many stories are worked on at once; 4 unless set. */
  readonly concurrency?: number;
  /** Of cost and calls: for each story. */
  readonly limits?: GivenLimits;
  readonly ask?: readonly QuestionLevel[];
  readonly onExpiry?: 'cancel' | 'stop';
  /** What happens when an agent has failed for good: a person is asked (default), or the story ends failed. */
  readonly onFailure?: 'ask' | 'stop';
  readonly roles?: Readonly<Record<string, RoleOptions>>;
}

export type StoryLoop<Name extends string, Reviewer extends string = 'review'> = Workflow<
  Name,
  typeof boardMachine,
  {
    readonly given: GivenStories;
    readonly roles: Exclude<StoryPhase, 'review'> | Reviewer;
    readonly stepInput: StoryWork;
  }
>;

const PHASES: readonly string[] = ['research', 'plan', 'implement', 'create-pr'];
const CONCURRENCY = 4;
/** A board of some hundred stories takes more turns than other runs. */
const TURNS_MAX = 200_000;

/**
 * Declares a workflow that takes stories through research, plan, implement, review and create-pr, and sends a story whose
 * review rejects back to the phase at fault.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const storyLoop = <const Name extends string, const Reviewer extends string = 'review'>(
  name: Name,
  options: StoryLoopOptions<Reviewer> = {},
): StoryLoop<Name, Reviewer> => {
  const {
    version,
    turnsMax = TURNS_MAX,
    reviewers = ['review'],
    mode = 'manual',
    onFailure = 'ask',
  } = options;
  const { concurrency = CONCURRENCY, ask = [{ to: null, expiresMs: null }], onExpiry = 'stop' } = options;
  const policy = options.refinement?.escalateOnMaxAttempts ?? 'manual';
  checkOneOf('mode', mode, ['auto', 'manual']);
  checkOneOf('onFailure', onFailure, ['ask', 'stop']);
  checkOneOf('refinement.escalateOnMaxAttempts', policy, ['manual', 'error', 'skip']);
  if (!Number.isSafeInteger(concurrency) || concurrency < 1)
    refuse('concurrency', concurrency, 'an integer from 1');
  const fixed: Omit<StoriesInput, 'stories'> = {
    settings: {
      limits: limitsOf(options),
      unbounded: options.limits?.unbounded ?? null,
      policy,
      reviewers: checkedReviewers(reviewers),
      faults: checkedFaultTable(options.faults ?? {}),
      roles: rolesOf(reviewers, options.roles ?? {}),
      onFailure,
      questionLevels: checkedLevels('ask', ask),
      onExpiry: checkedExpiry(onExpiry),
    },
    mode,
    priorities: checkedPriorities(options.priorities ?? {}),
    concurrency,
  };
  return workflow(name, boardMachine, {
    ...(version !== undefined && { version }),
    turnsMax,
    // Nobody is there to say what comes next.
    asStep: { ...fixed, mode: 'auto' },
    prepare: (given, at) => ({ ...fixed, stories: storiesOf(given, at), mode: modeOf(given) ?? mode }),
  }) as unknown as StoryLoop<Name, Reviewer>;
};

/** How a run of these stories goes on, if it says so itself. */
const modeOf = (given: unknown): 'auto' | 'manual' | undefined => {
  const mode = isJsonObject(given as Json) ? (given as JsonObject)['mode'] : undefined;
  if (mode === undefined || mode === 'auto' || mode === 'manual') return mode;
  throw new RuntimeError('BAD_STORIES', {
    problems: [`the mode is ${JSON.stringify(mode)}, not "auto" or "manual"`],
  });
};

const refuse = (option: string, found: unknown, expected: string): never => {
  throw new RuntimeError('BAD_OPTION', { option, found: String(found), expected });
};

const checkOneOf = (option: string, found: string, known: readonly string[]): void => {
  if (!known.includes(found)) refuse(option, `"${found}"`, known.map((each) => `"${each}"`).join(', '));
};

const limitsOf = ({ refinement = {}, limits: given = {} }: StoryLoopOptions): Limits => {
  const { maxIterations, enableCircuitBreaker = true } = refinement;
  if (given.timeMs != null)
    refuse('limits.timeMs', given.timeMs, 'nothing: set timeLimitMs of the roles, which bounds each call');
  if (maxIterations !== undefined && given.reworks !== undefined && maxIterations !== given.reworks)
    refuse(
      'refinement.maxIterations',
      `${maxIterations}, and ${given.reworks} under its other name`,
      'one value',
    );
  const reworks = enableCircuitBreaker ? (maxIterations ?? given.reworks) : null;
  const limits = fixLimits({ ...given, ...(reworks !== undefined && { reworks }) });
  const counts = [limits.reworks, limits.reviewRetries, limits.fileTries];
  if (counts.some((count) => count !== null && !Number.isSafeInteger(count)))
    refuse('limits', counts.join(', '), 'whole numbers of refinements, retries and tries');
  const { unbounded } = given;
  const missing = (['reworks', 'reviewRetries', 'fileTries'] as const).filter(
    (limit) => limits[limit] === null,
  );
  if (missing.length > 0 && (typeof unbounded !== 'string' || unbounded.trim() === ''))
    refuse(
      enableCircuitBreaker ? `limits.${missing.join(', limits.')}` : 'refinement.enableCircuitBreaker',
      enableCircuitBreaker ? 'no bound' : 'false',
      '`limits.unbounded` with the reason why a story may be sent back for ever',
    );
  return limits;
};

const checkedReviewers = (reviewers: readonly string[]): readonly string[] => {
  const problems = [
    ...(reviewers.length === 0 ? ['none'] : []),
    ...reviewers.filter((role, index) => reviewers.indexOf(role) !== index).map((role) => `"${role}" twice`),
    ...reviewers.filter((role) => PHASES.includes(role)).map((role) => `"${role}", which is a phase`),
  ];
  if (problems.length > 0) refuse('reviewers', problems.join(', '), 'agents that review, each once');
  return reviewers;
};

const rolesOf = (
  reviewers: readonly string[],
  given: Readonly<Record<string, RoleOptions>>,
): Readonly<Record<string, AgentSettings>> => {
  const names = [...PHASES, ...reviewers];
  const strangers = Object.keys(given).filter((name) => !names.includes(name));
  if (strangers.length > 0) refuse('roles', strangers.join(', '), `settings of ${names.join(', ')} only`);
  const retried = reviewers.filter((role) => given[role]?.attempts !== undefined);
  if (retried.length > 0)
    refuse(`roles.${retried.join(', roles.')}.attempts`, 'set', 'nothing: set limits.reviewRetries');
  // A review that says that it failed is tried again like one that threw: the story counts both.
  return Object.fromEntries(
    names.map((role) => [
      role,
      checkedSettings({
        role,
        ...AGENT_DEFAULTS,
        ...given[role],
        ...(reviewers.includes(role) && { attempts: 1 }),
      }),
    ]),
  );
};
