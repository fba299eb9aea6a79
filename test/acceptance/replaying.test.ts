import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type ActorState,
  contextView,
  createRuntime,
  openLog,
  openQuestions,
  type ReplayStep,
  replay,
  runSummary,
  tightProgress,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { notComparable } from '../support/compared-logs.ts';
import { approveNth, draftPlan, writeNew } from '../support/draft-plan.ts';
import { alarm, tally } from '../support/machines.ts';
import { playTight } from '../support/past-runs.ts';
import { changeFile, createFakeClock, open, refusal } from '../support/runtimes.ts';

const plan = draftPlan({ limits: { passes: 2 } });

/** What every actor and view of a run was after each turn, as the runtime that made it had it then. */
interface Moment {
  readonly position: number;
  readonly actors: readonly ActorState[];
  readonly views: readonly unknown[];
}

const leaveLog = async (): Promise<{ file: string; moments: readonly Moment[] }> => {
  const file = temporaryFile();
  const runtime = await createRuntime({
    file,
    workflows: [plan, tally],
    agents: { writer: writeNew, critic: approveNth(3) },
  });
  const moments: Moment[] = [];
  const note = async () => {
    const events = await runtime.audit({ limit: 10_000 });
    const actors = await Promise.all(
      [...new Set(events.map(({ actor }) => actor))].map((each) => runtime.actor(each)),
    );
    const views = [
      await runtime.read(runSummary, 'p'),
      await runtime.read(contextView, 'p'),
      await runtime.read(openQuestions),
      await runtime.read(runSummary, 't'),
    ];
    moments.push({ position: events.at(-1)?.position ?? 0, actors, views });
  };
  const sums = await runtime.start('tally', undefined, { id: 't' });
  for (let value = 1; value <= 3; value += 1) {
    await sums.send({ type: 'ADD', value });
    await note();
  }
  const run = await runtime.start('draft', 'a poem', { id: 'p' });
  await run.settled();
  await note();
  const [question] = await runtime.questions();
  await runtime.answer(question?.id ?? '', 'continue', { by: 'ada' });
  await run.result();
  await note();
  await runtime.close();
  return { file, moments };
};

describe('K4, K6: a replay', () => {
  it('K4: gives every actor and projection at any position as they were then, forward and back', async () => {
    const { file, moments } = await leaveLog();
    const log = await openLog(file);
    const again = replay(log, { workflows: [plan, tally] });
    const at = (moment: Moment) => {
      expect(again.position).toBe(moment.position);
      for (const actor of moment.actors) expect(again.actor(actor.address)).toEqual(actor);
      expect(again.actors()).toHaveLength(moment.actors.length);
      expect([
        again.view(runSummary, 'p'),
        again.view(contextView, 'p'),
        again.view(openQuestions),
        again.view(runSummary, 't'),
      ]).toEqual(moment.views);
    };
    for (const moment of [...moments, ...moments.toReversed(), ...moments]) {
      await again.to(moment.position);
      at(moment);
    }
    const runtime = await open({
      file,
      workflows: [plan, tally],
      agents: { writer: writeNew, critic: writeNew },
      idle: true,
    });
    expect(again.states()).toBe((await runtime.verify()).replay.states);
    await log.close();
  });

  it('K6: steps through every event, of the log or of one run, and says what each did', async () => {
    const { runtime } = await playTight({ reviews: [], tests: [3, 0] });
    await runtime.start('tight-loop', 'another', { id: 'other' });
    const again = runtime.replay({ run: 'r' });
    const steps: ReplayStep[] = [];
    for (let step = await again.step(); step; step = await again.step()) {
      steps.push(step);
      expect(step.after.value).toEqual(step.event.state);
      expect(step.before?.version ?? 0).toBe(step.event.version - 1);
    }
    expect(steps.map(({ event }) => event)).toEqual(await runtime.audit({ run: 'r', limit: 10_000 }));
    expect(again.view(tightProgress, 'r')).toEqual(await runtime.read(tightProgress, 'r'));
    expect(await again.step()).toBeUndefined();
    await again.to(0);
    expect([again.position, again.actors()]).toEqual([0, []]);
    await again.to(1_000_000);
    expect(again.position).toBe(steps.at(-1)?.event.position);
    await refusal(again.to(-1), 'BAD_OPTION');
    await runtime.close();
  });

  it.each([
    [1, 3_600_000],
    [60, 60_000],
    [0.5, 7_200_000],
  ])('K6: plays at %d times the speed, with the pauses that there were', async (speed, tookMs) => {
    const file = temporaryFile();
    const then = createFakeClock();
    const runtime = await open({ file, workflows: [alarm, tally], agents: {}, clock: then });
    const sums = await runtime.start('tally', undefined, { id: 't' });
    await runtime.start('alarm', { delayMs: 3_600_000 }, { id: 'a' });
    await sums.send({ type: 'ADD', value: 1 });
    then.advance(3_600_000);
    await expect.poll(async () => (await runtime.actor('a')).value).toBe('rung');
    const now = createFakeClock();
    const played = lastValueFrom(runtime.replay().play$({ speed, clock: now }).pipe(toArray()));
    await expect.poll(() => now.waiting).toBe(1);
    now.advance(tookMs - 1);
    expect(now.waiting).toBe(1);
    now.advance(1);
    const steps = await played;
    expect(steps.map(({ event }) => event.position)).toEqual(
      (await runtime.audit({})).map(({ position }) => position),
    );
  });

  it('K6: plays as fast as it can, to a position, and stops when nobody listens', async () => {
    const { runtime } = await playTight({ reviews: [], tests: [3, 3, 0] });
    const again = runtime.replay();
    const first = await lastValueFrom(
      again.play$({ speed: Number.POSITIVE_INFINITY, to: 10 }).pipe(toArray()),
    );
    expect(first.map(({ event }) => event.position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const next = await firstValueFrom(again.play$({ speed: Number.POSITIVE_INFINITY }));
    expect(next.event.position).toBe(11);
    expect(() => again.play$({ speed: 0 })).toThrow(/above 0/);
    await runtime.close();
  });

  it('K4: a log that was altered, or whose machine is another now, is found where it is', async () => {
    const { file } = await leaveLog();
    const other = { ...tally, machine: alarm.machine } as never;
    const log = await openLog(file);
    await refusal(replay(log, { workflows: [plan, other] }).to(1_000), 'REPLAY_DIVERGED');
    // Of a machine that is gone only the rows are known.
    const without = replay(log, { workflows: [plan] });
    await without.to(1_000);
    expect(without.actor('t')).toMatchObject({ context: undefined, version: 4 });
    await log.close();
    changeFile(
      file,
      "update events set data = replace(data, 'draft 1', 'draft 9') where position = 20 or data like '%draft 1%'",
    );
    notComparable(file);
    const damaged = await openLog(file);
    await refusal(replay(damaged, { workflows: [plan, tally] }).to(1_000), 'LOG_CORRUPT');
    await damaged.close();
  });
});
