import { assign, setup } from 'xstate';
import {
  type AgentFunction,
  answer,
  type JsonObject,
  type LimitName,
  phaseRun,
  planRun,
  repeatLoop,
  storyLoop,
  type TightLoopOptions,
  tightLoop,
  treeRun,
  type Workflow,
  workflow,
} from '../../src/index.ts';
import { draftPlan, reject, writeNew, writeSame } from './draft-plan.ts';
import { verdictOf } from './past-runs.ts';
import type { FakeClock } from './runtimes.ts';
import { inTurn, item, mends, passes, reporting } from './tree-runs.ts';

type Agents = Readonly<Record<string, AgentFunction<never, unknown>>>;
type OnLimit = 'ask' | 'stop';

/** A loop that meets a limit, and what that limit counts. */
export interface LimitCase {
  readonly limit: LimitName | 'turns';
  readonly workflow: (onLimit: OnLimit) => Workflow;
  /** Another one each time: agents remember how often they were called. */
  readonly agents: (clock: FakeClock) => Agents;
  readonly input?: unknown;
  readonly bound: number;
  /** As much as the bound unless set. */
  readonly used?: number;
  /** The types of the events that are counted, in order. */
  readonly counted: readonly string[];
  /** Sent from outside, one after the other. */
  readonly sends?: readonly { readonly type: string }[];
}

const times = (count: number, ...types: readonly string[]): readonly string[] =>
  Array.from({ length: count }, () => types).flat();

const WORDS = ['none', 'alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa'];

/** Makes something new each time. */
const anew = () => {
  let nth = 0;
  return () => ({ made: (nth += 1) });
};

/** Finds another fault each time; of phases, in the one that is named. */
const finding = (more: JsonObject = {}) => {
  let nth = 0;
  return () => {
    nth += 1;
    const description = `the ${WORDS[nth % WORDS.length]} is missing`;
    const issue = { severity: 'critical', category: 'logic', description, ...more };
    return { assessment: 'FAIL', decision: 'rejected', passed: false, issues: [issue], feedback: 'no' };
  };
};

type Input = { readonly input: { readonly pass: number } };

const developer = ({ input }: Input) =>
  answer({ summary: `change ${input.pass}` }, { usage: { costUsd: 1, inputTokens: 10 } });
const good = () => ({ passed: true, issues: [] });
const failing =
  (fault: number) =>
  ({ input }: Input) =>
    verdictOf(fault, input.pass);

const tightCase = (
  options: TightLoopOptions,
  { agents, ...about }: Omit<LimitCase, 'workflow' | 'agents'> & { readonly agents?: Agents },
): LimitCase => ({
  ...about,
  workflow: (onLimit) => tightLoop({ name: 'p', ...options, onLimit }),
  agents: () => ({ developer, reviewer: good, tester: failing(3), ...agents }),
});

/** What the developer names as made, in each pass. */
const making =
  (...artifacts: readonly string[]) =>
  ({ input }: Input) =>
    answer(
      { summary: `change ${input.pass}` },
      { artifacts: { made: artifacts[(input.pass - 1) % artifacts.length] ?? '' } },
    );

const planCase = (
  limits: Parameters<typeof draftPlan>[0] & object,
  { agents, ...about }: Omit<LimitCase, 'workflow' | 'agents'> & { readonly agents?: () => Agents },
): LimitCase => ({
  ...about,
  workflow: (onLimit) => draftPlan({ ...limits, onLimit }),
  agents: () => ({ writer: writeNew, critic: reject, ...agents?.() }),
});

const feedback = (subject: () => string) => () =>
  answer(null, {
    feedback: [
      {
        type: 'technical_infeasibility',
        targets: ['pm'],
        severity: 'high',
        description: 'no',
        requirement: subject(),
      },
    ],
  });

const talk = (onLimit: OnLimit, limits = {}) =>
  planRun('p', { onLimit, limits, steps: [{ id: 'pm' }, { id: 'arch', needs: ['pm'] }] });

const PHASES = [
  { id: 'planning' },
  { id: 'design', needs: ['planning'] },
  { id: 'look', needs: ['design'], kind: 'review' },
] as const;

