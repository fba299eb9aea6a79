import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { explainFault, isBusy } from './faults.ts';
import { createPrivateFile, explainSystemError, isSystemError, realFile } from './private-files.ts';

/** How long to wait for the winner of a race to write its name down. */
const NAME_WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 20;

export interface WriterLock {
  release(): void;
}

interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: string;
  readonly title?: string;
}

/**
 * Makes this process the one writer of the log at `path` until it releases the lock or dies, however it dies.
 *
 * The lock is an open transaction on a small database beside the log; the name of its owner is in a plain file, since nobody
 * else can read what that transaction writes. IMMEDIATE is one step of the system (a lock on one byte), so that of many who
 * start at once exactly one wins; EXCLUSIVE takes three, and two starters can refuse each other in between.
 *
 * @throws {RuntimeError} LOG_LOCKED, with the owner
 */
export async function takeWriterLock(path: string, file: string = path): Promise<WriterLock> {
  const lockPath = `${path}.lock`;
  createPrivateFile(lockPath, file);
  let db: Database.Database | undefined;
  try {
    db = new Database(lockPath, { timeout: 0 });
    // Without a journal file: one that a killed owner left would have to be rolled back first, which again takes turns.
    db.pragma('journal_mode = MEMORY');
    db.exec('begin immediate');
    writeOwner(path, file);
    return holding(db, path);
  } catch (error) {
    db?.close();
    if (!isBusy(error)) throw explainFault(error, { file, doing: 'writing' });
    throw new RuntimeError('LOG_LOCKED', { file, owner: await nameOwner(path) }, { cause: error });
  }
}

function holding(db: Database.Database, path: string): WriterLock {
  return {
    release() {
      if (!db.open) return;
      // The name goes while the lock is still held: later it could be the name of the next owner.
      rmSync(ownerPath(path), { force: true });
      db.close();
    },
  };
}

/** Who holds the log, in words. Waits a little if the name in the file is of someone who is gone: the new one is being written. */
export async function nameOwner(path: string): Promise<string> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const owner = readOwner(path);
    const isLast = waitedMs >= NAME_WITHIN_MS;
    if (owner && (isLast || isAlive(owner))) {
      const title = owner.title ? ` (${owner.title})` : '';
      return `process ${owner.pid}${title} on ${owner.host}, started ${owner.startedAt}`;
    }
    if (isLast) return 'a process that has not given its name';
    await sleep(LOOK_EVERY_MS);
  }
}

/** Which process of this machine, or of another one, says that it works on a log; undefined if none does. */
export function logOwner(file: string): string | undefined {
  const owner = readOwner(realFile(file));
  return owner && isAlive(owner)
    ? `process ${owner.pid} on ${owner.host}, started ${owner.startedAt}`
    : undefined;
}

function ownerPath(path: string): string {
  return `${path}.owner`;
}

/** Written beside and renamed, so that nobody reads half a name. */
function writeOwner(path: string, file: string): void {
  const startedAtMs = Date.now() - process.uptime() * 1_000;
  const owner: Owner = {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date(startedAtMs).toISOString(),
    title: process.title,
  };
  const draft = `${ownerPath(path)}.${process.pid}`;
  try {
    rmSync(draft, { force: true });
    writeFileSync(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, ownerPath(path));
  } catch (error) {
    throw explainSystemError(error, file);
  }
}

function readOwner(path: string): Owner | undefined {
  try {
    // Whatever is in the file is only ever shown to a person; the fields that are used are checked below.
    const owner = JSON.parse(readFileSync(ownerPath(path), 'utf8')) as Owner;
    const isNamed =
      Number.isSafeInteger(owner.pid) &&
      typeof owner.host === 'string' &&
      typeof owner.startedAt === 'string';
    return isNamed ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Of another host we cannot tell; its word is taken. */
function isAlive({ pid, host }: Owner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isSystemError(error, 'EPERM');
  }
}
