import { chmodSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openInbox } from '../../src/store/inbox.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { fillLog } from './sample-turns.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The modes of all files in a directory, by name. */
function modesIn(directory: string): Readonly<Record<string, string>> {
  const names = readdirSync(directory).toSorted();
  return Object.fromEntries(names.map((name) => [name, modeOf(join(directory, name))]));
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe('S5: nobody else can read a log', () => {
  // Method: with a umask that allows everything, whatever is not told to be private would be open to all.
  test('every file that belongs to a log is 0600, and a directory that we make is 0700', async () => {
    const umask = process.umask(0);
    onTestFinished(() => {
      process.umask(umask);
    });
    const directory = join(temporaryDirectory(), 'made', 'by-us');
    const file = join(directory, 'log.db');
    const log = await openSqliteLog({ file });
    const inbox = openInbox(file);
    inbox.post({ id: 'a', kind: 'pause', body: '{}', by: null, atMs: 1 });
    await fillLog(log, { turns: 10 });
    await log.backup(join(directory, 'copy.db'));
    expect(modesIn(directory)).toEqual(
      Object.fromEntries(
        [
          'copy.db',
          'log.db',
          'log.db-shm',
          'log.db-wal',
          'log.db.head',
          'log.db.inbox',
          'log.db.lock',
          'log.db.owner',
        ].map((name) => [name, '600']),
      ),
    );
    expect(modeOf(directory)).toBe('700');
    expect(modeOf(dirname(directory))).toBe('700');
    await log.close();
    inbox.close();
    expect(new Set(Object.values(modesIn(directory)))).toEqual(new Set(['600']));
  });

  test('a file that someone else has opened up stays as its owner wants it', async () => {
    const file = join(temporaryDirectory(), 'log.db');
    await (await openSqliteLog({ file })).close();
    chmodSync(file, 0o640);
    await (await openSqliteLog({ file })).close();
    expect(modeOf(file)).toBe('640');
  });
});
