import { assign, setup } from 'xstate';

/** A user's machine: six steps, one event each, of which it keeps the last note and a count. */
export const sixSteps = setup({
  types: {
    context: {} as { steps: number; note: string },
    events: {} as { type: 'NEXT'; note: string },
  },
  actions: {
    keep: assign({ steps: ({ context }) => context.steps + 1, note: ({ event }) => event.note }),
  },
}).createMachine({
  id: 'sixSteps',
  context: { steps: 0, note: '' },
  initial: 'first',
  states: {
    first: { on: { NEXT: { target: 'second', actions: 'keep' } } },
    second: { on: { NEXT: { target: 'third', actions: 'keep' } } },
    third: { on: { NEXT: { target: 'fourth', actions: 'keep' } } },
    fourth: { on: { NEXT: { target: 'fifth', actions: 'keep' } } },
    fifth: { on: { NEXT: { target: 'sixth', actions: 'keep' } } },
    sixth: { on: { NEXT: { target: 'done', actions: 'keep' } } },
    done: { type: 'final' },
  },
});
