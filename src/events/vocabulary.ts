import type { Json } from './json.ts';

/** What types of messages the runtime keeps for itself: nobody outside may send them, or finished work could be forged. */
const RESERVED_PREFIXES = ['xstate.', '@xstate.', 'lw.'];

export const isReservedType = (type: string): boolean =>
  RESERVED_PREFIXES.some((prefix) => type.startsWith(prefix));

/** The types of the rows that the runtime writes by itself. Their data is described in docs/ARCHITECTURE.md. */
export const TYPE = {
  started: 'lw.started',
  callDone: 'lw.call.done',
  callFailed: 'lw.call.failed',
  callBegun: 'lw.call.begun',
  timerFired: 'lw.timer.fired',
  childDone: 'lw.child.done',
  childFailed: 'lw.child.failed',
  failed: 'lw.failed',
  stopped: 'lw.stopped',
  migrated: 'lw.migrated',
  runEnded: 'lw.run.ended',
  /** Not rows: what a machine emits to start or stop a child of its own making. */
  start: 'lw.start',
  stop: 'lw.stop',
} as const;

/** The version of the rows above that this code writes. Older ones pass through readers. */
export const SYSTEM_TYPE_VERSION = 1;

/** The event that a machine is sent when a call of it that is announced leaves the agent's queue and begins to run. */
export const CALL_BEGUN = 'call.begun';

/** The tag of states in which a run waits for a person: `run.settled()` resolves there too. */
export const WAITING_TAG = 'waiting';

/**
 * What a machine emits to start a child actor: `emit(startActor({ id: 'q1', machine: 'question', input }))`. Its address
 * is the parent's and the id; the parent reaches it as `./q1` and is told of its end like of any invoked child's.
 */
export const startActor = (child: {
  readonly id: string;
  readonly machine: string;
  readonly input?: Json;
}) => ({
  type: TYPE.start,
  id: child.id,
  machine: child.machine,
  input: child.input ?? null,
});

/** What a machine emits to stop a child that it started: its calls and timers are closed, its own children stopped. */
export const stopActor = (id: string) => ({ type: TYPE.stop, id });
