import fc from 'fast-check';
import type { Subscription } from 'rxjs';
import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/events/event.ts';
import type { JsonObject } from '../../src/events/json.ts';
import type { Change } from '../../src/projections/changes.ts';
import { createProjectionEngine, type ProjectionEngine } from '../../src/projections/engine.ts';
import { type Projection, projection } from '../../src/projections/projection.ts';
import type { StoredView, ViewKey } from '../../src/projections/projection-source.ts';
import { runSummary } from '../../src/projections/run-summary.ts';
import { rounds } from '../support/sample-sizes.ts';
import { type EventSketch, MemorySource, ProcessSource } from './memory-source.ts';

const CASES = rounds(100, 2_000);
const RUNS = ['run-1', 'run-2', 'run-3'];
const TYPES = ['added', 'moved', 'cleared', 'noted', 'lw.call.done', 'lw.run.ended'];

const nameIn = ({ name }: JsonObject): string => (typeof name === 'string' ? name : '');

interface Item {
  readonly count: number;
  readonly tags: readonly string[];
}

interface Items {
  readonly total: number;
  readonly byName: Readonly<Record<string, Item>>;
  readonly names: readonly string[];
  readonly last: unknown;
}

const noItems: Items = { total: 0, byName: {}, names: [], last: null };

/** Changes things at all depths, adds and removes, and reads only some of the types. */
const items = projection({
  name: 'items',
  version: 1,
  partition: 'run',
  initial: noItems,
  on: {
    added: (state, { data, position }) => {
      const name = nameIn(data);
      state.total += 1;
      state.byName[name] ??= { count: 0, tags: [] };
      state.byName[name].count += 1;
      state.byName[name].tags.push(`t${position}`);
      state.names.push(name);
      state.last = data;
    },
    moved: (state) => {
      state.names.reverse();
      const name = state.names.shift();
      if (name !== undefined) delete state.byName[name];
    },
    cleared: (state) => {
      state.byName = {};
      state.names.length = 0;
    },
  },
});

interface Shared {
  readonly byName: Readonly<Record<string, { readonly count: number }>>;
  readonly latest: { readonly count: number } | null;
  readonly seen: number;
}

const nothingShared: Shared = { byName: {}, latest: null, seen: 0 };

/** Puts one object in two places, and parts of events in its state: on plain data a change of the one would change the other. */
const shared = projection({
  name: 'shared',
  version: 3,
  partition: 'log',
  initial: nothingShared,
  on: {
    added: (state, { data }) => {
      const name = nameIn(data);
      state.byName[name] ??= { count: 0 };
      state.byName[name].count += 1;
      state.seen += state.latest?.count ?? 0;
      if (data.count === 1) state.latest = state.byName[name];
    },
    '*': (state, { type }) => {
      if (type === 'cleared' && state.latest) state.latest.count = 100;
      if (type === 'moved') state.latest = null;
    },
  },
});

const VIEWS: readonly { readonly projection: Projection; readonly partition?: string }[] = [
  ...RUNS.map((partition) => ({ projection: items, partition })),
  ...RUNS.map((partition) => ({ projection: runSummary, partition })),
  { projection: shared },
];

/** What a view is by definition: a fold over values of which no two share anything. Uses nothing of the engine. */
function expected(view: (typeof VIEWS)[number], log: readonly RecordedEvent[]): unknown {
  let state: unknown = structuredClone(view.projection.initial);
  for (const event of log) {
    if (view.partition !== undefined && event.run !== view.partition) continue;
    const { on } = view.projection;
    const fold = on[event.type] ?? on['*'];
    // Through JSON, since a structured clone keeps two places one object.
    state = JSON.parse(JSON.stringify(state));
    fold?.(state, structuredClone(event));
  }
  return JSON.parse(JSON.stringify(state));
}

const anyEvent: fc.Arbitrary<EventSketch> = fc.record({
  type: fc.constantFrom(...TYPES),
  run: fc.constantFrom(...RUNS),
  kind: fc.constantFrom('message', 'fact', 'late', 'undelivered', 'failed', 'stopped'),
  data: fc.record({ name: fc.constantFrom('a', 'b', 'c'), count: fc.nat(2) }),
});

type Move = 'read' | 'rebuild' | 'watch' | 'leave' | 'restart' | 'kill' | 'nothing';

const anyStep = fc.record({
  events: fc.array(anyEvent, { minLength: 1, maxLength: 4 }),
  move: fc.constantFrom<Move>(
    'read',
    'read',
    'rebuild',
    'watch',
    'watch',
    'leave',
    'restart',
    'kill',
    'nothing',
  ),
  view: fc.nat(VIEWS.length - 1),
  /** The events of this step are only told with those of the next. */
  isToldLate: fc.boolean(),
});

const anyLog = fc.record({
  steps: fc.array(anyStep, { minLength: 1, maxLength: 25 }),
  cached: fc.constantFrom(0, 1, 3, 1_000),
  delays: fc.array(fc.nat(4), { minLength: 1, maxLength: 7 }),
});

type Log = typeof anyLog extends fc.Arbitrary<infer Value> ? Value : never;

/** Someone who watches one view by its states and by its changes, and keeps a copy of it that is made of the changes. */
class Observer {
  readonly states: string[] = [];
  readonly changes: Change[] = [];
  readonly #subscriptions: readonly Subscription[];