const phaseCase = (
  limits: object,
  { agents, ...about }: Omit<LimitCase, 'workflow' | 'agents'> & { readonly agents?: () => Agents },
): LimitCase => ({
  ...about,
  workflow: (onLimit) => phaseRun('p', { onLimit, limits, phases: PHASES }),
  agents: () => ({
    planning: anew(),
    design: anew(),
    look: finding({ affectedPhases: ['design'] }),
    ...agents?.(),
  }),
});

const STORY_AGENTS = () => ({
  research: anew(),
  plan: anew(),
  implement: anew(),
  'create-pr': anew(),
  review: finding(),
});

const storyCase = (
  options: Parameters<typeof storyLoop>[1],
  { agents, ...about }: Omit<LimitCase, 'workflow' | 'agents'> & { readonly agents?: () => Agents },
): LimitCase => ({
  input: { stories: [{ id: 'a', title: 'A' }] },
  ...about,
  workflow: (onLimit) =>
    storyLoop('p', {
      mode: 'auto',
      refinement: { escalateOnMaxAttempts: onLimit === 'ask' ? 'manual' : 'error' },
      onFailure: onLimit,
      roles: { review: { backoffMs: 1 } },
      ...options,
    }),
  agents: () => ({ ...STORY_AGENTS(), ...agents?.() }),
});

const MODEL = [{ id: 'model' }, { id: 'spec', parent: 'model' }] as const;
const PLANNED = [
  { id: 'plan', plans: true },
  { id: 'service', parent: 'plan' },
] as const;

const treeCase = (
  options: Omit<Parameters<typeof treeRun>[1], 'onLimit'>,
  about: Omit<LimitCase, 'workflow'>,
): LimitCase => ({
  input: { task: 'task' },
  ...about,
  workflow: (onLimit) => treeRun('p', { ...options, onLimit }),
});

const missing = () => reporting(item('service', 'plan', { feedback_type: 'DEPENDENCY_MISSING' }));

/** Adds so many nodes each time that it is asked for another plan. */
const adding = (count: number) => {
  let nth = 0;
  return ({ feedback: given }: { readonly feedback: readonly unknown[] }) =>
    given.length === 0
      ? {}
      : { plan: { add: Array.from({ length: count }, () => ({ id: `x${(nth += 1)}`, agent: 'worker' })) } };
};

