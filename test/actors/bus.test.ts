import { finalize, map, type Subscription, take } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { createBus } from '../../src/actors/bus.ts';
import type { RecordedEvent } from '../../src/events/event.ts';
import type { RecordedTurn } from '../../src/events/turn.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function setUp() {
  const faults: unknown[] = [];
  const bus = createBus({ onFault: (error) => faults.push(error) });
  let position = 0;
  const event = (run: string, turn: number): RecordedEvent => {
    position += 1;
    return {
      run,
      actor: run,
      version: position,
      kind: 'message',
      type: 'GO',
      typeVersion: 1,
      data: {},
      from: null,
      machine: 'm',
      machineVersion: 1,
      state: 'idle',
      position,
      id: `e-${position}`,
      turn,
      atMs: 0,
      cause: null,
    };
  };
  let turns = 0;
  const turnOf = (...runs: readonly string[]): RecordedTurn => {
    turns += 1;
    const turn = turns;
    return {
      id: `t-${turn}`,
      turn,
      atMs: 0,
      origin: 'host',
      by: null,
      events: runs.map((run) => event(run, turn)),
      openedCalls: [],
      closedCalls: [],
      openedTimers: [],
      closedTimers: [],
      runs: [],
    };
  };
  return { bus, faults, turnOf };
}

const fail = (): never => {
  throw new Error('Not my day.');
};

/** As an async function does: whoever calls it for a void has a promise that nobody waits for. */
const failLater = (): unknown => Promise.reject(new Error('Not my day.'));

describe('the bus', () => {
  test('tells events in order, to each run its own, and then the turn', () => {
    const { bus, turnOf } = setUp();
    const seen: string[] = [];
    bus.events$.subscribe(({ position }) => seen.push(`all ${position}`));
    bus.run$('a').subscribe(({ position }) => seen.push(`a ${position}`));
    bus.run$('b').subscribe(({ position }) => seen.push(`b ${position}`));
    bus.turns$.subscribe(({ turn }) => seen.push(`turn ${turn}`));
    bus.publish(turnOf('a', 'b'));
    bus.publish(turnOf('a'));
    expect(seen).toEqual(['all 1', 'a 1', 'all 2', 'b 2', 'turn 1', 'all 3', 'a 3', 'turn 2']);
  });

  test('keeps nothing for those who come later', () => {
    const { bus, turnOf } = setUp();
    const seen: number[] = [];
    bus.publish(turnOf('a'));
    bus.run$('a').subscribe(({ position }) => seen.push(position));
    bus.publish(turnOf('a'));
    expect(seen).toEqual([2]);
  });

  test('keeps the order for everyone if one who is told publishes the next turn', () => {
    const { bus, turnOf } = setUp();
    const seen: string[] = [];
    bus.events$.subscribe(({ position }) => {
      seen.push(`first ${position}`);
      if (position === 1) bus.publish(turnOf('a'));
    });
    bus.events$.subscribe(({ position }) => seen.push(`second ${position}`));
    bus.turns$.subscribe(({ turn }) => seen.push(`turn ${turn}`));
    bus.publish(turnOf('a', 'a'));
    expect(seen).toEqual([
      'first 1',
      'second 1',
      'first 2',
      'second 2',
      'turn 1',
      'first 3',
      'second 3',
      'turn 2',
    ]);
  });

  test('lets subscribers come and go while they are being told', () => {
    const { bus, turnOf } = setUp();
    const seen: string[] = [];
    const subscriptions: Subscription[] = [];
    const listen = (name: string, react: () => void): void => {
      subscriptions.push(
        bus.run$('a').subscribe(({ position }) => {
          seen.push(`${name} ${position}`);
          react();
        }),
      );
    };
    listen('leaves', () => subscriptions[0]?.unsubscribe());
    listen('sends away', () => subscriptions[2]?.unsubscribe());
    listen('is sent away', () => undefined);
    bus
      .run$('a')
      .pipe(take(1))
      .subscribe(() => listen('comes', () => undefined));
    bus.publish(turnOf('a'));
    bus.publish(turnOf('a'));
    expect(seen).toEqual(['leaves 1', 'sends away 1', 'sends away 2', 'comes 2']);
  });

  test('completes everything once, after what was published before', () => {
    const { bus, turnOf } = setUp();
    const seen: unknown[] = [];
    bus.events$.subscribe({
      next: ({ position }) => {
        seen.push(position);
        if (position > 1) return;
        bus.publish(turnOf('a'));
        bus.complete();
        bus.publish(turnOf('a'));
      },
      complete: () => seen.push('events'),
    });
    bus.run$('a').subscribe({ complete: () => seen.push('run') });
    bus.turns$.subscribe({ complete: () => seen.push('turns') });
    bus.publish(turnOf('a'));
    bus.complete();
    bus.run$('a').subscribe({ complete: () => seen.push('late') });
    expect(seen).toEqual([1, 2, 'events', 'run', 'turns', 'late']);
  });

  test('costs nearly nothing if nobody listens, or only to other runs', () => {
    const { bus, turnOf } = setUp();
    for (let run = 0; run < 10_000; run += 1) bus.run$(`run-${run}`).subscribe();
    const turn = turnOf(...Array.from({ length: 10 }, () => 'a'));
    const start = performance.now();
    for (let times = 0; times < 10_000; times += 1) bus.publish(turn);
    // 100,000 events. It takes 10 ms here; a filter for each subscriber would take minutes.
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

describe('a subscriber that throws', () => {
  test.each<[string, (bus: ReturnType<typeof createBus>) => unknown]>([
    ['in its function', ({ events$ }) => events$.subscribe(fail)],
    ['in its function, of one run', (bus) => bus.run$('a').subscribe(fail)],
    ['in its function, of turns', ({ turns$ }) => turns$.subscribe(fail)],
    ['after a wait', ({ events$ }) => events$.subscribe(failLater)],
    ['at the end of a pipe', ({ events$ }) => events$.pipe(map(({ type }) => type)).subscribe(fail)],
    ['in an operator', ({ events$ }) => events$.pipe(map(fail)).subscribe()],
    ['in its handler of errors', (bus) => bus.run$('a').pipe(map(fail)).subscribe({ error: fail })],
    ['when it completes', ({ events$ }) => events$.subscribe({ complete: fail })],
    ['when it is torn down', ({ events$ }) => events$.pipe(finalize(fail)).subscribe()],
  ])('%s is reported, and stops nobody', async (_where, subscribe) => {
    const { bus, faults, turnOf } = setUp();
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.prependListener('uncaughtException', note);
    process.prependListener('unhandledRejection', note);
    const seen: unknown[] = [];
    subscribe(bus);
    bus.events$.subscribe({ next: ({ position }) => seen.push(position), complete: () => seen.push('end') });
    bus.run$('a').subscribe(({ position }) => seen.push(position));
    bus.publish(turnOf('a', 'b'));
    bus.complete();
    await pause(20);
    process.off('uncaughtException', note);
    process.off('unhandledRejection', note);
    expect(seen).toEqual([1, 1, 2, 'end']);
    expect(faults.length).toBeGreaterThan(0);
    expect(uncaught).toEqual([]);
  });

  test('does not keep the next turn from being published', () => {
    const bus = createBus({ onFault: fail });
    const { turnOf } = setUp();
    const seen: number[] = [];
    bus.events$.subscribe(fail);
    bus.events$.subscribe(({ position }) => seen.push(position));
    bus.publish(turnOf('a'));
    bus.publish(turnOf('a'));
    expect(seen).toEqual([1, 2]);
  });
});
