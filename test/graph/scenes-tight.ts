import { repeatLoop, tightLoop, type Workflow } from '../../src/index.ts';
import { AGENT } from '../../src/machines/agent-machine.ts';
import { REDUCTIONS, type Reduce } from '../../src/proofs/reduce.ts';
import { reduceTight } from '../../src/proofs/reduce-tight.ts';
import { type Deed, type Look, type Message, type Scene } from './scene.ts';
import {
  contextAt,
  decisions,
  FAILS,
  forgedReplies,
  ONE_TRY,
  pauses,
  REJECTS_OTHER,
  REVIEWS,
  reductions,
  rejections,
  TWO_TRIES,
} from './scene-parts.ts';

const repeat = (about: string, options: Parameters<typeof repeatLoop>[1]): Scene => ({
  machine: 'repeat',
  about,
  root: repeatLoop('repeat', { role: ONE_TRY, ...options }) as Workflow,
  input: null,
  agents: ['w'],
  deeds: () => [
    { name: 'is done', output: { done: true } },
    { name: 'is not done', output: { done: false } },
    { ...FAILS },
    { name: 'is dear', output: { done: false }, beside: { usage: { costUsd: 1 } } },
  ],
  answers: (_, others) => {
    const { limits, requests } = contextAt<{
      limits: { repeats: number };
      requests: number;
    }>(others);
    return [
      ...(limits.repeats < 3 ? [{ option: 'continue', value: 1 }] : []),
      ...(requests < 4 ? [{ option: 'retry' }] : []),
      ...['accept', 'stop', 'cancel'].map((option) => ({ option })),
    ];
  },
  messages: (actors) => forgedReplies(`repeat.${contextAt<{ requests: number }>(actors).requests}`),
  reduce: { [AGENT]: REDUCTIONS[AGENT] as Reduce },
});

interface Tight {
  readonly about: string;
  readonly input?: unknown;
  readonly options: Parameters<typeof tightLoop>[0];
  readonly developer?: readonly Deed[];
  readonly checks?: readonly Deed[];
  readonly role?: typeof ONE_TRY;
  readonly messages?: (actors: readonly Look[]) => readonly Message[];
}

const IMPLEMENTS: Deed = { name: 'implements', output: { summary: 's', done: true } };

const makes = (what: string): Deed => ({
  name: `makes ${what}`,
  output: 'done',
  beside: { artifacts: [what] },
});

const tight = ({
  about,
  input = null,
  options,
  developer = [IMPLEMENTS, FAILS],
  role = ONE_TRY,
  checks = REVIEWS,
  messages,
}: Tight): Scene => ({
  machine: 'tight',
  about,
  root: tightLoop({
    name: 'tight',
    ...options,
    roles: { developer: role, reviewer: role, tester: role },
  }) as Workflow,
  input,
  agents: ['developer', 'reviewer', 'tester'],
  deeds: (agent) => (agent === 'developer' ? developer : checks),
  answers: decisions,
  messages: messages ?? (() => []),
  reduce: reductions('tight', reduceTight),
});

const pendingOf = (actors: readonly Look[]): string =>
  contextAt<{ pending: { request: string } | null }>(actors).pending?.request ?? 'none';

/** A task on which another program has worked before, for one pass. */
const earlier = (test: 'PASS' | 'FAIL') => ({
  task: null,
  progress: {
    feedback_loop: {
      max_iterations: 1,
      iterations: [
        {
          // Numbers may be left out.
          ...(test === 'FAIL' && { number: 1 }),
          implementation: 'i',
          review_result: 'PASS',
          test_result: test,
          ...(test === 'FAIL' && { test_failures: ['t'] }),
        },
      ],
    },
  },
});

const TIGHT: readonly Scene[] = [
  tight({ about: 'good before it began', input: earlier('PASS'), options: {} }),
  tight({ about: 'at its limit before it began, then a person', input: earlier('FAIL'), options: {} }),
  tight({ about: 'at its limit before it began', input: earlier('FAIL'), options: { onLimit: 'stop' } }),
  tight({
    about: 'two passes, then a person',
    options: { maxIterations: 2 },
    checks: [...REVIEWS, REJECTS_OTHER],
    messages: (actors) => [...rejections(actors), ...forgedReplies(pendingOf(actors))],
  }),
  tight({ about: 'paused', options: { maxIterations: 1 }, messages: pauses }),
  tight({
    about: 'strict, and then it ends',
    options: { strict: true, maxIterations: 4, onLimit: 'stop', limits: { sameIssue: 2, sameFailure: 2 } },
  }),
  tight({
    about: 'one that must say that it is done',
    options: { repeat: 2, maxIterations: 1 },
    developer: [IMPLEMENTS, { name: 'is not done', output: { done: false } }],
  }),
  tight({
    about: 'one that makes the same, or goes back',
    options: { maxIterations: 4, limits: { sameIssue: null } },
    developer: [makes('one'), makes('two')],
    checks: [REVIEWS[1] as Deed, REJECTS_OTHER],
  }),
  tight({
    about: 'a few calls',
    options: { maxIterations: 3, limits: { calls: 3 } },
  }),
  ...[1, 2, 3].map((calls) =>
    tight({
      about: `${calls} calls in some time, then it ends`,
      options: { maxIterations: 3, onLimit: 'stop', limits: { calls, timeMs: 10_000 } },
    }),
  ),
  tight({
    about: 'a few calls, each tried twice',
    options: { maxIterations: 1, limits: { calls: 3 } },
    role: TWO_TRIES,
  }),
  tight({
    about: 'in time, or nobody answers',
    options: {
      maxIterations: 1,
      limits: { timeMs: 10_000 },
      ask: [{ to: null, expiresMs: 1_000 }],
      onExpiry: 'cancel',
    },
  }),
  tight({
    about: 'in time, and a person takes longer',
    options: { maxIterations: 1, limits: { timeMs: 10_000 }, ask: [{ to: null, expiresMs: 20_000 }] },
  }),
];

export const TIGHT_SCENES: readonly Scene[] = [
  repeat('two repeats, then a person', { agent: 'w', maxRepeats: 2 }),
  repeat('little money, then it ends', {
    agent: 'w',
    maxRepeats: 3,
    limits: { costUsd: 2 },
    onLimit: 'stop',
  }),
  repeat('few calls, each tried twice', {
    agent: 'w',
    maxRepeats: 2,
    limits: { calls: 1 },
    onLimit: 'stop',
    role: TWO_TRIES,
  }),
  ...TIGHT,
];
