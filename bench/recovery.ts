import { rmSync } from 'node:fs';
import { createRuntime } from 'loopwright';
import { GOAL, loop, loopAgents } from './chart.ts';
import { median, tempFile } from './measure.ts';

export interface Recovery {
  readonly open_ms_10k: number;
  readonly open_ms_1m: number;
  readonly ratio: number;
  /** How many events the large log really had. */
  readonly events_large: number;
}

const OPEN_CALLS = 100;
const never = new Promise<void>(() => undefined);

/** The time to open a log with a hundred open calls until all are started again: in a small log, and in a large one. */
export const measureRecovery = async ({
  small,
  large,
  times,
}: {
  small: number;
  large: number;
  times: number;
}): Promise<Recovery> => {
  const [smallFile, largeFile] = [tempFile('small'), tempFile('large')];
  await fill(smallFile, small);
  const eventsLarge = await fill(largeFile, large);
  const smallMs: number[] = [];
  const largeMs: number[] = [];
  for (let time = 0; time < times; time += 1) {
    smallMs.push(await openUntilStarted(smallFile));
    largeMs.push(await openUntilStarted(largeFile));
  }
  rmSync(smallFile, { force: true });
  rmSync(largeFile, { force: true });
  const [open_ms_10k, open_ms_1m] = [median(smallMs), median(largeMs)];
  return { open_ms_10k, open_ms_1m, ratio: open_ms_1m / open_ms_10k, events_large: eventsLarge };
};

/** Writes a log of so many events by running loops, then leaves a hundred loops with an open call each. */
const fill = async (file: string, events: number): Promise<number> => {
  let isHolding = false;
  const runtime = await createRuntime({
    file,
    workflows: [loop],
    agents: loopAgents(() => (isHolding ? never : undefined), 10_000),
    durability: 'normal',
    runsFolder: null,
  });
  let committed = 0;
  runtime.events$.subscribe(() => {
    committed += 1;
  });
  const follow = async (): Promise<void> => {
    const run = await runtime.start('tight-loop', GOAL);
    await run.result();
    if (committed < events) await follow();
  };
  await Promise.all(Array.from({ length: 500 }, follow));
  isHolding = true;
  for (let index = 0; index < OPEN_CALLS; index += 1) await runtime.start('tight-loop', GOAL);
  await runtime.close();
  return committed;
};

const openUntilStarted = async (file: string): Promise<number> => {
  let started = 0;
  let allStarted: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    allStarted = resolve;
  });
  const startMs = performance.now();
  const agents = loopAgents(() => {
    started += 1;
    if (started === OPEN_CALLS) allStarted();
    return never;
  }, 10_000);
  const runtime = await createRuntime({ file, workflows: [loop], agents, runsFolder: null });
  await done;
  const tookMs = performance.now() - startMs;
  await runtime.close();
  return tookMs;
};
