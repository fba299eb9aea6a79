import type { NewEvent, RecordedEvent } from '../events/event.ts';
import type { RecordedTurn, Turn } from '../events/turn.ts';
import { invariant } from '../invariant.ts';

/** Where a turn goes: its number, and the position of its first event. */
export interface TurnPlace {
  readonly turn: number;
  readonly first: number;
}

/** The turn as every log records it at this place. Nothing of the turn is copied or parsed. */
export function recordTurn(turn: Turn, place: TurnPlace): RecordedTurn {
  return {
    id: turn.id,
    turn: place.turn,
    atMs: turn.atMs,
    origin: turn.origin,
    by: turn.by,
    events: turn.events.map((event, index) => recordEvent(event, { turn, place, index })),
    openedCalls: turn.openedCalls.map((call) => withPosition(call, turn, place)),
    closedCalls: turn.closedCalls,
    openedTimers: turn.openedTimers.map((timer) => withPosition(timer, turn, place)),
    closedTimers: turn.closedTimers,
    runs: turn.runs,
  };
}

function recordEvent(
  event: NewEvent,
  { turn, place, index }: { readonly turn: Turn; readonly place: TurnPlace; readonly index: number },
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

function withPosition<Work extends { readonly openedBy: number }>(work: Work, turn: Turn, place: TurnPlace) {
  const { openedBy, ...opened } = work;
  invariant(
    openedBy >= 0 && openedBy < turn.events.length,
    'what a turn opens was opened by one of its events',
  );
  return { ...opened, openedAt: place.first + openedBy };
}
