import { agentCall, delivery, type Json, WAITING_TAG, workflow } from 'loopwright';
import { assign, emit, setup } from 'xstate';

// Small workflows for tests, and for the programs that tests start: nothing here knows of the test runner.

/** Calls one agent once, and ends with what it answered. */
export const callOnce = workflow(
  'call-once',
  setup({
    types: {
      context: {} as { task: string; answer: unknown; failure: unknown },
      input: {} as { task: string },
      output: {} as { answer: unknown; failure: unknown },
    },
    actors: { worker: agentCall<{ task: string }, unknown>() },
  }).createMachine({
    context: ({ input }) => ({ task: input.task, answer: null, failure: null }),
    initial: 'working',
    states: {
      working: {
        invoke: {
          id: 'work',
          src: 'worker',
          input: ({ context }) => ({ task: context.task }),
          onDone: { target: 'done', actions: assign({ answer: ({ event }) => event.output }) },
          onError: { target: 'done', actions: assign({ failure: ({ event }) => event.error }) },
        },
      },
      done: { type: 'final' },
    },
    output: ({ context }) => ({ answer: context.answer, failure: context.failure }),
  }),
);

/** Calls one agent with any input, a second time if the first fails, and ends with what it answered. */
export const ask = workflow(
  'ask',
  setup({
    types: {
      context: {} as { input: Json; attempts: number; attempt: number; answer: unknown; failure: unknown },
      input: {} as { input: Json; attempts?: number },
      output: {} as { answer: unknown; failure: unknown },
    },
    actors: {
      worker: agentCall<Json, unknown>(),
    },
  }).createMachine({
    context: ({ input }) => ({
      input: input.input,
      attempts: input.attempts ?? 1,
      attempt: 1,
      answer: null,
      failure: null,
    }),
    initial: 'working',
    states: {
      working: {
        invoke: {
          id: 'work',
          src: 'worker',
          input: ({ context }) => context.input,
          onDone: { target: 'done', actions: assign({ answer: ({ event }) => event.output }) },
          onError: [
            {
              guard: ({ context }) => context.attempt < context.attempts,
              target: 'working',
              reenter: true,
              actions: assign({ attempt: ({ context }) => context.attempt + 1 }),
            },
            { target: 'done', actions: assign({ failure: ({ event }) => event.error }) },
          ],
        },
      },
      done: { type: 'final' },
    },
    output: ({ context }) => ({ answer: context.answer, failure: context.failure }),
  }),
);

/** Waits for a person, who approves or rejects; goes on for as long as nobody closes it. */
export const decision = workflow(
  'decision',
  setup({
    types: {
      context: {} as { decided: readonly string[] },
      events: {} as { type: 'APPROVE' | 'REJECT'; who: string } | { type: 'CLOSE' },
      emitted: {} as { type: 'decided'; who: string },
    },
    actions: {
      note: assign({
        decided: ({ context, event }) => ('who' in event ? [...context.decided, event.who] : context.decided),
      }),
      tell: emit(({ event }) => ({ type: 'decided', who: 'who' in event ? event.who : '' })),
    },
  }).createMachine({
    context: { decided: [] },
    initial: 'waiting',
    states: {
      waiting: {
        tags: WAITING_TAG,
        on: {
          APPROVE: { target: 'approved', actions: ['note', 'tell'] },
          REJECT: { target: 'rejected', actions: ['note', 'tell'] },
        },
      },
      approved: { on: { CLOSE: 'closed' } },
      rejected: { on: { CLOSE: 'closed' } },
      closed: { type: 'final' },
    },
  }),
);

/** Adds up what it is sent. Never ends by itself. */
export const tally = workflow(
  'tally',
  setup({
    types: {
      context: {} as { sum: number; added: number },
      events: {} as { type: 'ADD'; value: number } | { type: 'STOP' } | { type: 'RESUME' },
      output: {} as { sum: number },
    },
  }).createMachine({
    context: { sum: 0, added: 0 },
    initial: 'counting',
    states: {
      counting: {
        on: {
          ADD: {
            actions: assign({
              sum: ({ context, event }) => context.sum + event.value,
              added: ({ context }) => context.added + 1,
            }),
          },
          STOP: 'paused',
        },
      },
      paused: { on: { RESUME: 'counting', STOP: 'stopped' } },
      stopped: { type: 'final' },
    },
    output: ({ context }) => ({ sum: context.sum }),
  }),
  {
    counters: {
      added: {
        value: ({ added }) => added,
        counts: ({ kind, type }) => kind === 'message' && type === 'ADD',
      },
    },
  },
);

/** Rings once, after a time. */
export const alarm = workflow(
  'alarm',
  setup({
    types: {
      context: {} as { delayMs: number; rings: number },
      events: {} as { type: 'STOP' } | { type: 'SNOOZE' },
      input: {} as { delayMs: number },
    },
    delays: { given: ({ context }) => context.delayMs },
  }).createMachine({
    context: ({ input }) => ({ delayMs: input.delayMs, rings: 0 }),
    initial: 'set',
    states: {
      set: {
        after: { given: { target: 'rung', actions: assign({ rings: ({ context }) => context.rings + 1 }) } },
        on: { STOP: 'off', SNOOZE: { target: 'set', reenter: true } },
      },
      rung: {},
      off: {},
    },
  }),
);

/** What no machine may do: it throws dice. For the controls of tests that look for it. */
export const dice = workflow(
  'dice',
  setup({
    types: { context: {} as { thrown: readonly number[] }, events: {} as { type: 'THROW' } },
  }).createMachine({
    context: { thrown: [] },
    on: { THROW: { actions: assign({ thrown: ({ context }) => [...context.thrown, Math.random()] }) } },
  }),
);

/** Writes down when and where things happened, by the delivery: the only clock that a machine may read. */
export const diary = workflow(
  'diary',
  setup({
    types: {
      context: {} as {
        entries: readonly {
          readonly at: string;
          readonly text: string;
          readonly sorted: readonly string[];
        }[];
      },
      events: {} as { type: 'WRITE'; text: string },
    },
  }).createMachine({
    context: { entries: [] },
    on: {
      WRITE: {
        actions: assign({
          entries: ({ context, event }) => [
            ...context.entries,
            {
              at: new Date(delivery().atMs).toISOString(),
              text: `${event.text.toUpperCase()} ${delivery().self}`,
              sorted: event.text.split('').sort(),
            },
          ],
        }),
      },
    },
  }),
);
