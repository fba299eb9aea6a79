import {
  filter,
  firstValueFrom,
  lastValueFrom,
  map,
  Observable,
  Subject,
  share,
  switchMap,
  take,
  tap,
  toArray,
} from 'rxjs';
import { describe, expect, test } from 'vitest';
import { SafeObservable } from '../../src/actors/safe-observable.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * What would have ended the process while the task ran and shortly after it. The listeners of the test runner are put aside
 * meanwhile, since with them nothing ever ends the process.
 */
async function uncaughtDuring(task: () => void): Promise<readonly unknown[]> {
  const caught: unknown[] = [];
  const note = (error: unknown) => caught.push(error);
  const kinds = ['uncaughtException', 'unhandledRejection'] as const;
  const others = kinds.map((kind) => process.listeners(kind as 'uncaughtException'));
  for (const kind of kinds) process.removeAllListeners(kind).on(kind, note);
  try {
    task();
    await pause(20);
  } finally {
    kinds.forEach((kind, index) => {
      process.removeAllListeners(kind);
      for (const listener of others[index] ?? []) process.on(kind as 'uncaughtException', listener);
    });
  }
  return caught;
}

const fail = (): never => {
  throw new Error('Not my day.');
};

/** As an async function does: whoever calls it for a void has a promise that nobody waits for. */
const failLater = (): unknown => Promise.reject(new Error('Not my day.'));

function setUp() {
  const source = new Subject<number>();
  const faults: string[] = [];
  const onFault = (error: unknown) => faults.push(error instanceof Error ? error.message : String(error));
  const safe$ = SafeObservable.over(source, onFault);
  const seen: number[] = [];
  const end = () => {
    safe$.subscribe((value) => seen.push(value));
    source.next(1);
    source.next(2);
  };
  return { source, faults, safe$, seen, end, onFault };
}

describe('a subscriber of a safe observable', () => {
  test.each<[string, (safe$: Observable<number>) => unknown, number]>([
    ['function', (safe$) => safe$.subscribe(fail), 2],
    ['observer', (safe$) => safe$.subscribe({ next: fail }), 2],
    ['async function', (safe$) => safe$.subscribe(failLater), 2],
    ['function at the end of a pipe', (safe$) => safe$.pipe(map((value) => value + 1)).subscribe(fail), 2],
    [
      'function at the end of a long pipe',
      (safe$) => safe$.pipe(filter(Boolean), tap(), share(), map(String)).subscribe(fail),
      2,
    ],
    ['operator', (safe$) => safe$.pipe(map(fail)).subscribe(), 1],
    [
      'operator, with a subscriber behind it',
      (safe$) => safe$.pipe(map(fail), take(5)).subscribe(() => undefined),
      1,
    ],
    ['tap', (safe$) => safe$.pipe(tap(fail)).subscribe(), 1],
    ['projection of a switchMap', (safe$) => safe$.pipe(switchMap(fail)).subscribe(), 1],
    ['handler of errors', (safe$) => safe$.pipe(map(fail)).subscribe({ error: fail }), 1],
    ['handler of the end', (safe$) => safe$.pipe(take(1)).subscribe({ complete: fail }), 1],
  ])('that throws in a %s is reported and harms nobody', async (_where, subscribe, reports) => {
    const { faults, safe$, seen, end } = setUp();
    const uncaught = await uncaughtDuring(() => {
      subscribe(safe$);
      end();
    });
    expect(uncaught).toEqual([]);
    expect(seen).toEqual([1, 2]);
    expect(faults).toEqual(Array.from({ length: reports }, () => 'Not my day.'));
  });

  test('may handle the error of an operator itself: then it is not reported', () => {
    const { faults, safe$, end } = setUp();
    const errors: unknown[] = [];
    safe$.pipe(map(fail)).subscribe({ error: (error) => errors.push(error) });
    end();
    expect(errors).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  test('that throws in three arguments is reported as well', async () => {
    const { source, faults, safe$ } = setUp();
    const uncaught = await uncaughtDuring(() => {
      safe$.subscribe(fail, fail, fail);
      source.next(1);
      source.error(new Error('over'));
    });
    expect([uncaught, faults]).toEqual([[], ['Not my day.', 'Not my day.']]);
  });

  test('keeps its `this`', () => {
    const { safe$, end } = setUp();
    const observer = {
      values: [] as number[],
      next(value: number) {
        this.values.push(value);
      },
    };
    safe$.subscribe(observer);
    end();
    expect(observer.values).toEqual([1, 2]);
  });
});

describe('a safe observable', () => {
  test('reports an error that nobody handles', async () => {
    const { source, faults, safe$ } = setUp();
    const uncaught = await uncaughtDuring(() => {
      safe$.subscribe();
      safe$.subscribe(() => undefined);
      source.error(new Error('over'));
    });
    expect([uncaught, faults]).toEqual([[], ['over', 'over']]);
  });

  test('survives a report that throws', async () => {
    const safe$ = new SafeObservable<number>(fail, (subscriber) => subscriber.next(1));
    expect(await uncaughtDuring(() => safe$.subscribe(fail))).toEqual([]);
  });

  test('is an observable like any other', async () => {
    const safe$ = new SafeObservable<number>(fail, (subscriber) => {
      for (const value of [1, 2, 3]) subscriber.next(value);
      subscriber.complete();
    });
    expect(await firstValueFrom(safe$)).toBe(1);
    expect(
      await lastValueFrom(
        safe$.pipe(
          map((value) => value * 2),
          toArray(),
        ),
      ),
    ).toEqual([2, 4, 6]);
    const relayed: number[] = [];
    const relay = new Subject<number>();
    relay.subscribe((value) => relayed.push(value));
    safe$.subscribe(relay);
    expect(relayed).toEqual([1, 2, 3]);
    await expect(firstValueFrom(safe$.pipe(map(fail)))).rejects.toThrow('Not my day.');
  });

  test('lets go of its source', () => {
    const { source, safe$ } = setUp();
    const subscription = safe$.pipe(map(String)).subscribe();
    expect(source.observed).toBe(true);
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
  });
});

// The control: without it, a check that sees nothing would pass all of the above.
test('a plain observable would have ended the process', async () => {
  const plain$ = new Observable<number>((subscriber) => subscriber.next(1));
  expect(await uncaughtDuring(() => plain$.subscribe(fail))).toHaveLength(1);
  expect(await uncaughtDuring(() => plain$.subscribe(failLater))).toHaveLength(1);
  expect(await uncaughtDuring(() => plain$.pipe(map(fail)).subscribe())).toHaveLength(1);
});
