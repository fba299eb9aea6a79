import { Worker } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import type { RecordedEvent } from '../../src/events/event.ts';
import type { EventLog } from '../../src/store/event-log.ts';
import type { openSqliteLog as open } from '../../src/store/sqlite/sqlite-log.ts';
import { sampleTurn } from './sample-turns.ts';
import { temporaryFile } from './temporary-directory.ts';

/** The compiled one: from its sources no thread can be started. */
const COMPILED = new URL('../../dist/store/sqlite/sqlite-log.js', import.meta.url).href;
const { openSqliteLog } = (await import(COMPILED)) as { readonly openSqliteLog: typeof open };

/** Enough to be worth a thread. */
const EVENTS = 60_000;
const EVENTS_IN_TURN = 1_200;

const threads = vi.spyOn(Worker.prototype, 'postMessage');
afterEach(() => threads.mockClear());

async function fill(log: EventLog): Promise<void> {
  const versions = new Map<string, number>();
  const event = (turn: number, index: number) => {
    const actor = index % 3 === 0 ? `run-${turn % 7}` : `run-${turn % 7}/a-${index % 50}`;
    const version = (versions.get(actor) ?? 0) + 1;
    versions.set(actor, version);
    return {
      actor,
      version,
      type: `TYPE ${index % 97}`,
      state: index % 5 === 0 ? { working: `é ${index % 11}` } : 'idle',
      data: index % 7 === 0 ? { text: `ü\n${index}` } : {},
      from: index % 2 === 0 ? actor : null,
    };
  };
  for (let turn = 0; turn < EVENTS / EVENTS_IN_TURN; turn += 1) {
    const events = Array.from({ length: EVENTS_IN_TURN }, (_, index) => event(turn, index));
    await log.commit({ turns: [sampleTurn(`t-${turn}`, events)], snapshots: [] });
  }
}

async function scanAll(log: EventLog): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let after = 0; after < EVENTS; after = events.length) {
    events.push(...(await log.scan({ after, before: EVENTS + 1, limit: 2_000 })));
  }
  return events.map((event) => ({ ...event, id: event.id, data: event.data }));
}

async function allEvents(log: EventLog): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let after = 0; after < EVENTS; after = events.length) {
    events.push(...(await log.events({ after, limit: 10_000 })));
  }
  return events;
}

it('K4: a long log is read ahead by a thread, and comes as it is', async () => {
  const log = await openSqliteLog({ file: temporaryFile(), durability: 'normal' });
  await fill(log);
  const scanned = await scanAll(log);
  expect(threads.mock.calls.length).toBe(EVENTS / 2_000);
  expect(scanned).toEqual(await allEvents(log));
  // Whoever reads on from where another stopped, or stops in the middle, is no trouble.
  await log.scan({ after: 0, before: EVENTS + 1, limit: 2_000 });
  expect((await log.scan({ after: 30_000, before: 30_003 })).map(({ position }) => position)).toEqual([
    30_001, 30_002,
  ]);
  const [one, other] = await Promise.all([scanAll(log), scanAll(log)]);
  expect([one.length, other.length]).toEqual([EVENTS, EVENTS]);
  await log.close();
});

it('K4: a log that no thread can open is read all the same', async () => {
  const log = await openSqliteLog({ file: temporaryFile(), durability: 'normal', exclusive: true });
  await fill(log);
  expect(await scanAll(log)).toEqual(await allEvents(log));
  expect(threads.mock.calls.length).toBeGreaterThan(0);
  await log.close();
});
