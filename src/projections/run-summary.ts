import type { Address, RecordedEvent, StateValue } from '../events/event.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { VERDICTS, type Verdict } from '../events/turn.ts';
import { TYPE } from '../events/vocabulary.ts';
import { projection } from './projection.ts';

const FAILURES_MAX = 20;

interface ActorSummary {
  machine: string;
  version: number;
  state: StateValue;
  status: 'active' | 'done' | 'failed' | 'stopped';
  /** How many messages it was given. */
  messages: number;
}

interface FailureSummary {
  position: number;
  atMs: number;
  actor: Address;
  /** An actor that failed takes no more messages; a call that failed may be made again. */
  what: 'actor' | 'call';
  name: string;
  message: string;
}

/** What there is to say of a run at a glance. */
export interface RunSummary {
  /** Null until the run has started. */
  workflow: string | null;
  status: 'open' | 'ended';
  verdict: Verdict | null;
  startedAtMs: number | null;
  endedAtMs: number | null;
  actors: Record<Address, ActorSummary>;
  /** How many calls of agents were answered, failed, or were answered when nobody waited any more. */
  calls: { done: number; failed: number; late: number };
  deadLetters: number;
  /** The latest 20. */
  failures: FailureSummary[];
}

const initial: RunSummary = {
  workflow: null,
  status: 'open',
  verdict: null,
  startedAtMs: null,
  endedAtMs: null,
  actors: {},
  calls: { done: 0, failed: 0, late: 0 },
  deadLetters: 0,
  failures: [],
};

type SummaryFold = (state: RunSummary, event: RecordedEvent) => void;

/** Every row tells something of its actor, whatever else it tells. */
const andActor =
  (fold: SummaryFold): SummaryFold =>
  (state, event) => {
    noteActor(state, event);
    fold(state, event);
  };

/** Each run at a glance: where it stands, its actors, what was called and what failed. Outputs stay in the log. */
export const runSummary = projection({
  name: 'run-summary',
  version: 1,
  partition: 'run',
  initial,
  on: {
    [TYPE.started]: andActor((state, event) => {
      if (event.actor !== event.run) return;
      state.workflow = event.machine;
      state.startedAtMs = event.atMs;
    }),
    [TYPE.callDone]: andActor((state, { kind }) => {
      if (kind === 'message') state.calls.done += 1;
    }),
    [TYPE.callFailed]: andActor((state, event) => {
      if (event.kind !== 'message') return;
      state.calls.failed += 1;
      noteFailure(state, event, 'call');
    }),
    [TYPE.childDone]: andActor((state, event) => noteEnd(childOf(state, event), 'done')),
    [TYPE.childFailed]: andActor((state, event) => noteEnd(childOf(state, event), 'failed')),
    [TYPE.runEnded]: andActor((state, event) => {
      if (event.kind !== 'fact' || event.actor !== event.run) return;
      const { verdict } = event.data;
      state.status = 'ended';
      state.verdict = VERDICTS.find((known) => known === verdict) ?? null;
      state.endedAtMs = event.atMs;
      noteEnd(actorAt(state, event.actor), 'done');
    }),
    '*': andActor(() => undefined),
  },
});

function noteActor(state: RunSummary, event: RecordedEvent): void {
  if (event.kind === 'undelivered') state.deadLetters += 1;
  if (event.kind === 'late') state.calls.late += 1;
  // These rows are in an actor's stream, but leave the actor as it was.
  if (event.kind === 'undelivered' || event.kind === 'late' || event.kind === 'fact') return;
  const actor = actorAt(state, event.actor) ?? addActor(state, event);
  actor.machine = event.machine;
  actor.version = event.machineVersion;
  actor.state = event.state;
  if (event.kind === 'message') actor.messages += 1;
  if (event.kind === 'failed') noteFailure(state, event, 'actor');
  if (event.kind === 'failed' || event.kind === 'stopped') noteEnd(actor, event.kind);
}

/** Its own member only: an address is free to be the name of something that every object has. */
const actorAt = ({ actors }: RunSummary, address: Address): ActorSummary | undefined =>
  Object.hasOwn(actors, address) ? actors[address] : undefined;

function addActor(
  { actors }: RunSummary,
  { actor, machine, machineVersion, state }: RecordedEvent,
): ActorSummary {
  const added: ActorSummary = { machine, version: machineVersion, state, status: 'active', messages: 0 };
  // The one name that no object can have as a key of its own by assignment: such a run has no actors to show.
  if (actor === '__proto__') return added;
  actors[actor] = added;
  return actors[actor] ?? added;
}

/** The child that a parent is told of: the sender, or else the one with the id that the parent gave it. */
function childOf(state: RunSummary, { actor, from, data }: RecordedEvent): ActorSummary | undefined {
  const sender = from === null ? undefined : actorAt(state, from);
  return sender ?? (typeof data.child === 'string' ? actorAt(state, `${actor}/${data.child}`) : undefined);
}

/** An actor ends once: what is told of it afterwards does not change how it ended. */
function noteEnd(actor: ActorSummary | undefined, status: ActorSummary['status']): void {
  if (actor?.status === 'active') actor.status = status;
}

function noteFailure(
  state: RunSummary,
  { position, atMs, actor, data }: RecordedEvent,
  what: FailureSummary['what'],
): void {
  const { name, message } = failureOf(data.error);
  state.failures.push({ position, atMs, actor, what, name, message });
  if (state.failures.length > FAILURES_MAX) state.failures.shift();
}

/** Whoever made the error decided what is in it; the two texts that people read are taken if they are there. */
function failureOf(error: Json | undefined): { readonly name: string; readonly message: string } {
  if (typeof error === 'string') return { name: 'Error', message: error };
  const { name, message } = isJsonObject(error) ? error : {};
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : 'unknown',
  };
}
