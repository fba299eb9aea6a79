/**
 * Makes a stored log of each shipped loop: `node build/test/workers/make-golden-loops.js test/golden/loops`. Those that are there are
 * left alone: they stand for the logs that users have. A loop that is changed in test/simulation/loops.ts is another one: give it
 * another name, or remove its log if no release was made with it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { replayLog } from '../../src/actors/replay.ts';
import { exportLog } from '../../src/store/transfer.ts';
import { createLoopWorld } from '../simulation/loop-world.ts';
import { LOOPS } from '../simulation/loops.ts';
import { runSchedule, type ScheduleReport } from '../simulation/schedule.ts';
import { type GoldenLoop, goldenFile, loopRegistry } from '../support/golden-loops.ts';

const SEEDS = 300;
const EVENTS_MAX = 90;

/** How many kinds of things happen in it; nothing if it is too long. */
const worth = async ({ log }: ScheduleReport): Promise<number> => {
  const events = await log.events({ limit: EVENTS_MAX + 1 });
  if (events.length > EVENTS_MAX) return 0;
  return new Set(events.map(({ kind, type, state }) => `${kind} ${type} ${JSON.stringify(state)}`)).size;
};

const [, , folder = ''] = process.argv;
const index = join(folder, 'index.json');
const all = existsSync(index) ? (JSON.parse(readFileSync(index, 'utf8')) as GoldenLoop[]) : []; // Its own words.
for (const loop of LOOPS) {
  const file = join(folder, goldenFile(loop.name));
  if (existsSync(file)) continue;
  const world = createLoopWorld(loop);
  let best: { readonly report: ScheduleReport; readonly worth: number } | undefined;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const report = await runSchedule(seed, { world, isForSafety: false });
    const found = await worth(report);
    if (found > (best?.worth ?? 0)) best = { report, worth: found };
  }
  if (!best) throw new Error(`No schedule of ${loop.name} is short enough.`);
  const { log } = best.report;
  const lines: string[] = [];
  const head = await exportLog(log, (line) => void lines.push(line));
  const { actors, states } = await replayLog(log, loopRegistry(loop));
  writeFileSync(file, `${lines.join('\n')}\n`);
  all.push({ name: loop.name, head, actors, states });
}
writeFileSync(index, `${JSON.stringify(all, null, 1)}\n`);
