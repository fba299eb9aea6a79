import { parentPort, workerData } from 'node:worker_threads';
import { proved } from './proof.ts';
import { shippedLoops } from './shipped-loops.ts';

// A thread of the benchmark: proves the loop of a number, and says what came of it.

const { nodesMax } = workerData as { readonly nodesMax: number };
const loops = shippedLoops(nodesMax);

parentPort?.on('message', (index: number) => {
  const loop = loops[index];
  if (!loop) throw new Error(`There is no loop ${index}.`);
  // What it throws ends the thread, of which the benchmark hears.
  void proved(loop).then((row) => parentPort?.postMessage(row, []));
});
