import type { Observable, Subscriber } from 'rxjs';
import type { RecordedEvent } from '../events/event.ts';
import type { RecordedTurn } from '../events/turn.ts';
import { neverThrowing, type ReportFault, SafeObservable } from './safe-observable.ts';

/**
 * Tells what was committed, to whoever listens at that moment: nothing is kept for those who come later. Each subscriber gets
 * events in order of position, also if one of them publishes the next turn while it is being told of this one.
 */
export interface Bus {
  publish(turn: RecordedTurn): void;
  readonly events$: Observable<RecordedEvent>;
  /** Each turn, after its events. */
  readonly turns$: Observable<RecordedTurn>;
  /** The events of one run. Costs nothing to those who listen to others. */
  run$(id: string): Observable<RecordedEvent>;
  /** Completes all of them, after what was published before. */
  complete(): void;
}

/** `onFault` is told what subscribers throw: it harms neither the publisher nor any other subscriber. */
export const createBus = (options: { readonly onFault: ReportFault }): Bus => {
  const onFault = neverThrowing(options.onFault);
  const events = new Audience<RecordedEvent>(onFault);
  const turns = new Audience<RecordedTurn>(onFault);
  const runs = new Map<string, Audience<RecordedEvent>>();
  const waiting: RecordedTurn[] = [];
  let isPublishing = false;
  let isComplete = false;

  const tell = (turn: RecordedTurn): void => {
    for (const event of turn.events) {
      events.next(event);
      runs.get(event.run)?.next(event);
    }
    turns.next(turn);
  };
  const end = (): void => {
    for (const audience of [events, ...runs.values(), turns]) audience.complete();
  };
  const join = (run: string, subscriber: Subscriber<RecordedEvent>) => {
    const audience = runs.get(run) ?? new Audience<RecordedEvent>(onFault);
    runs.set(run, audience);
    audience.add(subscriber);
    return () => {
      audience.remove(subscriber);
      if (audience.isEmpty) runs.delete(run);
    };
  };
  const observe = <T>(subscribe: (subscriber: Subscriber<T>) => () => void): Observable<T> =>
    new SafeObservable<T>(onFault, (subscriber) =>
      isComplete && !isPublishing ? subscriber.complete() : subscribe(subscriber),
    );

  return {
    publish: (turn) => {
      if (isComplete) return;
      waiting.push(turn);
      if (isPublishing) return;
      isPublishing = true;
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) tell(next);
      isPublishing = false;
      if (isComplete) end();
    },
    events$: observe((subscriber) => events.add(subscriber)),
    turns$: observe((subscriber) => turns.add(subscriber)),
    run$: (id) => observe((subscriber) => join(id, subscriber)),
    complete: () => {
      if (isComplete) return;
      isComplete = true;
      if (!isPublishing) end();
    },
  };
};

/** Those who listen to one stream. */
class Audience<T> {
  readonly #onFault: ReportFault;
  /** Replaced and never changed in place, so that whoever is being told may come and go. */
  #subscribers: readonly Subscriber<T>[] = [];

  constructor(onFault: ReportFault) {
    this.#onFault = onFault;
  }

  get isEmpty(): boolean {
    return this.#subscribers.length === 0;
  }

  add(subscriber: Subscriber<T>): () => void {
    this.#subscribers = [...this.#subscribers, subscriber];
    return () => this.remove(subscriber);
  }

  remove(subscriber: Subscriber<T>): void {
    this.#subscribers = this.#subscribers.filter((other) => other !== subscriber);
  }

  next(value: T): void {
    for (const subscriber of this.#subscribers) {
      // Not by way of `#call`: this runs for every event and every subscriber.
      try {
        subscriber.next(value);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  complete(): void {
    for (const subscriber of this.#subscribers) this.#call(() => subscriber.complete());
  }

  /** What a consumer throws does not come here, but what a `finalize` in its pipe throws does. */
  #call(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#onFault(error);
    }
  }
}
