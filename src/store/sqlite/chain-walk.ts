import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { EMPTY_CHAIN, turnChain } from '../chain.ts';
import type { VerifyReport } from '../event-log.ts';
import { checkedRow, type EventRow } from './event-rows.ts';
import { explainFault } from './faults.ts';
import { hasItsTypes, type TurnReader, type TurnRow } from './turn-reader.ts';

export type Problem = NonNullable<VerifyReport['problem']>;

/** How many rows are read at a time. */
const CHUNK = 1_000;
/** How many turns are checked when a log is opened. */
const TAIL_TURNS = 50;

/** A place in the log up to which all is well. */
interface Place {
  readonly turn: number;
  readonly position: number;
  readonly chain: string;
  readonly atMs: number;
}

export const BEGINNING: Place = { turn: 0, position: 0, chain: EMPTY_CHAIN, atMs: 0 };

export interface WalkOptions {
  readonly reader: TurnReader;
  readonly from: Place;
  /** The last turn to check. */
  readonly until: number;
  /** Told of each turn that is as it should be. */
  readonly onTurn?: (row: TurnRow, events: readonly EventRow[]) => Problem | undefined;
}

/**
 * Walks turn by turn and row by row, and gives the first thing that is not as it was written: a row that was altered, one that
 * is missing, one too many, or a turn that breaks the chain. Yields now and then, so that who waits may do other things.
 */
export function* walkChain({
  reader,
  from,
  until,
  onTurn,
}: WalkOptions): Generator<void, Problem | undefined> {
  let place = from;
  let rows: readonly EventRow[] = [];
  let next = 0;
  for (;;) {
    const turns = reader.turnRows(place.turn, Math.min(CHUNK, until - place.turn));
    if (turns.length === 0) return place.turn < until ? missingTurn(place) : undefined;
    for (const turn of turns) {
      const problem = headerProblem(turn, place);
      if (problem) return problem;
      const events: EventRow[] = [];
      while (place.position + events.length < turn.last) {
        if (next === rows.length) {
          rows = reader.eventRows(place.position + events.length, CHUNK);
          next = 0;
          yield;
        }
        const row = rows[next];
        const missing = rowProblem(row, { position: place.position + events.length + 1, turn: turn.turn });
        if (!row || missing) return missing;
        events.push(row);
        next += 1;
      }
      const digests = events.map(({ digest }) => digest);
      if (turnChain(place.chain, headerOf(turn), digests) !== turn.chain) {
        return { position: turn.first, what: `turn ${turn.turn} does not match its chain` };
      }
      const other = onTurn?.(turn, events);
      if (other) return other;
      place = { turn: turn.turn, position: turn.last, chain: turn.chain, atMs: turn.at_ms };
    }
    yield;
  }
}

/**
 * Checks the last turns of a log before someone writes behind them, and that nothing stands there yet. The rest is checked when
 * it is read; only if something is wrong, all of the log is walked to name the first row that is.
 *
 * @throws {RuntimeError} LOG_CORRUPT
 */
export function checkTail(db: Database.Database, reader: TurnReader, file: string): void {
  try {
    const head = reader.head();
    const problem =
      problemAfter(reader, startOfTail(reader, head.turn), head.turn) ?? extraRow(db, head.position);
    if (!problem) return;
    const { position, what } = problemAfter(reader, BEGINNING, head.turn) ?? problem;
    throw new RuntimeError('LOG_CORRUPT', { file, position, problem: what });
  } catch (error) {
    throw explainFault(error, { file, doing: 'reading' });
  }
}

function startOfTail(reader: TurnReader, turn: number): Place {
  const [row] = turn > TAIL_TURNS ? reader.turnRows(turn - TAIL_TURNS - 1, 1) : [];
  return row ? { turn: row.turn, position: row.last, chain: row.chain, atMs: row.at_ms } : BEGINNING;
}

function problemAfter(reader: TurnReader, from: Place, until: number): Problem | undefined {
  const walk = walkChain({ reader, from, until });
  for (let step = walk.next(); ; step = walk.next()) if (step.done) return step.value;
}

/** A row that no turn accounts for, after the last one or before the first; or a turn before the first. */
export function extraRow(db: Database.Database, last: number): Problem | undefined {
  const select = (from: string) => db.prepare<[], number>(`select ${from} limit 1`).pluck().get();
  const position =
    select('position from events where position < 1') ??
    select(`position from events where position > ${last} order by position`);
  if (position !== undefined) return { position, what: 'the row belongs to no turn' };
  return select('turn from turns where turn < 1') === undefined
    ? undefined
    : { position: 0, what: 'a turn before the first' };
}

function headerOf({ turn, id, at_ms: atMs, origin, by, cause }: TurnRow) {
  return { turn, id, atMs, origin, by, cause };
}

function headerProblem(row: TurnRow, before: Place): Problem | undefined {
  const { turn, first, last, at_ms: atMs } = row;
  if (turn !== before.turn + 1) return missingTurn(before);
  const position = before.position + 1;
  if (!hasItsTypes(row)) return { position, what: `turn ${turn} has a value of another type` };
  if (first !== position || last < first - 1)
    return { position, what: `turn ${turn} does not say where its rows are` };
  if (atMs < before.atMs) return { position, what: `turn ${turn} is earlier than the one before it` };
  return undefined;
}

function missingTurn({ turn, position }: Place): Problem {
  return { position: position + 1, what: `turn ${turn + 1} is missing` };
}

function rowProblem(
  row: EventRow | undefined,
  expected: { readonly position: number; readonly turn: number },
): Problem | undefined {
  const { position, turn } = expected;
  if (row?.position !== position) return { position, what: 'the row is missing' };
  if (row.turn !== turn || !checkedRow(row)) return { position, what: 'the row does not match its digest' };
  return undefined;
}
