import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assign, raise, setup } from 'xstate';
import { type Runtime, workflow } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { clockEnvironment } from '../support/faultfs.ts';
import { alarm } from '../support/machines.ts';
import {
  createFakeClock,
  expectReplays,
  type FakeClock,
  open,
  readFile,
  rounds,
} from '../support/runtimes.ts';
import { startWorker } from '../support/worker-process.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

const openAlarms = (file: string, clock: FakeClock) => open({ file, workflows: [alarm], agents: {}, clock });

/** Everything that the clock has set off is committed. */
const quiet = async (runtime: Runtime): Promise<void> => {
  await new Promise((done) => setImmediate(done));
  await runtime.send('nobody', { type: 'STOP' }).catch(() => undefined);
};

const rungAt = async (runtime: Runtime, run: string): Promise<readonly number[]> =>
  (await runtime.audit({ run, types: ['lw.timer.fired'] })).map(({ atMs }) => atMs);

const openTimers = (file: string): unknown =>
  readFile(file, (db) => db.prepare('select count(*) from timers').pluck().get());

describe('G18: timers', () => {
  it('G18: a timer survives restarts, fires once, and never early', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const startMs = clock.now();
    const first = await openAlarms(file, clock);
    await first.start('alarm', { delayMs: 1_000 }, { id: 'a' });
    clock.advance(500);
    await quiet(first);
    await first.close();
    expect(openTimers(file)).toBe(1);

    const second = await openAlarms(file, clock);
    clock.advance(499);
    await quiet(second);
    expect((await second.actor('a')).value).toBe('set');
    clock.advance(1);
    await quiet(second);
    expect(await second.actor('a')).toMatchObject({ value: 'rung', context: { rings: 1 } });
    await second.close();
    expect(openTimers(file)).toBe(0);

    const third = await openAlarms(file, clock);
    clock.leap(DAY_MS);
    await quiet(third);
    expect(await rungAt(third, 'a')).toEqual([startMs + 1_000]);
    expect(clock.waiting).toBe(0);
    await third.close();
    await expectReplays(file, [alarm]);
  });

  it('G18: what is due while nobody is there fires once when the log is opened again', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const first = await openAlarms(file, clock);
    for (const delayMs of [3_000, 1_000, 2_000])
      await first.start('alarm', { delayMs }, { id: `after-${delayMs}` });
    await first.close();
    clock.advance(2_500);
    const openedAtMs = clock.now();

    const second = await openAlarms(file, clock);
    clock.advance(0);
    await quiet(second);
    const rung = await second.audit({ types: ['lw.timer.fired'] });
    expect(rung.map(({ run, atMs }) => [run, atMs])).toEqual([
      ['after-1000', openedAtMs],
      ['after-2000', openedAtMs],
    ]);
    await second.close();
    await expectReplays(file, [alarm]);
  });

  it('G18: a timer may be longer than 24.8 days, the most that Node itself can wait', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const first = await openAlarms(file, clock);
    await first.start('alarm', { delayMs: 60 * DAY_MS }, { id: 'a' });
    await first.start('alarm', { delayMs: Number.MAX_SAFE_INTEGER }, { id: 'never' });
    clock.leap(59 * DAY_MS);
    await quiet(first);
    expect(await rungAt(first, 'a')).toEqual([]);
    await first.close();
    clock.leap(DAY_MS - 1);

    const second = await openAlarms(file, clock);
    await quiet(second);
    expect(await rungAt(second, 'a')).toEqual([]);
    clock.advance(1);
    await quiet(second);
    expect(await rungAt(second, 'a')).toEqual([clock.now()]);
    expect(await rungAt(second, 'never')).toEqual([]);
    await second.close();
    await expectReplays(file, [alarm]);
  });

  it("G18: with the machine's own clock a timer of 25 days does not fire at once", async () => {
    const runtime = await open({ file: temporaryFile(), workflows: [alarm], agents: {} });
    const run = await runtime.start('alarm', { delayMs: 25 * DAY_MS });
    const soon = await runtime.start('alarm', { delayMs: 30 });
    await expect.poll(async () => (await soon.state()).value).toBe('rung');
    expect((await run.state()).value).toBe('set');
  });

  it('G18: a timer of a state that was left does not fire; one that is set anew begins anew', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const runtime = await openAlarms(file, clock);
    const stopped = await runtime.start('alarm', { delayMs: 1_000 }, { id: 'stopped' });
    const snoozed = await runtime.start('alarm', { delayMs: 1_000 }, { id: 'snoozed' });
    const cancelled = await runtime.start('alarm', { delayMs: 1_000 }, { id: 'cancelled' });
    clock.advance(600);
    await Promise.all([stopped.send({ type: 'STOP' }), snoozed.send({ type: 'SNOOZE' }), cancelled.cancel()]);
    clock.advance(999);
    await quiet(runtime);
    expect((await snoozed.state()).context.rings).toBe(0);
    clock.advance(1);
    await quiet(runtime);
    expect((await snoozed.state()).context.rings).toBe(1);
    clock.advance(10_000);
    await quiet(runtime);
    expect((await runtime.audit({ types: ['lw.timer.fired'] })).map(({ run }) => run)).toEqual(['snoozed']);
    await runtime.close();
    expect(openTimers(file)).toBe(0);
    await expectReplays(file, [alarm]);
  });

  it('G18: an event that is raised with a delay is as durable as a timer of a state', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const later = workflow(
      'later',
      setup({
        types: { context: {} as { heard: number }, events: {} as { type: 'GO' } | { type: 'LATER' } },
      }).createMachine({
        context: { heard: 0 },
        on: {
          GO: { actions: raise({ type: 'LATER' }, { id: 'later', delay: 5_000 }) },
          LATER: { actions: assign({ heard: ({ context }) => context.heard + 1 }) },
        },
      }),
    );
    const first = await open({ file, workflows: [later], agents: {}, clock });
    const run = await first.start('later', null, { id: 'l' });
    await run.send({ type: 'GO' });
    await first.close();
    const second = await open({ file, workflows: [later], agents: {}, clock });
    clock.advance(4_999);
    await quiet(second);
    expect((await second.actor('l')).context).toEqual({ heard: 0 });
    clock.advance(1);
    await quiet(second);
    expect((await second.actor('l')).context).toEqual({ heard: 1 });
    await second.close();
    await expectReplays(file, [later]);
  });

  // Method: alarms of any length, with time passing and restarts between them in any order. Each must ring exactly once, not
  // before its time, and (as time passes in steps while the runtime is open) at the step that passes it.
  it('G18: whatever the delays and restarts, each timer fires exactly once, and not early', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), delayMs: fc.integer({ min: 0, max: 5_000 }) }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 2_000 }) }),
      fc.constant({ kind: 'reopen' as const }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const file = temporaryFile();
        const clock = createFakeClock();
        let runtime = await openAlarms(file, clock);
        const due = new Map<string, number>();
        for (const [index, each] of steps.entries()) {
          if (each.kind === 'set') {
            await runtime.start('alarm', { delayMs: each.delayMs }, { id: `a${index}` });
            due.set(`a${index}`, clock.now() + each.delayMs);
          } else if (each.kind === 'pass') {
            clock.advance(each.ms);
            await quiet(runtime);
          } else {
            await runtime.close();
            runtime = await openAlarms(file, clock);
          }
        }
        clock.advance(6_000);
        await quiet(runtime);
        await runtime.close();
        const second = await openAlarms(file, clock);
        for (const [id, dueMs] of due) {
          const rung = await rungAt(second, id);
          expect(rung).toHaveLength(1);
          expect(rung[0]).toBeGreaterThanOrEqual(dueMs);
        }
        await second.close();
      }),
      { numRuns: rounds(15, 1_000), seed: 18 },
    );
  });
});

