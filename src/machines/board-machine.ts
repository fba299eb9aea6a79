import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { addSpent, NOTHING_SPENT, type Spent } from '../events/usage.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import { dispatch, isCommandable, isIdle, noteCard, storyId } from './board-rules.ts';
import { type BoardState, newBoard, type StoriesInput } from './board-state.ts';
import { tellsParent } from './loop-ends.ts';
import { isFromParent, type StepEnd, tellEnd, tellWaits } from './nested.ts';
import { type RunMessage } from './run-messages.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import type { StoryCard } from './story-actions.ts';
import { isReset, type ResetStory } from './story-decisions.ts';

/** How one story ended. */
export interface StoryEnd {
  readonly id: string;
  readonly title: string;
  /** Null if the run ended before the story did. */
  readonly verdict: Verdict | null;
  readonly isSkipped: boolean;
  readonly refinements: number;
  readonly reason: string | null;
}

/** What a run of stories gives at its end. */
export interface StoriesOutput {
  /** The worst of all stories. */
  readonly verdict: Verdict;
  readonly stories: Readonly<Record<string, StoryEnd>>;
  readonly spent: Spent;
}

export type StoriesEvent =
  /** Where a story is: of its actor only. */
  | { type: 'story.card'; card: StoryCard }
  /** In manual mode: do the next action, of a certain story if one is named. */
  | { type: 'stories.next'; story?: string }
  | { type: 'stories.mode'; mode: 'auto' | 'manual' }
  /** Sets the count of refinements of a story back to 0. */
  | ({ type: 'story.reset'; story: string } & ResetStory)
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string }
  | { type: 'run.cancel' };

const WORST: readonly Verdict[] = ['failed', 'exhausted', 'stalled', 'cancelled', 'accepted', 'verified'];

const outputOf = ({ cards, order, refused, isCancelled }: BoardState): StoriesOutput => {
  const all = order.flatMap((key) => cards[key] ?? []);
  const worst = WORST.find((verdict) => all.some((card) => card.verdict === verdict));
  return {
    verdict: isCancelled ? 'cancelled' : refused === undefined ? (worst ?? 'verified') : 'failed',
    stories: Object.fromEntries(
      all.map(({ key, id, title, verdict, isSkipped, refinements, reason }) => [
        key,
        { id, title, verdict, isSkipped, refinements, reason },
      ]),
    ),
    spent: all.reduce((sum, { spent }) => addSpent(sum, spent), NOTHING_SPENT),
  };
};

/** How much of what stories have made goes to the parent of a step: it goes with every correction, in one event. */
const WORK_LENGTH_MAX = 100_000;

/** How it ended, for the plan that it is a step of. */
const endOf = (state: BoardState): StepEnd => {
  const { verdict, stories, spent } = outputOf(state);
  let left = WORK_LENGTH_MAX;
  const workOf = (key: string): Json => {
    const { work = {} } = state.cards[key] ?? {};
    left -= JSON.stringify(work).length;
    return left < 0 ? 'left out: it is too large to be given on' : work;
  };
  const ends = Object.entries(stories).map(([key, end]) => [key, { ...end, work: workOf(key) }]);
  const reasons = Object.values(stories).flatMap(({ id, reason }) =>
    reason === null ? [] : `${id}: ${reason}`,
  );
  return {
    verdict,
    outputs: { stories: Object.fromEntries(ends) },
    spent,
    reason: state.refused ?? (reasons.length > 0 ? reasons.join(' ') : null),
    isComparable: false,
  };
};

/** Only the story itself may say where it is: from outside, anything may be in it. */
const isOwnCard = (event: StoriesEvent): boolean => {
  const { from, self } = delivery();
  return event.type === 'story.card' && from !== null && from === `${self}/${storyId(event.card.key)}`;
};

