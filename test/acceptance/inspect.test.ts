import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type AnyStateMachine, createMachine } from 'xstate';
import { mixedLoops } from '../../bench/mixed-log.ts';
import {
  createRedactor,
  openLog,
  planRun,
  type RecordedEvent,
  type ReplayStep,
  type Runtime,
  replay,
  toMermaid,
  type Workflow,
  workflow,
} from '../../src/index.ts';
import { type Inspectable, type InspectOptions, inspect } from '../../src/inspect/index.ts';
import { createTeller, type InspectionMessage } from '../../src/inspect/messages.ts';
import { viewerAt } from '../../src/inspect/socket.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, approveNth, draftPlan, never, writeNew } from '../support/draft-plan.ts';
import { callOnce, decision } from '../support/machines.ts';
import { playTight, tight } from '../support/past-runs.ts';
import { open, refusal } from '../support/runtimes.ts';

/** Reads what the inspector would, by the receiver of its own package. */
const watch = (server: string) => {
  const messages: StatelyInspectionEvent[] = [];
  createWebSocketReceiver({ server }).subscribe((message) => {
    messages.push(message);
  });
  return messages;
};

const show = async (source: Inspectable, options: InspectOptions) => {
  const inspection = await inspect(source, options);
  onTestFinished(() => inspection.close());
  return inspection;
};

const ofType = <Type extends StatelyInspectionEvent['type']>(
  messages: readonly StatelyInspectionEvent[],
  type: Type,
) =>
  messages.filter(
    (message): message is Extract<StatelyInspectionEvent, { type: Type }> => message.type === type,
  );

const isMoving = ({ kind }: RecordedEvent) => kind !== 'fact' && kind !== 'undelivered' && kind !== 'late';

const nodesOf = ({ root }: AnyStateMachine): readonly string[] => {
  const all = (node: AnyStateMachine['root']): readonly string[] => [
    node.id,
    ...Object.values(node.states).flatMap(all),
  ];
  return all(root);
};

/** Every actor, event and snapshot of these rows, in their order, with definitions that are the machines. */
const expectWhole = (
  messages: readonly StatelyInspectionEvent[],
  events: readonly RecordedEvent[],
  machines: ReadonlyMap<string, AnyStateMachine>,
) => {
  expect(ofType(messages, '@xstate.event').map(({ id }) => id)).toEqual(
    events.map(({ id }) => `${id}#event`),
  );
  const snapshots = ofType(messages, '@xstate.snapshot');
  expect(snapshots.map(({ id }) => id)).toEqual(events.filter(isMoving).map(({ id }) => `${id}#snapshot`));
  expect(snapshots.map(({ snapshot }) => (snapshot as { value?: unknown }).value)).toEqual(
    events.filter(isMoving).map(({ state }) => state),
  );
  // Of each row: its actor if that is new, what it was told, and only then what became of it.
  const known = new Set<string>();
  expect(messages.map(({ id }) => id)).toEqual(
    events.flatMap((event) => {
      const isNew = !known.has(event.actor);
      known.add(event.actor);
      const parts = [...(isNew ? ['actor'] : []), 'event', ...(isMoving(event) ? ['snapshot'] : [])];
      return parts.map((part) => `${event.id}#${part}`);
    }),
  );
  const actors = ofType(messages, '@xstate.actor');
  expect(actors.map(({ sessionId }) => sessionId)).toEqual([...new Set(events.map(({ actor }) => actor))]);
  for (const actor of actors) {
    // An actor is told of before anything that happens to it.
    expect(messages.find(({ sessionId }) => sessionId === actor.sessionId)).toBe(actor);
    expect(actor.parentId).toBe(
      actor.sessionId.includes('/') ? actor.sessionId.slice(0, actor.sessionId.lastIndexOf('/')) : undefined,
    );
    const parsed = createMachine(JSON.parse(actor.definition ?? ''));
    const machine = machines.get(events.find((event) => event.actor === actor.sessionId)?.machine ?? '');
    if (!machine) throw new Error(`No machine of ${actor.sessionId} is known.`);
    expect(nodesOf(parsed)).toEqual(nodesOf(machine));
    expect(new Set<string>(parsed.events)).toEqual(new Set<string>(machine.events));
    expect(toMermaid(parsed)).toBe(toMermaid(machine));
  }
  // Whoever told something is known by its address.
  for (const [index, { sourceId, rootId, createdAt }] of ofType(messages, '@xstate.event').entries()) {
    const event = events[index];
    expect(sourceId).toBe(event?.kind === 'fact' ? event.actor : (event?.from ?? undefined));
    expect([rootId, createdAt]).toEqual([event?.run, String(event?.atMs)]);
  }
};

