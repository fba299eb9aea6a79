import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import { failureOf } from '../events/failure.ts';
import type { Json } from '../events/json.ts';
import { WAITING_TAG } from '../events/vocabulary.ts';
import { agentCall } from './agent-call.ts';
import { type AgentReply, BACKOFF_MAX_MS } from './agent-work.ts';
import type { Budget } from './limits.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { type ReworkOutput, reworkMachine } from './rework-machine.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import type { StoryActionName, StoryCard } from './story-actions.ts';
import { decideStory, isReset, type ResetStory, resetStory, storyQuestion } from './story-decisions.ts';
import { applyRework, ask, noteReview, phaseOf, settle, take, toRetry } from './story-rules.ts';
import {
  type AfterSync,
  cardOf,
  newStory,
  type StoryInput,
  type StoryState,
  statusOf,
} from './story-state.ts';
import {
  type Looked,
  type LookInput,
  lookInput,
  takeLook,
  takeWritten,
  unreadableBy,
  type WriteInput,
  type Written,
  writeInput,
} from './story-sync.ts';
import { workflow } from './workflow.ts';

export type StoryEvent =
  | AgentReply
  /** The board lets it do something. */
  | { type: 'story.act'; action: StoryActionName; cap?: Budget }
  | ({ type: 'story.reset' } & ResetStory)
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string };

/** Who looks at files and writes them: parts of the runtime, not of the host. */
export const LOOK_AGENT = 'lw.story-look';
export const WRITE_AGENT = 'lw.story-write';

/** The role whose answer this is, if it is waited for. */
const roleOf = ({ pending }: StoryState, event: StoryEvent): string | undefined => {
  if (event.type !== 'agent.done' && event.type !== 'agent.failed') return undefined;
  const { from, self } = delivery();
  return Object.entries(pending).find(
    ([role, request]) => request === event.request && from === `${self}/${agentId(role)}`,
  )?.[0];
};

const isLast = (state: StoryState, event: StoryEvent): boolean =>
  roleOf(state, event) !== undefined && Object.keys(state.pending).length === 1;

/** From outside, or from the board that passes it on. */
const isResetBySomeone = (event: StoryEvent): boolean =>
  event.type === 'story.reset' &&
  isReset(event) &&
  (delivery().from === null || delivery().from === delivery().parent);

