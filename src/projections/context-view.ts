import { type ContextChange, changed, isChangeable } from '../events/context-path.ts';
import type { RecordedEvent, StateValue } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { projection } from './projection.ts';

/** What people read of a run: what was written to its context, the states of its agents, and why it is paused. */
export type ContextView = Record<string, unknown>;

const AGENT_SEGMENT = '/agent:';

const initial: ContextView = {};

/** The read model of a run's context. */
export const contextView = projection({
  name: 'context',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'context.set': (state, event) => foldChange(state, event),
    'context.update': (state, event) => foldChange(state, event),
    'context.push': (state, event) => foldChange(state, event),
    'run.paused': (state, event) => notePause(state, event),
    'run.resumed': (state, event) => notePause(state, event),
    '*': (state, event) => noteAgent(state, event),
  },
});

function foldChange(state: ContextView, event: RecordedEvent): void {
  // The row of the context actor itself: a message that it did not take changed nothing.
  if (event.kind !== 'message' || event.actor !== `${event.run}/context`) return;
  const change = { ...event.data, type: event.type } as unknown as ContextChange; // The actor took it: see `isChangeable`.
  if (isChangeable(change)) apply(state, change);
}

function notePause(state: ContextView, { kind, actor, run, data }: RecordedEvent): void {
  if (kind !== 'fact' || actor !== run || !Array.isArray(data['reasons'])) return;
  apply(state, {
    type: 'context.update',
    path: ['run'],
    value: { paused: data['reasons'].length > 0, pauseReasons: data['reasons'] },
  });
}

function noteAgent(state: ContextView, { machine, actor, run, kind, state: value }: RecordedEvent): void {
  if (machine !== 'lw.agent' || !actor.startsWith(run + AGENT_SEGMENT)) return;
  if (kind !== 'message' && kind !== 'started' && kind !== 'failed' && kind !== 'stopped') return;
  const role = actor.slice(run.length + AGENT_SEGMENT.length);
  const status = kind === 'failed' || kind === 'stopped' ? kind : statusOf(value);
  const agent = memberOf(state['agents'] as Json | undefined, role);
  if (memberOf(agent, 'status') === status) return;
  // It changes with every message: most often there is an object for it that can be changed in place.
  if (isJsonObject(agent) && Object.hasOwn(agent, 'status') && !Object.isFrozen(agent))
    (agent as Record<string, Json>)['status'] = status;
  else apply(state, { type: 'context.set', path: ['agents', role, 'status'], value: status });
}

/** The innermost state that says something: `working.queued` is queued. */
const statusOf = (value: StateValue): string => {
  if (typeof value === 'string') return value;
  const [[outer, inner] = ['', '']] = Object.entries(value);
  return outer === 'working' && typeof inner === 'string' ? inner : outer;
};

const memberOf = (value: Json | undefined, key: string): Json | undefined =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as JsonObject)[key]
    : undefined;

/** Only the member that the path begins with is another: a fold changes its state in place. */
function apply(state: ContextView, change: ContextChange): void {
  const [key] = change.path;
  if (key === undefined) return;
  // All that is in it came from events.
  const next = changed(state as JsonObject, change)[key];
  if (next !== undefined) state[key] = next;
}
