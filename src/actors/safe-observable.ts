import {
  Observable,
  type Observer,
  type Operator,
  Subscriber,
  type Subscription,
  type TeardownLogic,
} from 'rxjs';

export type ReportFault = (error: unknown) => void;

type Next<T> = (value: T) => void;

/**
 * An observable that strangers may subscribe to: whatever a subscriber throws or rejects is reported and harms nobody. RxJS
 * itself would throw it again in a timer, and the process would end. What is piped from it is safe as well: an operator that
 * throws ends its own subscription only, and if nobody there handles the error, it is reported.
 *
 * Functions that combine several observables (`merge`, `combineLatest`) give plain ones: see `SafeObservable.over`.
 */
export class SafeObservable<T> extends Observable<T> {
  readonly #onFault: ReportFault;

  constructor(onFault: ReportFault, subscribe?: (subscriber: Subscriber<T>) => TeardownLogic) {
    super(subscribe);
    this.#onFault = neverThrowing(onFault);
  }

  /** The same values as those of `source`, which no subscriber can harm either. */
  static over<T>(source: Observable<T>, onFault: ReportFault): SafeObservable<T> {
    const report = neverThrowing(onFault);
    // What a consumer throws does not come here, but what a `finalize` in its pipe throws does.
    const attempt = (tell: () => void): void => {
      try {
        tell();
      } catch (error) {
        report(error);
      }
    };
    return new SafeObservable<T>(report, (subscriber) =>
      source.subscribe({
        next: (value) => attempt(() => subscriber.next(value)),
        error: (error) => attempt(() => subscriber.error(error)),
        complete: () => attempt(() => subscriber.complete()),
      }),
    );
  }

  /** What `pipe` builds its results with. */
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new SafeObservable<R>(this.#onFault);
    lifted.source = this;
    lifted.operator = operator;
    return lifted;
  }

  override subscribe(observerOrNext?: Partial<Observer<T>> | Next<T> | null): Subscription;
  override subscribe(
    next?: Next<T> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription;
  override subscribe(
    first?: Partial<Observer<T>> | Next<T> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // Operators subscribe with subscribers of their own, which pass errors on to whoever subscribed to the result.
    if (first instanceof Subscriber) return super.subscribe(first);
    if (typeof first === 'object' && first !== null) return super.subscribe(this.#guard(first));
    return super.subscribe(
      this.#guard({ ...(first && { next: first }), ...(error && { error }), ...(complete && { complete }) }),
    );
  }

  #guard(observer: Partial<Observer<T>>): Observer<T> {
    return {
      next: (value) => this.#call(() => observer.next?.(value)),
      error: (error) => (observer.error ? this.#call(() => observer.error?.(error)) : this.#onFault(error)),
      complete: () => this.#call(() => observer.complete?.()),
    };
  }

  /** Typed as void, but an async function passes for one: what it rejects with would be nobody's. */
  #call(consumer: () => unknown): void {
    try {
      const returned = consumer();
      if (returned instanceof Promise) returned.catch(this.#onFault);
    } catch (error) {
      this.#onFault(error);
    }
  }
}

/** The report of a fault is the last resort: if it throws as well, nobody is left who could be told. */
export const neverThrowing =
  (onFault: ReportFault): ReportFault =>
  (error) => {
    try {
      onFault(error);
    } catch {
      // See above.
    }
  };
