import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Memory {
  readonly rss_mb_100k_loaded: number;
  readonly rss_mb_100k_idle: number;
  readonly loops: number;
}

/** What a process needs for so many open loops: in one of its own, since memory that was used once is not given back. */
export const measureMemory = async ({ loops }: { readonly loops: number }): Promise<Memory> => {
  const program = fileURLToPath(new URL('memory-process.js', import.meta.url));
  const child = spawn(process.execPath, ['--expose-gc', program, String(loops)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  return JSON.parse(text) as Memory; // It printed one.
};
