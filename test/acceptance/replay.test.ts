import { describe, expect, it } from 'vitest';
import type { ReplayReport } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { alarm, callOnce, decision, diary, dice, tally } from '../support/machines.ts';
import { createFakeClock, expectReplays, open, storedStates } from '../support/runtimes.ts';
import { startWorker } from '../support/worker-process.ts';

const workflows = [alarm, callOnce, decision, diary, tally];

/** A log with everything in it: calls that were answered, failed and are open, timers, decisions, dead letters, ends. */
const leaveLog = async (file: string): Promise<void> => {
  const clock = createFakeClock(Date.UTC(2026, 2, 29, 0, 59, 59));
  const runtime = await open({
    file,
    workflows,
    clock,
    agents: {
      worker: ({ input }) => {
        if (input.task === 'fail') throw new Error('no');
        return input.task === 'hang' ? new Promise(() => undefined) : { did: input.task, İ: 'ı', ß: 'ẞ' };
      },
    },
  });
  for (const task of ['fail', 'do', 'hang']) await runtime.start('call-once', { task }, { id: task });
  await runtime.start('alarm', { delayMs: 2_000 }, { id: 'rings' });
  await runtime.start('alarm', { delayMs: 5_000_000_000 }, { id: 'waits' });
  const book = await runtime.start('diary', null, { id: 'diary' });
  const counted = await runtime.start('tally', null, { id: 'tally' });
  for (let value = 1; value <= 150; value += 1) void counted.send({ type: 'ADD', value: value / 7 });
  for (const text of ['zebra', 'Ärger', 'İstanbul', '日本', 'ß']) {
    // Past the hour that some zones do not have.
    clock.advance(1_000);
    await book.send({ type: 'WRITE', text });
  }
  const asked = await runtime.start('decision', null, { id: 'decision' });
  await asked.send({ type: 'APPROVE', who: 'ann' });
  await asked.send({ type: 'REJECT', who: 'bob' });
  await asked.send({ type: 'CLOSE' });
  await (await runtime.start('tally', null, { id: 'ended' })).cancel();
  await expect.poll(async () => (await runtime.actor('rings')).value).toBe('rung');
  await expect.poll(async () => (await runtime.runs({ status: 'ended' })).length).toBe(4);
  await runtime.close();
};

interface Said {
  readonly place: { readonly zone: string };
  readonly log: boolean;
  readonly replay: ReplayReport;
}

const replayElsewhere = async (file: string, environment: Record<string, string>): Promise<Said> => {
  const worker = startWorker('replay-worker', { arguments: [file], environment });
  const said = JSON.parse(await worker.line('{')) as Said; // See the worker.
  await worker.ended;
  return said;
};

describe('G10: a replay is the same everywhere', () => {
  it('G10: twice here, and in processes of other zones and languages without clock, randomness and ids', async () => {
    const file = temporaryFile();
    await leaveLog(file);
    const inMemory = storedStates(file);
    const here = await expectReplays(file, workflows);
    expect(here.states).toBe(inMemory);

    const places = [
      { TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
      { TZ: 'America/St_Johns', LANG: 'C', LC_ALL: 'C' },
    ];
    const said: Said[] = [];
    for (const environment of places) said.push(await replayElsewhere(file, environment));
    expect(said.map(({ place }) => place.zone)).toEqual(places.map(({ TZ }) => TZ));
    for (const { log, replay } of said) expect([log, replay]).toEqual([true, here]);
  });

  // The control: a machine that throws dice is found by each of the three ways of looking.
  it('G10: a machine that is not pure is found', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [dice], agents: {} });
    const run = await runtime.start('dice', null, { id: 'd' });
    for (let each = 0; each < 3; each += 1) await run.send({ type: 'THROW' });
    const first = (await runtime.verify()).replay;
    const second = (await runtime.verify()).replay;
    expect(second.states).not.toBe(first.states);
    await runtime.close();
    expect(storedStates(file)).not.toBe(first.states);
    await expect(expectReplays(file, [dice])).rejects.toThrow();

    const { replay } = await replayElsewhere(file, { TZ: 'UTC' });
    expect(replay).toMatchObject({
      ok: false,
      problem: { position: 2, what: expect.stringContaining('A replay asked for a random number.') },
    });
  });
});