const HOUR_MS = 60 * 60 * 1_000;

/** A process with alarms, whose wall clock can be set while it runs. */
const startAlarms = async (file: string) => {
  const offsetFile = join(dirname(file), 'offset');
  let offsetMs = 0;
  const write = () =>
    writeFileSync(offsetFile, new BigInt64Array([BigInt(offsetMs)]), {
      flag: existsSync(offsetFile) ? 'r+' : 'w',
    });
  write();
  const start = async () => {
    const started = startWorker('timer-worker', {
      arguments: [file],
      environment: clockEnvironment(offsetFile),
    });
    await started.line('OPEN');
    return started;
  };
  let worker = await start();
  const times = (line: string) => {
    const [wallMs = 0, monotonicMs = 0] = line.split(' ').slice(-2).map(Number);
    return { wallMs, monotonicMs };
  };
  return {
    /** Sets an alarm; gives both clocks as they were just before. */
    async set(id: string, delayMs: number) {
      worker.say(`set ${id} ${delayMs}\n`);
      const setting = times(await worker.line(`SETTING ${id} `));
      await worker.line(`SET ${id}`);
      return setting;
    },
    /** Both clocks when it rang. */
    rung: async (id: string) => times(await worker.line(`RUNG ${id} `)),
    rings: (id: string) => worker.lines.filter((line) => line.startsWith(`RUNG ${id} `)).length,
    /** Sets the wall clock, as it is seen by the process. */
    shift(byMs: number) {
      offsetMs += byMs;
      write();
    },
    async reopen() {
      const opened = worker.lines.filter((line) => line.startsWith('OPEN')).length;
      worker.say('reopen\n');
      await expect.poll(() => worker.lines.filter((line) => line.startsWith('OPEN')).length).toBe(opened + 1);
    },
    async killAndRestart() {
      worker.kill();
      await worker.ended;
      worker = await start();
      return times(await worker.line('OPEN'));
    },
    async end() {
      worker.kill();
      await worker.ended;
    },
  };
};

