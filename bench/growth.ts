import { rmSync } from 'node:fs';
import { createRuntime } from 'loopwright';
import { GOAL, loop, loopAgents } from './chart.ts';
import { tempFile } from './measure.ts';

export interface Growth {
  /** Events a second in the last tenth against the first. */
  readonly ratio: number;
  readonly events: number;
  readonly first_tenth_events_per_s: number;
  readonly last_tenth_events_per_s: number;
}

const LOOPS = 1_000;

/** Whether a log gets slower as it grows: loops run until it has so many events, with a look at the clock at each tenth. */
export const measureGrowth = async ({ events }: { readonly events: number }): Promise<Growth> => {
  const file = tempFile('growth');
  const runtime = await createRuntime({
    file,
    workflows: [loop],
    agents: loopAgents(() => undefined, LOOPS),
    runsFolder: null,
  });
  const atMs: number[] = [];
  let committed = 0;
  runtime.events$.subscribe(() => {
    if (committed % (events / 10) === 0) atMs.push(performance.now());
    committed += 1;
  });
  const follow = async (): Promise<void> => {
    await (await runtime.start('tight-loop', GOAL)).result();
    if (committed <= events) await follow();
  };
  await Promise.all(Array.from({ length: LOOPS }, follow));
  await runtime.close();
  rmSync(file, { force: true });
  const rateOf = (tenth: number): number =>
    events / 10 / (((atMs[tenth + 1] ?? Number.NaN) - (atMs[tenth] ?? Number.NaN)) / 1_000);
  const [first, last] = [rateOf(0), rateOf(9)];
  return {
    ratio: last / first,
    events,
    first_tenth_events_per_s: first,
    last_tenth_events_per_s: last,
  };
};
