import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { explainFault } from './faults.ts';
import { dropHeadFile } from './head-file.ts';
import { createPrivateFile, realFile, syncDirectory } from './private-files.ts';

/** More pages than a database can have: the copy is made in one step. */
const ALL_PAGES = 0x7f_ff_ff_ff;
const PAGES_AT_ONCE = 100;

/**
 * Copies a log that may be in use, through SQLite: a copy of the file alone would lack what is still in the WAL. The copy gets
 * its name when it is whole, so that a crash never leaves half of one under it.
 *
 * The writer's own connection copies in small steps and takes its commits along. To anyone else a commit in between would
 * mean to start over, so a reader copies in one step.
 */
export async function backupTo(db: Database.Database, file: string): Promise<void> {
  const path = realFile(file);
  if (createPrivateFile(path, file) === 'exists') throw new RuntimeError('FILE_EXISTS', { file });
  const draft = `${path}.partial`;
  try {
    rmSync(draft, { force: true });
    createPrivateFile(draft, file);
    await db.backup(draft, { progress: () => (db.readonly ? ALL_PAGES : PAGES_AT_ONCE) });
    // What was kept of a log that had this name before says nothing of this one.
    dropHeadFile(path);
    renameSync(draft, path);
    syncDirectory(dirname(path));
  } catch (error) {
    for (const made of [draft, `${draft}-journal`, path]) rmSync(made, { force: true });
    throw explainFault(error, { file, doing: 'writing' });
  }
}