  constructor(engine: ProjectionEngine, { projection: which, partition }: (typeof VIEWS)[number]) {
    this.#subscriptions = [
      engine.state$(which, partition).subscribe((state) => this.states.push(JSON.stringify(state))),
      engine.watch(which, partition, '**').subscribe((change) => this.changes.push(change)),
    ];
  }

  leave(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  /** The state that it began with, and all changes done to it. */
  copy(): unknown {
    const state: unknown = JSON.parse(this.states[0] ?? 'null');
    for (const { segments, value } of this.changes) {
      const parent = segments.slice(0, -1).reduce<unknown>((at, key) => Reflect.get(Object(at), key), state);
      const key = segments.at(-1) ?? '';
      if (value !== undefined) Reflect.set(Object(parent), key, structuredClone(value));
      else if (Array.isArray(parent)) parent.length = Math.min(parent.length, Number(key));
      else Reflect.deleteProperty(Object(parent), key);
    }
    return state;
  }
}

/** The first state that is another than the one before it, at each position from `from` on. */
function expectedStates(view: (typeof VIEWS)[number], log: readonly RecordedEvent[], from: number): string[] {
  const states: string[] = [];
  for (let position = from; position <= log.length; position += 1) {
    const state = JSON.stringify(expected(view, log.slice(0, position)));
    if (state !== states.at(-1)) states.push(state);
  }
  return states;
}

const withoutRepeats = (states: readonly string[]): readonly string[] =>
  states.filter((state, index) => state !== states[index - 1]);

/** Lets everything that is under way come to an end. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

interface Watched {
  readonly view: (typeof VIEWS)[number];
  /** It began at one of these positions: what was committed and not told yet may have been read before. */
  readonly from: readonly [first: number, last: number];
  readonly observer: Observer;
}

/**
 * Runs the steps on an engine, and after each of them compares, for each view, what is read with its definition; at the end
 * also what a rebuild gives, and each state that was seen by those who watched.
 */
async function check({ steps, cached, delays }: Log, memory: MemorySource): Promise<void> {
  let delay = 0;
  const nextDelay = () => delays[(delay += 1) % delays.length] ?? 0;
  const faults: unknown[] = [];
  const begin = () => {
    const source = new ProcessSource(memory, nextDelay);
    const engine = createProjectionEngine({
      source,
      projections: [items, runSummary, shared],
      cached,
      onFault: (error) => faults.push(error),
    });
    return { source, engine };
  };
  let { source, engine } = begin();
  let watched: Watched[] = [];
  let told = 0;
  const tell = () => {
    const events = memory.log.slice(told);
    told = memory.log.length;
    engine.committed(events);
  };
  const leave = ({ view, from: [first, last], observer }: Watched) => {
    observer.leave();
    const possible = Array.from({ length: last - first + 1 }, (_, index) =>
      expectedStates(view, memory.log.slice(0, told), first + index),
    );
    expect(possible).toContainEqual(withoutRepeats(observer.states));
    expect(observer.copy()).toEqual(JSON.parse(observer.states.at(-1) ?? 'null'));
  };
  const leaveAll = async () => {
    tell();
    await settle();
    for (const each of watched) leave(each);
    watched = [];
  };

  for (const { events, move, view: index, isToldLate } of steps) {
    const view = VIEWS[index];
    if (view === undefined) continue;
    const { projection: which, partition } = view;
    memory.append(...events);
    const early = move === 'read' ? engine.read(which, partition) : undefined;
    if (!isToldLate) tell();
    if (move === 'watch') {
      watched.push({ view, from: [told, memory.log.length], observer: new Observer(engine, view) });
    }
    if (move === 'rebuild')
      expect(await engine.rebuild(which, partition)).toEqual(expected(view, memory.log));
    if (move === 'leave') await leaveAll();
    if (move === 'restart' || move === 'kill') {
      await leaveAll();
      if (move === 'restart') await engine.close();
      source.isKilled = true;
      ({ source, engine } = begin());
    }
    if (early !== undefined) expect(await early).toEqual(expected(view, memory.log));
    expect(await engine.read(which, partition)).toEqual(expected(view, memory.log));
  }
  await leaveAll();
  for (const view of VIEWS) {
    const state = expected(view, memory.log);
    expect(await engine.read(view.projection, view.partition)).toEqual(state);
    expect(await engine.rebuild(view.projection, view.partition)).toEqual(state);
  }
  expect(faults).toEqual([]);
}

describe('G21: a projection equals a rebuild from the log', () => {
  // Method: random logs of three runs, and random moves between the commits: read, rebuild, watch, stop watching, close and
  // open again, kill and open again. What the engine says is compared with folds over copies, position by position.
  test('at every position, read, watched, rebuilt, and after a restart or a kill', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, (log) => check(log, new MemorySource())),
      { numRuns: CASES },
    );
  });

  test('the check fails if the position of a view is stored without its state', async () => {
    class TornSource extends MemorySource {
      override async saveViews(views: readonly (ViewKey & StoredView)[]): Promise<void> {
        for (const view of views) {
          const { state } = (await this.loadView(view)) ?? view;
          await super.saveViews([{ ...view, state }]);
        }
      }
    }
    const checked = fc.check(
      fc.asyncProperty(anyLog, (log) => check(log, new TornSource())),
      { numRuns: CASES, endOnFailure: true },
    );
    expect((await checked).failed).toBe(true);
  });

  test('the check fails if an event is folded twice', async () => {
    class StutteringSource extends MemorySource {
      override async events(query: Parameters<MemorySource['events']>[0]) {
        return super.events({ ...query, after: Math.max(0, query.after - 1) });
      }
    }
    const checked = fc.check(
      fc.asyncProperty(anyLog, (log) => check(log, new StutteringSource())),
      { numRuns: CASES, endOnFailure: true },
    );
    expect((await checked).failed).toBe(true);
  });
});
