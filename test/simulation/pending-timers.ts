import type { Timers } from '../../src/actors/timers.ts';
import type { ClosedTimer, OpenTimer, Recorded } from '../../src/events/turn.ts';

/** The timers of one process. One that is due may fire at any time from then on, in any order: the scheduler says when. */
export class PendingTimers implements Timers {
  #open: Recorded<OpenTimer>[] = [];

  get size(): number {
    return this.#open.length;
  }

  open(timer: Recorded<OpenTimer>): void {
    this.#open.push(timer);
  }

  close({ actor, timer, generation }: ClosedTimer): void {
    this.#open = this.#open.filter(
      (open) => open.actor !== actor || open.timer !== timer || open.generation !== generation,
    );
  }

  stop(): void {
    this.#open = [];
  }

  due(nowMs: number): readonly Recorded<OpenTimer>[] {
    return this.#open.filter(({ dueMs }) => dueMs <= nowMs);
  }

  nextDueMs(): number {
    return Math.min(...this.#open.map(({ dueMs }) => dueMs));
  }
}
