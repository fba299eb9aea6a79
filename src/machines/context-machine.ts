import { assign, emit, setup } from 'xstate';
import { type ContextChange, changed, isChangeable, readPath, valueAt } from '../events/context-path.ts';
import { delivery } from '../events/delivery.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { workflow } from './workflow.ts';

/** Asks for the values at some paths, which come back as `context.values`. */
interface GetEvent {
  readonly type: 'context.get';
  readonly request: string;
  readonly role: string;
  readonly paths: readonly string[];
}

export type ContextEvent = ContextChange | GetEvent;

/** The context of a run: an actor, so that what rules read in a turn is what was written in turns. */
const contextMachine = setup({
  types: {
    context: {} as { readonly data: JsonObject },
    events: {} as ContextEvent,
    emitted: {} as { type: 'context.values'; to: string; request: string; role: string; values: Json },
  },
  actions: {
    change: assign(({ context, event }) =>
      event.type === 'context.get' ? {} : { data: changed(context.data, event) },
    ),
    tell: emit(({ context, event }) => ({
      type: 'context.values' as const,
      to: delivery().from ?? '',
      request: event.type === 'context.get' ? event.request : '',
      role: event.type === 'context.get' ? event.role : '',
      values: event.type === 'context.get' ? valuesAt(context.data, event.paths) : null,
    })),
  },
  guards: {
    isChangeable: ({ event }) => event.type !== 'context.get' && isChangeable(event),
    isAsked: () => delivery().from !== null,
  },
}).createMachine({
  id: 'context',
  context: { data: {} },
  on: {
    'context.set': { guard: 'isChangeable', actions: 'change' },
    'context.update': { guard: 'isChangeable', actions: 'change' },
    'context.push': { guard: 'isChangeable', actions: 'change' },
    'context.get': { guard: 'isAsked', actions: 'tell' },
  },
});

const valuesAt = (data: JsonObject, paths: readonly string[]): Json =>
  Object.fromEntries(paths.map((path) => [path, valueAt(data, readPath(path)) ?? null]));

export const CONTEXT = 'lw.context';
export const contextActor = workflow(CONTEXT, contextMachine);
