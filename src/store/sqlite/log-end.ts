import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';

/** Where a log ends: its last turn, and the position of the last event. Both are 0 in an empty log. */
export interface LogEnd {
  readonly turn: number;
  readonly last: number;
}

/**
 * Reads where a log ends. Turns and events must end together: either table alone would not show that it has lost its end. It is
 * one statement, so that a commit of the writer cannot come in between for someone who only reads.
 *
 * @throws {RuntimeError} LOG_CORRUPT
 */
export function createEndReader(db: Database.Database, file: string): () => LogEnd {
  const select = db.prepare<[], LogEnd & { readonly position: number }>(
    `select coalesce((select max(turn) from turns), 0) as turn,
       coalesce((select last from turns order by turn desc limit 1), 0) as last,
       coalesce((select max(position) from events), 0) as position`,
  );
  return () => {
    const { turn, last, position } = select.get() ?? { turn: 0, last: 0, position: 0 };
    if (last === position) return { turn, last };
    const [what, first] =
      last < position ? ['the row belongs to no turn', last + 1] : ['the row is missing', position + 1];
    throw new RuntimeError('LOG_CORRUPT', { file, position: first, problem: what });
  };
}
