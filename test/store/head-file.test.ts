import { copyFileSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { importLog } from '../../src/index.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { exportLog } from '../../src/store/transfer.ts';
import { openLedger } from '../support/open-ledger.ts';
import { headOf, refusal, rounds } from '../support/runtimes.ts';
import { fillLog } from './sample-turns.ts';
import { createRandom } from './seeded-random.ts';
import { temporaryFile } from './temporary-directory.ts';

const CUTS = rounds(50, 1_000);
const TURNS = 60;

/** The files of a log whose owner has died: the database, its WAL and the head beside it. */
interface Remains {
  readonly database: Buffer;
  readonly wal: Buffer;
  readonly head: Buffer;
  /** How long the WAL was after each commit. */
  readonly ends: readonly number[];
}

const createRemains = async (): Promise<Remains> => {
  const file = temporaryFile();
  const log = await openSqliteLog({ file });
  const ends: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    await fillLog(log, { turns: 1, from: turn });
    ends.push(readFileSync(`${file}-wal`).length);
  }
  const [database, wal, head] = ['', '-wal', '.head'].map((end) => readFileSync(`${file}${end}`)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  await log.close();
  return { database, wal, head, ends };
};

const layOut = (file: string, { database, wal, head }: Partial<Remains>): void => {
  for (const [end, bytes] of Object.entries({
    '': database,
    '-wal': wal,
    '.head': head,
    '-shm': undefined,
  })) {
    rmSync(`${file}${end}`, { force: true });
    if (bytes) writeFileSync(`${file}${end}`, bytes);
  }
};

/** How many turns a log has to whoever keeps no head of it. */
const turnsIn = async (file: string): Promise<number> => {
  const log = await openSqliteLog({ file, mode: 'read' });
  try {
    return (await log.head()).turn;
  } finally {
    await log.close();
  }
};

/** A flip somewhere, a cut anywhere, a cut at the end of a commit, and no WAL at all, in turn. */
const damaged = (
  { wal, ends }: Remains,
  cut: number,
  below: (limit: number) => number,
): Buffer | undefined => {
  const offset = 32 + below(wal.length - 32);
  if (cut % 4 === 0) return Buffer.from(wal.subarray(0, offset));
  if (cut % 4 === 1) return Buffer.from(wal.subarray(0, ends[below(ends.length)]));
  if (cut % 8 === 2) return undefined;
  const flipped = Buffer.from(wal);
  flipped.writeUInt8(flipped.readUInt8(offset) ^ 0x20, offset);
  return flipped;
};

describe('G9: a log that lost its tail is found by the head beside it', () => {
  // Method: the WAL of a log whose owner has died is cut, flipped or removed. Without the head beside it the rest is a whole log,
  // which is the control; with it a writer is refused and `verify` finds it, if and only if a turn is gone.
  test(`G9: ${CUTS} cuts, flips and lost WALs`, async () => {
    const remains = await createRemains();
    const random = createRandom(19);
    const file = temporaryFile();
    let shorter = 0;
    for (let cut = 0; cut < CUTS; cut += 1) {
      const wal = damaged(remains, cut, (limit) => random.below(limit));
      const left = { database: remains.database, ...(wal && { wal }) };
      layOut(file, left);
      const alone = await openSqliteLog({ file });
      const { turn } = await alone.head();
      expect((await alone.verify()).ok).toBe(true);
      await alone.close();

      layOut(file, { ...left, head: remains.head });
      if (turn === TURNS) {
        await (await openSqliteLog({ file })).close();
        continue;
      }
      shorter += 1;
      const error = await refusal(openSqliteLog({ file }), 'LOG_NOT_AS_LEFT');
      expect(error.fields.problem).toContain(`it ends with turn ${turn} at`);
      // Nothing was touched: whoever only reads finds it, too.
      if (turn > 0) {
        const reader = await openSqliteLog({ file, mode: 'read' });
        const { ok, problem } = await reader.verify();
        expect([ok, problem?.what]).toEqual([false, error.fields.problem]);
        await reader.close();
      }
      if (cut % 10 > 0) continue;
      await (await openSqliteLog({ file, restored: true })).close();
      await (await openSqliteLog({ file })).close();
    }
    expect(shorter).toBeGreaterThan(CUTS / 2);
  });

  test('G9: turns that were removed from the database itself are missed as well', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: TURNS });
    await log.close();
    const db = new Database(file);
    db.exec('delete from events where turn > 40; delete from turns where turn > 40');
    db.close();
    const { fields } = await refusal(openSqliteLog({ file }), 'LOG_NOT_AS_LEFT');
    expect(fields.problem).toMatch(
      /^it ends with turn 40 at position 120, but had 60 turns up to position 180/,
    );
  });

  test('G9: another log in its place is noticed, even if it is longer', async () => {
    const [file, other] = [temporaryFile(), temporaryFile()];
    const [one, two] = [await openLedger(file), await openLedger(other)];
    await one.start('ledger', undefined, { id: 'one' });
    for (const id of ['two', 'three']) await two.start('ledger', undefined, { id });
    await Promise.all([one.close(), two.close()]);
    copyFileSync(other, file);
    const { fields } = await refusal(openLedger(file), 'LOG_NOT_AS_LEFT');
    expect(fields.problem).toMatch(/^turn \d+ is not the one that was last written$/);
  });
});

