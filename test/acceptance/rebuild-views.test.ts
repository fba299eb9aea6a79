import { describe, expect, it } from 'vitest';
import { mixedLoops, writeMixedLog } from '../../bench/mixed-log.ts';
import { encode } from '../../src/events/encode.ts';
import type { NewEvent } from '../../src/events/event.ts';
import type { Turn } from '../../src/events/turn.ts';
import {
  contextView,
  openLog,
  openQuestions,
  type Projection,
  projection,
  type RecordedEvent,
  runSummary,
  tightProgress,
} from '../../src/index.ts';
import { OWN_PROJECTIONS } from '../../src/projections/own-projections.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { notComparable } from '../support/compared-logs.ts';
import { approveNth, draftPlan, never, writeNew } from '../support/draft-plan.ts';
import { callOnce } from '../support/machines.ts';
import { playTight, tight } from '../support/past-runs.ts';
import { changeFile, dropDerived, open, readFile, refusal, rounds } from '../support/runtimes.ts';

const plan = draftPlan({ limits: { passes: 2 } });

/** Folds that do what is not the same on plain data as on drafts, or what cannot be stored. */
interface Moved {
  first?: { n: number };
  last?: { n: number };
  events: number;
  kept?: unknown;
}
const initial: Moved = { events: 0 };
const moving = projection({
  name: 'moving',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'lw.started': (state) => {
      state.first ??= { n: 0 };
      state.last = state.first;
    },
    '*': (state, event) => {
      state.events += 1;
      if (state.first) state.first.n += 1;
      if (event.kind === 'fact') state.kept = event.data;
    },
  },
});

const kept: { of: Record<string, unknown>; ids: number } = { of: {}, ids: 0 };

/** Keeps whole events, ids and data among them. */
const last = projection({
  name: 'last',
  version: 1,
  partition: 'log',
  initial: kept,
  on: {
    '*': (state, event) => {
      state.of[event.run] = event;
      state.ids += event.id.length + JSON.stringify(event.data).length;
    },
  },
});

const OF_RUNS: readonly Projection[] = [runSummary, contextView, tightProgress, moving];

/** A log of all kinds of runs, ended and open. */
const leaveLog = async (): Promise<string> => {
  const { runtime, file } = await playTight({ reviews: [0, 1, 0], tests: [3, 3, 0] });
  await runtime.close();
  const second = await open({
    file,
    workflows: [plan, callOnce, tight],
    agents: {
      writer: writeNew,
      critic: approveNth(2),
      worker: never,
      developer: never,
      reviewer: never,
      tester: never,
    },
  });
  for (const id of ['p', 'q']) await (await second.start('draft', 'a poem', { id })).result();
  await second.start('call-once', { task: 'x' }, { id: 'c' });
  await second.start('draft', 'asks', { id: 'r2' });
  await second.close();
  return file;
};

interface View {
  readonly projection: string;
  readonly partition: string;
  readonly state: string;
}

const storedViews = (file: string) =>
  readFile(file, (db) =>
    db
      .prepare<[], View>('select projection, partition, state from views order by projection, partition')
      .all(),
  );

/** Byte for byte, whatever the order of keys. */
const textOf = (view: unknown): string => encode(view, { undefinedMembers: 'drop' }).json;

const saysNothing = ({ projection: name, state }: View): boolean =>
  [...OF_RUNS, openQuestions].some((each) => each.name === name && state === JSON.stringify(each.initial));

const openAgain = (file: string) =>
  open({
    file,
    workflows: [plan, callOnce, tight],
    agents: {} as never,
    idle: true,
    projections: [moving, last],
  });

