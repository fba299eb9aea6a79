import { type Json, phaseRun, type Workflow } from '../../src/index.ts';
import { reducePhases } from '../../src/proofs/reduce-phase.ts';
import { type Deed, type Look, type Message, RUN, type Scene } from './scene.ts';
import {
  decisions,
  FAILS,
  forgedReplies,
  MAKES,
  ONE_TRY,
  pauses,
  type Run,
  rejections,
  rootOf,
  run,
  secondPause,
  stepsPending,
  TWO_TRIES,
} from './scene-parts.ts';

const PHASES = [{ id: 'plan' }, { id: 'review', kind: 'review', needs: ['plan'], passes: 1 }] as const;

const PHASE_ROLES = { plan: ONE_TRY, review: ONE_TRY };

const phases = (options: object): Workflow =>
  phaseRun('phases', {
    phases: PHASES,
    roles: PHASE_ROLES,
    limits: { passes: 2 },
    ...options,
  });

const report = (category: string): Json => ({
  assessment: 'FAIL',
  issues: [{ severity: 'critical', category, description: `${category} is wrong`, affectedPhases: ['plan'] }],
});

const phaseDeeds = (agent: string): readonly Deed[] =>
  agent === 'plan'
    ? MAKES
    : [
        { name: 'passes', output: 'PASS' },
        { name: 'fails it for logic', output: report('logic') },
        { name: 'fails it for style', output: report('style') },
        FAILS,
      ];

const reclassifies = (actors: readonly Look[]): readonly Message[] => {
  const known = Object.values(rootOf(actors).issues ?? {})[0]?.fingerprint;
  return [known, 'unknown'].flatMap((fingerprint) =>
    fingerprint === undefined
      ? []
      : [
          {
            to: RUN,
            message: { type: 'issue.reclassify', issue: fingerprint, phases: ['plan'], note: null, by: null },
          },
        ],
  );
};

const phase = (about: string, options: object, more: Partial<Run> = {}): Scene =>
  run({
    about,
    root: phases(options),
    agents: ['plan', 'review'],
    deeds: phaseDeeds,
    reduce: reducePhases,
    ...more,
  });

export const PHASE_SCENES: readonly Scene[] = [
  phase(
    'a review that fails, and a person at the limit',
    {},
    {
      messages: (actors) => [...forgedReplies(stepsPending(actors)), ...rejections(actors)],
    },
  ),
  phase(
    'defects that are put elsewhere by hand',
    {},
    {
      deeds: (agent) => phaseDeeds(agent).slice(0, 2),
      messages: reclassifies,
    },
  ),
  phase(
    'paused',
    { limits: { passes: 1 } },
    {
      deeds: (agent) => [...phaseDeeds(agent).slice(0, 2), ...(agent === 'review' ? [FAILS] : [])],
      messages: (actors) => [...pauses(actors), ...secondPause(actors), ...reclassifies(actors)],
    },
  ),
  phase(
    'results that do not fit their shape',
    {
      phases: [{ ...PHASES[0], output: 'shape', passes: 2 }, PHASES[1]],
      functions: { shape: (value: Json) => (value === 'one' ? [] : ['it is not one']) },
    },
    { deeds: (agent) => phaseDeeds(agent).slice(0, 2) },
  ),
  phase('few calls, each tried twice', {
    roles: { plan: TWO_TRIES, review: TWO_TRIES },
    limits: { passes: 1, calls: 2 },
  }),
  phase(
    'few calls, and a person',
    { limits: { passes: 2, calls: 3 } },
    { deeds: (agent) => phaseDeeds(agent).slice(0, 2) },
  ),
  phase(
    'what goes back again and again',
    {
      phases: [PHASES[0], { ...PHASES[1], passes: 5 }],
      limits: { passes: 4, rounds: null, oscillations: 2 },
    },
    { deeds: (agent) => phaseDeeds(agent).slice(0, 2) },
  ),
  phase('at a limit it ends', { onLimit: 'stop', limits: { passes: 3, calls: 5 } }),
  phase(
    'in time, or nobody answers',
    { limits: { passes: 1, timeMs: 10_000 }, ask: [{ to: null, expiresMs: 1_000 }], onExpiry: 'cancel' },
    { messages: pauses, deeds: (agent) => phaseDeeds(agent).slice(0, 2) },
  ),
  phase(
    'in time, and a person takes longer',
    { limits: { passes: 1, timeMs: 10_000 }, ask: [{ to: null, expiresMs: 20_000 }] },
    { deeds: (agent) => phaseDeeds(agent).slice(0, 2) },
  ),
  run({
    about: 'a person that reviews',
    root: phaseRun('phases', {
      phases: PHASES,
      roles: { plan: ONE_TRY },
      persons: { review: { text: 'Good?', options: [{ id: 'PASS', label: 'Yes' }] } },
      limits: { passes: 1, timeMs: 10_000 },
    }),
    agents: ['plan'],
    deeds: () => MAKES.slice(0, 1),
    answers: (question, others) => [...decisions(question, others), { option: 'PASS' }],
    messages: pauses,
    reduce: reducePhases,
  }),
];
