import { type Json, storyLoop } from '../../src/index.ts';
import type { BoardState } from '../../src/machines/board-state.ts';
import { STORY } from '../../src/machines/story-machine.ts';
import type { StoryState } from '../../src/machines/story-state.ts';
import { REDUCTIONS, type Reductions } from '../../src/proofs/reduce.ts';
import { reduceBoard, reduceStory } from '../../src/proofs/reduce-stories.ts';
import { LOOKS, WRITES } from '../../src/proofs/story-outcomes.ts';
import type { Deed, Look, Message, Scene } from './scene.ts';
import { RUN } from './scene.ts';
import { bounded, contextAt, FAILS, forgedReplies, ONE_TRY, pauses, TWO_TRIES } from './scene-parts.ts';

const ROLES = ['research', 'plan', 'implement', 'create-pr', 'review'];

const review = (name: string, decision: string, category?: string): Deed => ({
  name,
  output: {
    decision,
    passed: decision === 'approved',
    issues: category === undefined ? [] : [{ severity: 'critical', category, description: 'a fault' }],
    feedback: 'f',
  },
});

const REVIEWS = [
  review('approves', 'approved'),
  review('rejects', 'rejected', 'correctness'),
  review('cannot review', 'failed'),
];

const reductions = (machine: string): Reductions => ({
  ...REDUCTIONS,
  [STORY]: machine === STORY ? bounded(reduceStory) : reduceStory,
  stories: reduceBoard,
});

const storyAt = (actors: readonly Look[]): StoryState | undefined =>
  actors.find(({ machine }) => machine === STORY)?.context as StoryState | undefined;

interface Stories {
  readonly machine: string;
  readonly about: string;
  readonly options?: object;
  readonly stories?: readonly unknown[];
  readonly deeds?: Scene['deeds'];
  readonly messages?: Scene['messages'];
  readonly unplayed?: string;
}

const stories = ({
  machine,
  about,
  options = {},
  stories: given,
  deeds,
  messages,
  unplayed,
}: Stories): Scene => ({
  machine,
  about,
  root: storyLoop('stories', {
    mode: 'auto',
    refinement: { maxIterations: 1 },
    limits: { reviewRetries: 1 },
    roles: Object.fromEntries(
      ROLES.map((role) => [role, role === 'review' ? { backoffMs: 1_000 } : ONE_TRY]),
    ),
    ...options,
  }),
  input: { stories: given ?? [{ id: 'a', title: 'A' }] },
  agents: ROLES,
  deeds: deeds ?? ((agent) => (agent === 'review' ? REVIEWS : [{ name: 'works', output: 'work' }, FAILS])),
  answers: (_, others) => [
    ...(storyAt(others)?.decidedBy == null
      ? [
          { option: 'continue', value: 1, by: 'ann' },
          { option: 'retry', by: 'ann' },
        ]
      : []),
    ...['accept', 'stop', 'cancel'].map((option) => ({ option })),
  ],
  messages: messages ?? (() => []),
  reduce: reductions(machine),
  ...(unplayed !== undefined && { unplayed }),
});

const works = (agent: string): readonly Deed[] =>
  agent === 'review' ? REVIEWS.slice(0, 2) : [{ name: 'works', output: 'work' }];

const resets = (actors: readonly Look[]): readonly Message[] => {
  const story = storyAt(actors);
  if (!story || story.resets.filter(({ flag }) => flag === 'refinement_count').length > 0) return [];
  return [
    { to: RUN, message: { type: 'story.reset', story: 'a', max: 1 } },
    { to: RUN, message: { type: 'story.reset', story: 'a', max: -1 } },
    { to: RUN, message: { type: 'story.reset', story: 'nothing' } },
    { to: `${RUN}/story:a`, message: { type: 'story.reset' } },
    { to: `${RUN}/story:a`, message: { type: 'story.reset', max: -1 } },
    { to: `${RUN}/story:a`, message: { type: 'story.act', action: 'review' } },
  ];
};

/** What only the board, or an agent, may say to a story. */
const forgedToStory = (actors: readonly Look[]): readonly Message[] => {
  const story = storyAt(actors);
  if (!story) return [];
  const [request = 'none'] = Object.values(story.pending);
  const to = `${RUN}/story:a`;
  return [
    ...forgedReplies(request).map(({ message }) => ({ to, message })),
    { to, message: { type: 'story.act', action: 'research' } },
    { to, message: { type: 'story.reset', max: 1, note: 7 } },
  ];
};

