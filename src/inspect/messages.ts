import type { ActorState, RecordedEvent, Redactor, ReplayStep, Workflow } from '../index.ts';
import { SHOWN, shown } from './shown.ts';

/** The version of the protocol of `@statelyai/inspect` that is spoken. */
const PROTOCOL = '0.7.2';

interface Base {
  /** Unique, and the same each time that the log is shown. */
  readonly id: string;
  /** The address of the actor that it is about. */
  readonly sessionId: string;
  /** The run. */
  readonly rootId: string;
  /** Milliseconds since 1970: when it happened, not when it is shown. */
  readonly createdAt: string;
  readonly _version: string;
}

interface ShownSnapshot {
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly value: unknown;
  readonly context: unknown;
  readonly tags: readonly string[];
}

interface ShownEvent {
  readonly type: string;
}

/** A message as Stately Inspector reads it. */
export type InspectionMessage = Base &
  (
    | {
        readonly type: '@xstate.actor';
        readonly name: string;
        readonly parentId: string | undefined;
        /** JSON of the machine's config. */
        readonly definition: string | undefined;
        readonly snapshot: ShownSnapshot;
      }
    | { readonly type: '@xstate.event'; readonly sourceId: string | undefined; readonly event: ShownEvent }
    | { readonly type: '@xstate.snapshot'; readonly event: ShownEvent; readonly snapshot: ShownSnapshot }
  );

export interface MessagePorts {
  readonly machines: () => readonly Workflow[];
  readonly redactor: Redactor;
}

/** Turns steps of a replay into what an inspector is told: actors, messages and states, in the order in which they came. */
export const createTeller = ({
  machines,
  redactor,
}: MessagePorts): ((step: ReplayStep) => readonly InspectionMessage[]) => {
  const told = new Set<string>();
  return ({ event, after }) => {
    const { actor, run, atMs, id } = event;
    const base = (part: string): Base => ({
      id: `${id}#${part}`,
      sessionId: actor,
      rootId: run,
      createdAt: String(atMs),
      _version: PROTOCOL,
    });
    const snapshot = snapshotOf(after, redactor);
    const messages: InspectionMessage[] = [];
    if (!told.has(actor)) {
      told.add(actor);
      const parent = actor.includes('/') ? actor.slice(0, actor.lastIndexOf('/')) : undefined;
      const definition = definitionOf(event, machines(), redactor);
      const name = actor.slice(actor.lastIndexOf('/') + 1);
      messages.push({
        ...base('actor'),
        type: '@xstate.actor',
        name,
        parentId: parent,
        definition,
        snapshot,
      });
    }
    const sent = eventOf(event, redactor);
    // What an actor states for everyone comes from itself.
    const sourceId = event.kind === 'fact' ? actor : (event.from ?? undefined);
    messages.push({ ...base('event'), type: '@xstate.event', sourceId, event: sent });
    if (moves(event)) messages.push({ ...base('snapshot'), type: '@xstate.snapshot', event: sent, snapshot });
    return messages;
  };
};

const moves = ({ kind }: RecordedEvent): boolean =>
  kind !== 'fact' && kind !== 'undelivered' && kind !== 'late';

const STATUS = { active: 'active', done: 'done', failed: 'error', stopped: 'stopped' } as const;

const snapshotOf = ({ status, value, context, tags }: ActorState, redactor: Redactor): ShownSnapshot => ({
  status: STATUS[status],
  value,
  context: shown(context ?? {}, redactor),
  tags,
});

/** The row as the event that its machine was given, so that the inspector finds the transition. */
const eventOf = ({ kind, type, data }: RecordedEvent, redactor: Redactor): ShownEvent => ({
  ...(shown(data, redactor) as object),
  type: kind === 'message' || kind === 'started' ? machineType(type, data) : type,
});

const machineType = (type: string, { call, child, timer }: RecordedEvent['data']): string => {
  switch (type) {
    case 'lw.started':
      return 'xstate.init';
    case 'lw.call.done':
      return `xstate.done.actor.${named(call)}`;
    case 'lw.call.failed':
      return `xstate.error.actor.${named(call)}`;
    case 'lw.child.done':
      return `xstate.done.actor.${named(child)}`;
    case 'lw.child.failed':
      return `xstate.error.actor.${named(child)}`;
    case 'lw.call.begun':
      return 'call.begun';
    case 'lw.timer.fired':
      return named(timer).startsWith('xstate.') ? named(timer) : type;
    default:
      return type;
  }
};

const named = (name: unknown): string => (typeof name === 'string' ? name : '');

/** A definition is shown whole, down to any depth: it is the author's, and what is cut would not be the machine. */
const WHOLE = { text: SHOWN.text, items: Number.POSITIVE_INFINITY, depth: 64 };

const definitionOf = (
  { machine, machineVersion }: RecordedEvent,
  machines: readonly Workflow[],
  redactor: Redactor,
): string | undefined => {
  const found = machines.find(({ name, version }) => name === machine && version === machineVersion);
  return found && JSON.stringify(shown({ id: found.machine.id, ...found.machine.config }, redactor, WHOLE));
};