const counter = workflow(
  'p',
  setup({
    types: { context: {} as { count: number }, events: {} as { type: 'ADD' } },
  }).createMachine({
    context: { count: 0 },
    on: { ADD: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
  }),
  { turnsMax: 6 },
);

export const LIMIT_CASES: Readonly<Record<string, LimitCase>> = {
  'passes of a gate': planCase(
    { limits: { passes: 2 } },
    { limit: 'passes', bound: 2, counted: times(2, 'gate.rejected') },
  ),
  'passes of a tight loop': tightCase(
    { maxIterations: 2 },
    { limit: 'passes', bound: 2, counted: times(2, 'loop.pass') },
  ),
  'passes of one phase': phaseCase({}, { limit: 'passes', bound: 3, counted: times(3, 'correction.opened') }),
  'passes of all phases': phaseCase(
    { passes: 2 },
    { limit: 'passes', bound: 2, counted: times(2, 'correction.opened') },
  ),
  'the same issue at a gate': planCase(
    { limits: { sameIssue: 2 } },
    {
      limit: 'sameIssue',
      bound: 2,
      agents: () => ({ critic: () => verdictOf(1, 1) }),
      counted: times(2, 'gate.rejected'),
    },
  ),
  'the same issue in a tight loop': tightCase(
    {},
    { limit: 'sameIssue', bound: 3, agents: { reviewer: failing(1) }, counted: times(3, 'loop.pass') },
  ),
  'the same failure': tightCase(
    {},
    { limit: 'sameFailure', bound: 3, agents: { tester: failing(1) }, counted: times(3, 'loop.pass') },
  ),
  'failures in a row': tightCase(
    { strict: true },
    { limit: 'failuresInRow', bound: 3, counted: times(3, 'loop.pass') },
  ),
  repeats: {
    limit: 'repeats',
    workflow: (onLimit) => repeatLoop('p', { agent: 'worker', maxRepeats: 2, onLimit }),
    agents: () => ({ worker: () => ({ done: false }) }),
    bound: 2,
    counted: times(2, 'agent.done'),
  },
  'repeats of a developer': tightCase(
    { repeat: 2 },
    {
      limit: 'repeats',
      bound: 2,
      agents: { developer: () => ({ done: false }) },
      counted: times(2, 'agent.done'),
    },
  ),
  'repeats of a node': treeCase(
    { nodes: [MODEL[0], { id: 'spec', parent: 'model', loop: true }], limits: { repeats: 2 } },
    {
      limit: 'repeats',
      agents: () => ({ model: mends, spec: () => ({ done: false }) }),
      bound: 2,
      counted: times(2, 'loop.repeated'),
    },
  ),
  'repeats of a node that has a bound of its own': treeCase(
    { nodes: [MODEL[0], { id: 'spec', parent: 'model', loop: { repeats: 3 } }] },
    {
      limit: 'repeats',
      agents: () => ({ model: mends, spec: () => ({ done: false }) }),
      bound: 3,
      counted: times(3, 'loop.repeated'),
    },
  ),
  'an artifact that does not change': planCase(
    {},
    { limit: 'unchanged', bound: 1, agents: () => ({ writer: writeSame }), counted: ['step.done'] },
  ),
  'a change that changes nothing': tightCase(
    { limits: { unchanged: 2 } },
    {
      limit: 'unchanged',
      bound: 2,
      agents: { developer: making('same') },
      counted: times(2, 'agent.done'),
    },
  ),
  'a phase that is given the same again': phaseCase(
    {},
    { limit: 'unchanged', bound: 1, agents: () => ({ design: () => 'the same' }), counted: ['phase.same'] },
  ),
  'an artifact that comes back': planCase(
    {},
    {
      limit: 'oscillations',
      bound: 1,
      agents: () => ({ writer: ({ feedback: given }) => ({ text: ['one', 'two'][given.length % 2] }) }),
      counted: ['step.done'],
    },
  ),
  'a change that comes back': tightCase(
    {},
    {
      limit: 'oscillations',
      bound: 1,
      agents: { developer: making('one', 'two') },
      counted: ['agent.done'],
    },
  ),
  'what a phase is given comes back': phaseCase(
    {},
    {
      limit: 'oscillations',
      bound: 1,
      agents: () => ({ design: inTurn(...[0, 1, 0, 1, 0, 1].map((way) => () => `way ${way}`)) }),
      counted: ['phase.same'],
    },
  ),
  'rounds of feedback': {
    limit: 'rounds',
    workflow: (onLimit) => talk(onLimit),
    agents: () => ({ pm: anew(), arch: feedback(() => 'R') }),
    bound: 3,
    counted: times(3, 'feedback.sent'),
  },
  'the same defect between two phases': phaseCase(
    {},
    {
      limit: 'rounds',
      bound: 1,
      agents: () => ({
        look: () => ({
          assessment: 'FAIL',
          issues: [
            { severity: 'critical', category: 'logic', description: 'no login', affectedPhases: ['design'] },
          ],
        }),
      }),
      counted: ['correction.routed'],
    },
  ),
  'reworks of a story': storyCase({}, { limit: 'reworks', bound: 3, counted: times(3, 'rework.recorded') }),
  'reworks of a story that is left out then': {
    ...storyCase({}, { limit: 'reworks', bound: 2, counted: times(2, 'rework.recorded') }),
    workflow: (onLimit) =>
      storyLoop('p', {
        mode: 'auto',
        refinement: {
          maxIterations: 2,
          escalateOnMaxAttempts: onLimit === 'ask' ? 'manual' : 'skip',
        },
      }),
  },
  'reworks of a story that has a limit of its own': storyCase(
    {},
    {
      limit: 'reworks',
      input: {
        stories: [
          { id: 'b', max_refinement_attempts: 9 },
          { id: 'a', max_refinement_attempts: 1 },
        ],
      },
      bound: 1,
      // Of two stories, it is the first that rejects whose limit is met.
      agents: () => ({
        review: ({ input }: { input: { story: { id: string } } }) =>
          input.story.id === 'a' ? finding()() : { decision: 'approved', passed: true, issues: [] },
      }),
      counted: ['rework.recorded'],
    },
  ),
  'reviews that fail to run': storyCase(
    {},
    {
      limit: 'reviewRetries',
      bound: 2,
      agents: () => ({
        review: () => ({ decision: 'failed', passed: false, issues: [], feedback: 'no model' }),
      }),
      counted: times(2, 'story.unreviewed'),
    },
  ),
  'feedbacks of gates': planCase(
    { limits: { feedbacks: 2 } },
    { limit: 'feedbacks', bound: 2, counted: times(2, 'feedback.sent') },
  ),
  'feedbacks between agents': {
    limit: 'feedbacks',
    workflow: (onLimit) => talk(onLimit, { feedbacks: 2 }),
    agents: () => {
      let nth = 0;
      return { pm: anew(), arch: feedback(() => `R${(nth += 1)}`) };
    },
    bound: 2,
    counted: times(2, 'feedback.sent'),
  },
  'feedbacks in a tree': treeCase(
    { nodes: MODEL, limits: { feedbacks: 2, pairRounds: 9 } },
    {
      limit: 'feedbacks',
      // Each is settled, and something else is wrong.
      agents: () => ({
        model: mends,
        spec: () => reporting(item('spec', 'model'), item('spec', 'model'), item('spec', 'model')),
      }),
      bound: 2,
      counted: times(2, 'feedback.queued'),
    },
  ),
  'rounds between two nodes': treeCase(
    { nodes: MODEL },
    {
      limit: 'pairRounds',
      agents: () => ({ model: mends, spec: () => reporting(item('spec', 'model')) }),
      bound: 2,
      counted: times(2, 'feedback.queued'),
    },
  ),
  'hops of a chain': treeCase(
    {
      nodes: [{ id: 'a' }, { id: 'b', parent: 'a' }, { id: 'c', parent: 'b' }, { id: 'd', parent: 'c' }],
      limits: { hops: 2 },
    },
    {
      limit: 'hops',
      agents: () => ({
        a: mends,
        b: inTurn(passes, () => reporting(item('b', 'a'))),
        c: inTurn(passes, () => reporting(item('c', 'b'))),
        d: () => reporting(item('d', 'c')),
      }),
      bound: 2,
      counted: times(2, 'feedback.queued'),
    },
  ),
  'changes of the plan': treeCase(
    { nodes: PLANNED, agents: ['worker'], limits: { replans: 2, pairRounds: 10 } },
    {
      limit: 'replans',
      agents: () => ({ plan: adding(1), service: missing, worker: passes }),
      bound: 2,
      counted: times(2, 'tree.planned'),
    },
  ),
  'nodes that are added': treeCase(
    { nodes: PLANNED, agents: ['worker'], limits: { addedNodes: 5, pairRounds: 10 } },
    {
      limit: 'addedNodes',
      agents: () => ({ plan: adding(3), service: missing, worker: passes }),
      bound: 5,
      used: 6,
      // Three nodes each: those of the first plan, and those that would have been too many.
      counted: ['tree.planned', 'node.refused'],
    },
  ),
  'calls of a plan': planCase(
    { limits: { calls: 3 } },
    { limit: 'calls', bound: 3, counted: times(3, 'lw.call.done') },
  ),
  'calls of a story': storyCase(
    { limits: { calls: 4 } },
    { limit: 'calls', bound: 4, counted: times(4, 'lw.call.done') },
  ),
  cost: tightCase(
    { limits: { costUsd: 2 } },
    { limit: 'costUsd', bound: 2, counted: times(2, 'lw.call.done') },
  ),
  tokens: tightCase(
    { limits: { tokens: 20 } },
    { limit: 'tokens', bound: 20, counted: times(2, 'lw.call.done') },
  ),
  time: {
    ...tightCase(
      { limits: { timeMs: 90_000 } },
      { limit: 'timeMs', bound: 90_000, counted: ['lw.started', 'lw.timer.fired'] },
    ),
    agents: (clock) => ({
      developer: (request: Input) => {
        clock.advance(60_000);
        return developer(request);
      },
      reviewer: good,
      tester: failing(3),
    }),
  },
  'turns of a machine of a user': {
    limit: 'turns',
    workflow: () => counter,
    agents: () => ({}),
    bound: 6,
    sends: Array.from({ length: 8 }, () => ({ type: 'ADD' })),
    counted: ['lw.started', ...times(5, 'ADD')],
  },
};

/** Limits at which no run ever stands. */
export const NO_CASE: Readonly<Partial<Record<LimitName, string>>> = {
  fileTries: 'a story whose file is busy goes on, and writes it another time',
};

/** They are used up by what events say, not by how many there are. */
export const SUMS: readonly string[] = ['costUsd', 'tokens', 'timeMs', 'addedNodes'];
