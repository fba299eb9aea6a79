import { planRun, type Workflow } from '../../src/index.ts';
import { type Deed, type Look, type Message, RUN, type Scene } from './scene.ts';
import {
  contextAt,
  decisions,
  FAILS,
  forgedReplies,
  MAKES,
  ONE_TRY,
  pauses,
  REJECTS_OTHER,
  REVIEWS,
  rejections,
  run,
  stepsPending,
  TWO_TRIES,
} from './scene-parts.ts';

const DRAFT = [
  { id: 'write', agent: 'writer' },
  { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
] as const;

const DRAFT_ROLES = { writer: ONE_TRY, critic: ONE_TRY };

const draftDeeds = (agent: string): readonly Deed[] => (agent === 'writer' ? MAKES : REVIEWS);

const reruns = (actors: readonly Look[]): readonly Message[] => {
  const { feedbacks } = contextAt<{ feedbacks: number }>(actors);
  return feedbacks > 1
    ? []
    : [
        { to: RUN, message: { type: 'step.rerun', step: 'write', issues: [] } },
        { to: RUN, message: { type: 'step.rerun', step: 'nothing', issues: [] } },
        { to: RUN, message: { type: 'step.rerun', step: 'write', issues: 'none' } },
      ];
};

const forgedLoop = (actors: readonly Look[]): readonly Message[] => [
  { to: RUN, message: { type: 'loop.over', isCancel: true, reason: 'r', met: null } },
  { to: RUN, message: { type: 'loop.over', isCancel: false, reason: 'r', met: null } },
  { to: RUN, message: { type: 'loop.resolved', resolution: null } },
  { to: RUN, message: { type: 'loop.waits', waits: true } },
  { to: RUN, message: { type: 'context.values', request: stepsPending(actors), role: 'writer', values: {} } },
  { to: RUN, message: { type: 'feedback.trigger', source: 7 } },
  { to: RUN, message: { type: 'run.ended', output: null } },
  { to: RUN, message: { type: 'run.waits', waits: true } },
];

const draft = (options: object) =>
  planRun('run', { steps: DRAFT, roles: DRAFT_ROLES, ...options }) as unknown as Workflow;

const RUNS: readonly Scene[] = [
  run({
    about: 'a gate that rejects, and a person at its limit',
    root: draft({ limits: { passes: 2 } }),
    agents: ['writer', 'critic'],
    deeds: draftDeeds,
    messages: (actors) => [...forgedReplies(stepsPending(actors)), ...rejections(actors)],
  }),
  run({
    about: 'steps that are run again by hand, and messages that nobody may send',
    root: draft({ steps: [{ ...DRAFT[0], reads: ['a.b'] }, DRAFT[1]], limits: { passes: 1, feedbacks: 1 } }),
    agents: ['writer', 'critic'],
    deeds: (agent) => (agent === 'writer' ? MAKES.slice(0, 1) : REVIEWS.slice(0, 2)),
    messages: (actors) => [...reruns(actors), ...forgedLoop(actors)],
  }),
  run({
    about: 'few calls, each tried twice',
    root: draft({ limits: { passes: 1, calls: 2 }, roles: { writer: TWO_TRIES, critic: TWO_TRIES } }),
    agents: ['writer', 'critic'],
    deeds: (agent) => (agent === 'writer' ? [MAKES[0] as Deed, FAILS] : REVIEWS),
  }),
  run({
    about: 'paused',
    root: draft({ limits: { passes: 1 } }),
    agents: ['writer', 'critic'],
    deeds: (agent) => (agent === 'writer' ? [MAKES[0] as Deed, FAILS] : REVIEWS),
    messages: (actors) => [
      ...pauses(actors),
      { to: RUN, message: { type: 'run.pause', reason: 'loop-1: x' } },
    ],
  }),
  run({
    about: 'at a limit it ends',
    root: draft({ limits: { passes: 3, calls: 4, sameIssue: 2 }, onLimit: 'stop' }),
    agents: ['writer', 'critic'],
    deeds: (agent) => (agent === 'writer' ? MAKES : [...REVIEWS, REJECTS_OTHER]),
  }),
  run({
    about: 'in time, or nobody answers',
    root: draft({
      limits: { passes: 1, timeMs: 10_000 },
      ask: [{ to: null, expiresMs: 1_000 }],
      onExpiry: 'cancel',
    }),
    agents: ['writer', 'critic'],
    deeds: (agent) => (agent === 'writer' ? [MAKES[0] as Deed, FAILS] : REVIEWS),
    messages: pauses,
  }),
  run({
    about: 'in time, and a person takes longer',
    root: draft({ limits: { passes: 1, timeMs: 10_000 }, ask: [{ to: null, expiresMs: 20_000 }] }),
    agents: ['writer', 'critic'],
    deeds: (agent) => (agent === 'writer' ? [MAKES[0] as Deed, FAILS] : REVIEWS),
  }),
  run({
    about: 'a person that reviews',
    root: planRun('run', {
      steps: [
        { id: 'write', agent: 'writer' },
        { id: 'sign', needs: ['write'], gate: { reviewers: ['boss'], corrects: 'write' } },
      ],
      limits: { passes: 1, timeMs: 10_000 },
      roles: { writer: ONE_TRY },
      persons: {
        boss: {
          text: 'Good?',
          options: [
            { id: 'approve', label: 'Yes' },
            { id: 'reject', label: 'No' },
          ],
        },
      },
    }),
    agents: ['writer'],
    deeds: () => [MAKES[0] as Deed],
    answers: (question, others) => [
      ...decisions(question, others),
      { option: 'approve' },
      { option: 'reject' },
    ],
    messages: pauses,
  }),
];

const INNER = planRun('inner', {
  steps: [{ id: 'in', agent: 'writer' }],
  roles: { writer: ONE_TRY },
});

const NESTED: readonly Scene[] = (['ask', 'stop'] as const).map((onLimit) =>
  run({
    about: `a run in a run; at a limit: ${onLimit}`,
    root: planRun('run', {
      steps: [
        { id: 'part', run: INNER },
        { id: 'end', agent: 'ender', needs: ['part'] },
      ],
      roles: { ender: ONE_TRY },
      onLimit,
    }),
    others: [INNER as unknown as Workflow],
    agents: ['writer', 'ender'],
    deeds: () => [MAKES[0] as Deed, FAILS],
    messages: onLimit === 'ask' ? pauses : () => [],
  }),
);

const TIMED: readonly Scene[] = (['ask', 'stop'] as const).map((onLimit) =>
  run({
    about: `a run in a run beside an agent, whose time is up; then: ${onLimit}`,
    root: planRun('run', {
      steps: [
        { id: 'part', run: INNER },
        { id: 'beside', agent: 'ender' },
      ],
      roles: { ender: ONE_TRY },
      limits: { timeMs: 10_000 },
      onLimit,
    }),
    others: [INNER as unknown as Workflow],
    agents: ['writer', 'ender'],
    deeds: () => [MAKES[0] as Deed],
    messages: (actors) => [
      { to: RUN, message: { type: 'run.cancel' } },
      ...(actors.some(({ address }) => address === `${RUN}/run:part`)
        ? [{ to: `${RUN}/run:part`, message: { type: 'run.cancel' } }]
        : []),
    ],
  }),
);

export const RUN_SCENES: readonly Scene[] = [...RUNS, ...NESTED, ...TIMED];
