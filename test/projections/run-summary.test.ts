import { expect, test } from 'vitest';
import { createProjectionEngine } from '../../src/projections/engine.ts';
import { type RunSummary, runSummary } from '../../src/projections/run-summary.ts';
import { type EventSketch, MemorySource } from './memory-source.ts';

const summaryOf = async (run: string, ...events: EventSketch[]): Promise<RunSummary> => {
  const source = new MemorySource();
  source.append(...events.map((event) => ({ run, actor: run, ...event })));
  const engine = createProjectionEngine({ source, projections: [runSummary], onFault: () => undefined });
  const read = await engine.read(runSummary, run);
  const states: RunSummary[] = [];
  engine.state$(runSummary, run).subscribe((state) => states.push(state));
  expect(await engine.rebuild(runSummary, run)).toEqual(read);
  return read;
};

const started: EventSketch = {
  type: 'lw.started',
  kind: 'started',
  machine: 'tight-loop',
  data: { input: null, parent: null, child: null },
};
const child: EventSketch = {
  ...started,
  actor: 'r/dev',
  machine: 'agent',
  data: { parent: 'r', child: 'dev' },
};

test('a run that has not started is open and has nothing', async () => {
  expect(await summaryOf('r')).toEqual(runSummary.initial);
});

test('a run is told from its start to its end', async () => {
  const summary = await summaryOf(
    'r',
    started,
    child,
    { type: 'WORK', actor: 'r/dev', machine: 'agent', state: { working: 'running' } },
    {
      type: 'lw.call.failed',
      actor: 'r/dev',
      machine: 'agent',
      data: { call: 'c', error: { name: 'E', message: 'no' } },
    },
    {
      type: 'lw.call.done',
      actor: 'r/dev',
      machine: 'agent',
      machineVersion: 2,
      state: 'done',
      data: { call: 'c' },
    },
    { type: 'lw.child.done', from: 'r/dev', state: 'verified', data: { child: 'dev', output: 1 } },
    { type: 'lw.run.ended', kind: 'fact', data: { verdict: 'verified', result: null } },
  );
  expect(summary).toEqual({
    workflow: 'tight-loop',
    status: 'ended',
    verdict: 'verified',
    startedAtMs: 1_000,
    endedAtMs: 7_000,
    actors: {
      r: { machine: 'machine', version: 1, state: 'verified', status: 'done', messages: 1 },
      'r/dev': { machine: 'agent', version: 2, state: 'done', status: 'done', messages: 3 },
    },
    calls: { done: 1, failed: 1, late: 0 },
    deadLetters: 0,
    failures: [{ position: 4, atMs: 4_000, actor: 'r/dev', what: 'call', name: 'E', message: 'no' }],
  });
});

test('dead letters and late answers are counted, and do not move an actor', async () => {
  const summary = await summaryOf(
    'r',
    started,
    { type: 'LOST', kind: 'undelivered', state: 'elsewhere' },
    { type: 'lw.call.done', kind: 'late', state: 'elsewhere' },
    { type: 'lw.run.ended', kind: 'message', data: { verdict: 'verified' } },
  );
  expect(summary).toMatchObject({
    deadLetters: 1,
    calls: { done: 0, late: 1 },
    status: 'open',
    verdict: null,
  });
  expect(summary.actors.r).toMatchObject({ state: 'idle', messages: 1 });
});

test('an actor ends once: failed, stopped or done', async () => {
  const summary = await summaryOf(
    'r',
    started,
    child,
    { ...child, actor: 'r/qa' },
    { ...child, actor: 'r/pm' },
    {
      type: 'lw.failed',
      kind: 'failed',
      actor: 'r/dev',
      data: { error: { name: 'TypeError', message: 'x' } },
    },
    { type: 'lw.child.failed', from: null, data: { child: 'dev' } },
    { type: 'lw.child.failed', from: null, data: { child: 'pm' } },
    { type: 'lw.stopped', kind: 'stopped', actor: 'r/qa', data: { reason: 'limit' } },
    { type: 'lw.child.done', from: 'r/qa', data: { child: 'qa' } },
  );
  expect(Object.entries(summary.actors).map(([address, { status }]) => [address, status])).toEqual([
    ['r', 'active'],
    ['r/dev', 'failed'],
    ['r/qa', 'stopped'],
    ['r/pm', 'failed'],
  ]);
  expect(summary.failures).toMatchObject([{ actor: 'r/dev', what: 'actor', name: 'TypeError' }]);
});

test('the latest 20 failures are kept, whatever is in them', async () => {
  const errors = ['text', null, 3, [], {}, { name: 1, message: 2 }];
  const failures = Array.from({ length: 30 }, (_, index) => ({
    type: 'lw.call.failed',
    data: { error: errors[index % errors.length] ?? null },
  }));
  const summary = await summaryOf('r', started, ...failures);
  expect(summary.failures.map(({ position }) => position)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 12),
  );
  expect(summary.calls.failed).toBe(30);
});

test('S16: actors may have any name, and Object.prototype stays as it was', async () => {
  const before = Reflect.ownKeys(Object.prototype);
  for (const run of ['__proto__', 'constructor', 'toString', 'prototype', 'hasOwnProperty']) {
    const events = [{ type: 'A' }, { type: 'lw.child.done', data: { child: '__proto__' } }, { type: 'B' }];
    const summary = await summaryOf(run, started, ...events);
    expect(Object.getPrototypeOf(summary.actors)).toBe(Object.prototype);
    expect(summary.workflow).toBe('tight-loop');
    if (run !== '__proto__') expect(Object.entries(summary.actors)).toMatchObject([[run, { messages: 3 }]]);
  }
  expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
});
