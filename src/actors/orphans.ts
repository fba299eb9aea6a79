import { createHash, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { realFile } from '../store/sqlite/private-files.ts';
import { endProcesses } from './end-processes.ts';
import { listProcesses, mayHaveProcesses } from './processes.ts';

/** Nobody will take the answers of orphans: they get less time than those that someone waits for. */
const ORPHAN_GRACE_MS = 2_000;

/**
 * What the processes of one log are known by. The same for as long as the log is the same file in the same place: a path alone
 * could be that of another log inside of a container, whose processes are seen from outside.
 */
export const logTag = (file: string | null): string => {
  if (file === null) return randomUUID();
  const path = realFile(file);
  const found = statSync(path, { throwIfNoEntry: false });
  return createHash('sha256')
    .update(JSON.stringify([path, found?.dev ?? 0, found?.ino ?? 0]))
    .digest('hex')
    .slice(0, 32);
};

/**
 * Ends the processes that an earlier runtime on this log left behind when it was killed, and says so. Only for the one who
 * holds the log's lock: it knows that nobody else's are among them.
 */
export const reapOrphans = async (log: string): Promise<readonly string[]> => {
  if (!(await mayHaveProcesses(log))) return [];
  const find = async () => (await listProcesses())?.filter((found) => found.log === log) ?? [];
  const { met, left } = await endProcesses({ find, graceMs: ORPHAN_GRACE_MS });
  return met.map(({ pid, name, call }) => {
    const outcome = left.some((one) => one.pid === pid) ? 'could not be ended' : 'was ended';
    return `The process ${pid} (${name}) of the call "${call}", left behind by an earlier runtime, ${outcome}.`;
  });
};
