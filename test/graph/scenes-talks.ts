import { type Json, planRun, type Workflow } from '../../src/index.ts';
import { type Deed, type Look, RUN, type Scene } from './scene.ts';
import { contextAt, ONE_TRY, pauses, type Run, rootOf, run } from './scene-parts.ts';

const feedbackOf = (type: string, severity: string): Json => ({
  type,
  targets: ['writer'],
  severity,
  description: type,
  requirement: type,
  ...(type === 'own' ? {} : { options: [{ option: 'less' }, { option: 'more' }] }),
});

const sends = (type: string, severity = 'blocking'): Deed => ({
  name: `sends ${type} (${severity})`,
  output: null,
  beside: { feedback: [feedbackOf(type, severity)] },
});

const PAIR = (options: object): Workflow =>
  planRun('run', {
    steps: [
      { id: 'prd', agent: 'writer' },
      { id: 'design', agent: 'architect', needs: ['prd'] },
    ],
    limits: { rounds: 1, unchanged: null, oscillations: null },
    roles: { writer: ONE_TRY, architect: ONE_TRY },
    ...options,
  });

const asksOf = (input: Json): boolean => typeof input === 'object' && input !== null && 'ask' in input;

const feedbacksOf = (actors: readonly Look[]): number => contextAt<{ feedbacks: number }>(actors).feedbacks;

const talk = (
  about: string,
  types: readonly string[],
  options: object,
  { severity = 'blocking', ...more }: Partial<Run> & { readonly severity?: string } = {},
): Scene =>
  run({
    about,
    root: PAIR(options),
    agents: ['writer', 'architect'],
    deeds: (agent, input) =>
      asksOf(input)
        ? [
            { name: 'chooses less', output: { option: 'less' } },
            { name: 'chooses nothing', output: { option: '?' } },
          ]
        : [
            { name: 'works', output: 'done' },
            ...(agent === 'architect' ? types.map((type) => sends(type, severity)) : []),
          ],
    answers: (_, others) => [
      ...(feedbacksOf(others) < 2 && rootOf(others).decidedBy == null
        ? [{ option: 'retry', by: 'ann' }]
        : []),
      ...['accept', 'stop', 'resolve', 'less'].map((option) => ({ option, value: 1 })),
    ],
    ...more,
  });

export const TALK_SCENES: readonly Scene[] = [
  talk('feedback that something cannot be done', ['technical_infeasibility'], {}),
  talk('feedback that needs a decision', ['constraint_violation'], {}),
  talk('feedback, and nobody answers', ['own'], {
    ask: [{ to: null, expiresMs: 1_000 }],
    onExpiry: 'cancel',
  }),
  talk('feedback, and nobody answers: it ends', ['constraint_violation'], {
    ask: [{ to: null, expiresMs: 1_000 }],
  }),
  talk('feedback at a limit: it ends', ['own'], { onLimit: 'stop' }),
  talk('feedback that waits for nothing', ['missing_requirement'], {}, { severity: 'low' }),
  talk('feedback that waits for nothing, of a type of its own', ['own'], {}, { severity: 'low' }),
  ...(['ask', 'stop'] as const).map((onLimit) =>
    talk(`feedback with few calls; at a limit: ${onLimit}`, ['missing_requirement'], {
      limits: { rounds: 1, calls: 3 },
      onLimit,
    }),
  ),
  talk(
    'feedback to a person',
    ['missing_requirement'],
    { roles: { architect: ONE_TRY }, persons: { writer: { text: 'Do it' } } },
    {
      severity: 'low',
      answers: (_, others) => [
        ...(feedbacksOf(others) < 2 && rootOf(others).decidedBy == null
          ? [{ option: 'retry', by: 'ann' }]
          : []),
        ...['stop', 'less'].map((option) => ({ option, value: 1 })),
        { option: null, value: 'done' },
      ],
    },
  ),
  talk(
    'feedback of the host, while it is paused or not',
    [],
    {},
    {
      messages: (actors) => [
        ...pauses(actors),
        ...(feedbacksOf(actors) < 1
          ? [
              {
                to: RUN,
                message: {
                  type: 'feedback.trigger',
                  source: 'architect',
                  feedback: feedbackOf('own', 'low'),
                },
              },
              {
                to: RUN,
                message: { type: 'feedback.trigger', source: 'nobody', feedback: feedbackOf('own', 'low') },
              },
            ]
          : []),
      ],
    },
  ),
];
