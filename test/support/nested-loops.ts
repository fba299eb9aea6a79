import {
  type AgentFunction,
  answer,
  type GivenLimits,
  type Json,
  phaseRun,
  planRun,
  repeatLoop,
  storyLoop,
  tightLoop,
  treeRun,
  type Workflow,
} from 'loopwright';

/** Counts that are no bound in a test of something else. */
export const FAR: GivenLimits = {
  passes: 500,
  sameIssue: 500,
  sameFailure: 500,
  repeats: 500,
  unchanged: 500,
  oscillations: 500,
  rounds: 500,
  reworks: 500,
  feedbacks: 500,
  pairRounds: 500,
  hops: 500,
};

const ONCE = { attempts: 1 } as const;

interface Options {
  readonly limits?: GivenLimits;
  readonly onLimit?: 'ask' | 'stop';
}

interface Named extends Options {
  /** `inner` unless set. */
  readonly name?: string;
}

/** A loop that can be a step: how it is declared, who works in it, and what they say. */
export interface LoopKind {
  readonly name: string;
  readonly declare: (options?: Named) => Workflow;
  /** The one who works first. */
  readonly first: string;
  /** Who works, in the order of one pass that is good. */
  readonly roles: readonly string[];
  /** What each says who is content; `nth` is different each time. */
  readonly good: (role: string, nth: number) => unknown;
  /** The one who may find something wrong, and what. */
  readonly critic: string;
  readonly bad: (nth: number) => unknown;
}

const issue = (nth: number) => ({
  severity: 'critical',
  category: 'style',
  description: `fault no. ${'i'.repeat(nth)}`,
});

const approving =
  (critics: readonly string[], passed: Json = { passed: true, issues: [] }) =>
  (role: string, nth: number): unknown =>
    critics.includes(role) ? passed : { text: `${role} ${nth}`, summary: `${role} ${nth}`, done: true };

const rejecting = (nth: number) => ({ passed: false, issues: [issue(nth)] });

const plan: LoopKind = {
  name: 'plan',
  declare: ({ name = 'inner', ...options } = {}) =>
    planRun(name, {
      steps: [
        { id: 'write', agent: 'writer' },
        { id: 'check', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
      ],
      roles: { writer: ONCE, critic: ONCE },
      ...options,
    }) as Workflow,
  first: 'writer',
  roles: ['writer', 'critic'],
  good: approving(['critic']),
  critic: 'critic',
  bad: rejecting,
};

const tight: LoopKind = {
  name: 'tight',
  declare: ({ name = 'inner', ...options } = {}) =>
    tightLoop({
      name,
      roles: { developer: ONCE, reviewer: ONCE, tester: ONCE },
      ...options,
    }) as Workflow,
  first: 'developer',
  roles: ['developer', 'reviewer', 'tester'],
  good: approving(['reviewer', 'tester']),
  critic: 'tester',
  bad: rejecting,
};

const repeat: LoopKind = {
  name: 'repeat',
  declare: ({ name = 'inner', ...options } = {}) =>
    repeatLoop(name, { agent: 'worker', role: ONCE, ...options }) as Workflow,
  first: 'worker',
  roles: ['worker'],
  good: approving([]),
  critic: 'worker',
  bad: (nth) => ({ text: `worker ${nth}`, done: false }),
};

const STORY_ROLES = ['research', 'plan', 'implement', 'review', 'create-pr'];

const stories: LoopKind = {
  name: 'stories',
  declare: ({ name = 'inner', onLimit = 'ask', ...options } = {}) =>
    storyLoop(name, {
      refinement: { escalateOnMaxAttempts: onLimit === 'ask' ? 'manual' : 'skip' },
      onFailure: onLimit,
      roles: Object.fromEntries(STORY_ROLES.filter((role) => role !== 'review').map((role) => [role, ONCE])),
      ...options,
      ...(options.limits && { limits: { ...options.limits, reviewRetries: 0 } }),
    }) as Workflow,
  first: 'research',
  roles: STORY_ROLES,
  good: approving(['review'], { decision: 'approved', passed: true, issues: [], feedback: '' }),
  critic: 'review',
  bad: (nth) => ({
    decision: 'rejected',
    passed: false,
    issues: [{ ...issue(nth), category: 'code' }],
    feedback: '',
  }),
};

const phases: LoopKind = {
  name: 'phases',
  declare: ({ name = 'inner', ...options } = {}) =>
    phaseRun(name, {
      phases: [
        { id: 'design' },
        { id: 'code', needs: ['design'] },
        { id: 'inspect', kind: 'review', needs: ['code'], passes: null },
      ],
      roles: { design: ONCE, code: ONCE, inspect: ONCE },
      ...options,
    }) as Workflow,
  first: 'design',
  roles: ['design', 'code', 'inspect'],
  good: approving(['inspect'], { assessment: 'pass', issues: [] }),
  critic: 'inspect',
  bad: (nth) => ({ assessment: 'fail', issues: [{ ...issue(nth), affectedPhases: ['code'] }] }),
};

const tree: LoopKind = {
  name: 'tree',
  declare: ({ name = 'inner', ...options } = {}) =>
    treeRun(name, {
      nodes: [{ id: 'top' }, { id: 'leaf', parent: 'top' }],
      roles: { top: ONCE, leaf: ONCE },
      ...options,
    }) as Workflow,
  first: 'top',
  roles: ['top', 'leaf'],
  good: approving([]),
  critic: 'leaf',
  bad: (nth) =>
    answer(
      { passed: false },
      {
        feedback: [
          {
            from_node: 'leaf',
            to_node: 'top',
            feedback_type: 'FIX_REQUEST',
            message: `not good ${nth}`,
            suggested_fix: 'mend it',
            priority: 'critical',
          },
        ],
      },
    ),
};

/** Every loop that can be a step of a plan. */
export const KINDS: readonly LoopKind[] = [plan, tight, repeat, stories, phases, tree];

/** An outline, a loop as a step, and somebody who approves what it made or sends it back. */
export const outer = (inner: Workflow, options: Options = {}): Workflow =>
  planRun('outer', {
    steps: [
      { id: 'outline', agent: 'planner' },
      { id: 'loop', run: inner, needs: ['outline'] },
      { id: 'approve', needs: ['loop'], gate: { reviewers: ['editor'], corrects: 'loop' } },
    ],
    roles: { planner: ONCE, editor: ONCE },
    ...options,
  }) as Workflow;

type Agents = Readonly<Record<string, AgentFunction<never, unknown>>>;

/** Agents of a loop, and of the plan around it, who are content; some of them may be others. */
export const contented = (kind: LoopKind, others: Agents = {}): Agents => {
  let nth = 0;
  const agents = kind.roles.map((role) => [
    role,
    () => {
      nth += 1;
      return kind.good(role, nth);
    },
  ]);
  return {
    planner: () => 'an outline',
    editor: () => ({ passed: true, issues: [] }),
    ...Object.fromEntries(agents),
    ...others,
  };
};

/** The critic of a loop, who is never content. */
export const neverContent = (kind: LoopKind): Agents => {
  let nth = 0;
  return {
    [kind.critic]: () => {
      nth += 1;
      return kind.bad(nth);
    },
  };
};
