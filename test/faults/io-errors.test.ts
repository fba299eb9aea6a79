import { chmodSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isRuntimeError } from 'loopwright';
import { describe, expect, test, vi } from 'vitest';
import { DiskBrake } from '../../src/store/sqlite/disk-brake.ts';
import { openForWriting } from '../../src/store/sqlite/open-database.ts';
import { createSqliteLog } from '../../src/store/sqlite/sqlite-event-log.ts';
import { Transactions } from '../../src/store/sqlite/transactions.ts';
import { takeWriterLock } from '../../src/store/sqlite/writer-lock.ts';
import { temporaryDirectory, temporaryFile } from '../store/temporary-directory.ts';
import { EIO, ENOSPC, faultEnvironment, sharedPlan } from '../support/faultfs.ts';
import { Gate } from '../support/gate.ts';
import { entry } from '../support/ledger.ts';
import { mountExt4, mountTmpfs, whyNoMounts } from '../support/mounts.ts';
import { ledgerRun, openLedger } from '../support/open-ledger.ts';
import { runCommand } from '../support/run-command.ts';
import { isDeep, rounds } from '../support/sample-sizes.ts';
import { checkLedger, verifyLedger } from '../support/verify-ledger.ts';
import { startWorker, type WorkerOptions } from '../support/worker-process.ts';
import type { PointReport } from '../workers/io-error-worker.ts';

const MEBIBYTE = 1024 * 1024;
// Far more than it takes, for a machine that is busy with other things.
if (!isDeep) vi.setConfig({ testTimeout: 300_000 });
const noMounts = whyNoMounts();
if (noMounts !== undefined)
  console.warn(`Tests that fill a disk are left out, and a quota stands for it: ${noMounts}`);

const upTo = (last: number, step = 1): readonly number[] =>
  Array.from({ length: Math.floor((last - 1) / step) + 1 }, (_, index) => 1 + index * step);

interface Scenario {
  readonly scenario: 'write' | 'open' | 'sync' | 'checkpoint' | 'read' | 'flip' | 'short';
  readonly error: number;
  readonly points: readonly number[];
  readonly operation?: 'write' | 'sync';
  /** Of the paths of files that are affected; all that are made for the log unless set. */
  readonly match?: string;
  /** Those that are not, all the same. */
  readonly except?: string;
}

/** Runs a scenario of the worker at all points, in one process that must live to the end. */
async function reportsOf({
  match,
  except,
  points,
  error,
  ...scenario
}: Scenario): Promise<readonly PointReport[]> {
  const directory = temporaryDirectory();
  const place = join(directory, 'log');
  const plan = join(directory, 'plan');
  mkdirSync(place);
  sharedPlan(plan).clear();
  const options = { directory: place, plan, ...scenario, error, points: points.join() };
  const worker = startWorker('io-error-worker', {
    arguments: Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    environment: faultEnvironment(plan, match ?? place, except),
  });
  expect(await worker.ended).toEqual({ code: 0, signal: null, errors: '' });
  // The worker prints nothing else.
  const reports = worker.lines.slice(0, -1).map((line) => JSON.parse(line) as PointReport);
  expect(reports.map(({ point }) => point)).toEqual(points);
  return reports;
}

const problemsIn = (reports: readonly PointReport[]) => reports.filter(({ problems }) => problems.length > 0);

describe.each([
  ['ENOSPC', ENOSPC, 'DISK_FULL'],
  ['EIO', EIO, 'LOG_WRITE_FAILED'],
] as const)('%s', (_name, error, code) => {
  const points = upTo(rounds(96, 400), rounds(5, 1, 15));

  // Method: the worker lets the Nth write from now on fail, and all after it (or only that one). Entries are refused, and meanwhile
  // an agent answers and a timer fires. Then writing works again, and what was kept must be in the log, once.
  test(`G4: at any write, entries are refused, and answers and timers kept (${points.length} points)`, async () => {
    const reports = await reportsOf({ scenario: 'write', error, points });

    expect(problemsIn(reports)).toEqual([]);
    expect(new Set(reports.map(({ refusal }) => refusal ?? code))).toEqual(new Set([code]));
    expect(reports.filter(({ during }) => during === 'sending').length).toBeGreaterThan(points.length / 2);
  });

  test('G4: at any write of its making, a log is refused, and made when there is room', async () => {
    const reports = await reportsOf({
      scenario: 'open',
      error,
      points: upTo(rounds(50, 150), rounds(7, 1, 16)),
    });

    expect(problemsIn(reports)).toEqual([]);
    const refusals = new Set(reports.map(({ refusal }) => refusal));
    expect([...refusals, null]).toEqual(expect.arrayContaining([code, null]));
    for (const refusal of refusals)
      expect(refusal).toBeOneOf(['DISK_FULL', 'LOG_WRITE_FAILED', 'LOG_READ_FAILED', null]);
  });
});

