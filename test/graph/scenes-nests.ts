import {
  type GivenLimits,
  type Json,
  phaseRun,
  planRun,
  repeatLoop,
  storyLoop,
  tightLoop,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { STORY } from '../../src/machines/story-machine.ts';
import { type Reduce, reduceRun } from '../../src/proofs/reduce.ts';
import { reducePhases } from '../../src/proofs/reduce-phase.ts';
import { reduceBoard, reduceStory } from '../../src/proofs/reduce-stories.ts';
import { reduceRepeat, reduceTight } from '../../src/proofs/reduce-tight.ts';
import { reduceTree, treeReductions } from '../../src/proofs/reduce-tree.ts';
import { type Answer, type Deed, type Look, type Message, RUN, type Scene } from './scene.ts';
import { bounded, FAILS, ONE_TRY, pauses, REVIEWS, reductions } from './scene-parts.ts';

interface Nest {
  readonly about: string;
  readonly loop: Workflow;
  readonly agents: readonly string[];
  readonly deeds: NonNullable<Scene['deeds']>;
  readonly reduce: Reduce;
  /** Of the plan around it. */
  readonly limits?: GivenLimits;
  readonly with?: Json;
  readonly messages?: Scene['messages'];
}

const PART = `${RUN}/run:part`;

/** Who may let a loop go on once: whatever of it a person has decided about, it keeps by whom, or how often it has asked. */
const isUndecided = (others: readonly Look[]): boolean =>
  others.every(({ context, machine }) => {
    const { decidedBy = null, granted = {}, requests = 0, role } = context as Readonly<Record<string, Json>>;
    const isRepeated = role !== undefined && machine === 'repeat' && Number(requests) > 1;
    return decidedBy === null && Object.keys(granted as object).length === 0 && !isRepeated;
  });

const answers = (_: Look, others: readonly Look[]): readonly Answer[] => [
  ...(isUndecided(others)
    ? [
        { option: 'continue', value: 1, by: 'ann' },
        { option: 'retry', by: 'ann' },
      ]
    : []),
  ...['accept', 'stop', 'cancel'].map((option) => ({ option })),
];

/** Pauses of the whole, and one that somebody else says in the place of the parent. */
const withForged = (actors: readonly Look[]): readonly Message[] => {
  const isThere = actors.some(({ address }) => address === PART);
  return [
    ...pauses(actors),
    ...(isThere
      ? [
          { to: PART, message: { type: 'run.resume', reason: 'parent' } },
          { to: RUN, message: { type: 'run.ended', output: null } },
          { to: RUN, message: { type: 'run.waits', waits: true } },
        ]
      : []),
  ];
};

/** A loop as the only step of a plan. */
const nest = ({ about, loop, reduce, limits, with: given = null, messages, ...scene }: Nest): Scene => ({
  ...scene,
  about: `a step of a plan: ${about}`,
  machine: loop.name,
  root: planRun('whole', {
    steps: [{ id: 'part', run: loop, with: given }],
    onLimit: 'stop',
    ...(limits && { limits }),
  }) as Workflow,
  others: [loop],
  input: null,
  answers,
  messages: messages ?? (() => []),
  reduce: {
    ...reductions(loop.name, reduce),
    ...treeReductions(true),
    whole: reduceRun,
    [STORY]: bounded(reduceStory),
  },
});

/** The plan has so little time that its clock may be the first to say something. */
const NO_TIME: GivenLimits = { timeMs: 10_000 };

const IS_DONE: Deed = { name: 'is done', output: { done: true } };
const IS_NOT_DONE: Deed = { name: 'is not done', output: { done: false } };

const plan = (about: string, options: Partial<Nest> = {}): Scene =>
  nest({
    about,
    loop: planRun('run', {
      steps: [{ id: 'write', agent: 'w' }],
      roles: { w: ONE_TRY },
    }) as Workflow,
    agents: ['w'],
    deeds: () => [IS_DONE, FAILS],
    reduce: reduceRun,
    ...options,
  });

const repeat = (about: string, options: Partial<Nest> & { readonly maxRepeats?: number } = {}): Scene => {
  const { maxRepeats = 2, ...rest } = options;
  return nest({
    about,
    loop: repeatLoop('repeat', { agent: 'w', role: ONE_TRY, maxRepeats }) as Workflow,
    agents: ['w'],
    deeds: () => [IS_DONE, IS_NOT_DONE, FAILS],
    reduce: reduceRepeat,
    ...rest,
  });
};

const tight = (about: string, options: Partial<Nest> = {}): Scene =>
  nest({
    about,
    loop: tightLoop({
      name: 'tight',
      maxIterations: 2,
      roles: { developer: ONE_TRY, reviewer: ONE_TRY, tester: ONE_TRY },
    }) as Workflow,
    agents: ['developer', 'reviewer', 'tester'],
    deeds: (agent) =>
      agent === 'developer' ? [{ name: 'implements', output: { summary: 's' } }, FAILS] : REVIEWS.slice(0, 2),
    reduce: reduceTight,
    ...options,
  });

const phases = (about: string, options: Partial<Nest> = {}): Scene =>
  nest({
    about,
    loop: phaseRun('phases', {
      phases: [{ id: 'plan' }, { id: 'review', kind: 'review', needs: ['plan'], passes: 1 }],
      roles: { plan: ONE_TRY, review: ONE_TRY },
      limits: { passes: 1 },
      persons: {},
    }) as Workflow,
    agents: ['plan', 'review'],
    deeds: (agent) =>
      agent === 'plan'
        ? [{ name: 'makes one', output: 'one' }, FAILS]
        : [
            { name: 'passes', output: 'PASS' },
            {
              name: 'fails it',
              output: {
                assessment: 'FAIL',
                issues: [
                  { severity: 'critical', category: 'logic', description: 'wrong', affectedPhases: ['plan'] },
                ],
              },
            },
          ],
    reduce: reducePhases,
    ...options,
  });

const REPORTS: Deed = {
  name: 'reports a fault',
  output: { passed: false },
  beside: {
    feedback: [
      {
        from_node: 'n1',
        to_node: 'n0',
        feedback_type: 'FIX_REQUEST',
        message: 'm',
        suggested_fix: 'f',
        priority: 'high',
      },
    ],
  },
};

const tree = (about: string, options: Partial<Nest> = {}): Scene =>
  nest({
    about,
    loop: treeRun('tree', {
      nodes: [{ id: 'n0' }, { id: 'n1', parent: 'n0' }],
      roles: { n0: ONE_TRY, n1: ONE_TRY },
      limits: { pairRounds: 1 },
    }) as Workflow,
    agents: ['n0', 'n1'],
    deeds: (agent) =>
      agent === 'n0'
        ? [{ name: 'makes one', output: 'one' }, FAILS]
        : [{ name: 'makes a leaf', output: 'leaf' }, REPORTS],
    reduce: reduceTree,
    ...options,
  });

const STORY_ROLES = ['research', 'plan', 'implement', 'create-pr', 'review'];

const APPROVES: Deed = {
  name: 'approves',
  output: { decision: 'approved', passed: true, issues: [], feedback: '' },
};
const REJECTS: Deed = {
  name: 'rejects',
  output: {
    decision: 'rejected',
    passed: false,
    issues: [{ severity: 'critical', category: 'correctness', description: 'a fault' }],
    feedback: '',
  },
};

const stories = (about: string, options: Partial<Nest> & { readonly reworks?: number } = {}): Scene => {
  const { reworks = 1, ...rest } = options;
  return nest({
    about,
    loop: storyLoop('stories', {
      refinement: { maxIterations: reworks },
      limits: { reviewRetries: 0 },
      roles: Object.fromEntries(
        STORY_ROLES.filter((role) => role !== 'review').map((role) => [role, ONE_TRY]),
      ),
    }) as Workflow,
    agents: STORY_ROLES,
    deeds: (agent) => (agent === 'review' ? [APPROVES, REJECTS] : [{ name: 'works', output: 'work' }]),
    reduce: reduceBoard,
    ...rest,
  });
};

const failsToo = (agent: string): readonly Deed[] =>
  agent === 'review' ? [APPROVES] : [{ name: 'works', output: 'work' }, ...(agent === 'plan' ? [FAILS] : [])];

const given = (...all: readonly Json[]): Json => ({ stories: all });

export const NEST_SCENES: readonly Scene[] = [
  plan('one whose time is up', { limits: NO_TIME, messages: forgedEnd }),
  repeat('one whose time is up', { limits: NO_TIME, messages: forgedEnd }),
  tight('one whose time is up', { limits: NO_TIME, messages: forgedEnd }),
  phases('some whose time is up', { limits: NO_TIME, messages: forgedEnd }),
  tree('one whose time is up', { limits: NO_TIME, messages: forgedEnd }),
  stories('some whose time is up', { limits: NO_TIME, messages: forgedEnd, reworks: 0 }),
  repeat('a loop inside one task'),
  repeat('one that is paused', { messages: withForged, maxRepeats: 1 }),
  repeat('one with few calls', { limits: { calls: 1 } }),
  tight('a tight loop'),
  tight('one that is paused', { messages: withForged, deeds: tightGood }),
  tight('one with few calls', { limits: { calls: 4 } }),
  phases('phases'),
  phases('some that are paused', { messages: withForged }),
  phases('some with few calls', { limits: { calls: 2 } }),
  tree('a tree'),
  tree('one that is paused', { messages: withForged, deeds: treeGood }),
  tree('one with few calls', { limits: { calls: 2 } }),
  stories('what it is given is a story'),
  stories('one that is paused', { messages: withForged, reworks: 0, deeds: failsToo }),
  stories('two, with calls for one and a half', {
    with: given({ id: 'a' }, { id: 'b' }),
    limits: { calls: 7 },
    deeds: failsToo,
  }),
  stories('some that cannot be read', { with: given('', 7) }),
];

function tightGood(agent: string): readonly Deed[] {
  return agent === 'developer' ? [{ name: 'implements', output: { summary: 's' } }] : REVIEWS.slice(0, 1);
}

function treeGood(agent: string): readonly Deed[] {
  return agent === 'n0' ? [{ name: 'makes one', output: 'one' }] : [{ name: 'makes a leaf', output: 'leaf' }];
}

/** Somebody else tells it to end. */
function forgedEnd(actors: readonly Look[]): readonly Message[] {
  const isThere = actors.some(({ address }) => address === PART);
  return isThere ? [{ to: PART, message: { type: 'run.cancel' } }] : [];
}
