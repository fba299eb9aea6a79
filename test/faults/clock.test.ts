import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { clockEnvironment } from '../support/faultfs.ts';
import { rounds } from '../support/runtimes.ts';
import { startWorker } from '../support/worker-process.ts';

interface Clocks {
  readonly offsetMs?: number;
  readonly speed?: number;
  readonly zone?: string;
}

/** A process with alarms, whose clocks are not those of the machine. */
const startAlarms = async (file: string, { offsetMs = 0, speed = 1, zone = 'UTC' }: Clocks) => {
  const clocks = join(dirname(file), 'clocks');
  writeFileSync(clocks, new BigInt64Array([BigInt(offsetMs), BigInt(speed)]));
  const worker = startWorker('timer-worker', {
    arguments: [file],
    environment: { ...clockEnvironment(clocks), TZ: zone },
  });
  const times = async (beginning: string) => {
    const [wallMs = 0, monotonicMs = 0] = (await worker.line(beginning)).split(' ').slice(-2).map(Number);
    return { wallMs, monotonicMs };
  };
  await worker.line('OPEN');
  return {
    async set(id: string, delayMs: number) {
      worker.say(`set ${id} ${delayMs}\n`);
      const setting = await times(`SETTING ${id} `);
      await worker.line(`SET ${id}`);
      return setting;
    },
    rung: (id: string) => times(`RUNG ${id} `),
    async end() {
      worker.kill();
      await worker.ended;
    },
  };
};

const firedIn = async (file: string): Promise<readonly string[]> => {
  const log = await openLog(file);
  const fired = await log.events({ types: ['lw.timer.fired'], limit: Number.POSITIVE_INFINITY });
  await log.close();
  return fired.map(({ run }) => run);
};

/** How much later than it should an alarm may ring on a busy machine. */
const LATE_MS = 2_000;

describe('G18: a process whose clocks are not those of the machine', () => {
  // Method: all clocks of a real process go a hundred times faster. By its own clocks no timer may be early; by ours none may take as
  // long as it says, or the clocks were not faster.
  it('G18: a hundred times faster, timers fire once each, in order, and never early', async () => {
    const file = temporaryFile();
    const alarms = await startAlarms(file, { speed: 100 });
    const delays = Array.from({ length: rounds(10, 250) }, (_, index) => 20_000 + 997 * (index % 40));
    const begun = performance.now();
    const set = [];
    for (const [index, delayMs] of delays.entries()) set.push(await alarms.set(`a${index}`, delayMs));
    for (const [index, delayMs] of delays.entries()) {
      const { wallMs, monotonicMs } = await alarms.rung(`a${index}`);
      const before = set[index] ?? { wallMs: 0, monotonicMs: 0 };
      // Its clocks are read one after the other: one of them may be a few of its milliseconds behind.
      expect(monotonicMs - before.monotonicMs).toBeGreaterThanOrEqual(delayMs - 100);
      expect(wallMs - before.wallMs).toBeGreaterThanOrEqual(delayMs - 100);
    }
    expect(performance.now() - begun).toBeLessThan(Math.max(...delays));
    await alarms.end();
    expect((await firedIn(file)).toSorted()).toEqual(delays.map((_, index) => `a${index}`).toSorted());
  });

  // Method: the wall clock is just before the hour that a zone does not have, or has twice, when the alarms are set.
  it.each([
    ['spring', Date.UTC(2026, 2, 29, 1)],
    ['autumn', Date.UTC(2026, 9, 25, 1)],
  ])('G18: over the change of the clocks in %s, timers fire on time', async (_season, changeMs) => {
    for (let round = 0; round < rounds(2, 50); round += 1) {
      const file = temporaryFile();
      const alarms = await startAlarms(file, {
        offsetMs: changeMs - 600 - Date.now(),
        zone: 'Europe/Berlin',
      });
      const set = await alarms.set('short', 700);
      await alarms.set('hour', 3_600_000);
      const rung = await alarms.rung('short');
      const tookMs = rung.monotonicMs - set.monotonicMs;
      expect(tookMs).toBeGreaterThanOrEqual(699);
      expect(tookMs).toBeLessThan(700 + LATE_MS);
      expect(rung.wallMs).toBeGreaterThan(changeMs);
      await alarms.end();
      expect(await firedIn(file)).toEqual(['short']);
    }
  });
});
