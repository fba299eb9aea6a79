import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime } from 'loopwright';
import { GOAL, loop, loopAgents } from './chart.ts';
import { tempFile } from './measure.ts';
import type { MemoryOfProcess } from './memory.ts';

/** Starts so many loops whose agents never answer, and tells what memory that takes: all loaded, and after they left memory. */
const loops = Number(process.argv[2]);
const STARTED_AT_ONCE = 500;
const IDLE_MS = 60 * 60_000;
const SWEEP_MS = 30_000;

let jumpMs = 0;
const never = new Promise<void>(() => undefined);
const file = tempFile('memory');
const runtime = await createRuntime({
  file,
  workflows: [loop],
  agents: loopAgents(() => never, loops),
  durability: 'normal',
  runsFolder: null,
  limits: { loaded: 10 * loops, idleMs: IDLE_MS },
  clock: {
    now: () => Date.now() + jumpMs,
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  },
});
/** Each loop has a task of its own: actors that are alike to the last letter would be packed into nothing. */
const taskOf = (nth: number): string =>
  GOAL.split(' ')
    .map((word, index) => `${word}${nth + index}`)
    .join(' ')
    .slice(0, GOAL.length);

for (let started = 0; started < loops; started += STARTED_AT_ONCE) {
  const count = Math.min(STARTED_AT_ONCE, loops - started);
  await Promise.all(
    Array.from({ length: count }, (_, index) => runtime.start('tight-loop', taskOf(started + index))),
  );
}

const rssMb = async (): Promise<number> => {
  for (let time = 0; time < 3; time += 1) {
    globalThis.gc?.();
    await sleep(200);
  }
  return process.memoryUsage().rss / 1_000_000;
};

const loaded = await rssMb();
// An hour later, and the next look at who is idle.
jumpMs = IDLE_MS + 1;
await sleep(SWEEP_MS + 10_000);
const memory: MemoryOfProcess = { rss_mb_100k_loaded: loaded, rss_mb_100k_idle: await rssMb(), loops };
console.log(JSON.stringify(memory));
rmSync(file, { force: true });
process.exit(0);
