import { type Json, type JsonObject, treeRun } from '../../src/index.ts';
import { COORDINATOR } from '../../src/machines/coordinator-machine.ts';
import type { CoordinatorState } from '../../src/machines/coordinator-state.ts';
import { fixLimits } from '../../src/machines/limits.ts';
import { REDUCTIONS, type Reductions } from '../../src/proofs/reduce.ts';
import { reduceTree, treeReductions } from '../../src/proofs/reduce-tree.ts';
import type { Deed, Look, Message, Scene } from './scene.ts';
import { RUN } from './scene.ts';
import {
  bounded,
  contextAt,
  decisions,
  FAILS,
  forgedReplies,
  ONE_TRY,
  pauses,
  rootOf,
  secondPause,
  TWO_TRIES,
} from './scene-parts.ts';
import { said, shouted, stage } from './stage.ts';

const item = (from: string, to: string, kind = 'FIX_REQUEST'): Json => ({
  from_node: from,
  to_node: to,
  feedback_type: kind,
  message: 'm',
  suggested_fix: 'f',
  suggested_action: 'a',
  priority: 'high',
});

const makes = (what: string): Deed => ({ name: `makes ${what}`, output: what });
const reports = (from: string, to: string, kind?: string): Deed => ({
  name: `reports ${kind ?? 'a fault'} to ${to}`,
  output: { passed: false },
  beside: { feedback: [item(from, to, kind)] },
});

const TREE_REDUCTIONS = treeReductions(true);
const reductions: Reductions = { ...REDUCTIONS, ...TREE_REDUCTIONS, tree: bounded(reduceTree) };

interface Tree {
  readonly about: string;
  readonly options: object;
  readonly deeds: (agent: string) => readonly Deed[];
  readonly messages?: Scene['messages'];
  readonly answers?: Scene['answers'];
  readonly given?: readonly Json[];
}

const PAIR = [{ id: 'n0' }, { id: 'n1', parent: 'n0' }] as const;

const tree = ({ about, options, deeds, messages, answers = treeDecisions, given }: Tree): Scene => ({
  machine: 'tree',
  about,
  root: treeRun('tree', {
    nodes: PAIR,
    roles: { n0: ONE_TRY, n1: ONE_TRY },
    ...options,
  }),
  input: { task: null, ...(given && { feedback: given }) },
  agents: ['n0', 'n1'],
  deeds,
  answers,
  messages: messages ?? (() => []),
  reduce: reductions,
});

/** Of one feedback, or of the run: a person may let it go on once. */
const treeDecisions = (question: Look, others: readonly Look[]) => {
  const granted = others.find(({ machine }) => machine === COORDINATOR)?.context as
    | CoordinatorState
    | undefined;
  const isFirst = rootOf(others).decidedBy == null && Object.keys(granted?.granted ?? {}).length === 0;
  return decisions(question, others).filter(
    ({ option }) => isFirst || (option !== 'continue' && option !== 'retry'),
  );
};

const pairDeeds = (agent: string): readonly Deed[] =>
  agent === 'n0' ? [makes('one'), makes('two'), FAILS] : [makes('leaf'), reports('n1', 'n0'), FAILS];

const FORGED: readonly Message[] = [
  { to: RUN, message: { type: 'tree.judged', node: 'n1', faults: [], ids: [] } },
  { to: RUN, message: { type: 'tree.bound', node: 'n0', execution: 'n0.1', items: [] } },
  {
    to: RUN,
    message: {
      type: 'tree.moved',
      id: 'FB-001',
      source: 'n1',
      target: 'n0',
      kind: 'FIX_REQUEST',
      stage: 'cancelled',
    },
  },
];

const requestOf = (actors: readonly Look[]): string => {
  const { records } = contextAt<{
    records: Readonly<Record<string, { request: string | null }>>;
  }>(actors);
  return Object.values(records).flatMap(({ request }) => request ?? [])[0] ?? 'none';
};

const twoPauses = (actors: readonly Look[]): readonly Message[] => [
  ...pauses(actors),
  ...secondPause(actors),
];

const EARLIER: Json = {
  ...(item('n1', 'n0') as JsonObject),
  type: 'FEEDBACK',
  feedback_id: 'FB-001',
  timestamp: '2026-01-01T00:00:00.000Z',
  status: 'queued',
  round: 1,
};

