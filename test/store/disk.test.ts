import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import type { EventLog } from '../../src/store/event-log.ts';
import { DiskBrake } from '../../src/store/sqlite/disk-brake.ts';
import { explainFault } from '../../src/store/sqlite/faults.ts';
import { openForWriting } from '../../src/store/sqlite/open-database.ts';
import { createSqliteLog, openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { Transactions } from '../../src/store/sqlite/transactions.ts';
import { readEverything } from './read-everything.ts';
import { fillLog, sampleTurn } from './sample-turns.ts';
import { temporaryFile } from './temporary-directory.ts';

const MIB = 1024 * 1024;
const oneTurn = (n: number) => ({
  turns: [sampleTurn(`t${n}`, [{ actor: 'run-1', version: n }])],
  snapshots: [],
});

describe('G4: a disk that is nearly full', () => {
  test('below the reserve nothing is written and reading goes on; with room again, so does writing', async () => {
    let freeBytes = 100 * MIB;
    const log = await openSqliteLog({
      file: temporaryFile(),
      freeBytes: () => freeBytes,
      reserveBytes: 10 * MIB,
    });
    await log.commit(oneTurn(1));
    freeBytes = 9 * MIB;
    await expect.poll(() => log.commit(oneTurn(2)).catch((error: unknown) => error)).toSatisfy(isDiskLow);
    const before = await readEverything(log);
    const turn = (await log.head()).turn;
    await expect(log.commit(oneTurn(turn + 1))).rejects.toMatchObject({
      code: 'DISK_LOW',
      fields: { freeBytes: 9 * MIB, reserveBytes: 10 * MIB },
    });
    await expect(log.putBlobs(new Map([['a', 'b']]))).rejects.toMatchObject({ code: 'DISK_LOW' });
    await expect(
      log.saveViews([{ projection: 'p', version: 1, partition: 'x', position: 1, state: '1' }]),
    ).rejects.toMatchObject({
      code: 'DISK_LOW',
    });
    expect(await readEverything(log)).toEqual(before);
    // The first write after there is room goes through: nobody has to wait until it is looked at again.
    freeBytes = 100 * MIB;
    await log.commit(oneTurn(turn + 1));
    await log.close();
  });

  const isDiskLow = (error: unknown): boolean => isRuntimeError(error, 'DISK_LOW');

  test('the disk is looked at now and then, not at every write', () => {
    let looks = 0;
    const brake = new DiskBrake({
      file: temporaryFile(),
      freeBytes: () => {
        looks += 1;
        return 1_000 * MIB;
      },
    });
    for (let n = 0; n < 10_000; n += 1) brake.check();
    expect(looks).toBeLessThan(100);
  });

  test('the reserve is 64 MiB unless set, of the disk that the log is on', () => {
    const file = temporaryFile();
    expect(() => new DiskBrake({ file, freeBytes: () => 64 * MIB - 1 }).check()).toThrow(
      'the reserve of 67108864',
    );
    expect(() => new DiskBrake({ file, freeBytes: () => 64 * MIB }).check()).not.toThrow();
    expect(() => new DiskBrake({ file, reserveBytes: Number.MAX_SAFE_INTEGER }).check()).toThrow(
      'bytes left',
    );
  });
});

/** A log whose file may not grow beyond its pages of now, and the way to lift that. */
async function openFullLog(): Promise<{ readonly log: EventLog; readonly liftLimit: () => void }> {
  const file = temporaryFile();
  const db = openForWriting({ path: file, file, durability: 'full', exclusive: false });
  const brake = new DiskBrake({ file, reserveBytes: 0 });
  const transactions = new Transactions({ db, file, durability: 'full', brake });
  const log = createSqliteLog(db, file, { transactions, lock: { release: () => {} } });
  db.pragma('max_page_count = 60');
  return { log, liftLimit: () => db.pragma('max_page_count = 1000000') };
}

/** Writes until the log refuses to, and gives the error. */
async function fillUntilRefused(log: EventLog): Promise<unknown> {
  for (let from = 0; ; from += 5) {
    try {
      await fillLog(log, { turns: 5, from });
    } catch (error) {
      return error;
    }
  }
}

describe('G4: a disk that is full', () => {
  // Method: SQLite refuses to take more pages than it may have, as it does on a full disk, at whatever write comes to need one.
  test('a commit is refused with DISK_FULL, nothing of it is there, and work goes on when there is room', async () => {
    const { log, liftLimit } = await openFullLog();
    const refused = await fillUntilRefused(log);
    expect(refused).toMatchObject({ code: 'DISK_FULL' });
    const acknowledged = (await log.head()).turn;
    expect(acknowledged).toBeGreaterThan(0);
    expect(await log.verify()).toMatchObject({ ok: true, events: acknowledged * 3 });
    const before = await readEverything(log);
    for (let again = 0; again < 5; again += 1) {
      await expect(log.commit({ turns: [hugeTurn()], snapshots: [] })).rejects.toMatchObject({
        code: 'DISK_FULL',
      });
    }
    expect(await readEverything(log)).toEqual(before);
    liftLimit();
    await fillLog(log, { turns: 10, from: acknowledged });
    expect(await log.verify()).toMatchObject({ ok: true, events: (acknowledged + 10) * 3 });
    await log.close();
  });

  const hugeTurn = () =>
    sampleTurn('huge', [{ actor: 'huge', version: 1, data: { text: 'x'.repeat(500_000) } }], {
      atMs: 90_000,
    });
});

describe('what an error of SQLite means', () => {
  const meaning = (code: string, doing: 'reading' | 'writing' = 'writing'): unknown => {
    const explained = explainFault(new Database.SqliteError('it happened', code), { file: 'log.db', doing });
    return isRuntimeError(explained) ? explained.code : explained;
  };

  test.each([
    ['SQLITE_FULL', 'DISK_FULL'],
    ['SQLITE_IOERR_FSYNC', 'LOG_FAULT'],
    ['SQLITE_IOERR_DIR_FSYNC', 'LOG_FAULT'],
    ['SQLITE_IOERR_WRITE', 'LOG_WRITE_FAILED'],
    ['SQLITE_IOERR_SHMSIZE', 'LOG_WRITE_FAILED'],
    ['SQLITE_READONLY_DIRECTORY', 'LOG_WRITE_FAILED'],
    ['SQLITE_BUSY', 'LOG_WRITE_FAILED'],
    ['SQLITE_CORRUPT', 'LOG_CORRUPT'],
    ['SQLITE_CORRUPT_INDEX', 'LOG_CORRUPT'],
    ['SQLITE_NOTADB', 'LOG_CORRUPT'],
  ])('%s: %s', (code, expected) => {
    expect(meaning(code)).toBe(expected);
  });

  test('reading that fails is not called writing', () => {
    expect(meaning('SQLITE_IOERR_READ', 'reading')).toBe('LOG_READ_FAILED');
  });

  test('an error that only a fault of ours can cause stays what it is', () => {
    expect(meaning('SQLITE_CONSTRAINT_NOTNULL')).toBeInstanceOf(Database.SqliteError);
    const other = new TypeError('ours');
    expect(explainFault(other, { file: 'log.db', doing: 'writing' })).toBe(other);
  });
});

describe('G5: after a failed sync', () => {
  // Method: a stand-in for the connection fails at COMMIT as SQLite does when the disk does not confirm. What a real disk does is
  // tried with a file system that fails on demand, elsewhere.
  test('the handle refuses every further write, and reads on', async () => {
    const file = temporaryFile();
    const db = openForWriting({ path: file, file, durability: 'full', exclusive: false });
    const transactions = new Transactions({
      db,
      file,
      durability: 'full',
      brake: new DiskBrake({ file, reserveBytes: 0 }),
    });
    const log = createSqliteLog(db, file, { transactions, lock: { release: () => {} } });
    await log.commit(oneTurn(1));
    expect(() =>
      transactions.run(() => {
        throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      }),
    ).toThrow('whether it is there is unknown');
    await expect(log.commit(oneTurn(2))).rejects.toMatchObject({ code: 'LOG_FAULT' });
    await expect(log.putBlobs(new Map([['a', 'b']]))).rejects.toMatchObject({ code: 'LOG_FAULT' });
    expect(await log.events({})).toHaveLength(1);
    await log.close();
    const again = await openSqliteLog({ file });
    await again.commit(oneTurn(2));
    await again.close();
  });
});