/** How a replay tells that an actor has begun. */
const startOf = ({ name, version }: Workflow): ReplayStep => {
  const data = { input: null, parent: null, child: null };
  const of = { run: 'r', actor: 'r', machine: name, machineVersion: version };
  const at = {
    position: 1,
    id: 'x/0',
    turn: 1,
    atMs: 0,
    version: 1,
    typeVersion: 1,
    from: null,
    cause: null,
  };
  return {
    event: { ...of, ...at, kind: 'started', type: 'lw.started', data, state: {} },
    before: null,
    after: { address: 'r', value: {}, context: {}, status: 'active', tags: [], version: 1 },
  };
};

const machinesOf = (runtime: Pick<Runtime, 'replay'>) =>
  new Map(
    runtime
      .replay()
      .machines()
      .map(({ name, machine }) => [name, machine]),
  );

describe('K3: Stately Inspector', () => {
  it('K3: a live runtime: every actor, event and snapshot of every run arrives in order, with its definition', async () => {
    const inner = planRun('inner', { steps: [{ id: 'part', agent: 'writer' }] });
    const outer = planRun('outer', {
      steps: [
        { id: 'nested', run: inner },
        { id: 'check', needs: ['nested'], gate: { reviewers: ['critic'], corrects: 'nested' } },
        { id: 'ok', agent: 'lead', needs: ['check'] },
      ],
      persons: { lead: { text: 'Well?' } },
    });
    const file = temporaryFile();
    const runtime = await open({
      file,
      workflows: [outer, inner, decision],
      agents: { writer: writeNew, critic: approve },
    });
    // One run is under way before anybody looks.
    await runtime.start('decision', undefined, { id: 'd' });
    const { url, page } = await show(runtime, { port: 0 });
    const messages = watch(url);
    await expect.poll(() => messages.length).toBeGreaterThan(0);
    const run = await runtime.start('outer', 'x', { id: 'o' });
    await run.settled();
    const [question] = await runtime.questions();
    await runtime.answer(question?.id ?? '', null, { value: 'yes', by: 'ada' });
    await run.result();
    await runtime.send('d', { type: 'APPROVE', who: 'ada' } as never);
    await runtime.send('d', { type: 'CLOSE' });
    const events = await runtime.audit({ limit: 10_000 });
    await expect.poll(() => ofType(messages, '@xstate.event').length).toBe(events.length);
    expectWhole(messages, events, machinesOf(runtime));

    // Who comes later is told of what is open, from its beginning; ended runs are over.
    await runtime.start('decision', undefined, { id: 'e' });
    const late = watch(url);
    await expect.poll(() => late.length).toBe(3);
    expect(new Set(late.map(({ sessionId }) => sessionId))).toEqual(new Set(['e']));
    expect(await (await fetch(page ?? '')).text()).toContain('https://stately.ai/inspect');
  });

  it('K3: the definition of every machine of the package parses as that machine', () => {
    for (const each of [...OWN_ACTORS, ...mixedLoops()]) {
      const tell = createTeller({ machines: () => [each], redactor: createRedactor({}) });
      const [told] = tell(startOf(each));
      if (told?.type !== '@xstate.actor') throw new Error(`Nothing is told of ${each.name}.`);
      const parsed = createMachine(JSON.parse(told.definition ?? ''));
      expect(nodesOf(parsed)).toEqual(nodesOf(each.machine));
      expect(toMermaid(parsed)).toBe(toMermaid(each.machine));
    }
  });

  it("K3: through the server of Stately's own package", async () => {
    const port = 20_000 + Math.floor(Math.random() * 30_000);
    const server = createInspectorServer({ port, autoOpen: false });
    onTestFinished(() => server.stop());
    const messages = watch(`ws://localhost:${port}`);
    const runtime = await open({
      file: temporaryFile(),
      workflows: [callOnce],
      agents: { worker: () => 'done' },
    });
    await show(runtime, { url: `ws://localhost:${port}` });
    const run = await runtime.start('call-once', { task: 'x' }, { id: 'c' });
    await run.result();
    const events = await runtime.audit({});
    await expect.poll(() => ofType(messages, '@xstate.event').length).toBe(events.length);
    expectWhole(messages, events, machinesOf(runtime));
    // The event that the machine was given, so that the inspector finds the transition.
    expect(ofType(messages, '@xstate.event').map(({ event }) => event.type)).toContain(
      'xstate.done.actor.work',
    );
  });

  it('K3: a log, replayed: the same for each viewer, and the same as it was live', async () => {
    const { runtime, file } = await playTight({ reviews: [1, 0], tests: [0, 3, 0] });
    const { url: liveUrl } = await show(runtime, { port: 0, run: 'r' });
    const live = watch(liveUrl);
    const events = await runtime.audit({ run: 'r', limit: 10_000 });
    await expect.poll(() => ofType(live, '@xstate.event').length).toBe(events.length);
    await runtime.close();
    const log = await openLog(file);
    const { url } = await show(() => replay(log, { workflows: [tight] }), { port: 0 });
    const [one, other] = [watch(url), watch(url)];
    for (const messages of [one, other]) await expect.poll(() => messages.length).toBe(live.length);
    expectWhole(
      one,
      events,
      new Map(
        replay(log, { workflows: [tight] })
          .machines()
          .map(({ name, machine }) => [name, machine]),
      ),
    );
    expect(one).toEqual(live);
    expect(other).toEqual(live);
    await log.close();
  });

  it('K3: secrets and large payloads are cut, in definitions too', async () => {
    const secret = 'hunter2-hunter2';
    const token = `ghp_${'a'.repeat(36)}`;
    const careless: Workflow = workflow(
      'careless',
      createMachine({
        context: { key: secret, also: { password: 'p', text: token }, big: 'x'.repeat(50_000) },
        on: { ADD: {} },
      }) as AnyStateMachine,
    );
    const runtime = await open({
      file: temporaryFile(),
      workflows: [careless],
      agents: {},
      secrets: { values: [secret], names: ['password'] },
    });
    const { url } = await show(runtime, { port: 0 });
    const messages = watch(url);
    await runtime.start(
      'careless',
      { many: Array.from({ length: 1_000 }, (_, index) => index), long: 'y'.repeat(100_000) },
      { id: 'c' },
    );
    await expect.poll(() => messages.length).toBe(3);
    const text = JSON.stringify(messages);
    for (const hidden of [secret, token, '"password":"p"']) expect(text).not.toContain(hidden);
    expect(text).toContain('[redacted]');
    expect(text).toContain('(50000 characters)');
    expect(text).toContain('(1000 items)');
    expect(text).toContain('(a text of 100000 bytes)');
    expect(text.length).toBeLessThan(30_000);
  });

  it('K3: only this machine, under its own name, and only its own page can look', async () => {
    const runtime = await open({ file: temporaryFile(), workflows: [decision], agents: {} });
    const { url, page } = await show(runtime, { port: 0 });
    const port = Number(new URL(url).port);
    const status = (headers: Record<string, string>, path = '/') =>
      new Promise<number>((resolve, reject) => {
        httpRequest({ host: '127.0.0.1', port, path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    expect(await status({ host: `127.0.0.1:${port}` })).toBe(200);
    expect(await status({ host: `localhost:${port}` })).toBe(200);
    for (const host of ['evil.example', `127.0.0.1.evil.example:${port}`, '127.0.0.1', `0.0.0.0:${port}`])
      expect(await status({ host })).toBe(421);
    expect(await status({ host: `localhost:${port}` }, '/../etc/passwd')).toBe(404);
    const connects = (options: { readonly origin?: string; readonly headers?: Record<string, string> }) =>
      new Promise<boolean>((resolve) => {
        const socket = new WebSocket(url, options);
        socket.on('open', () => {
          socket.close();
          resolve(true);
        });
        socket.on('error', () => resolve(false));
      });
    expect(await connects({})).toBe(true);
    expect(await connects({ origin: page ?? '' })).toBe(true);
    expect(await connects({ origin: 'https://evil.example' })).toBe(false);
    expect(await connects({ headers: { host: 'evil.example' } })).toBe(false);
  });

  // Method: whoever is at the other end takes nothing. What it is sent then waits outside of the socket, whose memory is bounded.
  it('K3: of what a slow viewer is sent no more than a bound waits in memory, and it gets all of it in the end', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    await once(server, 'listening');
    const joined = once(server, 'connection');
    const viewer = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => viewer.terminate());
    let received = 0;
    viewer.on('message', () => {
      received += 1;
    });
    const [socket] = (await joined) as [WebSocket]; // What the server gives with each connection.
    await new Promise<void>((resolve) => {
      if (viewer.readyState === WebSocket.OPEN) resolve();
      else viewer.once('open', () => resolve());
    });
    viewer.pause();
    const { send } = viewerAt(socket);
    // Whatever it says: it is written as it is.
    const message = { type: '@xstate.event', text: 'z'.repeat(256 * 1024) } as unknown as InspectionMessage;
    const MESSAGES = 100;
    let sent = 0;
    let most = 0;
    const all = (async () => {
      for (let each = 0; each < MESSAGES; each += 1) {
        expect(await send(message)).toBe(true);
        sent += 1;
        most = Math.max(most, socket.bufferedAmount);
      }
    })();
    await expect.poll(() => socket.bufferedAmount).toBeGreaterThan(1024 * 1024);
    const before = sent;
    await setTimeout(100);
    expect([sent, before < MESSAGES]).toEqual([before, true]);
    viewer.resume();
    await all;
    await expect.poll(() => received).toBe(MESSAGES);
    expect(most).toBeLessThan(2 * 1024 * 1024);
  });

  it('K3: a viewer that leaves, or is slow, holds up nobody; wrong options are refused', async () => {
    const runtime = await open({
      file: temporaryFile(),
      workflows: [draftPlan(), callOnce],
      agents: { writer: writeNew, critic: approveNth(3), worker: never },
    });
    const inspection = await inspect(runtime, { port: 0 });
    const leaving = new WebSocket(inspection.url);
    await new Promise((resolve) => leaving.once('open', resolve));
    leaving.terminate();
    const slow = new WebSocket(inspection.url);
    await new Promise((resolve) => slow.once('open', resolve));
    slow.pause();
    const quick = watch(inspection.url);
    // More than sockets and the system hold for it: what is shown of an input is up to a hundred texts of 2,000 characters.
    const large = Array.from({ length: 100 }, () => 'z'.repeat(2_000));
    for (let each = 0; each < 20; each += 1)
      await runtime.start('call-once', { task: large } as never, { id: `c${each}` });
    const { verdict } = await (await runtime.start('draft', 'a poem', { id: 'r' })).result();
    expect(verdict).toBe('verified');
    await expect
      .poll(() => new Set(ofType(quick, '@xstate.actor').map(({ rootId }) => rootId)).size)
      .toBe(21);
    expect(JSON.stringify(quick).length).toBeGreaterThan(8 * 1024 * 1024);
    await inspection.close();
    await refusal(inspect(runtime, { port: -1 }), 'BAD_OPTION');
    await refusal(inspect(runtime, { url: 'http://localhost:1' }), 'BAD_OPTION');
    await refusal(inspect(runtime, { url: 'ws://127.0.0.1:1' }), 'BAD_OPTION');
    const taken = await inspect(runtime, { port: 0 });
    await refusal(inspect(runtime, { port: Number(new URL(taken.url).port) }), 'BAD_OPTION');
    await taken.close();
  });
});