describe('G9: a log that lost nothing is never refused', () => {
  test('G9: a record that is torn, behind, or not there says nothing', async () => {
    const remains = await createRemains();
    const file = temporaryFile();
    const torn: readonly Buffer[] = [
      Buffer.alloc(0),
      Buffer.alloc(remains.head.length),
      remains.head.subarray(0, 100),
      Buffer.from(remains.head.toString().replace(/ (\d)(\d{15}) /, ' 9$2 ')),
      Buffer.concat([remains.head, Buffer.from('x')]),
    ];
    for (const head of torn) {
      layOut(file, { database: remains.database, head });
      const log = await openSqliteLog({ file });
      expect((await log.head()).turn).toBe(0);
      await fillLog(log, { turns: 1 });
      await log.close();
      expect(readFileSync(`${file}.head`, 'latin1')).toMatch(
        /^loopwright-head 1 0{15}3 0{15}1 [\da-f]{64} [\da-f]{16}\n$/,
      );
    }
    const log = await openSqliteLog({ file });
    const before = readFileSync(`${file}.head`);
    await fillLog(log, { turns: 9, from: 1 });
    await log.close();
    for (const behind of [before, undefined]) {
      layOut(file, { database: readFileSync(file), ...(behind && { head: behind }) });
      expect(await turnsIn(file)).toBe(10);
      await (await openSqliteLog({ file })).close();
    }
  });

  test('G9: a new log, a backup or an import where an older log was begins anew', async () => {
    const [file, source] = [temporaryFile(), temporaryFile()];
    const log = await openSqliteLog({ file: source });
    await fillLog(log, { turns: 3 });
    const lines: string[] = [];
    await exportLog(log, (line) => void lines.push(line));
    const old = await openSqliteLog({ file });
    await fillLog(old, { turns: TURNS });
    await old.close();
    const kept = readFileSync(`${file}.head`);
    const makers = {
      open: () => openSqliteLog({ file }).then((fresh) => fresh.close()),
      backup: () => log.backup(file),
      import: () => importLog(lines, file),
    };
    for (const [name, make] of Object.entries(makers)) {
      rmSync(file);
      writeFileSync(`${file}.head`, kept);
      await make();
      await (await openSqliteLog({ file })).close();
      expect([name, await turnsIn(file)]).toEqual([name, name === 'open' ? 0 : 3]);
    }
    expect(existsSync(`${source}.head`)).toBe(true);
    await log.close();
  });

  // A power cut may take the last commits then: what was noted of them would be an alarm about what was agreed to.
  test('G9: without full durability no head is kept', async () => {
    const file = temporaryFile();
    await (await openSqliteLog({ file })).close();
    const log = await openSqliteLog({ file, durability: 'normal' });
    await fillLog(log, { turns: 3 });
    expect(existsSync(`${file}.head`)).toBe(false);
    await log.close();
    expect(existsSync(`${file}.head`)).toBe(false);
  });

  test('G9: a reader that verifies beside a busy writer sees no lost tail', async () => {
    const file = temporaryFile();
    const writer = await openLedger(file);
    await writer.start('ledger', undefined, { id: 'first' });
    const reader = await openSqliteLog({ file, mode: 'read' });
    for (let round = 0; round < 40; round += 1) {
      const verified = reader.verify();
      await writer.start('ledger', undefined, { id: `run-${round}` });
      await sleep(round % 3);
      expect((await verified).problem).toBeUndefined();
    }
    await reader.close();
    await writer.close();
  });

  // A head that cannot be written is behind, and that is all: a commit needs it no more than a view.
  test('G9: commits go on while the head cannot be written, and it is written when it can', async () => {
    const file = temporaryFile();
    await (await openSqliteLog({ file })).close();
    rmSync(`${file}.head`);
    // Nobody can write through a link, even one that leads to a file.
    const elsewhere = temporaryFile();
    writeFileSync(elsewhere, 'left alone');
    symlinkSync(elsewhere, `${file}.head`);
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: 5 });
    expect(readFileSync(elsewhere, 'utf8')).toBe('left alone');
    rmSync(`${file}.head`);
    await fillLog(log, { turns: 5, from: 5 });
    expect(readFileSync(`${file}.head`, 'latin1')).toMatch(/^loopwright-head 1 0{14}30 0{14}10 /);
    await log.close();
  });
});

test('G9: a runtime takes a backup that was put back on purpose, once it is told so', async () => {
  const [file, backup] = [temporaryFile(), `${temporaryFile()}.old`];
  const before = await openLedger(file);
  await before.start('ledger', undefined, { id: 'one' });
  await before.backup(backup);
  const position = await headOf(before);
  await before.start('ledger', undefined, { id: 'two' });
  await before.close();
  copyFileSync(backup, file);

  const { advice } = await refusal(openLedger(file), 'LOG_NOT_AS_LEFT');
  expect(advice).toContain('createRuntime({ restored: true })');
  const restored = await openLedger(file, { restored: true });
  expect(await headOf(restored)).toBe(position);
  await restored.start('ledger', undefined, { id: 'three' });
  await restored.close();
  const after = await openLedger(file);
  expect((await after.verify()).log.ok).toBe(true);
  await after.close();
});
