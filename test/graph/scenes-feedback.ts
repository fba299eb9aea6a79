import type { Json } from '../../src/index.ts';
import { CONTEXT } from '../../src/machines/context-machine.ts';
import type { FeedbackState } from '../../src/machines/feedback-state.ts';
import { FEEDBACK } from '../../src/machines/feedback-work.ts';
import { REDUCTIONS, type Reduce } from '../../src/proofs/reduce.ts';
import type { Look, Message, Scene } from './scene.ts';
import { FAILS, ONE_TRY } from './scene-parts.ts';
import { said, shouted, stage } from './stage.ts';

const ROLE = (role: string): Json => ({ role, ...ONE_TRY, timeLimitMs: null, person: null });
const BUDGET = { costUsd: null, tokens: null, calls: null };
const MET = { limit: 'rounds', bound: 1, used: 1, evidence: [] };

const feedbackOf = (mode: string, rule: Json): Json => ({
  type: 'own',
  mode,
  severity: 'high',
  description: 'd',
  requirement: 'r',
  details: {},
  action: null,
  options: [{ option: 'less' }, { option: 'more' }],
  rule,
  timeMs: 1_000,
});

const round = (nth: number, feedback: Json, met: Json): { readonly [member: string]: Json } => ({
  round: nth,
  feedback,
  budget: BUDGET,
  met,
});

const messagesOf = (
  actors: readonly Look[],
  feedback: Json,
  { isFix, isFirst }: { readonly isFix: boolean; readonly isFirst: boolean },
): readonly Message[] => {
  const it = actors.find(({ machine }) => machine === FEEDBACK)?.context as FeedbackState | undefined;
  if (!it) return [];
  const mayGoOn = it.round < (isFix ? 2 : 1);
  const next = round(it.round + 1, feedback, null);
  const events: readonly Message['message'][] = [
    ...(mayGoOn
      ? [
          { type: 'feedback.triggered', ...next },
          { type: 'validation.failed', ...next },
        ]
      : []),
    { type: 'feedback.triggered', ...round(it.round, feedback, MET) },
    { type: 'validation.failed', ...round(it.round, feedback, MET) },
    { type: 'validation.failed', ...round(it.round, feedback, null), reason: 'nobody can do it' },
    ...(['a', 'b'] as const).flatMap((target) =>
      !isFix || it.begun.includes(target) ? [] : [{ type: 'response.received', target }],
    ),
    { type: 'fix.done', target: 'a' },
    { type: 'resolution.complete' },
    { type: 'resolution.failed', reason: 'it broke' },
    { type: 'validation.passed' },
    { type: 'workflow.complete' },
    ...(isFirst ? [{ type: 'loop.pause' }, { type: 'loop.resume' }] : []),
  ];
  const [[role, request] = ['a', 'none']] = Object.entries(it.pending);
  const spent = { calls: 1, costUsd: 0, tokens: 0, unknown: 0 };
  return [
    ...events.map((message) => said('it', message)),
    ...(isFix ? events.map((message) => shouted('it', message)) : []),
    shouted('it', { type: 'feedback.resolve', resolution: 'less', by: null, note: null }),
    shouted('it', { type: 'feedback.escalate', reason: 'a person wants it' }),
    shouted('it', {
      type: 'agent.done',
      request,
      answer: { output: { option: 'less' } },
      attempts: 1,
      spent,
      role,
    }),
  ];
};

const reduced: Reduce = (context) => {
  const { round: nth } = context as FeedbackState;
  return [(REDUCTIONS[FEEDBACK] as Reduce)(context), nth];
};

const scene = (mode: string, rule: Json, onLimit: 'ask' | 'stop'): Scene => ({
  machine: FEEDBACK,
  about: `${mode}, ${JSON.stringify(rule)}; at a limit: ${onLimit}`,
  root: stage(
    { id: 'context', machine: CONTEXT, input: null },
    {
      id: 'it',
      machine: FEEDBACK,
      input: {
        task: null,
        onLimit,
        questionLevels: [{ to: null, expiresMs: 5_000 }],
        onExpiry: 'stop',
        id: 'it',
        source: 's',
        targets: ['a', 'b'],
        subject: 'r',
        roles: { a: ROLE('a'), b: ROLE('b') },
        isPaused: false,
      },
    },
  ),
  input: null,
  agents: ['a', 'b'],
  deeds: (agent) => [
    { name: 'chooses less', output: { option: 'less' } },
    { name: 'chooses more', output: { option: 'more' } },
    ...(rule === 'first' ? [{ name: 'chooses nothing', output: { option: '?' } }] : []),
    ...(rule === 'unanimous' && agent === 'b' ? [FAILS] : []),
  ],
  answers: () => ['retry', 'accept', 'resolve', 'stop', 'less'].map((option) => ({ option, value: 1 })),
  messages: (actors) =>
    messagesOf(actors, feedbackOf(mode, rule), { isFix: mode === 'fix', isFirst: rule === 'first' }),
  reduce: { ...REDUCTIONS, [FEEDBACK]: reduced },
});

export const FEEDBACK_SCENES: readonly Scene[] = [
  scene('fix', 'unanimous', 'ask'),
  scene('decide', 'unanimous', 'stop'),
  scene('align', 'first', 'stop'),
];
