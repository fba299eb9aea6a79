import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Memory {
  readonly rss_mb_100k_loaded: number;
  readonly rss_mb_100k_idle: number;
  /** The same as the first if the heap may grow as it likes: then much of it is what V8 has not given back. */
  readonly rss_mb_100k_loaded_unlimited: number;
  readonly loops: number;
}

/** What one process prints. */
export type MemoryOfProcess = Omit<Memory, 'rss_mb_100k_loaded_unlimited'>;

/** Enough for 100,000 open loops, all loaded: a process that needs more than this ends. */
const HEAP_MB = 750;

/** What a process needs for so many open loops: in one of its own, since memory that was used once is not given back. */
export const measureMemory = async ({ loops }: { readonly loops: number }): Promise<Memory> => {
  const unlimited = await runProcess(loops, []);
  const limited = await runProcess(loops, [`--max-old-space-size=${HEAP_MB}`]);
  return { ...limited, rss_mb_100k_loaded_unlimited: unlimited.rss_mb_100k_loaded };
};

const runProcess = async (loops: number, flags: readonly string[]): Promise<MemoryOfProcess> => {
  const program = fileURLToPath(new URL('memory-process.js', import.meta.url));
  const child = spawn(process.execPath, ['--expose-gc', ...flags, program, String(loops)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  return JSON.parse(text) as MemoryOfProcess; // It printed one.
};