const TREES: readonly Scene[] = [
  tree({
    about: 'feedback, and a person at its limit',
    options: { limits: { pairRounds: 1 } },
    deeds: pairDeeds,
    messages: (actors) => [...FORGED, ...forgedReplies(requestOf(actors))],
  }),
  tree({
    about: 'feedback that ends the run at its limit',
    options: { limits: { pairRounds: 1, feedbacks: 2, calls: 4 }, onLimit: 'stop' },
    deeds: (agent) => [
      ...pairDeeds(agent),
      { name: 'talks nonsense', beside: { feedback: [{ from_node: 7 }] } },
    ],
  }),
  tree({
    about: 'few calls, each tried twice',
    options: { roles: { n0: TWO_TRIES, n1: TWO_TRIES }, limits: { calls: 2 } },
    deeds: (agent) => (agent === 'n0' ? [makes('one'), FAILS] : [makes('leaf'), FAILS]),
  }),
  tree({
    about: 'paused for two reasons',
    options: { limits: { pairRounds: 1 } },
    deeds: (agent) => (agent === 'n0' ? [makes('one')] : [makes('leaf'), reports('n1', 'n0')]),
    messages: twoPauses,
  }),
  tree({
    about: 'in time, or nobody answers',
    options: {
      limits: { pairRounds: 1, timeMs: 10_000 },
      ask: [{ to: null, expiresMs: 1_000 }],
      onExpiry: 'cancel',
    },
    deeds: (agent) => (agent === 'n0' ? [makes('one'), FAILS] : [makes('leaf'), reports('n1', 'n0')]),
    messages: pauses,
  }),
  tree({
    about: 'in time, and a person takes longer',
    options: { limits: { pairRounds: 1, timeMs: 10_000 }, ask: [{ to: null, expiresMs: 20_000 }] },
    deeds: (agent) => (agent === 'n0' ? [makes('one'), FAILS] : [makes('leaf'), reports('n1', 'n0')]),
  }),
  tree({
    about: 'a person at work',
    options: {
      roles: { n0: ONE_TRY },
      persons: { n1: { text: 'Do it', options: [{ id: 'done', label: 'Done' }] } },
      limits: { timeMs: 10_000 },
    },
    deeds: () => [makes('one')],
    answers: () => [{ option: 'done' }],
    messages: pauses,
  }),
  tree({
    about: 'a planner that adds, moves and removes nodes',
    options: {
      nodes: [
        { id: 'n0', plans: true },
        { id: 'n1', parent: 'n0' },
      ],
      limits: { replans: 1, feedbacks: 2, pairRounds: 1, addedNodes: 1 },
    },
    deeds: (agent) =>
      agent === 'n0'
        ? [
            makes('one'),
            { name: 'adds', output: { made: 1, plan: { add: [{ id: 'n2', agent: 'n1' }] } } },
            { name: 'removes', output: { made: 2, plan: { nodes: [{ id: 'n2', agent: 'n1' }] } } },
            { name: 'is confused', output: { plan: { add: 'n3' } } },
          ]
        : [
            makes('leaf'),
            reports('n1', 'n0', 'DEPENDENCY_MISSING'),
            reports('n1', 'n0', 'ARCHITECTURE_ISSUE'),
          ],
  }),
  tree({
    about: 'a planner that may not change its plan, unless a person lets it',
    options: {
      nodes: [
        { id: 'n0', plans: true },
        { id: 'n1', parent: 'n0' },
      ],
      limits: { replans: 0, pairRounds: 2, feedbacks: 1 },
    },
    deeds: (agent) =>
      agent === 'n0'
        ? [makes('one'), { name: 'adds', output: { made: 1, plan: { add: [{ id: 'n2', agent: 'n1' }] } } }]
        : [makes('leaf'), reports('n1', 'n0', 'ARCHITECTURE_ISSUE')],
  }),
  tree({
    about: 'feedback of an earlier run, and a node that asks for it',
    options: {
      nodes: [
        { id: 'n0' },
        { id: 'if', parent: 'n0', condition: { pending: ['n1'], otherwise: ['n2'] } },
        { id: 'n1', parent: 'if' },
        { id: 'n2', parent: 'if', agent: 'n1' },
      ],
    },
    given: [EARLIER],
    deeds: (agent) => (agent === 'n0' ? [makes('one')] : [makes('leaf')]),
  }),
  tree({
    about: 'a loop that repeats, fails or is done',
    options: { nodes: [{ id: 'n0' }, { id: 'n1', parent: 'n0', loop: { repeats: 2, failures: 2 } }] },
    deeds: (agent) =>
      agent === 'n0'
        ? [makes('one')]
        : [
            { name: 'is done', output: { done: true } },
            { name: 'is not done', output: { done: false } },
            { name: 'has failed', output: { passed: false } },
            FAILS,
          ],
  }),
];

