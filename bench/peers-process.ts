import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Ask, OnDisk, Slice } from './peers-task.ts';

/** A contestant in a process of its own. */
export interface PeerProcess {
  /** Resolves when it is open. */
  ready(): Promise<unknown>;
  slice(forMs: number, loops: number): Promise<Slice>;
  /** All loops to their ends; the process ends too. */
  finish(): Promise<OnDisk>;
  kill(): void;
}

/** A slice takes seconds, and the end of a thousand loops a quarter of a minute: who takes longer hangs, and is ended. */
const ANSWER_MS_MAX = 60_000;

const WORKER = fileURLToPath(new URL('./peers-worker.js', import.meta.url));

export const startPeer = (
  { module, variant }: { readonly module: string; readonly variant: string },
  folder: string,
): PeerProcess => {
  const { answer, ask, kill } = forkWorker([module, folder, variant]);
  return {
    ready: answer,
    // What the worker answers to these: see `peers-worker.ts`.
    slice: (forMs, loops) => ask({ kind: 'slice', forMs, loops }) as Promise<Slice>,
    finish: () => ask({ kind: 'finish' }) as Promise<OnDisk>,
    kill,
  };
};

/** What is on the disk of a contestant, read by a process that has written nothing. */
export const readBackOf = (module: string, folder: string): Promise<OnDisk> =>
  // See `peers-worker.ts`.
  forkWorker([module, folder, 'read-back']).answer() as Promise<OnDisk>;

const forkWorker = (args: readonly string[]) => {
  const child = fork(WORKER, args, { execArgv: ['--no-deprecation'] });
  const answer = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const overdue = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Error(`${args[0]} did not answer within ${ANSWER_MS_MAX} ms.`));
      }, ANSWER_MS_MAX);
      const ended = (code: number | null, signal: string | null): void => {
        clearTimeout(overdue);
        reject(new Error(`${args[0]} ended with ${code ?? signal} before it answered.`));
      };
      child.once('exit', ended);
      child.once('message', (message) => {
        clearTimeout(overdue);
        child.off('exit', ended);
        resolve(message);
      });
    });
  return {
    answer,
    ask: (question: Ask): Promise<unknown> => {
      child.send(question);
      return answer();
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
};
