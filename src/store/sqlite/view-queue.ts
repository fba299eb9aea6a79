import type { StoredView, ViewKey } from '../event-log.ts';

type View = ViewKey & StoredView;

interface Waiting {
  readonly views: readonly View[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** So many at once are worth a transaction of their own. */
const WORTH_A_TRANSACTION = 100;
/** How long views wait for a commit to go along with. */
const WAIT_MS = 50;

/**
 * Views that wait to be stored. They go along with the next commit of events, whose sync to the disk costs more than all of them; if
 * there is none soon, they are written by themselves. Until then whoever wants one folds it: a stored view only saves time.
 */
export class ViewQueue {
  readonly #flush: () => void;
  #waiting: Waiting[] = [];
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `flush` writes what `take` gives, in a transaction. */
  constructor(flush: () => void) {
    this.#flush = flush;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Resolves when they are stored, with the next commit or soon after. */
  add(views: readonly View[]): Promise<void> {
    const stored = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ views, resolve, reject });
    });
    this.#count += views.length;
    if (this.#count >= WORTH_A_TRANSACTION) this.#flush();
    else this.#timer ??= setTimeout(this.#flush, WAIT_MS);
    return stored;
  }

  /** Takes out what waits, to be written inside of a transaction; `settled` is told how that went. */
  take(): { readonly views: readonly View[]; readonly settled: (error?: unknown) => void } {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#count = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return {
      views: taken.flatMap(({ views }) => views),
      settled: (error) => {
        for (const { resolve, reject } of taken) {
          if (error === undefined) resolve();
          else reject(error);
        }
      },
    };
  }
}
