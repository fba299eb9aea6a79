import type { NewEvent, RecordedEvent } from '../events/event.ts';
import type { OpenCall, OpenTimer, Recorded, RecordedTurn, Turn } from '../events/turn.ts';
import { invariant } from '../invariant.ts';

/** Where a turn goes: its number, and the position of its first event. */
export interface TurnPlace {
  readonly turn: number;
  readonly first: number;
}

/** The turn as every log records it at this place. Nothing of the turn is copied or parsed. */
export function recordTurn(turn: Turn, place: TurnPlace): RecordedTurn {
  const frame = { turn, place };
  return {
    id: turn.id,
    turn: place.turn,
    atMs: turn.atMs,
    origin: turn.origin,
    by: turn.by,
    events: turn.events.map((event, index) => recordEvent(event, index, frame)),
    openedCalls: turn.openedCalls.map((call) => recordCall(call, turn, place)),
    closedCalls: turn.closedCalls,
    openedTimers: turn.openedTimers.map((timer) => recordTimer(timer, turn, place)),
    closedTimers: turn.closedTimers,
    runs: turn.runs,
  };
}

function recordEvent(
  event: NewEvent,
  index: number,
  { turn, place }: { readonly turn: Turn; readonly place: TurnPlace },
): RecordedEvent {
  return {
    position: place.first + index,
    id: `${turn.id}/${index}`,
    turn: place.turn,
    atMs: turn.atMs,
    run: event.run,
    actor: event.actor,
    version: event.version,
    kind: event.kind,
    type: event.type,
    typeVersion: event.typeVersion,
    data: event.data,
    from: event.from,
    // What the stimulus itself caused goes back to the event that opened its call or timer.
    cause: event.causedBy === null ? turn.cause : place.first + event.causedBy,
    machine: event.machine,
    machineVersion: event.machineVersion,
    state: event.state,
  };
}

/** Written out member by member: this runs for every call, and a spread costs ten times more. */
function recordCall(call: Turn['openedCalls'][number], turn: Turn, place: TurnPlace): Recorded<OpenCall> {
  return {
    run: call.run,
    actor: call.actor,
    call: call.call,
    generation: call.generation,
    agent: call.agent,
    machine: call.machine,
    machineVersion: call.machineVersion,
    callId: call.callId,
    attempt: call.attempt,
    input: call.input,
    announce: call.announce,
    openedAt: openedAt(call.openedBy, turn, place),
  };
}

function recordTimer(timer: Turn['openedTimers'][number], turn: Turn, place: TurnPlace): Recorded<OpenTimer> {
  const { run, actor, timer: name, generation, dueMs, openedBy } = timer;
  return { run, actor, timer: name, generation, dueMs, openedAt: openedAt(openedBy, turn, place) };
}

function openedAt(openedBy: number, turn: Turn, place: TurnPlace): number {
  const isOfTurn = openedBy >= 0 && openedBy < turn.events.length;
  invariant(isOfTurn, 'what a turn opens was opened by one of its events');
  return place.first + openedBy;
}