// Method: one sync fails, as if the disk had lost what was written. It must not be tried again on the same handle.
describe('EIO on a sync', () => {
  const points = isDeep ? upTo(60) : [2, 3, 4, 5, 6, 8, 11, 15, 20, 30];

  test(`G5: whoever waits is told, the process lives, and the log opens anew with all that was acknowledged (${points.length} points)`, async () => {
    // Directories are left out: SQLite does not mind whether they could be synced.
    const match = '/log/log.db';
    const reports = await reportsOf({ scenario: 'sync', error: EIO, points, match, except: '.head' });

    expect(problemsIn(reports)).toEqual([]);
    expect(new Set(reports.map(({ refusal }) => refusal))).toEqual(new Set(['LOG_FAULT']));
  });

  test('G5: the same if a checkpoint cannot be synced', async () => {
    const reports = await reportsOf({
      scenario: 'checkpoint',
      error: EIO,
      points: [1],
      match: '/log/log.db$',
    });

    expect(reports).toEqual([{ point: 1, during: 'sending', refusal: 'LOG_FAULT', problems: [] }]);
  });

  test('G5: a log that cannot be synced while it is made is refused, and made later', async () => {
    const reports = await reportsOf({
      scenario: 'open',
      operation: 'sync',
      error: EIO,
      points: upTo(7, isDeep ? 1 : 3),
      match: '/log/log',
    });

    expect(problemsIn(reports)).toEqual([]);
    expect(new Set(reports.map(({ refusal }) => refusal))).toEqual(new Set(['LOG_FAULT']));
  });
});

// Method: each point is a log of its own, which a process writes (or has written), and the next one looks at, as it was left and as a
// kill would have left it.
describe('a disk that does not say what it does', () => {
  test('G7: reads that fail are told, and the log is whole when they do not', async () => {
    const points = upTo(21, isDeep ? 1 : 4);
    const reports = await reportsOf({ scenario: 'read', error: EIO, points, match: 'log.db$' });

    expect(problemsIn(reports)).toEqual([]);
    // What cannot be read is damage to SQLite, if it needs it to find its way through the file.
    for (const { refusal } of reports)
      expect(refusal).toBeOneOf(['LOG_READ_FAILED', 'LOG_CORRUPT', 'verify']);
    expect(reports.filter(({ refusal }) => refusal === 'LOG_READ_FAILED').length).toBeGreaterThan(0);
  });

  test.each([
    ['WAL', 'log.db-wal$', upTo(150, isDeep ? 1 : 29)],
    ['database', 'log.db$', upTo(19, isDeep ? 1 : 6)],
  ])(
    'G7: a bit of a write to the %s that is another does no harm, or is found',
    async (_file, match, points) => {
      const reports = await reportsOf({ scenario: 'flip', error: 0, points, match });

      expect(problemsIn(reports)).toEqual([]);
      for (const { refusal } of reports)
        expect(refusal).toBeOneOf([null, 'verify', 'LOG_CORRUPT', 'NOT_A_LOG', 'LOG_NOT_AS_LEFT']);
      // Bits that nobody ever reads would prove nothing. Of a page of the database many are of no use; of the WAL each counts.
      const found = reports.filter(({ refusal }) => refusal !== null).length;
      if (isDeep || match.includes('wal')) expect(found).toBeGreaterThan(points.length / 4);
    },
  );

  test('G3: a write that is only half done is gone on with', async () => {
    const points = upTo(200, rounds(50, 1));
    const reports = await reportsOf({ scenario: 'short', error: 0, points });

    expect(reports).toEqual(
      points.map((point) => ({ point, during: 'nothing', refusal: null, problems: [] })),
    );
  });
});