const setupBoard = setup({
  types: {
    context: {} as BoardState,
    input: {} as StoriesInput,
    events: {} as StoriesEvent,
    emitted: {} as RunMessage,
    output: {} as StoriesOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      const { settings, mode, priorities, concurrency, order } = context;
      enqueue.emit({
        type: 'stories.started',
        stories: order,
        mode,
        concurrency,
        priorities: { ...priorities },
        limits: settings.limits as unknown as Json,
        unbounded: settings.unbounded,
        policy: settings.policy,
      });
    }),
    dispatch: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, dispatch(context));
    }),
    noteCard: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'story.card') apply(enqueue, noteCard(context, event.card));
    }),
    order: assign(({ context, event }) =>
      event.type === 'stories.next' ? { wanted: [...context.wanted, event.story ?? null] } : {},
    ),
    setMode: assign(({ context, event }) =>
      event.type === 'stories.mode' ? { mode: event.mode, wanted: [] } : { mode: context.mode },
    ),
    reset: enqueueActions(({ event, enqueue }) => {
      if (event.type !== 'story.reset') return;
      const { story, max = null, note = null, by = null } = event;
      enqueue.emit({ type: 'story.reset', to: `./${storyId(story)}`, max, note, by });
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause') apply(enqueue, pausing(context, event.reason, 'pause'));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume') apply(enqueue, pausing(context, event.reason, 'resume'));
    }),
    cancel: assign({ isCancelled: true as const }),
    tellParent: enqueueActions(({ context, enqueue }) => {
      tellEnd(enqueue, context, endOf(context));
    }),
    tellWaits: enqueueActions(({ context, enqueue }, waits: boolean) => {
      tellWaits(enqueue, context, waits);
    }),
  },
  guards: {
    isFromParent: ({ context }) => isFromParent(context),
    isOwnCard: ({ event }) => isOwnCard(event),
    hasEnded: ({ context }) =>
      isIdle(context) &&
      (context.isStopping || context.order.every((key) => context.cards[key]?.stage === 'ended')),
    isPaused: ({ context }) => context.pauseReasons.length > 0,
    isIdle: ({ context }) => isIdle(context),
    isNext: ({ context, event }) =>
      event.type === 'stories.next' &&
      context.mode === 'manual' &&
      isCommandable(context, event.story ?? null),
    isMode: ({ event }) =>
      event.type === 'stories.mode' && (event.mode === 'auto' || event.mode === 'manual'),
    isReset: ({ context, event }) => {
      if (event.type !== 'story.reset' || !isReset(event) || typeof event.story !== 'string') return false;
      const { story } = event;
      const card = Object.hasOwn(context.cards, story) ? context.cards[story] : undefined;
      // Of one that has not begun, or is only being read, nothing was counted yet.
      const hasBegun = context.opened.includes(story) && !context.reading.includes(story);
      return card !== undefined && card.stage !== 'ended' && hasBegun;
    },
    hasText: ({ event }) => event.type === 'run.pause' && typeof event.reason === 'string',
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' && context.pauseReasons.includes(event.reason),
  },
});

/** Stories that have begun pause with the board, and their agents with them. */
const pausing = (state: BoardState, reason: string, what: 'pause' | 'resume') => {
  const stories = state.opened.filter((key) => state.cards[key]?.stage !== 'ended').map(storyId);
  const pausable = { pauseReasons: state.pauseReasons, started: [] };
  const { state: next, messages } =
    what === 'pause' ? paused(pausable, reason, stories) : resumed(pausable, reason, stories);
  return { state: { ...state, pauseReasons: next.pauseReasons }, messages };
};

export const boardMachine = setupBoard.createMachine({
  id: 'stories',
  context: ({ input }) => newBoard(input),
  entry: 'begin',
  initial: 'deciding',
  on: {
    'story.card': { guard: 'isOwnCard', target: '.deciding', actions: 'noteCard' },
    'stories.next': { guard: 'isNext', target: '.deciding', actions: 'order' },
    'stories.mode': { guard: 'isMode', target: '.deciding', actions: 'setMode' },
    'story.reset': { guard: 'isReset', actions: 'reset' },
    'run.pause': { guard: 'hasText', target: '.deciding', actions: 'pause' },
    'run.resume': { guard: 'hasReason', target: '.deciding', actions: 'resume' },
    'run.cancel': { guard: 'isFromParent', target: '.ended', actions: 'cancel' },
  },
  states: {
    deciding: {
      entry: 'dispatch',
      always: [
        { guard: 'hasEnded', target: 'ended' },
        { guard: 'isPaused', target: 'paused' },
        // In manual mode for the next command, else for those who are asked.
        { guard: 'isIdle', target: 'waiting' },
        { target: 'working' },
      ],
    },
    working: {},
    waiting: { tags: WAITING_TAG, ...tellsParent },
    paused: {},
    ended: { type: 'final', entry: 'tellParent' },
  },
  output: ({ context }) => outputOf(context),
});