describe('K4: all views, rebuilt', () => {
  it('K4: in one pass over the log they are what each is when it is read by itself', async () => {
    const file = await leaveLog();
    dropDerived(file);
    const first = await openAgain(file);
    const runs = (await first.runs()).map(({ id }) => id);
    const read = async (runtime: typeof first) => [
      await runtime.read(openQuestions),
      await runtime.read(last),
      ...(await Promise.all(runs.flatMap((run) => OF_RUNS.map((each) => runtime.read(each, run))))),
    ];
    const expected = await read(first);
    await first.close();
    const stored = storedViews(file);
    dropDerived(file);

    const second = await openAgain(file);
    const rebuilt = await second.rebuildViews();
    expect(rebuilt.events).toBe((await second.audit({ reverse: true, limit: 1 }))[0]?.position);
    expect(rebuilt.partitions).toBeGreaterThanOrEqual(stored.length);
    // They are stored, and nothing has to be folded to read them. Those that are as they began have nothing to say.
    const found = storedViews(file);
    for (const view of stored) {
      if (saysNothing(view)) expect(found).not.toContainEqual(view);
      else expect(found).toContainEqual(view);
    }
    expect(stored.some(saysNothing)).toBe(true);
    expect(await read(second)).toEqual(expected);
    // Again, with all of them in memory.
    await second.rebuildViews();
    expect(await read(second)).toEqual(expected);
    await second.close();
  });

  // Method: all loops of the package side by side. Each projection of each run is read, is rebuilt with all others in one pass, and is
  // folded by a replay: three ways with little in common.
  it('K4: of a log with all loops in it, every own projection of every run is the same in three ways', async () => {
    const file = temporaryFile();
    await writeMixedLog(file, rounds(1_500, 20_000), 16);
    const options = { file, workflows: [...mixedLoops()], agents: {} as never, idle: true };
    const first = await open(options);
    const runs = (await first.runs()).map(({ id }) => id);
    const keys = OWN_PROJECTIONS.flatMap((each): readonly (readonly [Projection, string | undefined])[] =>
      each.partition === 'run' ? runs.map((run) => [each, run]) : [[each, undefined]],
    );
    const read = async (runtime: typeof first): Promise<readonly string[]> =>
      Promise.all(keys.map(async ([each, run]) => textOf(await runtime.read(each, run))));
    const readLive = await read(first);
    await first.close();
    dropDerived(file);

    const second = await open(options);
    await second.rebuildViews();
    expect(await read(second)).toEqual(readLive);
    const replay = second.replay();
    await replay.to(Number.POSITIVE_INFINITY);
    expect(keys.map(([each, run]) => textOf(replay.view(each, run)))).toEqual(readLive);

    // Every projection but that of questions, which nobody was asked here, has something to say of some run.
    const silent = OWN_PROJECTIONS.filter((each) =>
      keys.every(([key], index) => key !== each || readLive[index] === textOf(each.initial)),
    );
    expect(silent).toEqual([openQuestions]);
  });

  it('K4: a view that was stored wrongly is replaced, also by none', async () => {
    const file = await leaveLog();
    const log = await openSqliteLog({ file });
    const { position } = await log.head();
    const { name, version, initial: state } = tightProgress;
    const wrong = JSON.stringify({ ...state, task: 'of another run' });
    await log.saveViews([{ projection: name, version, partition: 'p', position, state: wrong }]);
    await log.close();
    const runtime = await openAgain(file);
    await runtime.rebuildViews();
    await runtime.close();
    const second = await openAgain(file);
    expect(await second.read(tightProgress, 'p')).toEqual(state);
    await second.close();
  });

  it('K4: a scan gives the events as they are, of a file and of a log in memory', async () => {
    const log = await openLog(await leaveLog());
    const events = await log.events({ limit: 10_000 });
    const scanned = await log.scan({ after: 0 });
    const plain = (event: RecordedEvent) => ({ ...event, id: event.id, data: event.data });
    expect(scanned.map(plain)).toEqual(events);
    expect((await log.scan({ after: 5, before: 9 })).map(({ position }) => position)).toEqual([6, 7, 8]);
    expect((await log.scan({ after: 5, limit: 2 })).map(({ position }) => position)).toEqual([6, 7]);
    expect(Object.isFrozen(scanned[0]?.data)).toBe(true);
    await log.close();
  });

  it('K4: turns without events, of which a log may have some, are passed over', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    const row = (version: number): NewEvent => ({
      run: 'r',
      actor: 'r',
      version,
      kind: 'fact',
      type: 'noted',
      typeVersion: 1,
      data: {},
      dataJson: '{}',
      from: null,
      causedBy: null,
      machine: 'm',
      machineVersion: 1,
      state: 'idle',
      stateJson: '"idle"',
    });
    const turn = (id: string, events: readonly NewEvent[]): Turn => ({
      id,
      atMs: 1,
      origin: 'host',
      by: null,
      cause: null,
      events,
      openedCalls: [],
      closedCalls: [],
      openedTimers: [],
      closedTimers: [],
      runs: [],
    });
    await log.commit({
      turns: [turn('a', [row(1)]), turn('b', []), turn('c', [row(2), row(3)])],
      snapshots: [],
    });
    expect((await log.scan({ after: 0 })).map(({ id }) => id)).toEqual(['a/0', 'c/0', 'c/1']);
    expect((await log.scan({ after: 0 })).map(({ turn: number }) => number)).toEqual([1, 3, 3]);
    await log.close();
  });

  it('K4: a row that is missing is found, and no view is stored after it', async () => {
    const file = await leaveLog();
    dropDerived(file);
    const runtime = await openAgain(file);
    changeFile(file, 'delete from events where position = 7');
    notComparable(file);
    expect((await refusal(runtime.rebuildViews(), 'LOG_CORRUPT')).fields.position).toBe(7);
    expect(storedViews(file)).toEqual([]);
  });
});
