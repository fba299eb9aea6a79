import { createHash, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { realFile } from '../store/sqlite/private-files.ts';

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