const forgedCard = (actors: readonly Look[]): readonly Message[] => {
  const { cards } = contextAt<BoardState>(actors);
  const [card] = Object.values(cards);
  return card
    ? [{ to: RUN, message: { type: 'story.card', card: { ...card, stage: 'ended' } as unknown as Json } }]
    : [];
};

const nextOf = (actors: readonly Look[]): readonly Message[] =>
  contextAt<BoardState>(actors).wanted.length < 1 ? [{ to: RUN, message: { type: 'stories.next' } }] : [];

const manual = (actors: readonly Look[]): readonly Message[] => {
  const { wanted, mode } = contextAt<BoardState>(actors);
  return [
    ...(wanted.length < 2
      ? [
          { to: RUN, message: { type: 'stories.next' } },
          { to: RUN, message: { type: 'stories.next', story: 'b' } },
        ]
      : []),
    { to: RUN, message: { type: 'stories.next', story: 'nothing' } },
    ...(mode === 'manual' ? [{ to: RUN, message: { type: 'stories.mode', mode: 'auto' } }] : []),
    { to: RUN, message: { type: 'stories.mode', mode: 'other' } },
    ...forgedCard(actors),
  ];
};

const oneWorks = (agent: string): readonly Deed[] =>
  agent === 'review' ? REVIEWS.slice(0, 1) : [{ name: 'works', output: 'work' }];

const fileDeeds = (agent: string): readonly Deed[] => {
  const plain = (outcomes: typeof LOOKS): readonly Deed[] =>
    outcomes.map(({ name, output }) => ({ name, output: output as Json }));
  if (agent === 'lw.story-look') return [...plain(LOOKS), FAILS];
  if (agent === 'lw.story-write') return [...plain(WRITES), FAILS];
  return oneWorks(agent);
};

export const STORY_SCENES: readonly Scene[] = [
  stories({ machine: STORY, about: 'a story that is refined, and a person at the limit' }),
  stories({ machine: STORY, about: 'a count that is set back', deeds: works, messages: resets }),
  stories({
    machine: STORY,
    about: 'paused',
    deeds: oneWorks,
    messages: (actors) => [
      ...pauses(actors),
      { to: `${RUN}/story:a`, message: { type: 'run.pause', reason: 7 } },
      { to: `${RUN}/story:a`, message: { type: 'run.resume', reason: 'unknown' } },
    ],
  }),
  stories({
    machine: STORY,
    about: 'by hand, and messages that nobody may send',
    options: { mode: 'manual' },
    deeds: works,
    messages: (actors) => [...forgedToStory(actors), ...nextOf(actors), ...resets(actors)],
  }),
  stories({
    machine: STORY,
    about: 'few calls, each tried twice',
    options: {
      limits: { calls: 5, reviewRetries: 1 },
      roles: Object.fromEntries(ROLES.filter((role) => role !== 'review').map((role) => [role, TWO_TRIES])),
    },
  }),
  stories({
    machine: STORY,
    about: 'few calls, and then it ends',
    options: {
      limits: { calls: 4, reviewRetries: 1 },
      onFailure: 'stop',
      refinement: { maxIterations: 1, escalateOnMaxAttempts: 'skip' },
    },
  }),
  stories({
    machine: STORY,
    about: 'two reviewers',
    options: { reviewers: ['review', 'other'], roles: {} },
    deeds: (agent) =>
      agent === 'other' || agent === 'review'
        ? [...REVIEWS.slice(0, 2), FAILS]
        : [{ name: 'works', output: 'work' }],
  }),
  stories({
    machine: STORY,
    about: 'a story with a file',
    options: { limits: { fileTries: 2 } },
    stories: ['story.md'],
    deeds: fileDeeds,
    unplayed:
      'files are looked at and written by the runtime itself: test/acceptance/story-files.test.ts plays that',
  }),
  stories({
    machine: 'stories',
    about: 'two stories by hand',
    options: {
      mode: 'manual',
      concurrency: 1,
      refinement: { maxIterations: 0, escalateOnMaxAttempts: 'error' },
    },
    stories: [{ id: 'a' }, { id: 'b' }],
    deeds: works,
    messages: manual,
  }),
  stories({
    machine: 'stories',
    about: 'two stories, paused',
    options: { concurrency: 2 },
    stories: [{ id: 'a' }, { id: 'b' }],
    deeds: oneWorks,
    messages: pauses,
  }),
  stories({
    machine: 'stories',
    about: 'one story, with its count set back',
    deeds: works,
    messages: (actors) => [...resets(actors), ...forgedCard(actors)],
  }),
];