const setupStory = setup({
  types: {
    context: {} as StoryState,
    input: {} as StoryInput,
    events: {} as StoryEvent,
    emitted: {} as RunMessage,
    tags: {} as typeof WAITING_TAG,
  },
  actors: {
    look: agentCall<LookInput, Looked>({ agent: () => LOOK_AGENT }),
    write: agentCall<WriteInput, Written>({ agent: () => WRITE_AGENT }),
    rework: reworkMachine,
    question: questionMachine,
  },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      const { key: story, file, settings, author } = context;
      enqueue.emit({
        type: 'story.opened',
        story,
        title: author.title,
        file,
        reworks: settings.limits.reworks,
        policy: settings.policy,
      });
    }),
    act: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'story.act') return;
      const { action, cap } = event;
      const settings = cap ? { ...context.settings, cap } : context.settings;
      const next = { ...context, action, settings };
      enqueue.assign({ ...next, phase: phaseOf(next) });
    }),
    ask: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, ask(context));
    }),
    take: enqueueActions(({ context, event, enqueue }) => {
      const role = roleOf(context, event);
      if (role === undefined || (event.type !== 'agent.done' && event.type !== 'agent.failed')) return;
      const taken = take(context, event, role);
      apply(enqueue, { ...taken, state: noteReview(context, taken.state, delivery().atMs) });
    }),
    applyRework: enqueueActions(({ context, enqueue }, output: ReworkOutput) => {
      apply(enqueue, applyRework(context, output));
    }),
    settle: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, settle(context));
    }),
    looked: enqueueActions(({ context, enqueue }, looked: Looked) => {
      apply(enqueue, takeLook(context, looked));
    }),
    written: enqueueActions(({ context, enqueue }, written: Written) => {
      apply(enqueue, takeWritten(context, written));
    }),
    decide: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      apply(enqueue, decideStory(context, said));
    }),
    giveUp: assign(() => ({ verdict: 'failed' as const })),
    reset: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'story.reset') apply(enqueue, resetStory(context, event, delivery().atMs));
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause') apply(enqueue, paused(context, event.reason));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume') apply(enqueue, resumed(context, event.reason));
    }),
    goOnTo: enqueueActions(({ enqueue }, afterSync: AfterSync) => {
      enqueue.assign({ afterSync });
    }),
    /** Tells its status, if it is another than before. */
    tellStatus: enqueueActions(({ context, enqueue }) => {
      const status = statusOf(context);
      if (status === context.told) return;
      enqueue.assign({ told: status });
      enqueue.emit({ type: 'story.status', story: context.key, status });
    }),
    tellBoard: enqueueActions(({ context, enqueue }, stage: StoryCard['stage']) => {
      const card = cardOf(context, stage) as unknown as Json;
      if (delivery().parent !== null) enqueue.emit({ type: 'story.card', to: '..', card });
    }),
    tellEnd: enqueueActions(({ context, enqueue }) => {
      const { key: story, verdict, isSkipped, refinements, reworks, lastError, decidedBy, debt } = context;
      enqueue.emit({
        type: 'story.ended',
        story,
        verdict,
        isSkipped,
        refinements,
        reworks,
        reason: lastError,
        decidedBy,
        debt: debt as unknown as Json,
      });
    }),
  },
  guards: {
    hasFile: ({ context }) => context.file !== null,
    isFromBoard: ({ event }) =>
      event.type === 'story.act' && delivery().from !== null && delivery().from === delivery().parent,
    isAwaited: ({ context, event }) => roleOf(context, event) !== undefined,
    isLast: ({ context, event }) => isLast(context, event),
    isRework: ({ context }) => context.action === 'rework',
    isReworked: ({ context }) => context.review === 'none',
    isHalted: ({ context }) => context.halt !== null,
    hasEnded: ({ context }) => context.verdict !== null,
    isIntended: ({ context }) => context.sync.intended !== null,
    isToLookAgain: ({ context }) => context.sync.tries > 0,
    goesOnTo: ({ context }, next: AfterSync) => context.afterSync === next,
    /** Its file could not be read for the first time, or says that all was done before: there is nothing to write to it. */
    isUntouched: ({ context: { file, isOpen, verdict, requests } }) =>
      file !== null && (!isOpen || (requests === 0 && (verdict === 'verified' || verdict === 'accepted'))),
    isToRead: ({ context }) => context.file !== null && !context.isOpen && context.verdict === null,
    isToReview: ({ context }) => context.phase === 'review' && toRetry(context).length > 0,
    /** What its file says of the count comes first. */
    isReset: ({ context, event }) => context.isOpen && isResetBySomeone(event),
    isLimited: ({ context, event }) => isResetBySomeone(event) && context.halt?.met?.limit === 'reworks',
    hasText: ({ event }) => event.type === 'run.pause' && typeof event.reason === 'string',
    hasReason: ({ context, event }) =>
      event.type === 'run.resume' && context.pauseReasons.includes(event.reason),
  },
  delays: {
    reviewBackoff: ({ context }) => {
      const times = Math.max(...Object.values(context.failures).map((failure) => failure.times), 1);
      const [first = ''] = toRetry(context);
      const { backoffMs = 0 } = context.settings.roles[first] ?? {};
      return Math.min(backoffMs * 2 ** (times - 1), BACKOFF_MAX_MS);
    },
  },
});

const synced = (next: AfterSync, target: string) =>
  ({ guard: { type: 'goesOnTo', params: next }, target }) as const;

/** To the file, and then on. */
const sync = (next: AfterSync) => ({ target: 'syncing', actions: { type: 'goOnTo', params: next } }) as const;

