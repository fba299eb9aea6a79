import { agentCall, workflow } from 'loopwright';
import { enqueueActions, sendTo, setup } from 'xstate';

/** One entry of the ledger: its number, and how many parts it is split into. */
export interface Entry {
  readonly type: 'ADD';
  readonly n: number;
  readonly parts: number;
  readonly text: string;
}

/** An entry of which everything follows from its number, so that whoever checks the log knows what must be there. */
export const entry = (n: number): Entry => ({
  type: 'ADD',
  n,
  parts: n % 4,
  text: 'x'.repeat((n * 37) % 900),
});

/** The position of an entry in a log that holds nothing but the ledger: two rows began it. */
export const positionOf = (n: number): number => {
  let position = 3;
  for (let earlier = 1; earlier < n; earlier += 1) position += 2 + entry(earlier).parts;
  return position;
};

const tally = setup({
  types: {
    context: {} as { entries: number; parts: number },
    events: {} as { type: 'COUNT'; n: number; parts: number },
  },
}).createMachine({
  context: { entries: 0, parts: 0 },
  on: {
    COUNT: {
      actions: enqueueActions(({ enqueue, context, event }) => {
        enqueue.assign({ entries: context.entries + 1, parts: context.parts + event.parts });
      }),
    },
  },
});

const book = setup({
  types: {
    context: {} as { entries: number },
    events: {} as Entry,
    emitted: {} as { type: 'part'; n: number; index: number },
  },
  actors: { tally },
}).createMachine({
  context: { entries: 0 },
  invoke: { id: 'tally', src: 'tally' },
  on: {
    ADD: {
      actions: [
        enqueueActions(({ enqueue, context, event }) => {
          enqueue.assign({ entries: context.entries + 1 });
          for (let index = 0; index < event.parts; index += 1)
            enqueue.emit({ type: 'part', n: event.n, index });
        }),
        sendTo('tally', ({ event }) => ({ type: 'COUNT', n: event.n, parts: event.parts })),
      ],
    },
  },
});

/**
 * A run that only counts: each entry is a turn of two rows and one more for each of its parts, so that half a turn would show.
 * Its own count must equal the log's on every replay.
 */
export const ledger = workflow('ledger', book, {
  turnsMax: Number.MAX_SAFE_INTEGER,
  counters: {
    entries: {
      value: ({ entries }) => entries,
      counts: ({ kind, type }) => kind === 'message' && type === 'ADD',
    },
  },
});

export const tallies = workflow('tally', tally);

/** What an errand brings back. A large body is kept beside the events: it is stored before the answer that refers to it. */
export interface Fetched {
  readonly name: string;
  readonly body: string;
}

export const fetched = (name: string): Fetched => ({
  name,
  body: name.includes('large') ? name.repeat(10_000) : name,
});

/** How long the timer of an errand runs. */
const ERRAND_TIMER_MS = 5;

/** A run that ends verified once its agent has answered and its timer has fired, each exactly once. */
export const errand = workflow(
  'errand',
  setup({
    types: { context: {} as { name: string }, input: {} as { name: string } },
    actors: { fetch: agentCall<{ name: string }, Fetched>() },
    delays: { timer: ERRAND_TIMER_MS },
  }).createMachine({
    context: ({ input }) => ({ name: input.name }),
    type: 'parallel',
    states: {
      call: {
        initial: 'open',
        states: {
          open: {
            invoke: {
              id: 'fetch',
              src: 'fetch',
              input: ({ context }) => ({ name: context.name }),
              onDone: {
                target: 'answered',
                guard: ({ event, context }) => event.output.name === context.name,
              },
            },
          },
          answered: { type: 'final' },
        },
      },
      timer: {
        initial: 'running',
        states: { running: { after: { timer: 'fired' } }, fired: { type: 'final' } },
      },
    },
  }),
);