/** Lets the worker work until it is refused, makes room, and lets it end. Gives what it was refused with. */
async function fillAndMakeRoom(
  file: string,
  makeRoom: (pid: number) => void,
  options: WorkerOptions = {},
): Promise<string> {
  const given = ['--file', file, ...(options.arguments ?? [])];
  const worker = startWorker('disk-worker', { ...options, arguments: given });
  const [, refusal = ''] = (await worker.line('ERROR')).split(' ');
  makeRoom(worker.pid);
  expect(await worker.ended).toEqual({ code: 0, signal: null, errors: '' });
  expect(worker.lines.filter((line) => line.startsWith('PROBLEM'))).toEqual([]);
  expect(worker.lines.slice(-2)).toEqual(['ON', 'END']);
  expect((await verifyLedger(file, new Map())).problems).toEqual([]);
  return refusal;
}

describe('no room', () => {
  test('G4: a file that may not grow is LOG_WRITE_FAILED, and work goes on when it may', async () => {
    const makeRoom = (pid: number) => runCommand('prlimit', '--pid', String(pid), '--fsize=unlimited');

    expect(await fillAndMakeRoom(temporaryFile(), makeRoom, { before: 'ulimit -S -f 300' })).toBe(
      'LOG_WRITE_FAILED',
    );
  });

  test('G4: a used-up quota is DISK_FULL, and work goes on when it is raised', async () => {
    const file = temporaryFile();
    const lock = await takeWriterLock(file);
    const db = openForWriting({ path: file, file, durability: 'full', exclusive: false });
    const brake = new DiskBrake({ file, reserveBytes: 0 });
    const log = createSqliteLog(db, file, {
      lock,
      transactions: new Transactions({ db, file, durability: 'full', brake }),
    });
    const gate = new Gate();
    const runtime = await openLedger(file, { log, fetch: gate.fetch });
    const run = await ledgerRun(runtime);
    const errand = await runtime.start('errand', { name: 'large' });
    const acknowledged = new Map<number, number>();
    const addAll = async (last: number): Promise<unknown> => {
      for (let n = acknowledged.size + 1; n <= last; n += 1) {
        const receipt = await run.send(entry(n)).catch((error: unknown) => error);
        if (receipt instanceof Error) return receipt;
        acknowledged.set(n, Number((receipt as { position?: number }).position));
      }
      return undefined;
    };

    db.pragma('max_page_count = 80');
    const refusal = await addAll(10_000);
    gate.open('large');
    const again = await addAll(10_000);
    const counted = (await run.state()).context.entries;
    db.pragma('max_page_count = 100000');
    const { verdict } = await errand.result();
    const afterwards = await addAll(acknowledged.size + 20);

    expect(isRuntimeError(refusal, 'DISK_FULL') && isRuntimeError(again, 'DISK_FULL')).toBe(true);
    expect(counted).toBe(acknowledged.size - 20);
    expect(verdict).toBe('verified');
    expect(afterwards).toBeUndefined();
    expect(await checkLedger(runtime, acknowledged)).toEqual({ problems: [], entries: acknowledged.size });
    await runtime.close();
  });

  // Modes mean nothing to root: then the worker takes another uid before it opens the log again.
  test.each([
    ['written to', 0o755, ['ERROR LOG_READ_FAILED', 'ERROR LOG_WRITE_FAILED']],
    ['looked into', 0o700, ['ERROR LOG_READ_FAILED', 'ERROR LOG_READ_FAILED']],
  ])(
    'G4: a log and a new one in a directory that may not be %s are typed errors',
    async (_what, mode, refusals) => {
      const directory = temporaryDirectory();
      chmodSync(directory, mode);
      const worker = startWorker('disk-worker', {
        arguments: ['--file', join(directory, 'log', 'log.db'), '--readonly'],
      });

      expect(await worker.ended).toEqual({ code: 0, signal: null, errors: '' });
      expect(worker.lines).toEqual([...refusals, 'END']);
    },
  );

  test.runIf(noMounts === undefined)(
    'G4: a full tmpfs is DISK_FULL, and work goes on when it grows',
    async () => {
      const { path, resize } = mountTmpfs(1_024);

      expect(await fillAndMakeRoom(join(path, 'log.db'), () => resize(16_384))).toBe('DISK_FULL');
    },
  );
});

