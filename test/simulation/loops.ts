import { isJsonObject, type Json, type JsonObject } from '../../src/events/json.ts';
import {
  isFeedbackRequest,
  phaseRun,
  planRun,
  repeatLoop,
  storyLoop,
  tightLoop,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { LOOK_AGENT, WRITE_AGENT } from '../../src/machines/story-machine.ts';
import { found } from '../../src/proofs/story-outcomes.ts';
import type { Asked, Said, SimulatedLoop } from './loop-world.ts';

/** Small, so that its end is near: a schedule should see all of it. */
const QUICK = { attempts: 2, backoffMs: 10, timeLimitMs: 400 } as const;
const ONCE = { attempts: 1 } as const;

const say = (output: Json): Said => ({ output });
const approval = say({ passed: true, issues: [] });
const rejection = (description: string, severity = 'critical'): Said =>
  say({ passed: false, issues: [{ severity, category: 'style', description }] });

const made = ({ agent, nth }: Asked): Said => say({ text: `${agent} ${nth}` });
const sameAsEver = say({ text: 'as ever' });
const costly = (said: Said): Said => ({ ...said, usage: { costUsd: 1, inputTokens: 10 } });

/** What whoever is asked to decide may say. */
const decisions = (input: Json): readonly Said[] => {
  if (!isFeedbackRequest(input)) return [];
  return [
    ...input.options.map(({ option }) => say({ option })),
    say({ value: 'own' }),
    say({ option: '?' }),
    say('accept_limitation'),
  ];
};

const decided = (input: Json): Said => decisions(input)[0] ?? say(null);

/** Reviewers approve or find fault, all others make something; whoever is asked to decide does. */
const planLoop = (
  loop: Omit<SimulatedLoop, 'good' | 'others' | 'input'> & {
    readonly reviewers?: readonly string[];
    readonly reports?: Readonly<Record<string, readonly Json[]>>;
  },
): SimulatedLoop => {
  const { reviewers = [], reports = {}, ...rest } = loop;
  return {
    ...rest,
    input: 'the task',
    good: (asked) => {
      if (isFeedbackRequest(asked.input)) return decided(asked.input);
      return reviewers.includes(asked.agent) ? approval : made(asked);
    },
    others: (asked) => {
      if (isFeedbackRequest(asked.input)) return decisions(asked.input);
      if (reviewers.includes(asked.agent))
        return [
          rejection('the same'),
          rejection(`new ${asked.nth}`),
          say({ passed: true, issues: [{ severity: 'low', category: 'x', description: `${asked.nth}` }] }),
          rejection('small', 'low'),
        ];
      const reported = (reports[asked.agent] ?? []).map((feedback) => ({
        output: null,
        feedback: [feedback],
      }));
      // Whoever can complain mostly does.
      return [
        sameAsEver,
        say({ text: `${asked.agent} ${asked.nth % 2}` }),
        costly(made(asked)),
        ...reported,
        ...reported,
        ...reported,
      ];
    },
  };
};

const draft = planRun('draft', {
  steps: [
    { id: 'write', agent: 'writer' },
    { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
  ],
  limits: { passes: 2 },
  roles: { writer: QUICK, critic: QUICK },
});

const panel = planRun('panel', {
  steps: [
    { id: 'a', agent: 'ann' },
    { id: 'b', agent: 'ben', needs: ['a'] },
    { id: 'gate', needs: ['b'], gate: { reviewers: ['cat', 'dan'], corrects: 'a' } },
  ],
  limits: { passes: 2, timeMs: 60_000, costUsd: 5 },
  onLimit: 'stop',
  roles: { ann: QUICK, ben: ONCE, cat: ONCE, dan: QUICK },
});

const signed = planRun('signed', {
  steps: [
    { id: 'write', agent: 'writer' },
    { id: 'sign', needs: ['write'], gate: { reviewers: ['boss'], corrects: 'write' } },
  ],
  limits: { passes: 2 },
  ask: [
    { to: 'ann', expiresMs: 2_000 },
    { to: 'ben', expiresMs: 3_000 },
  ],
  onExpiry: 'cancel',
  roles: { writer: ONCE },
  persons: { boss: { text: 'Good?', options: [{ id: 'approve', label: 'Yes' }], isFree: true } },
});

const whole = planRun('whole', {
  steps: [
    { id: 'idea', agent: 'thinker' },
    { id: 'letter', run: draft, needs: ['idea'] },
    { id: 'check', needs: ['letter'], gate: { reviewers: ['judge'], corrects: 'idea' } },
  ],
  limits: { passes: 2, calls: 30 },
  roles: { thinker: ONCE, judge: ONCE },
});

const complaint = (type: string, target: string): Json => ({
  type,
  targets: [target],
  severity: 'blocking',
  description: type,
  requirement: type,
});

const pair = planRun('pair', {
  steps: [
    { id: 'prd', agent: 'pm' },
    { id: 'design', agent: 'architect', needs: ['prd'] },
  ],
  limits: { rounds: 2, feedbacks: 3 },
  roles: { pm: QUICK, architect: ONCE },
});

const checked = planRun('checked', {
  steps: [
    { id: 'a', agent: 'ann' },
    { id: 'b', agent: 'ben' },
  ],
  checks: [
    { id: 'same', compare: ['agents.ann.outputs.a', 'agents.ben.outputs.b'] },
    { id: 'good', metric: 'agents.ann.outputs.a', by: { min: 1 }, responsible: ['ann'] },
  ],
  limits: { rounds: 1, feedbacks: 4 },
  roles: { ann: ONCE, ben: QUICK },
});

const stories = storyLoop('stories', {
  mode: 'auto',
  refinement: { maxIterations: 1 },
  limits: { reviewRetries: 1, fileTries: 2 },
  roles: Object.fromEntries(['research', 'plan', 'implement', 'create-pr'].map((role) => [role, ONCE])),
});

const review = (decision: string, category: string): Said =>
  say({
    decision,
    passed: decision === 'approved',
    issues: decision === 'rejected' ? [{ severity: 'critical', category, description: 'a fault' }] : [],
    feedback: '',
  });

const phases = phaseRun('phases', {
  phases: [
    { id: 'planning' },
    { id: 'design', needs: ['planning'], passes: 2 },
    { id: 'review', kind: 'review', needs: ['planning', 'design'], passes: 2 },
  ],
  limits: { passes: 3 },
  roles: { planning: QUICK, design: ONCE, review: ONCE },
});

const phaseFault = (phase: string, description: string): Said =>
  say({
    assessment: 'fail',
    issues: [{ severity: 'critical', category: 'x', description, affectedPhases: [phase] }],
  });

const tree = treeRun('tree', {
  nodes: [{ id: 'n0' }, { id: 'n1', parent: 'n0' }, { id: 'n2', parent: 'n1' }, { id: 'n3', parent: 'n0' }],
  limits: { pairRounds: 2, feedbacks: 4, hops: 2 },
  roles: { n0: QUICK, n1: ONCE, n2: ONCE, n3: ONCE },
});

const planned = treeRun('planned', {
  nodes: [
    { id: 'n0', plans: true },
    { id: 'n1', parent: 'n0' },
  ],
  limits: { replans: 2, feedbacks: 3, addedNodes: 2 },
  roles: { n0: ONCE, n1: QUICK },
});

const nodeOf = (input: Json): string => {
  const { node = '' }: JsonObject = isJsonObject(input) ? input : {};
  return typeof node === 'string' ? node : '';
};

const toNode = (from: string, to: string, kind: string): Said => ({
  output: { passed: false },
  feedback: [
    {
      type: 'FEEDBACK',
      from_node: from,
      to_node: to,
      feedback_type: kind,
      message: `${from} is not content`,
      suggested_fix: 'mend it',
      suggested_action: 'add it',
      requested_info: 'signature',
      priority: 'high',
    },
  ],
});

const KINDS = ['FIX_REQUEST', 'CONTEXT_REQUEST', 'DEPENDENCY_MISSING', 'ARCHITECTURE_ISSUE'];

const treeLoop = (
  { name, share }: Pick<SimulatedLoop, 'name' | 'share'>,
  workflow: Workflow,
  others: (asked: Asked) => readonly Said[] = () => [],
): SimulatedLoop => ({
  name,
  share,
  workflows: [workflow],
  workflow: workflow.name,
  input: { task: 'the task' },
  pauses: true,
  good: made,
  others: (asked) => {
    const node = nodeOf(asked.input);
    const kind = KINDS[asked.nth % KINDS.length] ?? 'FIX_REQUEST';
    return [
      toNode(node, 'n0', 'FIX_REQUEST'),
      toNode(node, 'n1', kind),
      toNode(node, 'n0', kind),
      sameAsEver,
      ...others(asked),
    ];
  },
});

const plans = (plan: Json): Said => say({ text: 'a plan', plan });

const sketch = repeatLoop('sketch', { agent: 'sketcher', maxRepeats: 2, role: ONCE });
const build = tightLoop({
  name: 'build',
  maxIterations: 1,
  roles: { developer: QUICK, reviewer: ONCE, tester: ONCE },
});
/** Loops one after the other, the last of which is sent back. */
const nest = planRun('nest', {
  steps: [
    { id: 'sketch', run: sketch },
    { id: 'build', run: build, needs: ['sketch'] },
    { id: 'check', needs: ['build'], gate: { reviewers: ['judge'], corrects: 'build' } },
  ],
  limits: { passes: 2, calls: 12 },
  roles: { judge: ONCE },
});

const refine = storyLoop('refine', {
  refinement: { maxIterations: 1 },
  limits: { reviewRetries: 1 },
  roles: Object.fromEntries(['research', 'plan', 'implement', 'create-pr'].map((role) => [role, QUICK])),
});
const deliver = phaseRun('deliver', {
  phases: [{ id: 'design' }, { id: 'inspect', kind: 'review', needs: ['design'], passes: 1 }],
  limits: { passes: 1 },
  roles: { design: QUICK, inspect: QUICK },
});
const grow = treeRun('grow', {
  nodes: [{ id: 'n0' }, { id: 'n1', parent: 'n0' }],
  limits: { pairRounds: 1, feedbacks: 1 },
  roles: { n0: QUICK, n1: QUICK },
});
/** Loops side by side, and one that needs both. */
const grove = planRun('grove', {
  steps: [
    { id: 'deliver', run: deliver, group: 'first' },
    { id: 'grow', run: grow, group: 'first' },
    { id: 'refine', run: refine, needs: ['first'], with: { stories: [{ id: 'a' }] } },
  ],
  limits: { calls: 20 },
});

/** What the agents of a nest say, whichever of its loops they work in. */
const inNest: Pick<SimulatedLoop, 'input' | 'good' | 'others' | 'pauses'> = {
  input: 'the task',
  pauses: true,
  good: (asked) => {
    const { agent, nth } = asked;
    if (agent === 'inspect') return say({ assessment: 'pass', issues: [] });
    if (agent === 'review') return review('approved', '');
    if (['judge', 'reviewer', 'tester'].includes(agent)) return approval;
    return say({ text: `${agent} ${nth}`, summary: `${nth}`, done: true });
  },
  others: ({ agent, nth, input }) => {
    if (agent === 'inspect') return [phaseFault('design', 'the same'), phaseFault('design', `new ${nth}`)];
    if (agent === 'review') return [review('rejected', 'code'), review('failed', '')];
    if (['judge', 'reviewer', 'tester'].includes(agent))
      return [rejection('the same'), rejection(`new ${nth}`), say('FAIL')];
    if (agent === 'n1') return [toNode(nodeOf(input), 'n0', 'FIX_REQUEST'), sameAsEver];
    return [sameAsEver, say({ done: false }), costly(say({ done: true }))];
  },
};

/** Every loop that is shipped, as small as it can be with all its parts. */
export const LOOPS: readonly SimulatedLoop[] = [
  {
    name: 'tight',
    share: 4,
    callsMax: 14,
    turnsMax: 34,
    workflows: [
      tightLoop({ maxIterations: 2, repeat: 2, roles: { developer: QUICK, reviewer: ONCE, tester: QUICK } }),
    ],
    workflow: 'tight-loop',
    input: 'the task',
    pauses: true,
    good: ({ agent, nth }) =>
      agent === 'developer' ? say({ summary: `implemented ${nth}`, done: true }) : approval,
    others: ({ agent, nth }) =>
      agent === 'developer'
        ? [
            say({ summary: 'not yet', done: false }),
            say('text without a word'),
            say({ summary: 'same', done: true }),
          ]
        : [rejection('the same'), rejection(`new ${nth}`), say('FAIL'), rejection('small', 'low')],
  },
  {
    name: 'repeat',
    share: 13,
    callsMax: 6,
    turnsMax: 15,
    workflows: [repeatLoop('again', { agent: 'worker', maxRepeats: 3, role: QUICK })],
    workflow: 'again',
    input: 'the task',
    good: ({ nth }) => say({ summary: `${nth}`, done: true }),
    others: () => [say({ summary: 'not yet', done: false }), say('TASK'), costly(say({ done: false }))],
  },
  planLoop({
    name: 'gate',
    share: 11,
    callsMax: 8,
    turnsMax: 20,
    workflows: [draft],
    workflow: 'draft',
    reviewers: ['critic'],
    pauses: true,
  }),
  planLoop({
    name: 'panel',
    share: 7,
    callsMax: 12,
    turnsMax: 28,
    workflows: [panel],
    workflow: 'panel',
    reviewers: ['cat', 'dan'],
    pauses: true,
  }),
  planLoop({ name: 'person', share: 12, workflows: [signed], workflow: 'signed', pauses: true }),
  planLoop({
    name: 'nested',
    share: 6,
    callsMax: 20,
    turnsMax: 48,
    workflows: [draft, whole],
    workflow: 'whole',
    reviewers: ['critic', 'judge'],
    pauses: true,
  }),
  planLoop({
    name: 'feedback',
    share: 13,
    workflows: [pair],
    workflow: 'pair',
    pauses: true,
    reports: {
      architect: [
        complaint('technical_infeasibility', 'pm'),
        complaint('constraint_violation', 'pm'),
        complaint('missing_requirement', 'pm'),
        complaint('our own', 'nobody'),
      ],
      pm: [complaint('constraint_violation', 'architect')],
    },
  }),
  {
    ...planLoop({ name: 'checks', share: 3, workflows: [checked], workflow: 'checked', pauses: true }),
    good: (asked) => (isFeedbackRequest(asked.input) ? decided(asked.input) : say(1)),
    others: (asked) =>
      isFeedbackRequest(asked.input) ? decisions(asked.input) : [say(0), say(2), say({ text: 'no number' })],
  },
  {
    name: 'stories',
    share: 1,
    callsMax: 22,
    turnsMax: 129,
    workflows: [stories],
    workflow: 'stories',
    input: { stories: [{ id: 'a', title: 'A story' }, 'b.md'] },
    pauses: true,
    messages: [
      { type: 'stories.next' },
      { type: 'stories.mode', mode: 'manual' },
      { type: 'story.reset', story: 'a' },
      { type: 'story.reset', story: 'b', max: 1 },
    ],
    good: (asked) => {
      if (asked.agent === LOOK_AGENT) return say(found('intended'));
      if (asked.agent === WRITE_AGENT) return say({ kind: 'written', fields: {}, notes: null });
      return asked.agent === 'review' ? review('approved', '') : made(asked);
    },
    others: ({ agent }) => {
      if (agent === LOOK_AGENT)
        return [
          say(found(null)),
          say({ kind: 'unreadable', reason: 'gone', theirs: null, mine: null, hash: null }),
        ];
      if (agent === WRITE_AGENT) return [say({ kind: 'changed' }), say({ kind: 'failed', reason: 'no' })];
      if (agent !== 'review') return [sameAsEver];
      return [
        review('rejected', 'code'),
        review('rejected', 'design'),
        review('rejected', 'requirements'),
        review('failed', ''),
      ];
    },
  },
  {
    name: 'phases',
    share: 9,
    callsMax: 11,
    turnsMax: 25,
    workflows: [phases],
    workflow: 'phases',
    input: 'the task',
    pauses: true,
    good: (asked) => (asked.agent === 'review' ? say({ assessment: 'pass', issues: [] }) : made(asked)),
    others: ({ agent, nth }) => [
      ...(agent === 'review'
        ? [
            phaseFault('planning', 'the same'),
            phaseFault('design', `new ${nth}`),
            phaseFault('nowhere', 'odd'),
            say('FAIL'),
          ]
        : [sameAsEver]),
      {
        output: null,
        issues: [
          { severity: 'high', category: 'x', description: `odd ${nth}`, affectedPhases: ['planning'] },
        ],
      },
    ],
  },
  treeLoop({ name: 'tree', share: 6 }, tree as Workflow),
  treeLoop({ name: 'planned tree', share: 11 }, planned as Workflow, ({ agent }) =>
    agent === 'n0'
      ? [
          plans({ add: [{ id: 'n2', agent: 'n1' }] }),
          plans({
            nodes: [
              { id: 'n2', agent: 'n1' },
              { id: 'n1', parent: 'n2' },
            ],
          }),
          plans({ nodes: [{ id: 'n2', agent: 'n1' }] }),
          plans({ add: 'n3' }),
        ]
      : [],
  ),
  {
    ...inNest,
    name: 'nest',
    share: 3,
    workflows: [sketch, build, nest],
    workflow: 'nest',
    callsMax: 12,
    turnsMax: 26,
  },
  { ...inNest, name: 'grove', share: 1, workflows: [deliver, grow, refine, grove], workflow: 'grove' },
];
