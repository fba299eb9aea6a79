import { finalize, map, type Subscription, take } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import type { Change } from '../../src/projections/changes.ts';
import { createProjectionEngine, type ProjectionEngineOptions } from '../../src/projections/engine.ts';
import { type Projection, projection } from '../../src/projections/projection.ts';
import { isProjectionFault } from '../../src/projections/projection-fault.ts';
import type { ProjectionSource } from '../../src/projections/projection-source.ts';
import type { EventLog } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { type EventSketch, MemorySource } from './memory-source.ts';

interface Counts {
  readonly count: number;
  readonly agents: Readonly<Record<string, { readonly status: string; readonly turns: number }>>;
}

const none: Counts = { count: 0, agents: {} };

const counts = projection({
  name: 'counts',
  version: 1,
  partition: 'run',
  initial: none,
  on: {
    counted: (state) => {
      state.count += 1;
    },
    status: (state, { data }) => {
      const agent = data.agent === 'qa' ? 'qa' : 'dev';
      state.agents[agent] ??= { status: 'new', turns: 0 };
      state.agents[agent].status = data.status === 'busy' ? 'busy' : 'idle';
      state.agents[agent].turns += 1;
    },
    reset: (state) => {
      state.agents = { dev: { status: 'idle', turns: 0 }, qa: { status: 'idle', turns: 0 } };
    },
    broken: () => {
      throw new Error('This fold is broken.');
    },
  },
});

const total = projection({
  name: 'total',
  version: 1,
  partition: 'log',
  initial: { events: 0 },
  on: {
    '*': (state) => {
      state.events += 1;
    },
  },
});

const counted = (run = 'run-1'): EventSketch => ({ type: 'counted', run });
const many = (length: number, sketch = counted()): EventSketch[] => Array.from({ length }, () => sketch);