// Method: the brake is to stop all writing before the disk is full, since a full disk can kill a process that shares a log.
describe('the low-disk brake', () => {
  test('G4: below the reserve everything new is refused with DISK_LOW, and everything can be read', async () => {
    const file = temporaryFile();
    const before = await openLedger(file);
    await (await ledgerRun(before)).send(entry(1));
    await before.close();
    const { bavail, bsize } = statfsSync(dirname(file));
    const runtime = await openLedger(file, { reserveBytes: bavail * bsize * 2 });
    const run = await ledgerRun(runtime);

    await expect(run.send(entry(2))).rejects.toMatchObject({ code: 'DISK_LOW' });
    await expect(runtime.start('errand', { name: 'none' })).rejects.toMatchObject({ code: 'DISK_LOW' });
    expect((await run.state()).context.entries).toBe(1);
    expect(await checkLedger(runtime, new Map([[1, 3]]))).toEqual({ problems: [], entries: 1 });
    await runtime.close();
    expect(await verifyLedger(file, new Map([[1, 3]]))).toEqual({ problems: [], entries: 1 });
  });

  test.runIf(noMounts === undefined)('G4: work goes on by itself when there is room again', async () => {
    const { path } = mountTmpfs(16 * 1_024);
    const ballast = join(path, 'ballast');
    writeFileSync(ballast, Buffer.alloc(10 * MEBIBYTE));
    const options = { arguments: ['--reserve', String(4 * MEBIBYTE)] };

    expect(await fillAndMakeRoom(join(path, 'log.db'), () => rmSync(ballast), options)).toBe('DISK_LOW');
  });

  // Method: on ext4 with small blocks, a page of mapped memory that finds no block is a SIGBUS, which nobody can catch.
  describe.runIf(isDeep && noMounts === undefined)('on ext4', () => {
    test.each([
      ['the brake stops a run in time', ['--reserve', String(3 * MEBIBYTE)], 'DISK_LOW'],
      ['in exclusive mode a run survives that there is not one block', ['--exclusive'], 'DISK_FULL'],
    ])('G4: %s', async (_what, given, code) => {
      for (let round = 0; round < 10; round += 1) {
        const path = mountExt4(12);
        const ballast = join(path, 'ballast');
        writeFileSync(ballast, Buffer.alloc(4 * MEBIBYTE + round * 10_000));
        const options = { arguments: [...given, '--stay', '500'] };

        expect(await fillAndMakeRoom(join(path, 'log.db'), () => rmSync(ballast), options)).toBe(code);
      }
    });

    /** Opens a log and appends to it while the disk has so much left. Gives how the process ended. */
    const appendWith = async (freeKib: number, ...given: readonly string[]) => {
      const path = mountExt4(8);
      const file = join(path, 'log.db');
      const before = await openLedger(file, { reserveBytes: 0 });
      await (await ledgerRun(before)).send(entry(1));
      await before.close();
      const ballast = join(path, 'ballast');
      const { bavail, bsize } = statfsSync(path);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - freeKib * 1_024));
      const worker = startWorker('append-worker', {
        arguments: ['--file', file, '--entries', '5', '--reserve', '0', ...given],
      });
      const { signal } = await worker.ended;
      rmSync(ballast);
      expect((await verifyLedger(file, worker.acknowledged)).problems).toEqual([]);
      return signal;
    };
    const rooms = upTo(80, 3);

    test('G4: a process that opens a log in exclusive mode lives, however little room there is', async () => {
      for (const freeKib of rooms)
        expect([freeKib, await appendWith(freeKib, '--exclusive')]).toEqual([freeKib, null]);
    });

    test('G4: a process that shares a log, without the brake, dies (or the tests above prove nothing)', async () => {
      const signals = new Set<string | null>();
      for (const freeKib of rooms) signals.add(await appendWith(freeKib));
      expect(signals).toContain('SIGBUS');
    });
  });
});
