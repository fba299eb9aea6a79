import type { Address } from '../../events/event.ts';
import type { OpenCall, OpenTimer, Recorded, RecordedTurn } from '../../events/turn.ts';
import type { OpenWork } from '../event-log.ts';

/** The calls and timers that are open. */
export class MemoryWork {
  readonly #calls = new Map<string, Recorded<OpenCall>>();
  readonly #timers = new Map<string, Recorded<OpenTimer>>();

  /** Of a turn, all that it opened comes before what it closed: see the port. */
  take({ openedCalls, closedCalls, openedTimers, closedTimers }: RecordedTurn): void {
    for (const call of openedCalls) openAtEnd(this.#calls, workKey(call.actor, call.call), call);
    for (const timer of openedTimers) openAtEnd(this.#timers, workKey(timer.actor, timer.timer), timer);
    for (const { actor, call, generation } of closedCalls) {
      const key = workKey(actor, call);
      if (this.#calls.get(key)?.generation === generation) this.#calls.delete(key);
    }
    for (const { actor, timer, generation } of closedTimers) {
      const key = workKey(actor, timer);
      if (this.#timers.get(key)?.generation === generation) this.#timers.delete(key);
    }
  }

  list(): OpenWork {
    return { calls: inOrderOfOpening(this.#calls.values()), timers: inOrderOfOpening(this.#timers.values()) };
  }
}

function workKey(actor: Address, name: string): string {
  return `${actor}\n${name}`;
}

/** A map keeps the place of a key that it had: what is opened anew must come last. */
function openAtEnd<Work>(open: Map<string, Work>, key: string, work: Work): void {
  open.delete(key);
  open.set(key, work);
}

function inOrderOfOpening<Work extends { readonly openedAt: number }>(open: Iterable<Work>): readonly Work[] {
  return [...open].sort((one, other) => one.openedAt - other.openedAt);
}
