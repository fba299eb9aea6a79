import type { RecordedEvent, StateValue } from '../events/event.ts';
import type { JsonObject } from '../events/json.ts';
import type { EventLog, StoredTurn } from '../store/event-log.ts';

/** A turn as the log has it: its stimulus by id, origin and person, and every row that it made. */
export interface PastTurn extends Omit<StoredTurn, 'chain' | 'events'> {
  readonly events: readonly RecordedEvent[];
}

const EVENTS_OF_A_CHUNK = 1_000;
const TURNS_OF_A_CHUNK = 100;

/** What happened to an event since it was written: old versions of events as the newest code wants to see them. */
export type Upcast = (event: RecordedEvent) => RecordedEvent;

/**
 * Every turn of a run, in order, and of the runs that it shares turns with: what these told each other cannot be told apart.
 * A run that keeps to itself, as nearly all do, comes alone.
 */
export const turnsOfRun = async (
  log: EventLog,
  run: string,
  upcast: Upcast,
): Promise<readonly PastTurn[]> => {
  const found = new Map<number, PastTurn>();
  const runs = new Set([run]);
  // A set grows while it is gone through.
  for (const each of runs) {
    const missing = (await turnNumbers(log, each)).filter((turn) => !found.has(turn));
    for await (const turn of turnsByNumber(log, missing, upcast)) {
      found.set(turn.turn, turn);
      for (const event of turn.events) runs.add(event.run);
    }
  }
  return [...found.values()].sort((one, other) => one.turn - other.turn);
};

/** Every turn of a log, in order. */
export async function* turnsOfLog(log: EventLog, upcast: Upcast): AsyncGenerator<PastTurn> {
  for (let after = 0; ; after += TURNS_OF_A_CHUNK) {
    const turns = await log.turns({ after, limit: TURNS_OF_A_CHUNK });
    for (const turn of turns) yield toPast(turn, upcast);
    if (turns.length < TURNS_OF_A_CHUNK) return;
  }
}

/** Which turns touched a run, in order. */
const turnNumbers = async (log: EventLog, run: string): Promise<readonly number[]> => {
  const turns = new Set<number>();
  for (let after = 0; ; ) {
    const events = await log.events({ run, after, limit: EVENTS_OF_A_CHUNK });
    for (const { turn } of events) turns.add(turn);
    if (events.length < EVENTS_OF_A_CHUNK) return [...turns];
    after = events.at(-1)?.position ?? after;
  }
};

async function* turnsByNumber(
  log: EventLog,
  numbers: readonly number[],
  upcast: Upcast,
): AsyncGenerator<PastTurn> {
  for (let next = 0; next < numbers.length; ) {
    const first = numbers[next] ?? 0;
    let count = 1;
    while (count < TURNS_OF_A_CHUNK && numbers[next + count] === first + count) count += 1;
    for (const stored of await log.turns({ after: first - 1, limit: count })) yield toPast(stored, upcast);
    next += count;
  }
}

const toPast = ({ turn, id, atMs, origin, by, cause, events }: StoredTurn, upcast: Upcast): PastTurn => ({
  turn,
  id,
  atMs,
  origin,
  by,
  cause,
  events: events.map(({ dataJson, stateJson, ...event }) =>
    upcast({
      ...event,
      // The log checked the row by its digest: the texts are those that the kernel gave with values of these types.
      data: JSON.parse(dataJson) as JsonObject,
      state: JSON.parse(stateJson) as StateValue,
    }),
  ),
});