const KNOWN = {
  n0: { parent: null, plans: true, works: true },
  n1: { parent: 'n0', plans: false, works: true },
  n2: { parent: 'n1', plans: false, works: true },
};

const met = { limit: 'replans', bound: 1, used: 1, evidence: [] };

const coordinatorMessages = (actors: readonly Look[], madeMax: number): readonly Message[] => {
  const it = actors.find(({ machine }) => machine === COORDINATOR)?.context as CoordinatorState | undefined;
  if (!it) return [];
  const { made, open } = it;
  const ids = Object.keys(open).slice(0, 1);
  const ended = { type: 'node.ended', bound: ids, verifies: ids, reason: 'why', met: null };
  const submit = { type: 'feedback.submit', node: 'n2', cause: [], verifies: ids };
  const messages: readonly Message['message'][] = [
    ...(made < madeMax ? [{ ...submit, items: [item('n2', 'n1')] }] : []),
    ...(made < madeMax - 1
      ? [
          {
            ...submit,
            items: [
              item('n2', 'n0', 'ARCHITECTURE_ISSUE'),
              { ...(item('n2', 'n1') as object), priority: 'low' } as Json,
            ],
          },
          {
            ...submit,
            node: 'n1',
            items: [item('n1', 'n0')],
            cause: [{ id: 'FB-001', from: 'n2', to: 'n1' }],
          },
        ]
      : []),
    { ...submit, items: [{ from_node: 7 }] },
    { type: 'feedback.take', node: 'n1', execution: 'n1.1' },
    { type: 'feedback.take', node: 'n0', execution: 'n0.1' },
    ...(ids.length > 0
      ? [
          { ...ended, ok: true },
          { ...ended, ok: false },
          { ...ended, ok: false, met },
        ]
      : []),
    { type: 'tree.set', tree: { n0: KNOWN.n0, n1: KNOWN.n1 } },
  ];
  const forged: readonly Message['message'][] = ids.flatMap((id) => [
    { type: 'fix.verifying', id },
    { type: 'fix.again', id, more: 1, met: null, by: null },
    { type: 'fix.asks', id, reason: 'r', met: null },
    { type: 'fix.ended', id, outcome: 'cancelled', up: null, reason: 'r', met: null, by: null, note: null },
  ]);
  return [
    ...messages.map((message) => said('it', message)),
    shouted('it', { ...submit, items: [item('n2', 'n1')] }),
    shouted('it', { type: 'feedback.take', node: 'n1', execution: 'n1.1' }),
    shouted('it', { type: 'tree.set', tree: {} }),
    ...forged.map((message) => shouted('it', message)),
    shouted('it', { type: 'fix.verifying', id: 'FB-999' }),
  ];
};

const coordinator = (onLimit: 'ask' | 'stop', waiting: readonly Json[] = []): Scene => ({
  machine: COORDINATOR,
  about: `a coordinator; at a limit: ${onLimit}`,
  root: stage({
    id: 'it',
    machine: COORDINATOR,
    input: {
      tree: KNOWN,
      limits: fixLimits({ pairRounds: onLimit === 'ask' ? 2 : 1, hops: 1, feedbacks: 2 }) as unknown as Json,
      onLimit,
      questionLevels: [{ to: null, expiresMs: null }],
      onExpiry: 'stop',
      before: { made: 0, rounds: {}, waiting },
    },
  }),
  input: null,
  answers: (_, others) => {
    const { granted } = contextAt<CoordinatorState>(others, 'run/it');
    return [
      ...(Object.keys(granted).length === 0 ? [{ option: 'continue', value: 1 }] : []),
      ...['accept', 'stop', 'cancel'].map((option) => ({ option })),
    ];
  },
  messages: (actors) => coordinatorMessages(actors, onLimit === 'ask' ? 1 : 3),
  reduce: { ...REDUCTIONS, ...TREE_REDUCTIONS },
});

export const TREE_SCENES: readonly Scene[] = [...TREES, coordinator('stop'), coordinator('ask')];
