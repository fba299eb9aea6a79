import { setTimeout as sleep } from 'node:timers/promises';
import type { FoundProcess } from './processes.ts';

const LOOK_AGAIN_MS_MIN = 5;
const LOOK_AGAIN_MS_MAX = 100;

/** How long to wait for one that was killed: only one that hangs in the kernel takes longer, and nothing ends that. */
const GONE_WITHIN_MS = 2_000;

type Target = Pick<FoundProcess, 'pid' | 'target'>;

export interface Ending<Found extends Target> {
  /** Those that are still there. Asked again and again: who is killed is never known from memory alone. */
  readonly find: () => Promise<readonly Found[]>;
  /** How long they have between being asked to end and being killed. */
  readonly graceMs: number;
}

/**
 * Asks processes to end (SIGTERM, once for each group), kills those that have not after the grace, and resolves when none is
 * left: with all that were found, and with those that would not go.
 */
export const endProcesses = async <Found extends Target>({ find, graceMs }: Ending<Found>) => {
  const met = new Map<number, Found>();
  const asked = new Set<number>();
  const killAtMs = performance.now() + graceMs;
  for (let waitMs = LOOK_AGAIN_MS_MIN; ; waitMs = Math.min(2 * waitMs, LOOK_AGAIN_MS_MAX)) {
    const left = await find();
    const leftMs = killAtMs - performance.now();
    if (left.length === 0 || leftMs < -GONE_WITHIN_MS) return { met: [...met.values()], left };
    for (const found of left) met.set(found.pid, found);
    const targets = new Set(left.map(({ target }) => target));
    for (const target of targets) {
      if (leftMs <= 0) signal(target, 'SIGKILL');
      else if (!asked.has(target)) signal(target, 'SIGTERM');
      asked.add(target);
    }
    await sleep(leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs);
  }
};

const signal = (target: number, name: NodeJS.Signals): void => {
  try {
    process.kill(target, name);
  } catch {
    // It is gone, or has become another user's: either way nothing is left to do here.
  }
};
