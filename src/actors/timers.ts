import type { ClosedTimer, OpenTimer, Recorded } from '../events/turn.ts';
import type { Clock } from './clock.ts';

/** How long the shell sleeps at most: a wall clock that was set forward is noticed within this time. */
const SLEEP_MAX_MS = 1_000;

/**
 * The timers that are open in the log, in memory: fires each at its deadline, never before. A deadline may be years away;
 * it is a time of day, so that it holds over restarts.
 */
export interface Timers {
  open(timer: Recorded<OpenTimer>): void;
  close(timer: ClosedTimer): void;
  readonly size: number;
  stop(): void;
}

export const createTimers = (clock: Clock, fire: (timer: Recorded<OpenTimer>) => void): Timers => {
  const heap = createHeap();
  const open = new Map<string, Recorded<OpenTimer>>();
  let cancelWake: (() => void) | undefined;
  let wakeAtMs = Number.POSITIVE_INFINITY;
  let stopped = false;

  const sleep = () => {
    const next = heap.peek();
    if (stopped || !next || next.dueMs >= wakeAtMs) return;
    cancelWake?.();
    wakeAtMs = next.dueMs;
    cancelWake = clock.after(Math.min(Math.max(0, next.dueMs - clock.now()), SLEEP_MAX_MS), wake);
  };
  const wake = () => {
    wakeAtMs = Number.POSITIVE_INFINITY;
    const now = clock.now();
    for (let next = heap.peek(); next && next.dueMs <= now; next = heap.peek()) {
      heap.pop();
      // One that was closed or opened anew in the meantime is not in the map any more.
      if (open.get(keyOf(next)) !== next) continue;
      open.delete(keyOf(next));
      fire(next);
    }
    sleep();
  };
  return {
    open(timer) {
      open.set(keyOf(timer), timer);
      heap.push(timer);
      // Closed timers stay in the heap until they are due: do not let them outnumber the open ones.
      if (heap.size() > 2 * open.size + 1_000) heap.refill(open.values());
      sleep();
    },
    close(timer) {
      open.delete(keyOf(timer));
      if (open.size > 0) return;
      // Nothing is left to wait for: let the process end if it wants to.
      heap.refill([]);
      cancelWake?.();
      wakeAtMs = Number.POSITIVE_INFINITY;
    },
    get size() {
      return open.size;
    },
    stop() {
      stopped = true;
      cancelWake?.();
    },
  };
};

const keyOf = ({ actor, timer, generation }: ClosedTimer): string => `${actor}@${timer}.${generation}`;

type Entry = Recorded<OpenTimer>;

/** A binary heap by deadline: 100,000 open timers cost nothing while they wait. */
const createHeap = () => {
  let entries: Entry[] = [];
  const due = (index: number) => entries[index]?.dueMs ?? Number.POSITIVE_INFINITY;
  const swap = (a: number, b: number) => {
    const first = entries[a];
    const second = entries[b];
    if (first && second) [entries[a], entries[b]] = [second, first];
  };
  return {
    peek: () => entries[0],
    push(entry: Entry) {
      let index = entries.push(entry) - 1;
      for (let parent = (index - 1) >> 1; index > 0 && due(index) < due(parent); parent = (index - 1) >> 1) {
        swap(index, parent);
        index = parent;
      }
    },
    pop() {
      swap(0, entries.length - 1);
      entries.pop();
      for (let index = 0; ; ) {
        const left = 2 * index + 1;
        const least = due(left + 1) < due(left) ? left + 1 : left;
        if (!(due(least) < due(index))) return;
        swap(index, least);
        index = least;
      }
    },
    size: () => entries.length,
    /** A sorted array is a heap. */
    refill(others: Iterable<Entry>) {
      entries = [...others].sort((a, b) => a.dueMs - b.dueMs);
    },
  };
};
