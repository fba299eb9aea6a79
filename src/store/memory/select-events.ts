import type { RecordedEvent } from '../../events/event.ts';
import type { EventQuery } from '../event-log.ts';
import { queryLimit } from '../query-limit.ts';

/** The candidates that fit the query, in its order. `all` is the whole log, to look up the event of `cause` in. */
export function selectEvents(
  candidates: readonly RecordedEvent[],
  query: EventQuery,
  all: readonly RecordedEvent[],
): readonly RecordedEvent[] {
  const limit = queryLimit(query.limit, 1_000);
  const fits = predicate(query, all);
  const found: RecordedEvent[] = [];
  const first = countUpTo(candidates, query.after ?? 0);
  const last = countUpTo(candidates, (query.before ?? Number.POSITIVE_INFINITY) - 1) - 1;
  for (let step = 0; found.length < limit && first + step <= last; step += 1) {
    const event = candidates[query.reverse ? last - step : first + step];
    if (event && fits(event)) found.push(event);
  }
  return found;
}

/** How many of the events are at this position or before. They are in order: whoever follows the log reads only its end. */
function countUpTo(events: readonly RecordedEvent[], position: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.position ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function predicate(query: EventQuery, all: readonly RecordedEvent[]): (event: RecordedEvent) => boolean {
  const { run, actor, types, kinds, cause, turn, fromMs, toMs } = query;
  const causing = cause === undefined ? undefined : all[cause - 1];
  return (event) =>
    (run === undefined || event.run === run) &&
    (actor === undefined || event.actor === actor) &&
    (types === undefined || types.includes(event.type)) &&
    (kinds === undefined || kinds.includes(event.kind)) &&
    (cause === undefined ||
      (causing !== undefined &&
        event.cause === cause &&
        (event.turn === causing.turn || event.run === causing.run))) &&
    (turn === undefined || event.turn === turn) &&
    (fromMs === undefined || event.atMs >= fromMs) &&
    (toMs === undefined || event.atMs < toMs);
}
