import { join } from 'node:path';
import { createRuntime, workflow } from 'loopwright';
import { sixSteps } from './peers-machine.ts';
import { type Contestant, NOTE, type OnDisk, STEPS } from './peers-task.ts';

const openRuntime = (folder: string, idle: boolean) =>
  createRuntime({
    file: join(folder, 'own.db'),
    workflows: [workflow('six-steps', sixSteps)],
    agents: {},
    durability: 'full',
    idle,
  });

/** Ours: each event is sent, and in the log when the promise resolves. */
export const open = async (folder: string): Promise<Contestant> => {
  const runtime = await openRuntime(folder, false);
  return {
    loop: async (_id, next) => {
      const run = await runtime.start('six-steps');
      for (let step = 0; step < STEPS; step += 1) {
        await next();
        await run.send({ type: 'NEXT', note: NOTE });
      }
    },
    close: () => runtime.close(),
  };
};

export const readBack = async (folder: string): Promise<OnDisk> => {
  const runtime = await openRuntime(folder, true);
  const runs = await runtime.runs();
  await runtime.close();
  // The first turn of a run is its start.
  const steps = runs.reduce((sum, { turns }) => sum + turns - 1, 0);
  return { steps, loops: runs.filter(({ verdict }) => verdict !== null).length };
};