const ROUNDS = rounds(10, 250);
/** How much later than it should an alarm may ring on a busy machine. */
const LATE_MS = 1_500;

// Method: a real process with a library that shifts its wall clock, and nothing else. Both clocks are written down by the
// process itself.
describe('G18: the wall clock is set while timers run', () => {
  it('G18: set back by an hour, a timer of 300 ms still fires after about 300 ms', async () => {
    const file = temporaryFile();
    const alarms = await startAlarms(file);
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `back-${round}`;
      const set = await alarms.set(id, 300);
      alarms.shift(-HOUR_MS);
      if (round % 3 === 1) await alarms.reopen();
      const rung = await alarms.rung(id);
      const tookMs = rung.monotonicMs - set.monotonicMs;
      expect(tookMs).toBeGreaterThanOrEqual(299);
      expect(tookMs).toBeLessThan(300 + LATE_MS);
      // The shift was real.
      expect(rung.wallMs).toBeLessThan(set.wallMs);
    }
    await alarms.end();
    const second = await open({ file, workflows: [alarm], agents: {} });
    const events = await second.audit({ types: ['lw.timer.fired'] });
    expect(events).toHaveLength(ROUNDS);
    // Time in the log never goes back.
    const all = await second.audit({ limit: Number.POSITIVE_INFINITY });
    expect(all.every(({ atMs }, index) => atMs >= (all[index - 1]?.atMs ?? 0))).toBe(true);
    await second.close();
    await expectReplays(file, [alarm]);
  });

  it('G18: set forward by an hour, a timer of 30 minutes fires within about two seconds, and not before its deadline', async () => {
    const lives = [0, 1].map(async (life) => {
      const file = temporaryFile();
      const alarms = await startAlarms(file);
      for (let round = 0; round < ROUNDS / 2; round += 1) {
        const id = `forward-${round}`;
        const set = await alarms.set(id, HOUR_MS / 2);
        await alarms.set(`far-${round}`, 1_000 * HOUR_MS);
        // Long enough to be asleep.
        await sleep(20 * life);
        expect(alarms.rings(id)).toBe(0);
        alarms.shift(HOUR_MS);
        if (round % 3 === 1) await alarms.reopen();
        const rung = await alarms.rung(id);
        expect(rung.wallMs - set.wallMs).toBeGreaterThanOrEqual(HOUR_MS / 2);
        expect(rung.monotonicMs - set.monotonicMs).toBeLessThan(1_000 + LATE_MS);
      }
      await alarms.end();
      const second = await open({ file, workflows: [alarm], agents: {} });
      const events = await second.audit({ types: ['lw.timer.fired'] });
      expect(events.map(({ run }) => run)).toEqual(
        Array.from({ length: ROUNDS / 2 }, (_, round) => `forward-${round}`),
      );
      await second.close();
      await expectReplays(file, [alarm]);
    });
    await Promise.all(lives);
  });

  it('G18: the clock is set while the process is dead: what is due fires, what is not waits, and nothing fires twice', async () => {
    const file = temporaryFile();
    const alarms = await startAlarms(file);
    await alarms.set('half', HOUR_MS / 2);
    await alarms.set('two', 2 * HOUR_MS);
    alarms.shift(HOUR_MS);
    await alarms.killAndRestart();
    await alarms.rung('half');
    // Set back again: the log has been an hour ahead, and goes on from there.
    alarms.shift(-HOUR_MS);
    const opened = await alarms.killAndRestart();
    await alarms.set('short', 300);
    const rung = await alarms.rung('short');
    expect(rung.monotonicMs - opened.monotonicMs).toBeLessThan(300 + LATE_MS);
    expect(alarms.rings('two')).toBe(0);
    await alarms.end();
    const second = await open({ file, workflows: [alarm], agents: {}, idle: true });
    expect((await second.audit({ types: ['lw.timer.fired'] })).map(({ run }) => run)).toEqual([
      'half',
      'short',
    ]);
    await second.close();
    await expectReplays(file, [alarm]);
  });
});