export const storyMachine = setupStory.createMachine({
  id: 'story',
  context: ({ input }) => newStory(input),
  entry: 'begin',
  initial: 'opening',
  on: {
    'story.reset': { guard: 'isReset', actions: 'reset' },
    'run.pause': { guard: 'hasText', actions: 'pause' },
    'run.resume': { guard: 'hasReason', actions: 'resume' },
  },
  states: {
    opening: { always: [{ guard: 'hasFile', target: 'reading' }, { target: 'settling' }] },
    /** What the file says is taken over before anything is written to it. */
    reading: {
      invoke: {
        id: 'look',
        src: 'look',
        input: ({ context }) => lookInput(context),
        onDone: { target: 'settling', actions: { type: 'looked', params: ({ event }) => event.output } },
        onError: {
          target: 'settling',
          actions: { type: 'looked', params: ({ event }) => unreadableBy(failureOf(event.error)) },
        },
      },
    },
    idle: {
      entry: { type: 'tellBoard', params: 'idle' },
      on: {
        'story.act': {
          guard: 'isFromBoard',
          target: 'syncing',
          actions: ['act', { type: 'goOnTo', params: 'act' }],
        },
        // The limit may be met no more, or by now.
        'story.reset': { guard: 'isReset', target: 'settling', actions: 'reset' },
      },
    },
    acting: { always: [{ guard: 'isRework', target: 'reworking' }, { target: 'working' }] },
    reworking: {
      invoke: {
        id: 'rework',
        src: 'rework',
        input: ({ context }) => ({
          key: context.key,
          complete: context.complete,
          refinements: context.refinements,
          work: context.work,
          target: context.target ?? 'implement',
          max: cardOf(context, 'busy').max,
          review: context.last ?? {
            passed: false,
            decision: 'rejected',
            severity: null,
            issues: [],
            feedback: '',
          },
        }),
        onDone: { target: 'reworked', actions: { type: 'applyRework', params: ({ event }) => event.output } },
        onError: 'settling',
      },
    },
    reworked: { always: [{ guard: 'isReworked', ...sync('work') }, { target: 'settling' }] },
    working: {
      entry: ['ask', 'tellStatus'],
      always: { guard: 'isHalted', target: 'settling' },
      on: {
        'agent.done': [
          { guard: 'isLast', target: 'worked', actions: 'take' },
          { guard: 'isAwaited', actions: 'take' },
        ],
        'agent.failed': [
          { guard: 'isLast', target: 'worked', actions: 'take' },
          { guard: 'isAwaited', actions: 'take' },
        ],
      },
    },
    worked: { always: [{ guard: 'isToReview', target: 'backingOff' }, { target: 'settling' }] },
    backingOff: { after: { reviewBackoff: 'working' } },
    /** What comes next is decided before the file is written, so that it says so. */
    settling: {
      entry: ['settle', 'tellStatus'],
      always: [{ guard: 'isUntouched', target: 'settled' }, sync('settled')],
    },
    syncing: { always: [{ guard: 'hasFile', target: 'looking' }, { target: 'synced' }] },
    looking: {
      invoke: {
        id: 'look',
        src: 'look',
        input: ({ context }) => lookInput(context),
        onDone: { target: 'found', actions: { type: 'looked', params: ({ event }) => event.output } },
        onError: {
          target: 'found',
          actions: { type: 'looked', params: ({ event }) => unreadableBy(failureOf(event.error)) },
        },
      },
    },
    found: { always: [{ guard: 'isIntended', target: 'writing' }, { target: 'synced' }] },
    writing: {
      invoke: {
        id: 'write',
        src: 'write',
        input: ({ context }) => writeInput(context),
        onDone: { target: 'wrote', actions: { type: 'written', params: ({ event }) => event.output } },
        onError: {
          target: 'wrote',
          actions: {
            type: 'written',
            params: ({ event }) => ({ kind: 'failed' as const, reason: failureOf(event.error).message }),
          },
        },
      },
    },
    wrote: { always: [{ guard: 'isToLookAgain', target: 'looking' }, { target: 'synced' }] },
    synced: { always: [synced('act', 'acting'), synced('work', 'working'), { target: 'settled' }] },
    settled: {
      always: [
        { guard: 'hasEnded', target: 'ended' },
        { guard: 'isHalted', target: 'asking' },
        { target: 'idle' },
      ],
    },
    asking: {
      tags: WAITING_TAG,
      entry: { type: 'tellBoard', params: 'asking' },
      on: {
        'story.reset': [
          { guard: 'isLimited', target: 'settling', actions: 'reset' },
          { guard: 'isReset', actions: 'reset' },
        ],
      },
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) => storyQuestion(context),
        onDone: { target: 'decided', actions: { type: 'decide', params: ({ event }) => event.output } },
        onError: { target: 'settling', actions: 'giveUp' },
      },
    },
    decided: { always: [{ guard: 'isToRead', target: 'reading' }, { target: 'settling' }] },
    ended: { type: 'final', entry: ['tellEnd', { type: 'tellBoard', params: 'ended' }] },
  },
});

export const STORY = 'lw.story';
export const storyActor = workflow(STORY, storyMachine, {
  counters: {
    reworks: {
      value: ({ reworks }) => reworks,
      counts: ({ kind, type }) => kind === 'fact' && type === 'story.reworked',
    },
  },
});
