import type { Clock } from '../../src/actors/clock.ts';
import type { Random } from './random.ts';

interface Alarm {
  readonly dueMs: number;
  readonly ring: () => void;
}

/** The time of one process. It passes when it is told to, and a little now and then while someone looks at it. */
export class VirtualClock implements Clock {
  readonly #random: Random;
  #nowMs: number;
  #alarms: Alarm[] = [];

  constructor(nowMs: number, random: Random) {
    this.#nowMs = nowMs;
    this.#random = random;
  }

  now(): number {
    if (this.#random.chance(0.1)) this.#nowMs += 1;
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const alarm = { dueMs: this.#nowMs + delayMs, ring: callback };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  /** When the next alarm rings: infinity if none is set. */
  get nextMs(): number {
    return Math.min(...this.#alarms.map(({ dueMs }) => dueMs));
  }

  /** Lets time pass, and rings what falls due, the earliest first. */
  pass(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let nextMs = this.nextMs; nextMs <= untilMs; nextMs = this.nextMs) {
      this.#nowMs = Math.max(this.#nowMs, nextMs);
      const index = this.#alarms.findIndex(({ dueMs }) => dueMs === nextMs);
      const [alarm] = this.#alarms.splice(index, 1);
      alarm?.ring();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }
}
