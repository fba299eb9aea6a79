import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EventLog } from '../../src/store/event-log.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { rounds } from '../support/sample-sizes.ts';
import { readEverything } from './read-everything.ts';
import { fillLog } from './sample-turns.ts';
import { temporaryDirectory, temporaryFile } from './temporary-directory.ts';

const BACKUPS = rounds(20, 1_000);

/** Commits until it is told to stop. */
function keepCommitting(log: EventLog, from: number) {
  const stop = new AbortController();
  let turns = from;
  const done = (async () => {
    while (!stop.signal.aborted) {
      await fillLog(log, { turns: 5, from: turns });
      turns += 5;
      await setImmediate();
    }
  })();
  return {
    /** How many turns are acknowledged. */
    acknowledged: () => turns,
    stop: async () => {
      stop.abort();
      await done;
    },
  };
}

describe('G23: backups', () => {
  // Method: commit all the time, and take backups meanwhile. Each must verify, hold all that was acknowledged before it began,
  // and be a state that the log really had.
  test(`${BACKUPS} backups under load: each is whole and holds what was acknowledged before`, async () => {
    const directory = temporaryDirectory();
    const log = await openSqliteLog({ file: `${directory}/log.db`, durability: 'normal' });
    await fillLog(log, { turns: 400 });
    const load = keepCommitting(log, 400);
    let growth = 0;
    for (let n = 0; n < BACKUPS; n += 1) {
      const acknowledged = load.acknowledged();
      const copy = `${directory}/copy-${n}.db`;
      await log.backup(copy);
      growth += load.acknowledged() - acknowledged;
      const restored = await openSqliteLog({ file: copy, mode: 'read' });
      const { ok, head } = await restored.verify();
      expect(ok).toBe(true);
      expect(head.turn).toBeGreaterThanOrEqual(acknowledged);
      const [same] = await log.turns({ after: head.turn - 1, limit: 1 });
      expect(same?.chain).toBe(head.chain);
      await restored.close();
      for (const beside of ['', '-wal', '-shm']) rmSync(`${copy}${beside}`, { force: true });
    }
    await load.stop();
    // The control: there was load while the backups were taken.
    expect(growth).toBeGreaterThan(0);
    await log.close();
  });

  test('a backup is a log: it opens for writing and goes on', async () => {
    const directory = temporaryDirectory();
    const log = await openSqliteLog({ file: `${directory}/log.db` });
    await fillLog(log, { turns: 50 });
    await log.backup(`${directory}/copy.db`);
    const before = await readEverything(log);
    await log.close();
    const restored = await openSqliteLog({ file: `${directory}/copy.db` });
    expect(await readEverything(restored)).toEqual(before);
    await fillLog(restored, { turns: 20, from: 50 });
    expect((await restored.verify()).ok).toBe(true);
    await restored.close();
  });

  test('a reader takes one while the writer goes on', async () => {
    const directory = temporaryDirectory();
    const log = await openSqliteLog({ file: `${directory}/log.db`, durability: 'normal' });
    await fillLog(log, { turns: 200 });
    const reader = await openSqliteLog({ file: `${directory}/log.db`, mode: 'read' });
    const load = keepCommitting(log, 200);
    await reader.backup(`${directory}/copy.db`);
    await load.stop();
    const restored = await openSqliteLog({ file: `${directory}/copy.db`, mode: 'read' });
    const { ok, head } = await restored.verify();
    expect(ok).toBe(true);
    expect(head.turn).toBeGreaterThanOrEqual(200);
    await Promise.all([log.close(), reader.close(), restored.close()]);
  });

  test('overwrites nothing, and leaves nothing behind when it fails', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    const taken = temporaryFile('notes.txt');
    writeFileSync(taken, 'important');
    await expect(log.backup(taken)).rejects.toMatchObject({ code: 'FILE_EXISTS' });
    await expect(log.backup('/dev/null/copy.db')).rejects.toMatchObject({ code: 'LOG_WRITE_FAILED' });
    expect(readdirSync(dirname(taken))).toEqual(['notes.txt']);
    await log.close();
  });

  test('closing waits for a backup that is being taken', async () => {
    const directory = temporaryDirectory();
    const log = await openSqliteLog({ file: `${directory}/log.db` });
    await fillLog(log, { turns: 100 });
    const backup = log.backup(`${directory}/copy.db`);
    await log.close();
    await backup;
    expect(existsSync(`${directory}/copy.db.partial`)).toBe(false);
    const restored = await openSqliteLog({ file: `${directory}/copy.db`, mode: 'read' });
    expect((await restored.head()).turn).toBe(100);
    await restored.close();
  });
});
