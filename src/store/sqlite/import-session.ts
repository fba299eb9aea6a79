import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { RunRecord, Turn } from '../../events/turn.ts';
import type { Head, OpenWork } from '../event-log.ts';
import { Appender } from './appender.ts';
import { explainFault } from './faults.ts';
import { forgetLostLog, HeadFile } from './head-file.ts';
import { openForWriting, refuseForeignFile } from './open-database.ts';
import { realFile } from './private-files.ts';
import { createValueWriter } from './stored-values.ts';
import { TurnReader } from './turn-reader.ts';
import { takeWriterLock } from './writer-lock.ts';

/** One long transaction on an empty log. */
export interface ImportSession {
  /** Appends a turn and gives the head after it. */
  append(turn: Turn): Head;
  /** Writes what is open and what runs are at the end of the log. */
  restore(derived: OpenWork & { readonly runs: readonly RunRecord[] }): void;
  putBlob(hash: string, text: string): void;
}

/**
 * Lets `fill` write into a new or empty log. All that it wrote is there once this resolves; if it throws, the log is as empty
 * as it was.
 *
 * @throws {RuntimeError} IMPORT_NOT_EMPTY, and all that opening a log can throw
 */
export async function importInto(
  file: string,
  fill: (session: ImportSession) => Promise<void>,
): Promise<Head> {
  const path = realFile(file);
  refuseForeignFile(path, file);
  const lock = await takeWriterLock(path, file);
  const heads = new HeadFile({ path, file, isKept: true, isRestored: false });
  try {
    forgetLostLog(path);
    const db = openForWriting({ path, file, durability: 'full', exclusive: false });
    try {
      heads.begin(new TurnReader(db, file));
      const head = await fillInOneTransaction(db, file, fill);
      heads.keep(head);
      return head;
    } finally {
      await heads.close();
      db.close();
    }
  } finally {
    lock.release();
  }
}

async function fillInOneTransaction(
  db: Database.Database,
  file: string,
  fill: (session: ImportSession) => Promise<void>,
): Promise<Head> {
  try {
    const turns = new TurnReader(db, file);
    if (turns.head().turn > 0 || db.prepare('select 1 from blobs').get()) {
      throw new RuntimeError('IMPORT_NOT_EMPTY', { file });
    }
    let head = turns.head();
    const appender = new Appender(db);
    const values = createValueWriter(db);
    // Nobody else has this connection, so the transaction may stay open while the next lines are waited for.
    db.exec('begin immediate');
    await fill({
      append: (turn) => {
        head = appender.append({ turns: [turn], snapshots: [] }, head).head;
        return head;
      },
      restore: (derived) => appender.restore(derived),
      putBlob: (hash, text) => values.blob(hash, text),
    });
    db.exec('commit');
    return head;
  } catch (error) {
    if (db.inTransaction) db.exec('rollback');
    throw explainFault(error, { file, doing: 'writing' });
  }
}