function setUp(
  options: Partial<Omit<ProjectionEngineOptions, 'source'>> & { readonly source?: MemorySource } = {},
) {
  const source = options.source ?? new MemorySource();
  const faults: { error: unknown; projection: string; partition: string }[] = [];
  const engine = createProjectionEngine({
    projections: [counts, total],
    onFault: (error, name, partition) => faults.push({ error, projection: name, partition }),
    ...options,
    source,
  });
  const commit = (...events: EventSketch[]) => engine.committed(source.append(...events));
  return { source, engine, faults, commit };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

const outcome = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('reading', () => {
  test('gives the state at the end of the log, of each run apart, frozen', async () => {
    const { source, engine } = setUp();
    source.append(...many(3), counted('run-2'), { type: 'status', data: { agent: 'qa', status: 'busy' } });
    const state = await engine.read(counts, 'run-1');
    expect(state).toEqual({ count: 3, agents: { qa: { status: 'busy', turns: 1 } } });
    expect(Object.isFrozen(state) && Object.isFrozen(state.agents) && Object.isFrozen(state.agents.qa)).toBe(
      true,
    );
    expect((await engine.read(counts, 'run-2')).count).toBe(1);
    expect(await engine.read('total')).toEqual({ events: 5 });
    expect(await engine.read(counts, 'nobody')).toEqual(none);
  });

  test('a state once given stays as it was', async () => {
    const { source, engine } = setUp();
    source.append(...many(50));
    const before = await engine.read(counts, 'run-1');
    source.append(...many(50));
    expect((await engine.read(counts, 'run-1')).count).toBe(100);
    source.append(counted());
    await engine.read(counts, 'run-1');
    expect(before.count).toBe(50);
  });

  test('asks the log for the types that the projection names, and for all if it has a fold for every other', async () => {
    const { source, engine } = setUp();
    source.append(counted(), { type: 'other' });
    await engine.read(counts, 'run-1');
    await engine.read(total);
    expect(source.queries.map(({ run, types }) => ({ run, types }))).toEqual([
      { run: 'run-1', types: ['counted', 'status', 'reset', 'broken'] },
      { run: undefined, types: undefined },
    ]);
  });

  test('reads in chunks, and nothing twice, also if no event concerned it', async () => {
    const { source, engine } = setUp();
    source.append(...many(2_500), ...many(10, { type: 'other' }));
    expect((await engine.read(counts, 'run-1')).count).toBe(2_500);
    expect(source.queries.map(({ after }) => after)).toEqual([0, 1_000, 2_000]);
    await engine.read(counts, 'run-1');
    expect(source.queries).toHaveLength(3);
    source.append({ type: 'other' });
    await engine.read(counts, 'run-1');
    expect(source.queries.at(-1)).toMatchObject({ after: 2_510, before: 2_512 });
  });

  test('many reads at once fold once', async () => {
    const { source, engine } = setUp();
    source.append(...many(10));
    const states = await Promise.all(Array.from({ length: 20 }, () => engine.read(counts, 'run-1')));
    expect(source.queries).toHaveLength(1);
    expect(new Set(states).size).toBe(1);
  });

  test('nothing is folded that nobody wants to know', () => {
    const { source, commit } = setUp();
    commit(...many(10), { type: 'broken' });
    expect(source.queries).toEqual([]);
  });

  test('a log of the package will do as a source', async () => {
    const log: EventLog = createMemoryLog();
    const source: ProjectionSource = log;
    const engine = createProjectionEngine({ source, projections: [counts, total], onFault: () => undefined });
    expect(await engine.read(total)).toEqual({ events: 0 });
    await engine.close();
  });
});

describe('state$', () => {
  test('gives the state, then each that is another', async () => {
    const { source, engine, commit } = setUp();
    source.append(counted());
    const seen: number[] = [];
    engine.state$(counts, 'run-1').subscribe(({ count }) => seen.push(count));
    await settle();
    commit(counted(), counted(), { type: 'other' }, counted('run-2'));
    commit(counted());
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  test('leaves out nothing that is committed right after the subscription', async () => {
    const { source, engine, commit } = setUp();
    source.append(...many(100));
    const seen: number[] = [];
    engine.state$(counts, 'run-1').subscribe(({ count }) => seen.push(count));
    commit(counted());
    void engine.read(counts, 'run-1');
    commit(counted(), counted());
    await settle();
    expect(seen).toEqual([100, 101, 102, 103]);
  });

  test('gives those who come later the state at once', async () => {
    const { engine, commit } = setUp();
    engine.state$(counts, 'run-1').subscribe();
    await settle();
    commit(...many(3));
    const seen: number[] = [];
    engine.state$(counts, 'run-1').subscribe(({ count }) => seen.push(count));
    expect(seen).toEqual([3]);
  });

  test('tells of events in order, also if one who is told commits the next', async () => {
    const { engine, commit } = setUp();
    const seen: string[] = [];
    engine.state$(total).subscribe(({ events }) => {
      seen.push(`a${events}`);
      if (events === 1) commit(counted());
    });
    engine.state$(total).subscribe(({ events }) => seen.push(`b${events}`));
    await settle();
    commit(counted(), counted());
    expect(seen).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  });

  test('finds events in the log that it was not told of', async () => {
    const { source, engine, commit } = setUp();
    const seen: number[] = [];
    engine.state$(total).subscribe(({ events }) => seen.push(events));
    await settle();
    source.append(counted(), counted());
    commit(counted());
    await settle();
    commit(counted());
    expect(seen).toEqual([0, 1, 2, 3, 4]);
  });

  test('does not fold events that it is told of twice', async () => {
    const { source, engine } = setUp();
    const seen: number[] = [];
    engine.state$(total).subscribe(({ events }) => seen.push(events));
    await settle();
    const events = source.append(counted(), counted());
    await engine.read(total);
    engine.committed(events);
    engine.committed(events);
    expect(seen).toEqual([0, 1, 2]);
  });

  test('stops for those who leave, also while they are being told', async () => {
    const { engine, commit } = setUp();
    const seen: number[] = [];
    const subscription: Subscription = engine.state$(total).subscribe(({ events }) => {
      seen.push(events);
      if (events === 2) subscription.unsubscribe();
    });
    await settle();
    commit(...many(5));
    expect(seen).toEqual([0, 1, 2]);
    expect(await engine.read(total)).toEqual({ events: 5 });
  });

  test('one who throws harms nobody, be it at the end', async () => {
    const { engine, commit, faults } = setUp();
    const seen: unknown[] = [];
    const fail = () => {
      throw new Error('The end is bad.');
    };
    engine.state$(total).pipe(take(2), finalize(fail)).subscribe();
    engine.state$(total).pipe(finalize(fail)).subscribe();
    engine
      .state$(total)
      .subscribe({ next: ({ events }) => seen.push(events), complete: () => seen.push('end') });
    await settle();
    commit(counted(), counted());
    await engine.close();
    expect(seen).toEqual([0, 1, 2, 'end']);
    expect(faults).toMatchObject([{ projection: 'total', partition: 'log' }]);
  });
});

describe('watch', () => {
  const watch = async (pattern: string, ...events: EventSketch[]): Promise<readonly Change[]> => {
    const { source, engine, commit } = setUp();
    source.append({ type: 'status', data: { agent: 'dev', status: 'idle' } });
    const changes: Change[] = [];
    engine.watch(counts, 'run-1', pattern).subscribe((change) => changes.push(change));
    await settle();
    commit(...events);
    return changes;
  };
  const busy = { type: 'status', data: { agent: 'dev', status: 'busy' } };

  test.each([
    'agents.*.status',
    '*.dev.status',
    '*.*.status',
    'agents.dev.stat*',
    '**.status',
    'agents.**.status',
  ])('tells new value, old value and path by %s', async (pattern) => {
    expect(await watch(pattern, busy)).toEqual([
      {
        path: 'agents.dev.status',
        segments: ['agents', 'dev', 'status'],
        value: 'busy',
        old: 'idle',
        position: 2,
      },
    ]);
  });

  test('tells of each matching value when a fold sets all of them at once', async () => {
    const changes = await watch('agents.*.status', busy, { type: 'reset' });
    expect(changes.map(({ path, old, value, position }) => [path, old, value, position])).toEqual([
      ['agents.dev.status', 'idle', 'busy', 2],
      ['agents.dev.status', 'busy', 'idle', 3],
      ['agents.qa.status', undefined, 'idle', 3],
    ]);
  });

  test('tells nothing of other paths, runs and events', async () => {
    expect(await watch('agents.*.status', counted(), { ...busy, run: 'run-2' }, { type: 'other' })).toEqual(
      [],
    );
  });

  test('refuses a bad pattern at once', () => {
    const { engine } = setUp();
    expect(() => engine.watch(counts, 'run-1', 'a..b')).toThrow(/is not a path pattern/);
  });
});

describe('what is stored', () => {
  const storedPositions = ({ views }: MemorySource) => [...views].map(([key, view]) => [key, view.position]);

  test('is stored every 200 events that were folded, and taken up by the next engine', async () => {
    const { source, engine, commit } = setUp();
    engine.state$(counts, 'run-1').subscribe();
    await settle();
    commit(...many(199));
    await settle();
    expect(storedPositions(source)).toEqual([]);
    commit(counted());
    await settle();
    expect(storedPositions(source)).toEqual([['["counts",1,"run-1"]', 200]]);

    const next = setUp({ source });
    expect((await next.engine.read(counts, 'run-1')).count).toBe(200);
    expect(source.queries.filter(({ after }) => after === 0)).toEqual([]);
  });

  test('is stored when the engine closes, and when a partition leaves memory', async () => {
    const { source, engine } = setUp({ cached: 1 });
    source.append(counted('run-1'), counted('run-2'));
    await engine.read(counts, 'run-1');
    await engine.read(counts, 'run-2');
    await settle();
    expect(storedPositions(source)).toEqual([['["counts",1,"run-1"]', 2]]);
    await engine.close();
    expect(storedPositions(source)).toHaveLength(2);
  });

  test('is not stored again if nothing changed', async () => {
    const { source, engine } = setUp({ cached: 0 });
    source.append(counted());
    for (let times = 0; times < 5; times += 1) await engine.read(counts, 'run-1');
    await engine.close();
    expect(source.savedViews).toBe(1);
  });

  test('of an ended run leaves memory once nobody watches', async () => {
    const { source, engine, commit } = setUp();
    const subscription = engine.state$(counts, 'run-1').subscribe();
    await settle();
    commit(counted());
    engine.runEnded('run-1');
    await settle();
    expect(source.savedViews).toBe(0);
    commit(counted());
    subscription.unsubscribe();
    await settle();
    expect(storedPositions(source)).toEqual([['["counts",1,"run-1"]', 2]]);
    expect((await engine.read(counts, 'run-1')).count).toBe(2);
  });

  test.each([
    ['of another version', '["counts",2,"run-1"]', { position: 1, state: '{"count":100,"agents":{}}' }],
    [
      'beyond the end of the log',
      '["counts",1,"run-1"]',
      { position: 9, state: '{"count":100,"agents":{}}' },
    ],
    ['that is not JSON', '["counts",1,"run-1"]', { position: 1, state: '{"count":100,' }],
    ['that is not a state', '["counts",1,"run-1"]', { position: 1, state: '100' }],
  ])('is ignored if it is a view %s', async (_what, key, view) => {
    const { source, engine } = setUp();
    source.append(counted(), counted());
    source.views.set(key, view);
    expect((await engine.read(counts, 'run-1')).count).toBe(2);
  });

  test('is tried again if it could not be stored, and that is reported', async () => {
    class FullSource extends MemorySource {
      isFull = true;
      override async saveViews(...views: Parameters<MemorySource['saveViews']>) {
        if (this.isFull) throw new Error('The disk is full.');
        await super.saveViews(...views);
      }
    }
    const source = new FullSource();
    const { engine, faults } = setUp({ source });
    source.append(...many(300));
    expect((await engine.read(counts, 'run-1')).count).toBe(300);
    await settle();
    expect(faults).toMatchObject([{ projection: 'counts', partition: 'run-1' }]);
    source.isFull = false;
    await engine.close();
    expect(storedPositions(source)).toEqual([['["counts",1,"run-1"]', 300]]);
  });

  test('is replaced by a rebuild', async () => {
    const { source, engine } = setUp();
    source.append(counted(), counted());
    source.views.set('["counts",1,"run-1"]', { position: 2, state: '{"count":100,"agents":{}}' });
    expect((await engine.read(counts, 'run-1')).count).toBe(100);
    const seen: number[] = [];
    engine.state$(counts, 'run-1').subscribe(({ count }) => seen.push(count));
    await settle();
    expect((await engine.rebuild(counts, 'run-1')).count).toBe(2);
    expect(seen).toEqual([100, 2]);
    expect(source.views.get('["counts",1,"run-1"]')).toEqual({
      position: 2,
      state: '{"count":2,"agents":{}}',
    });
  });
});

describe('a fold that throws', () => {
  test('stops its own partition only, and says where', async () => {
    const { source, engine, faults } = setUp();
    source.append(counted(), { type: 'broken' }, counted(), counted('run-2'));
    const error = await outcome(engine.read(counts, 'run-1'));
    expect(isProjectionFault(error)).toBe(true);
    expect(error).toMatchObject({ fields: { projection: 'counts', partition: 'run-1', position: 2 } });
    expect(await outcome(engine.read(counts, 'run-1'))).toBe(error);
    expect((await engine.read(counts, 'run-2')).count).toBe(1);
    expect(await engine.read(total)).toEqual({ events: 4 });
    expect(faults).toEqual([{ error, projection: 'counts', partition: 'run-1' }]);
  });

  test('ends what watches that partition with the fault, and nothing else', async () => {
    const { engine, commit, faults } = setUp();
    const errors: unknown[] = [];
    const seen: number[] = [];
    engine.state$(counts, 'run-1').subscribe({ error: (error) => errors.push(error) });
    engine.watch(counts, 'run-1', '**').subscribe({ error: (error) => errors.push(error) });
    engine.state$(total).subscribe(({ events }) => seen.push(events));
    await settle();
    commit(counted(), { type: 'broken' }, counted());
    engine.state$(counts, 'run-1').subscribe({ error: (error) => errors.push(error) });
    expect(errors).toHaveLength(3);
    expect(errors).toEqual([faults[0]?.error, faults[0]?.error, faults[0]?.error]);
    expect(faults[0]?.error).toMatchObject({ fields: { position: 2 } });
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  test.each<[string, Projection['on'][string], RegExp]>([
    ['waits', async () => undefined, /returns a promise/],
    ['rejects', () => Promise.reject(new Error('late')) as unknown as undefined, /returns a promise/],
    [
      'leaves undefined',
      (state) => void Object.assign(Object(state), { a: undefined }),
      /\$\.a is undefined/,
    ],
    [
      'leaves NaN',
      (state) => void Object.assign(Object(state), { a: [Number.NaN] }),
      /\$\.a\.0 is the number NaN/,
    ],
    [
      'leaves a date',
      (state) => void Object.assign(Object(state), { a: new Date(0) }),
      /\$\.a is not a plain object/,
    ],
    [
      'sets a prototype',
      (state) => void Reflect.set(Object(state), '__proto__', { a: 1 }),
      /prototype|plain object/i,
    ],
    [
      'changes the event',
      (_state, event) => void Object.assign(event, { type: 'x' }),
      /read only|Cannot assign/,
    ],
  ])('is one that %s, too', async (_what, fold, problem) => {
    const bad: Projection = { name: 'bad', version: 1, partition: 'run', initial: {}, on: { counted: fold } };
    const first = setUp({ projections: [bad] });
    first.source.append({ type: 'other' }, counted());
    const error = await outcome(first.engine.read(bad, 'run-1'));
    expect(error).toMatchObject({ fields: { position: 2 }, message: expect.stringMatching(problem) });

    const second = setUp({ projections: [bad] });
    const errors: unknown[] = [];
    second.engine.state$(bad, 'run-1').subscribe({ error: (watched) => errors.push(watched) });
    await settle();
    second.commit({ type: 'other' }, counted());
    expect(errors).toMatchObject([{ fields: { position: 2 }, message: expect.stringMatching(problem) }]);
  });

  test('is mended by a rebuild, if it can be', async () => {
    let isBroken = true;
    const moody = projection({
      name: 'moody',
      version: 1,
      partition: 'run',
      initial: { count: 0 },
      on: {
        counted: (state) => {
          if (isBroken) throw new Error('Not today.');
          state.count += 1;
        },
      },
    });
    const { source, engine } = setUp({ projections: [moody] });
    source.append(...many(3));
    expect(isProjectionFault(await outcome(engine.read(moody, 'run-1')))).toBe(true);
    expect(isProjectionFault(await outcome(engine.rebuild(moody, 'run-1')))).toBe(true);
    isBroken = false;
    expect(isProjectionFault(await outcome(engine.read(moody, 'run-1')))).toBe(true);
    expect(await engine.rebuild(moody, 'run-1')).toEqual({ count: 3 });
    expect(await engine.read(moody, 'run-1')).toEqual({ count: 3 });
  });

  test('does not make a source that fails a fault of the projection', async () => {
    class FlakySource extends MemorySource {
      isDown = true;
      override async events(...query: Parameters<MemorySource['events']>) {
        if (this.isDown) throw new Error('The log is down.');
        return super.events(...query);
      }
    }
    const source = new FlakySource();
    const { engine } = setUp({ source });
    source.append(counted());
    expect(await outcome(engine.read(counts, 'run-1'))).toMatchObject({ message: 'The log is down.' });
    const errors: unknown[] = [];
    engine.state$(counts, 'run-1').subscribe({ error: (error) => errors.push(error) });
    await settle();
    expect(errors).toMatchObject([{ message: 'The log is down.' }]);
    source.isDown = false;
    expect((await engine.read(counts, 'run-1')).count).toBe(1);
  });
});

describe('the engine', () => {
  test('refuses what it does not know', async () => {
    const { engine } = setUp();
    const isCode = async (promise: Promise<unknown>, code: 'UNKNOWN_PROJECTION' | 'BAD_OPTION') =>
      isRuntimeError(await outcome(promise), code);
    expect(await isCode(engine.read('nothing', 'run-1'), 'UNKNOWN_PROJECTION')).toBe(true);
    expect(await isCode(engine.read({ ...counts, version: 2 }, 'run-1'), 'UNKNOWN_PROJECTION')).toBe(true);
    expect(await isCode(engine.read(counts), 'BAD_OPTION')).toBe(true);
    expect(await isCode(engine.read(total, 'run-1'), 'BAD_OPTION')).toBe(true);
  });

  test.each<[string, Partial<Omit<ProjectionEngineOptions, 'source'>>]>([
    ['two projections of one name', { projections: [counts, counts] }],
    ['a version that is no number from 1 on', { projections: [{ ...counts, version: 0 }] }],
    ['a name that is empty', { projections: [{ ...counts, name: '' }] }],
    ['an initial state that is a number', { projections: [{ ...counts, initial: 0 }] }],
    ['an initial state that is not JSON', { projections: [{ ...counts, initial: { at: new Date(0) } }] }],
    ['a projection without folds', { projections: [{ ...counts, on: {} }] }],
    ['a number of partitions below 0', { cached: -1 }],
  ])('refuses %s', (_what, options) => {
    expect(() => setUp(options)).toThrow();
  });

  test('does not take an event of a type like "constructor" for one that it has a fold for', async () => {
    const { source, engine } = setUp();
    source.append({ type: 'constructor' }, { type: '__proto__' }, counted());
    expect((await engine.read(counts, 'run-1')).count).toBe(1);
  });

  test('completes what watches when it closes, and reads no more', async () => {
    const { engine, commit } = setUp();
    const ends: string[] = [];
    engine
      .state$(total)
      .pipe(map(() => undefined))
      .subscribe({ complete: () => ends.push('state') });
    engine.watch(total, undefined, '**').subscribe({ complete: () => ends.push('watch') });
    await settle();
    commit(counted());
    await engine.close();
    engine.state$(total).subscribe({ complete: () => ends.push('late') });
    commit(counted());
    expect(ends).toEqual(['state', 'watch', 'late']);
    expect(isRuntimeError(await outcome(engine.read(total)), 'RUNTIME_CLOSED')).toBe(true);
  });
});
