import { describe, expect, test } from 'vitest';
import type { EventLog } from '../../src/store/event-log.ts';
import { readEverything } from '../store/read-everything.ts';
import { fillLog, sampleCall, sampleRun, sampleTimer, sampleTurn } from '../store/sample-turns.ts';

/** How the suite gets a log, and what it can do to it besides what the port offers. */
export interface LogUnderTest {
  readonly open: () => Promise<EventLog>;
  /** Closes the log and opens it again; undefined if it does not outlive its process. */
  readonly reopen?: (log: EventLog) => Promise<EventLog>;
}

const code = (expected: string) => expect.objectContaining({ code: expected });

/** What the port promises, in tests: the same ones for every log. */
export function testEventLog(name: string, { open, reopen }: LogUnderTest): void {
  describe(`${name}: committing`, () => {
    test('gives turns back as recorded, with positions, ids and causes', async () => {
      const log = await open();
      await log.commit({ turns: [sampleTurn('a', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
      const [turn] = await log.commit({
        turns: [
          sampleTurn(
            'b',
            [
              { actor: 'run-1', version: 2 },
              { actor: 'run-1/child', version: 1, from: 'run-1', causedBy: 0 },
            ],
            { atMs: 2_000, origin: 'agent', by: 'ann', cause: 1 },
          ),
        ],
        snapshots: [],
      });
      expect(turn).toMatchObject({ id: 'b', turn: 2, atMs: 2_000, origin: 'agent', by: 'ann' });
      expect(turn?.events).toMatchObject([
        { position: 2, id: 'b/0', turn: 2, version: 2, cause: 1, from: null },
        { position: 3, id: 'b/1', turn: 2, version: 1, cause: 2, from: 'run-1' },
      ]);
      expect(await log.events({ turn: 2 })).toEqual(turn?.events);
    });

    test('records a turn without events, so that its stimulus is never repeated', async () => {
      const log = await open();
      const before = await log.head();
      await log.commit({ turns: [sampleTurn('empty', [])], snapshots: [] });
      expect(await log.findTurn('empty')).toEqual({ turn: 1, first: 1, last: 0 });
      expect((await log.head()).chain).not.toBe(before.chain);
      await expect(log.commit({ turns: [sampleTurn('empty', [])], snapshots: [] })).rejects.toEqual(
        code('DUPLICATE_TURN'),
      );
      await log.commit({ turns: [sampleTurn('next', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
      expect(await log.findTurn('next')).toEqual({ turn: 2, first: 1, last: 1 });
    });

    test('an empty batch does nothing', async () => {
      const log = await open();
      expect(await log.commit({ turns: [], snapshots: [] })).toEqual([]);
      expect(await log.head()).toEqual({ position: 0, turn: 0, chain: '0'.repeat(64), atMs: 0 });
    });

    test.each([
      ['a version too high', [{ actor: 'run-1', version: 3 }], { address: 'run-1', expected: 2, actual: 1 }],
      ['a version again', [{ actor: 'run-1', version: 1 }], { address: 'run-1', expected: 0, actual: 1 }],
      [
        'a stream that does not begin at 1',
        [{ actor: 'run-2', version: 2 }],
        { address: 'run-2', expected: 1, actual: 0 },
      ],
      [
        'a conflict within the turn',
        [
          { actor: 'run-1', version: 2 },
          { actor: 'run-1', version: 2 },
        ],
        { address: 'run-1', expected: 1, actual: 2 },
      ],
    ])('refuses %s, and writes nothing of the batch (G3)', async (_what, events, fields) => {
      const log = await open();
      await log.commit({ turns: [sampleTurn('a', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
      const before = await readEverything(log);
      const good = sampleTurn('good', [{ actor: 'run-9', version: 1 }], {
        openedCalls: [sampleCall('run-9', 'work', 1)],
        runs: [sampleRun('run-9')],
      });
      const batch = { turns: [good, sampleTurn('bad', events)], snapshots: [] };
      await expect(log.commit(batch)).rejects.toMatchObject({ code: 'VERSION_CONFLICT', fields });
      expect(await readEverything(log)).toEqual(before);
      expect(await log.run('run-9')).toBeUndefined();
      // What the failed batch would have made can be made now, as if nothing had been.
      await log.commit({ turns: [good], snapshots: [] });
      expect((await log.load(['run-9'])).actors.get('run-9')?.tail).toHaveLength(1);
    });

    test('refuses a stimulus that it has, and one that is twice in a batch', async () => {
      const log = await open();
      await log.commit({ turns: [sampleTurn('a', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
      // Its versions do not fit either; that it was done before is what the caller must hear.
      const again = sampleTurn('a', [{ actor: 'run-1', version: 1 }]);
      await expect(log.commit({ turns: [again], snapshots: [] })).rejects.toEqual(code('DUPLICATE_TURN'));
      const twice = [2, 3].map((version) => sampleTurn('b', [{ actor: 'run-1', version }]));
      await expect(log.commit({ turns: twice, snapshots: [] })).rejects.toEqual(code('DUPLICATE_TURN'));
      expect((await log.head()).position).toBe(1);
    });

    test('of several turns that do not fit, the first decides', async () => {
      const log = await open();
      await log.commit({ turns: [sampleTurn('a', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
      const conflict = sampleTurn('c', [{ actor: 'run-1', version: 9 }]);
      const duplicate = sampleTurn('a', []);
      await expect(log.commit({ turns: [duplicate, conflict], snapshots: [] })).rejects.toEqual(
        code('DUPLICATE_TURN'),
      );
      await expect(log.commit({ turns: [conflict, duplicate], snapshots: [] })).rejects.toEqual(
        code('VERSION_CONFLICT'),
      );
    });
  });

  describe(`${name}: what is open`, () => {
    const keyed = async (log: EventLog) => {
      const { calls, timers } = await log.openWork();
      return [
        ...calls.map(({ call, generation }) => [call, generation]),
        ...timers.map(({ timer, generation }) => [timer, generation]),
      ];
    };

    test('a call is open from the turn that opened it to the one that closed it', async () => {
      const log = await open();
      const call = sampleCall('run-1', 'work', 1);
      await log.commit({
        turns: [
          sampleTurn(
            'a',
            [
              { actor: 'run-1', version: 1 },
              { actor: 'run-1', version: 2 },
            ],
            {
              openedCalls: [{ ...call, openedBy: 1 }],
              openedTimers: [sampleTimer('run-1', 'limit', 1)],
            },
          ),
        ],
        snapshots: [],
      });
      const { openedBy: _openedBy, ...opened } = call;
      expect((await log.openWork()).calls).toEqual([{ ...opened, openedAt: 2 }]);
      expect((await log.openWork()).timers).toEqual([
        { run: 'run-1', actor: 'run-1', timer: 'limit', generation: 1, dueMs: 5_001, openedAt: 1 },
      ]);
      await log.commit({
        turns: [
          sampleTurn('b', [], {
            closedCalls: [{ actor: 'run-1', call: 'work', generation: 1 }],
            closedTimers: [{ actor: 'run-1', timer: 'limit', generation: 1 }],
          }),
        ],
        snapshots: [],
      });
      expect(await log.openWork()).toEqual({ calls: [], timers: [] });
    });

    test('closing an older generation leaves a newer one open, in whatever batch', async () => {
      const log = await open();
      const opens = (id: string, version: number, generation: number, closes: readonly number[]) =>
        sampleTurn(id, [{ actor: 'run-1', version }], {
          openedCalls: [sampleCall('run-1', 'work', generation)],
          closedCalls: closes.map((closed) => ({ actor: 'run-1', call: 'work', generation: closed })),
        });
      await log.commit({ turns: [opens('a', 1, 1, [])], snapshots: [] });
      await log.commit({ turns: [opens('b', 2, 2, [1])], snapshots: [] });
      expect(await keyed(log)).toEqual([['work', 2]]);
      await log.commit({ turns: [opens('c', 3, 3, [2, 3])], snapshots: [] });
      expect(await keyed(log)).toEqual([]);
      await log.commit({
        turns: [opens('d', 4, 4, []), opens('e', 5, 5, [4]), opens('f', 6, 6, [5])],
        snapshots: [],
      });
      expect(await keyed(log)).toEqual([['work', 6]]);
      await log.commit({
        turns: [sampleTurn('g', [], { closedCalls: [{ actor: 'run-1', call: 'work', generation: 5 }] })],
        snapshots: [],
      });
      expect(await keyed(log)).toEqual([['work', 6]]);
    });

    test('is listed in the order in which it was opened', async () => {
      const log = await open();
      const names = ['c', 'a', 'b'];
      await log.commit({
        turns: [
          sampleTurn('1', [{ actor: 'run-1', version: 1 }], {
            openedCalls: names.map((call) => sampleCall('run-1', call, 1)),
            openedTimers: names.map((timer) => sampleTimer('run-1', timer, 1)),
          }),
          sampleTurn('2', [{ actor: 'run-1', version: 2 }], { openedCalls: [sampleCall('run-1', 'c', 2)] }),
        ],
        snapshots: [],
      });
      expect(await keyed(log)).toEqual([
        ['a', 1],
        ['b', 1],
        ['c', 2],
        ['c', 1],
        ['a', 1],
        ['b', 1],
      ]);
    });
  });

  describe(`${name}: loading`, () => {
    test('gives the snapshot and what came after it, or the whole stream', async () => {
      const log = await open();
      const turns = [1, 2, 3, 4, 5].map((version) =>
        sampleTurn(`t${version}`, [
          { actor: 'run-1', version: 2 * version - 1 },
          { actor: 'run-1', version: 2 * version },
          { actor: 'run-1/child', version },
        ]),
      );
      const snapshot = {
        actor: 'run-1',
        version: 5,
        machineVersion: 1,
        structure: 's',
        state: '{"x":1}',
        hash: 'h',
      };
      await log.commit({ turns: turns.slice(0, 4), snapshots: [snapshot] });
      await log.commit({ turns: turns.slice(4), snapshots: [] });
      const { actors } = await log.load(['run-1', 'run-1/child', 'run-1/none', 'run-2']);
      expect([...actors.keys()]).toEqual(['run-1', 'run-1/child']);
      expect(actors.get('run-1')?.snapshot).toEqual(snapshot);
      expect(actors.get('run-1')?.tail.map(({ version }) => version)).toEqual([6, 7, 8, 9, 10]);
      const whole = (await log.load(['run-1'], { wholeStreams: true })).actors.get('run-1');
      expect(whole?.snapshot).toBeUndefined();
      expect(whole?.tail).toEqual(await log.events({ actor: 'run-1' }));
      await log.commit({ turns: [], snapshots: [{ ...snapshot, version: 10 }] });
      expect((await log.load(['run-1'])).actors.get('run-1')).toEqual({
        address: 'run-1',
        snapshot: { ...snapshot, version: 10 },
        tail: [],
      });
    });

    test('an address that only ever sent has no stream', async () => {
      const log = await open();
      await log.commit({
        turns: [sampleTurn('a', [{ actor: 'run-1', version: 1, from: 'run-1/ghost' }])],
        snapshots: [],
      });
      expect((await log.load(['run-1/ghost'])).actors.size).toBe(0);
      await log.commit({ turns: [sampleTurn('b', [{ actor: 'run-1/ghost', version: 1 }])], snapshots: [] });
      expect((await log.load(['run-1/ghost'])).actors.size).toBe(1);
    });

    test('gives the runs of the actors with the turns that touched them', async () => {
      const log = await open();
      await log.commit({
        turns: [
          sampleTurn(
            'a',
            [
              { actor: 'run-1', version: 1 },
              { actor: 'run-1/x', version: 1 },
            ],
            { runs: [sampleRun('run-1')] },
          ),
          sampleTurn('b', [{ actor: 'run-2', version: 1 }], {
            runs: [sampleRun('run-2', { workflow: 'other' })],
          }),
          sampleTurn('c', [{ actor: 'run-1/x', version: 2 }]),
        ],
        snapshots: [],
      });
      expect([...(await log.load(['run-1/none'])).runs.values()]).toEqual([sampleRun('run-1', { turns: 2 })]);
      const ended = sampleRun('run-1', { verdict: 'verified', endedAtMs: 3_000, result: '{"ok":true}' });
      await log.commit({
        turns: [sampleTurn('d', [{ actor: 'run-1', version: 2 }], { runs: [ended] })],
        snapshots: [],
      });
      expect(await log.run('run-1')).toEqual({ ...ended, turns: 3 });
      const ids = async (filter: Parameters<EventLog['runs']>[0]) =>
        (await log.runs(filter)).map(({ id }) => id);
      expect(await ids({})).toEqual(['run-1', 'run-2']);
      expect(await ids({ reverse: true, limit: 1 })).toEqual(['run-2']);
      expect(await ids({ status: 'open' })).toEqual(['run-2']);
      expect(await ids({ status: 'ended' })).toEqual(['run-1']);
      expect(await ids({ workflow: 'other' })).toEqual(['run-2']);
      expect(await log.run('run-3')).toBeUndefined();
    });
  });

  describe(`${name}: values`, () => {
    test('keeps large values by hash, the first one for each', async () => {
      const log = await open();
      await log.putBlobs(
        new Map([
          ['b', 'two'],
          ['a', 'one'],
        ]),
      );
      await log.putBlobs(
        new Map([
          ['a', 'other'],
          ['c', 'three'],
        ]),
      );
      expect([...(await log.blobs(['c', 'a', 'none']))]).toEqual([
        ['c', 'three'],
        ['a', 'one'],
      ]);
      expect(await log.blobHashes({})).toEqual(['a', 'b', 'c']);
      expect(await log.blobHashes({ after: 'a', limit: 1 })).toEqual(['b']);
    });

    test('keeps the newest state of each view', async () => {
      const log = await open();
      const key = { projection: 'progress', version: 1, partition: 'run-1' };
      await log.saveViews([
        { ...key, position: 1, state: '1' },
        { ...key, version: 2, position: 1, state: '"v2"' },
      ]);
      await log.saveViews([{ ...key, position: 2, state: '2' }]);
      expect(await log.loadView(key)).toEqual({ position: 2, state: '2' });
      expect(await log.loadView({ ...key, version: 2 })).toEqual({ position: 1, state: '"v2"' });
      expect(await log.loadView({ ...key, partition: 'run-2' })).toBeUndefined();
      await log.dropViews([key, { ...key, partition: 'run-2' }]);
      expect(await log.loadView(key)).toBeUndefined();
      expect(await log.loadView({ ...key, version: 2 })).toEqual({ position: 1, state: '"v2"' });
    });

    test('names, types and data with any characters come back as they were', async () => {
      const log = await open();
      const odd = 'a\nb\\n"\u0000\u2028😀';
      const turn = sampleTurn(
        odd,
        [{ actor: 'run-1', version: 1, type: odd, from: `run-1/${odd}`, data: { [odd]: odd } }],
        { by: odd },
      );
      const [recorded] = await log.commit({ turns: [turn], snapshots: [] });
      expect(await log.events({ types: [odd] })).toEqual(recorded?.events);
      expect((await log.verify()).ok).toBe(true);
    });
  });

  describe(`${name}: its life`, () => {
    test('refuses everything once it is closed', async () => {
      const log = await open();
      await log.close();
      await log.close();
      const key = { projection: 'p', version: 1, partition: 'x' };
      const actions = [
        log.commit({ turns: [], snapshots: [] }),
        log.load([]),
        log.openWork(),
        log.events({}),
        log.turns({}),
        log.findTurn('a'),
        log.run('a'),
        log.runs({}),
        log.putBlobs(new Map()),
        log.blobs([]),
        log.blobHashes({}),
        log.loadView(key),
        log.saveViews([]),
        log.dropViews([]),
        log.head(),
        log.verify(),
        log.backup('/nowhere/at-all'),
      ];
      for (const action of actions) await expect(action).rejects.toEqual(code('RUNTIME_CLOSED'));
    });

    test('refuses a limit that is none', async () => {
      const log = await open();
      await expect(log.events({ limit: -1 })).rejects.toEqual(code('BAD_OPTION'));
      await expect(log.runs({ limit: 1.5 })).rejects.toEqual(code('BAD_OPTION'));
    });

    test('verifies, and its turns chain up to its head', async () => {
      const log = await open();
      await fillLog(log, { turns: 60 });
      const head = await log.head();
      expect(await log.verify()).toEqual({ ok: true, events: 180, head, problem: undefined });
      const turns = await log.turns({ after: 58 });
      expect(turns.map(({ turn }) => turn)).toEqual([59, 60]);
      expect(turns.at(-1)?.chain).toBe(head.chain);
    });

    test.runIf(reopen)('is the same after it was closed and opened again', async () => {
      const log = await open();
      await fillLog(log, { turns: 100 });
      const before = await readEverything(log);
      const again = await reopen?.(log);
      expect(again && (await readEverything(again))).toEqual(before);
      await fillLog(again ?? log, { turns: 20, from: 100 });
      expect((await again?.verify())?.ok).toBe(true);
    });
  });
}
