/**
 * Runs one contestant in a process of its own: as a child of `peers.ts`, or by hand to trace or profile it, for a time and with so
 * many loops in flight: `node build/bench/peers-worker.js <module> <folder> [variant] [ms] [loops]`.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createLoops } from './peers-loops.ts';
import type { Ask, ContestantModule, OnDisk } from './peers-task.ts';

const [module = '', folder = '', variant = '', ms = '2000', loops = '1'] = process.argv.slice(2);
// The modules of contestants export these two functions.
const { open, readBack } = (await import(pathToFileURL(resolve(module)).href)) as ContestantModule;

const tell = (answer: object): Promise<void> =>
  new Promise((done) => {
    process.send?.(answer, () => done());
  });

const serve = async (): Promise<void> => {
  const contestant = await open(folder, variant);
  const running = createLoops(contestant);
  const answer = async (ask: Ask): Promise<void> => {
    if (ask.kind === 'slice') return tell(await running.slice(ask.forMs, ask.loops));
    const counted: OnDisk = await running.finish();
    await contestant.close();
    await tell(counted);
    process.exit(0);
  };
  process.on('message', (ask: Ask) => {
    answer(ask).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // Without its parent it has nothing to do.
  process.on('disconnect', () => process.exit(1));
  await tell({ ready: true });
};

const runByHand = async (): Promise<void> => {
  const contestant = await open(folder, variant);
  const running = createLoops(contestant);
  const slice = await running.slice(Number(ms), Number(loops));
  const counted = await running.finish();
  await contestant.close();
  console.log(JSON.stringify({ ...slice, steps_per_s: slice.steps / slice.seconds, counted }));
  process.exit(0);
};

if (variant === 'read-back') {
  const found = await readBack(folder);
  if (process.send) await tell(found);
  else console.log(JSON.stringify(found));
  process.exit(0);
} else await (process.send ? serve() : runByHand());
