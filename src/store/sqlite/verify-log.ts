import { setImmediate } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { isRuntimeError, RuntimeError } from '../../errors.ts';
import type { Address } from '../../events/event.ts';
import type { Head, OpenWork, StoredView, VerifyOptions, VerifyReport, ViewKey } from '../event-log.ts';
import { BEGINNING, extraRow, type Problem, walkChain } from './chain-walk.ts';
import { explainFault } from './faults.ts';
import { type FiledHead, headProblem } from './head-file.ts';
import type { RunReader } from './run-table.ts';
import type { createValueReader } from './stored-values.ts';
import type { TurnReader } from './turn-reader.ts';

export interface VerifyParts extends VerifyOptions {
  readonly db: Database.Database;
  readonly file: string;
  /** What was kept of the log beside it, read before anything of the log: a commit in between does no harm then. */
  readonly kept: FiledHead | undefined;
  readonly turns: TurnReader;
  readonly runs: RunReader;
  readonly values: ReturnType<typeof createValueReader>;
  readonly readWork: () => OpenWork;
  /** Throws once the log is closed. */
  readonly mustBeOpen: () => void;
}

/**
 * Checks all of a log up to the head that it has now: every row, the chain, then what is derived. It pauses between chunks, so
 * that a log in use goes on meanwhile; what is committed then is left to the next check.
 */
export async function verifyLog(parts: VerifyParts): Promise<VerifyReport> {
  const head = readHead(parts);
  if ('what' in head) return { ok: false, events: 0, head: BEGINNING, problem: head };
  const problem =
    (await chainProblem(parts, head)) ?? tailProblem(parts) ?? (await derivedProblem(parts, head));
  return { ok: problem === undefined, events: head.position, head, problem };
}

function readHead({ turns, file }: VerifyParts): Head | Problem {
  try {
    return turns.head();
  } catch (error) {
    return asProblem(explainFault(error, { file, doing: 'reading' }));
  }
}

async function chainProblem(
  { db, file, turns, mustBeOpen, onProgress }: VerifyParts,
  head: Head,
): Promise<Problem | undefined> {
  const isListed = db
    .prepare<[string | null, number], number>(
      'select 1 from run_turns where run = (select id from runs where name = ?) and turn = ?',
    )
    .pluck();
  let checked = 0;
  let listed = 0;
  try {
    const walk = walkChain({
      reader: turns,
      from: BEGINNING,
      until: head.turn,
      onTurn: (turn, events) => {
        checked = turn.last;
        const runs = new Set(events.map(({ run }) => run));
        listed += runs.size;
        const lost = [...runs].find((run) => isListed.get(run, turn.turn) === undefined);
        return lost === undefined
          ? undefined
          : { position: turn.first, what: `the run "${lost}" does not list turn ${turn.turn}` };
      },
    });
    for (let step = walk.next(); ; step = walk.next()) {
      if (step.done && step.value) return step.value;
      if (step.done) break;
      onProgress?.(checked);
      await setImmediate();
      mustBeOpen();
    }
    const count = db
      .prepare<[number], number>('select count(*) from run_turns where turn <= ?')
      .pluck()
      .get(head.turn);
    if (count !== listed) return { position: 0, what: 'a run lists a turn that did not touch it' };
    // A commit may have come since: its rows are accounted for by its turns.
    return extraRow(db, turns.head().position);
  } catch (error) {
    return asProblem(explainFault(error, { file, doing: 'reading', position: checked + 1 }));
  }
}

/** A log that lost its tail is whole by itself. */
function tailProblem({ turns, kept }: VerifyParts): Problem | undefined {
  return kept && headProblem(turns, kept);
}

async function derivedProblem(parts: VerifyParts, head: Head): Promise<Problem | undefined> {
  const { db, file, runs, readWork, values, mustBeOpen } = parts;
  try {
    const found = String(db.pragma('integrity_check(1)', { simple: true }));
    if (isUnread(found)) throw new RuntimeError('LOG_READ_FAILED', { file, problem: found });
    if (found !== 'ok') return { position: 0, what: found };
    const { calls, timers } = readWork();
    const end = parts.turns.head().position;
    const early = [...calls, ...timers].find(({ openedAt }) => openedAt < 1 || openedAt > end);
    if (early)
      return { position: head.position, what: `"${early.actor}" has open work that no event opened` };
    runs.runs({});
    checkSnapshots(db, (actor, id) => values.snapshot(actor, id));
    checkViews(db, (key) => values.view(key));
    for (let after = ''; ; ) {
      const hashes = values.blobHashes(after, 100);
      for (const hash of hashes) values.blob(hash);
      const last = hashes.at(-1);
      if (last === undefined) return undefined;
      after = last;
      await setImmediate();
      mustBeOpen();
    }
  } catch (error) {
    return asProblem(explainFault(error, { file, doing: 'reading' }));
  }
}

const IO_ERROR = 10;

/** Whether SQLite could not look at a page: its code is that of an error of the system, with the kind of error above it. */
function isUnread(found: string): boolean {
  const [, code] = /error code=(\d+)/.exec(found) ?? [];
  return code !== undefined && (Number(code) & 0xff) === IO_ERROR;
}

function checkSnapshots(db: Database.Database, read: (actor: Address, id: number) => unknown): void {
  const owners = db.prepare<[], { readonly id: number; readonly address: string | null }>(
    'select s.actor as id, a.address from snapshots s left join actors a on a.id = s.actor',
  );
  for (const { id, address } of owners.all()) read(address ?? '', id);
}

function checkViews(db: Database.Database, read: (key: ViewKey) => StoredView | undefined): void {
  for (const key of db.prepare<[], ViewKey>('select projection, version, partition from views').all())
    read(key);
}

/** Damage is what was looked for; any other error means that nobody could look. */
function asProblem(error: unknown): Problem {
  if (isRuntimeError(error, 'LOG_CORRUPT'))
    return { position: error.fields.position, what: error.fields.problem };
  throw error;
}
