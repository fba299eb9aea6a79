import { assign, emit, enqueueActions, setup } from 'xstate';
import { startActor } from '../../src/events/vocabulary.ts';
import { type Json, type Workflow, workflow } from '../../src/index.ts';
import { type Message, RUN } from './scene.ts';

interface Child {
  readonly id: string;
  readonly machine: string;
  readonly input: Json;
}

/** A parent for a machine that never runs alone: it starts it, says what it is told to say, and listens to all. */
export const stage = (...children: readonly Child[]): Workflow =>
  workflow(
    'stage',
    setup({
      types: {
        context: {} as { heard: null },
        events: {} as { type: 'say'; to: string; message: { type: string } } | { type: 'other' },
        emitted: {} as { type: string },
      },
    }).createMachine({
      id: 'stage',
      context: { heard: null },
      entry: enqueueActions(({ enqueue }) => {
        for (const child of children) enqueue.emit(startActor(child));
      }),
      on: {
        say: {
          actions: emit(({ event }) => ({ ...event.message, to: `./${event.to}` })),
        },
        '*': { actions: assign({ heard: null }) },
      },
    }),
  ) as Workflow;

/** What a child of the stage hears of its parent. */
export const said = (to: string, message: Message['message']): Message => ({
  to: RUN,
  message: { type: 'say', to, message },
});

/** The same from outside: whoever it is, it is not the parent. */
export const shouted = (to: string, message: Message['message']): Message => ({
  to: `${RUN}/${to}`,
  message,
});
