import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { EventLog, Head } from '../../src/store/event-log.ts';
import { againstHead } from '../../src/store/kept-head.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { openLedger } from '../support/open-ledger.ts';
import { rounds } from '../support/runtimes.ts';
import { fillLog } from './sample-turns.ts';
import { createRandom } from './seeded-random.ts';
import { temporaryFile } from './temporary-directory.ts';

const CUTS = rounds(50, 1_000);
const TURNS = 60;

/** A WAL of a log that was never moved into its database, and the head after each turn. */
const createWal = async (): Promise<{ wal: Buffer; heads: readonly Head[] }> => {
  const file = temporaryFile();
  const log = await openSqliteLog({ file });
  await fillLog(log, { turns: TURNS });
  const turns = await log.turns({ limit: TURNS });
  const heads = turns.map(({ turn, chain, atMs, events }) => ({
    turn,
    chain,
    atMs,
    position: events.at(-1)?.position ?? 0,
  }));
  const wal = readFileSync(`${file}-wal`);
  await log.close();
  return { wal, heads };
};

/** Opens what is left of a log of which there is only this WAL. */
const openWal = async (file: string, wal: Buffer): Promise<EventLog> => {
  for (const beside of ['-wal', '-shm', '.head']) rmSync(`${file}${beside}`, { force: true });
  writeFileSync(file, Buffer.alloc(0));
  writeFileSync(`${file}-wal`, wal);
  return openSqliteLog({ file });
};

describe('G9: a tail that is gone is found by a head that was kept elsewhere', () => {
  // Method: a WAL is cut short, or one byte of it flipped: SQLite silently drops all commits after that. What is left is whole by
  // itself, which is the control; the head of every turn that it has lost must show it, and none of a turn that it has.
  test(`G9: ${CUTS} cuts and flips`, async () => {
    const { wal, heads } = await createWal();
    const random = createRandom(9);
    const file = temporaryFile();
    let shorter = 0;
    for (let cut = 0; cut < CUTS; cut += 1) {
      const offset = 32 + random.below(wal.length - 32);
      const damaged = cut % 2 === 0 ? Buffer.from(wal.subarray(0, offset)) : Buffer.from(wal);
      if (cut % 2 === 1) damaged.writeUInt8(damaged.readUInt8(offset) ^ 0x20, offset);
      const log = await openWal(file, damaged);
      const { turn } = await log.head();
      if (turn < TURNS) shorter += 1;
      const alone = await log.verify();
      expect(alone.ok).toBe(true);
      for (const kept of [heads[turn - 1], heads[turn], heads.at(-1), heads[0]]) {
        if (!kept) continue;
        const { ok, problem } = await againstHead(log, alone, kept);
        expect([turn, kept.turn, ok]).toEqual([turn, kept.turn, kept.turn <= turn]);
        if (!ok)
          expect(problem?.what).toBe(
            `it ends with turn ${turn}, but had ${kept.turn} when the head was kept`,
          );
      }
      await log.close();
    }
    expect(shorter).toBeGreaterThan(CUTS / 4);
  });

  test('G9: a log that was written anew is another, even if it is as long', async () => {
    const [one, other] = [await openLedger(temporaryFile()), await openLedger(temporaryFile())];
    await one.start('ledger', undefined, { id: 'one' });
    await other.start('ledger', undefined, { id: 'other' });
    const { head } = (await one.verify()).log;
    const alone = (await other.verify()).log;
    expect([alone.ok, alone.head.turn]).toEqual([true, head.turn]);
    const { ok, problem } = (await other.verify({ head })).log;
    expect([ok, problem?.what]).toEqual([false, `turn ${head.turn} is not the one whose head was kept`]);
    await Promise.all([one.close(), other.close()]);
  });

  test('G9: a runtime says so when it verifies an older copy of its log', async () => {
    const [file, copy] = [temporaryFile(), temporaryFile()];
    const runtime = await openLedger(file);
    await runtime.start('ledger', undefined, { id: 'one' });
    await runtime.backup(`${copy}.old`);
    await runtime.start('ledger', undefined, { id: 'two' });
    const { head } = (await runtime.verify()).log;
    expect((await runtime.verify({ head })).log.ok).toBe(true);
    await runtime.close();

    const older = await openLedger(`${copy}.old`, { idle: true });
    expect((await older.verify()).log.ok).toBe(true);
    const { log, replay } = await older.verify({ head });
    expect([log.ok, replay.ok]).toEqual([false, true]);
    expect(log.problem?.what).toMatch(/^it ends with turn \d+, but had \d+ when the head was kept$/);
    await older.close();
  });
});
