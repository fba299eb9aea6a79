import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { assign, emit, setup } from 'xstate';
import { canonicalJson } from '../../src/events/encode.ts';
import {
  agent,
  agentCall,
  createRuntime,
  type Json,
  type RecordedEvent,
  type Runtime,
  runSummary,
  startActor,
  stopActor,
  workflow,
} from '../../src/index.ts';
import { LIMITS } from '../../src/runtime.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { alarm, callOnce, decision, tally } from '../support/machines.ts';
import {
  changeFile,
  committedPosition,
  createFakeClock,
  dropDerived,
  expectReplays,
  open,
  readFile,
  refusal,
  storedStates,
} from '../support/runtimes.ts';

/** A loop (a machine of its own) that an agent works in, and that a run waits for. */
const draftLoop = workflow(
  'draft-loop',
  setup({
    types: {
      context: {} as { drafts: number; draftsMax: number },
      input: {} as { draftsMax: number },
      output: {} as { drafts: number },
      emitted: {} as { type: 'draft.made'; number: number } | { type: 'DRAFTED'; to: string; number: number },
    },
    actors: { writer: agentCall<{ draft: number }, { good: boolean }>() },
  }).createMachine({
    context: ({ input }) => ({ drafts: 0, draftsMax: input.draftsMax }),
    initial: 'writing',
    states: {
      writing: {
        entry: assign({ drafts: ({ context }) => context.drafts + 1 }),
        invoke: {
          id: 'write',
          src: 'writer',
          input: ({ context }) => ({ draft: context.drafts }),
          onDone: {
            target: 'judging',
            actions: [
              emit(({ context }) => ({ type: 'draft.made', number: context.drafts })),
              emit(({ context }) => ({ type: 'DRAFTED', to: '..', number: context.drafts })),
            ],
          },
          onError: 'given-up',
        },
      },
      judging: {
        always: [
          { guard: ({ context }) => context.drafts >= context.draftsMax, target: 'good' },
          { target: 'writing' },
        ],
      },
      good: { type: 'final' },
      'given-up': { type: 'final' },
    },
    output: ({ context }) => ({ drafts: context.drafts }),
  }),
);

const article = workflow(
  'article',
  setup({
    types: {
      context: {} as { heard: readonly number[]; drafts: number },
      events: {} as { type: 'DRAFTED'; number: number } | { type: 'PUBLISH' },
      output: {} as { drafts: number; heard: readonly number[] },
    },
    actors: { loop: draftLoop.machine },
    delays: { embargo: 5 },
  }).createMachine({
    context: { heard: [], drafts: 0 },
    initial: 'drafting',
    states: {
      drafting: {
        invoke: {
          id: 'loop',
          src: 'loop',
          input: { draftsMax: 3 },
          onDone: { target: 'held', actions: assign({ drafts: ({ event }) => event.output.drafts }) },
        },
        on: {
          DRAFTED: { actions: assign({ heard: ({ context, event }) => [...context.heard, event.number] }) },
        },
      },
      held: { after: { embargo: 'published' } },
      published: { type: 'final' },
    },
    output: ({ context }) => ({ drafts: context.drafts, heard: context.heard }),
  }),
);

const articles = { workflows: [article, draftLoop], agents: { writer: () => ({ good: true }) } };

describe('K1: what is not in the log did not happen', () => {
  // Method: a connection of its own looks into the file at the very moment at which someone is told.
  it('K1: every message is in the log before a subscriber hears of it', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, ...articles });
    const told: { readonly position: number; readonly committed: number }[] = [];
    const note = (position: number) => told.push({ position, committed: committedPosition(file) });
    runtime.events$.subscribe(({ position }) => note(position));
    const run = await runtime.start('article');
    run.events$.subscribe(({ position }) => note(position));
    run.state$.subscribe(({ version }) => note(version));
    runtime.watch(runSummary, run.id, '**').subscribe(({ position }) => note(position));
    await run.result();

    expect(told.length).toBeGreaterThan(20);
    expect(told.filter(({ position, committed }) => committed < position)).toEqual([]);
  });

  it('K1: a call is in the log before its agent hears of it, and its answer before anyone acts on it', async () => {
    const file = temporaryFile();
    const seen: unknown[] = [];
    const openCalls = () =>
      readFile(file, (db) => db.prepare('select call_id, input from calls').all()).map((row) => ({
        ...Object(row),
      }));
    const runtime = await open({
      file,
      workflows: [article, draftLoop],
      agents: {
        writer: ({ callId, input }) => {
          seen.push({ callId, input, open: openCalls() });
          return { good: true };
        },
      },
    });
    await (await runtime.start('article', null, { id: 'a' })).result();

    // The second call is open, and the answer of the first gone from the open ones, when the agent is called again.
    expect(seen).toEqual(
      [1, 2, 3].map((draft) => ({
        callId: `a/loop#write.${draft}`,
        input: { draft },
        open: [{ call_id: `a/loop#write.${draft}`, input: JSON.stringify({ draft }) }],
      })),
    );
    expect(openCalls()).toEqual([]);
  });

  it('K1: loops and what agents say are actors and messages in the log, each with its cause', async () => {
    const file = temporaryFile();
    const first = await open({ file, ...articles });
    await (await first.start('article', null, { id: 'a' })).result();
    await first.close();

    const second = await open({ file, ...articles });
    const events = await second.audit({ run: 'a' });
    const rows = events.map(({ kind, actor, type, from }) => `${kind} ${actor} ${type} ${from ?? '-'}`);
    expect(rows).toEqual([
      'started a lw.started -',
      'started a/loop lw.started a',
      'message a/loop lw.call.done -',
      'fact a/loop draft.made -',
      'message a DRAFTED a/loop',
      'message a/loop lw.call.done -',
      'fact a/loop draft.made -',
      'message a DRAFTED a/loop',
      'message a/loop lw.call.done -',
      'fact a/loop draft.made -',
      'message a DRAFTED a/loop',
      'message a lw.child.done a/loop',
      'message a lw.timer.fired -',
      'fact a lw.run.ended -',
    ]);
    // Every cause is an earlier event of the log: what opened the call or timer, sent the message, or stated the fact.
    expect(events.slice(1).every(({ position, cause }) => cause !== null && cause < position)).toBe(true);
    const summary = await second.read(runSummary, 'a');
    expect(Object.keys(summary.actors)).toEqual(['a', 'a/loop']);
    expect(summary.calls).toEqual({ done: 3, failed: 0, late: 0 });
  });
});

describe('K2: embedding', () => {
  it('K2: a host starts a run, awaits its result and closes, in a few lines', async () => {
    const file = temporaryFile();
    const runtime = await createRuntime({
      file,
      workflows: [callOnce],
      agents: { worker: ({ input }) => `did ${input.task}` },
    });
    const run = await runtime.start('call-once', { task: 'the dishes' });
    expect((await run.result()).output).toEqual({ answer: 'did the dishes', failure: null });
    await runtime.close();

    const second = await open({ file, workflows: [callOnce], agents: { worker: () => 'not called' } });
    expect(await (await second.run(run.id)).result()).toMatchObject({
      verdict: 'verified',
      output: { answer: 'did the dishes' },
    });
  });

  it('K2: states, events, views and changes come as observables, and end when the runtime closes', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [tally], agents: {} });
    const run = await runtime.start('tally', null, { id: 't' });
    const states = lastValueFrom(run.state$.pipe(toArray()));
    const events = lastValueFrom(run.events$.pipe(toArray()));
    const all = lastValueFrom(runtime.events$.pipe(toArray()));
    const views = lastValueFrom(runtime.view$(runSummary, 't').pipe(toArray()));
    const changes = lastValueFrom(runtime.watch(runSummary, 't', 'actors.*.messages').pipe(toArray()));
    const others = [
      lastValueFrom(runtime.progress$.pipe(toArray())),
      lastValueFrom(runtime.warnings$.pipe(toArray())),
      lastValueFrom(runtime.fault$.pipe(toArray())),
    ];
    await run.state();
    await runtime.read(runSummary, 't');
    await run.send({ type: 'ADD', value: 2 });
    await run.send({ type: 'ADD', value: 3 });
    await runtime.close();

    expect((await states).map(({ context }) => context.sum)).toEqual([0, 2, 5]);
    expect((await events).map(({ type }) => type)).toEqual(['ADD', 'ADD']);
    expect(await all).toEqual(await events);
    expect((await views).map(({ actors }) => actors['t']?.messages)).toEqual([0, 1, 2]);
    expect((await changes).map(({ old, value }) => [old, value])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(await Promise.all<readonly unknown[]>(others)).toEqual([[], [], []]);
  });

  it('K2: a subscriber that throws harms nobody, and is warned of', async () => {
    const warnings: string[] = [];
    const runtime = await open({
      file: temporaryFile(),
      workflows: [tally],
      agents: {},
      onWarning: (warning) => {
        warnings.push(warning);
        throw new Error('cannot even be warned');
      },
    });
    const heard: string[] = [];
    const fail = () => {
      throw new Error('a bad subscriber');
    };
    runtime.events$.subscribe(fail);
    runtime.events$.subscribe(({ type }) => heard.push(type));
    const run = await runtime.start('tally');
    run.state$.subscribe(fail);
    runtime.view$(runSummary, run.id).subscribe(fail);
    await run.send({ type: 'ADD', value: 1 });

    expect(heard).toEqual(['lw.started', 'ADD']);
    expect((await run.state()).context.sum).toBe(1);
    expect(warnings.every((warning) => warning.includes('a bad subscriber'))).toBe(true);
    expect(warnings.length).toBeGreaterThanOrEqual(3);
  });

  it('K2, G13: calls that are open at a close start again with the next runtime, with the same key', async () => {
    const file = temporaryFile();
    const keys: string[] = [];
    let aborted = 0;
    const first = await open({
      file,
      workflows: [callOnce],
      agents: {
        worker: agent<{ task: string }, string>(
          ({ idempotencyKey, signal }) =>
            new Promise(() => {
              keys.push(idempotencyKey);
              signal.addEventListener('abort', () => (aborted += 1));
            }),
          { concurrency: 2 },
        ),
      },
    });
    for (const id of ['a', 'b', 'c']) await first.start('call-once', { task: id }, { id });
    await expect.poll(() => keys.length).toBe(2);
    const waiting = (await first.run('a')).result();
    await first.close();
    await refusal(waiting, 'RUNTIME_CLOSED');
    expect(aborted).toBe(2);

    const second = await open({
      file,
      workflows: [callOnce],
      agents: { worker: ({ idempotencyKey, input }) => ({ idempotencyKey, ...input }) },
    });
    for (const id of ['a', 'b', 'c']) {
      const { output } = await (await second.run(id, 'call-once')).result();
      expect(output?.answer).toEqual({ idempotencyKey: `${id}#work.1/1`, task: id });
    }
    expect(keys).toEqual(['a#work.1/1', 'b#work.1/1']);
    await second.close();
    await expectReplays(file, [callOnce]);
  });

  it('K2: close leaves nothing behind that keeps the process alive, even if an agent never settles', async () => {
    const clock = createFakeClock();
    const runtime = await open({
      file: temporaryFile(),
      workflows: [callOnce, article, draftLoop],
      agents: { worker: () => new Promise(() => undefined), writer: () => ({ good: true }) },
      clock,
    });
    await runtime.start('call-once', { task: 'hang' });
    const run = await runtime.start('article');
    await expect.poll(async () => (await run.state()).value).toBe('held');
    expect(clock.waiting).toBe(2);
    await runtime.close();
    expect(clock.waiting).toBe(0);
  });

  it('K2: an idle runtime carries out commands, and leaves agents and timers to the next one', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const calls: string[] = [];
    const options = {
      file,
      clock,
      workflows: [callOnce, alarm],
      agents: { worker: ({ callId }: { readonly callId: string }) => calls.push(callId) },
    };
    const idle = await open({ ...options, idle: true });
    await idle.start('call-once', { task: 'x' }, { id: 'x' });
    await idle.start('alarm', { delayMs: 1 }, { id: 'a' });
    clock.advance(1_000);
    await idle.close();
    const again = await open({ ...options, idle: true });
    expect((await again.runs({ status: 'open' })).map(({ id }) => id)).toEqual(['x', 'a']);
    await again.close();
    expect(calls).toEqual([]);
    expect(clock.waiting).toBe(0);

    const awake = await open(options);
    await (await awake.run('x')).result();
    clock.advance(1);
    await expect.poll(async () => (await awake.actor('a')).value).toBe('rung');
    expect(calls).toEqual(['x#work.1']);
    await awake.close();
    await expectReplays(file, options.workflows);
  });

  it('K2: a runtime can be closed again and again, and while commits are under way', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [tally], agents: {} });
    const run = await runtime.start('tally', null, { id: 't' });
    const sends = Array.from({ length: 500 }, () => run.send({ type: 'ADD', value: 1 }));
    await Promise.all([runtime.close(), runtime.close()]);
    await runtime.close();
    const settled = await Promise.allSettled(sends);
    const acknowledged = settled.filter(({ status }) => status === 'fulfilled').length;

    const second = await open({ file, workflows: [tally], agents: {} });
    const { context } = await (await second.run('t', 'tally')).state();
    expect(context.sum).toBe(acknowledged);
    await second.close();
    await expectReplays(file, [tally]);
  });
});

/** Everything that can happen to an actor, in one log. */
const leaveMixedLog = async (file: string): Promise<void> => {
  const runtime = await open({
    file,
    workflows: [article, draftLoop, callOnce, tally, decision],
    agents: {
      writer: ({ input }) => (input.draft > 2 ? Promise.reject(new Error('no more ideas')) : { good: true }),
      worker: ({ input }) => (input.task === 'hang' ? new Promise(() => undefined) : { did: input.task }),
    },
  });
  await (await runtime.start('article', null, { id: 'article' })).result();
  await (await runtime.start('call-once', { task: 'dishes' }, { id: 'done' })).result();
  await runtime.start('call-once', { task: 'hang' }, { id: 'open' });
  await (await runtime.start('call-once', { task: 'hang' }, { id: 'cancelled' })).cancel({
    reason: 'too late',
  });
  const run = await runtime.start('tally', null, { id: 'tally' });
  await Promise.all(Array.from({ length: 250 }, (_, value) => run.send({ type: 'ADD', value })));
  await run.send({ type: 'RESUME' });
  await (await runtime.start('decision', null, { id: 'waiting' })).settled();
  await runtime.close();
};

describe('K4: the log alone', () => {
  const workflows = [article, draftLoop, callOnce, tally, decision];
  const agents = { writer: () => ({ good: true }), worker: () => new Promise(() => undefined) };

  it('K4, G10: every actor is rebuilt from the log, byte for byte as it was in memory', async () => {
    const file = temporaryFile();
    await leaveMixedLog(file);
    const inMemory = storedStates(file);
    const ids = ['article', 'article/loop', 'done', 'open', 'cancelled', 'tally', 'waiting'];
    const look = async (runtime: Runtime) => ({
      states: (await runtime.verify()).replay.states,
      actors: canonicalJson((await Promise.all(ids.map((id) => runtime.actor(id)))) as unknown as Json),
      summaries: canonicalJson(
        (await Promise.all(
          ids.filter((id) => !id.includes('/')).map((id) => runtime.read(runSummary, id)),
        )) as unknown as Json,
      ),
    });
    const withSnapshots = await open({ file, workflows, agents, idle: true });
    const before = await look(withSnapshots);
    await withSnapshots.close();

    dropDerived(file);
    const fromEvents = await open({ file, workflows, agents, idle: true });
    expect(await look(fromEvents)).toEqual(before);
    expect(before.states).toBe(inMemory);
    await fromEvents.close();
    expect((await expectReplays(file, workflows)).actors).toBe(ids.length);
  });

  // The control: a state that is not what the log says is seen.
  it('K4: a snapshot that was tampered with is not believed', async () => {
    const file = temporaryFile();
    await leaveMixedLog(file);
    changeFile(file, `update snapshots set state = replace(state, '"sum":31125', '"sum":31126')`);
    const runtime = await open({ file, workflows, agents, idle: true });
    const { log } = await runtime.verify();
    expect(log.ok).toBe(false);
    const seen = await runtime.actor('tally').then(
      ({ context }) => context,
      (error: unknown) => error,
    );
    expect(seen).not.toMatchObject({ sum: 31126 });
  });

  it('K4: the observable state of a run is the same live, after a restart, and from a backup', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [tally], agents: {} });
    const run = await runtime.start('tally', null, { id: 't' });
    for (let value = 0; value < 7; value += 1) await run.send({ type: 'ADD', value });
    const live = await run.state();
    await runtime.backup(`${file}.copy`);
    await runtime.close();

    for (const path of [file, `${file}.copy`]) {
      const reopened = await open({ file: path, workflows: [tally], agents: {} });
      expect(await (await reopened.run('t')).state()).toEqual(live);
      expect(await firstValueFrom((await reopened.run('t')).state$)).toEqual(live);
    }
  });
});

describe('X2: counters', () => {
  it('X2: a counter that a workflow declares equals a count by a query on the log', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows: [tally], agents: {} });
    const run = await first.start('tally', null, { id: 't' });
    for (let value = 0; value < 5; value += 1) await run.send({ type: 'ADD', value });
    await run.send({ type: 'STOP' });
    // Not taken in this state, so that it must not be counted.
    await run.send({ type: 'ADD', value: 100 });
    await first.close();

    const second = await open({ file, workflows: [tally], agents: {} });
    const { context } = await (await second.run('t', 'tally')).state();
    const counted = await second.audit({ run: 't', kinds: ['message'], types: ['ADD'] });
    expect(context.added).toBe(counted.length);
    expect((await second.verify()).replay.problem).toBeUndefined();
  });

  it('X2: a counter that lies is found by verify, which names it', async () => {
    const file = temporaryFile();
    const lying = workflow('tally', tally.machine, {
      counters: { added: { value: ({ added }) => added, counts: ({ kind }) => kind === 'message' } },
    });
    const first = await open({ file, workflows: [lying], agents: {} });
    const run = await first.start('tally', null, { id: 't' });
    await run.send({ type: 'ADD', value: 1 });
    expect((await first.verify()).replay.ok).toBe(true);
    await run.send({ type: 'STOP' });
    await first.close();

    const second = await open({ file, workflows: [lying], agents: {} });
    const { replay } = await second.verify();
    expect(replay.ok).toBe(false);
    expect(replay.problem).toEqual({
      position: 3,
      what: expect.stringContaining('the counter "added" of "t" says 1, the log says 2'),
    });
  });
});

/** Calls its agent for ever. */
const endless = setup({
  types: { context: {} as { calls: number } },
  actors: { worker: agentCall<null, number>() },
}).createMachine({
  context: { calls: 0 },
  initial: 'working',
  states: {
    working: {
      invoke: {
        id: 'work',
        src: 'worker',
        input: null,
        onDone: {
          target: 'working',
          reenter: true,
          actions: assign({ calls: ({ context }) => context.calls + 1 }),
        },
        onError: { target: 'working', reenter: true },
      },
    },
  },
});

const echo = workflow(
  'echo',
  setup({
    types: { events: {} as { type: 'PING' }, emitted: {} as { type: 'PING'; to: string } },
  }).createMachine({ on: { PING: { actions: emit({ type: 'PING', to: '..' }) } } }),
);

/** Two machines that answer each other for ever, once they are told to. */
const pingPong = workflow(
  'ping-pong',
  setup({
    types: { events: {} as { type: 'PING' }, emitted: {} as { type: 'PING'; to: string } },
    actors: { echo: echo.machine },
  }).createMachine({
    invoke: { id: 'echo', src: 'echo' },
    on: { PING: { actions: emit({ type: 'PING', to: './echo' }) } },
  }),
);

describe('X8: the cap of a run', () => {
  it('X8: it is 10,000 turns unless set, and 1,000 deliveries in one turn', () => {
    expect(LIMITS).toMatchObject({ turnsPerRun: 10_000, deliveriesPerTurn: 1_000 });
  });

  it.each([
    ['the limit of the runtime', {}, { turnsPerRun: 50 }, 50],
    ['the limit of the workflow', { turnsMax: 20 }, { turnsPerRun: 50 }, 20],
  ])(
    'X8: a machine that never ends is exhausted at %s, and stays so',
    async (_name, options, limits, cap) => {
      const file = temporaryFile();
      const forever = workflow('forever', endless, options);
      let calls = 0;
      const agents = { worker: () => (calls += 1) };
      const first = await open({ file, workflows: [forever], agents, limits });
      const result = await (await first.start('forever', null, { id: 'f' })).result();
      await first.close();
      expect(result).toMatchObject({ verdict: 'exhausted', output: undefined, turns: cap + 1 });
      expect(result.reason).toContain(`${cap} turns`);

      const second = await open({ file, workflows: [forever], agents, limits });
      expect(await (await second.run('f')).result()).toEqual(result);
      // The start, an answer for each further turn, and the answer that was one too many.
      expect(calls).toBe(cap);
      expect((await second.actor('f')).status).toBe('stopped');
      const summary = await second.read(runSummary, 'f');
      expect(summary).toMatchObject({ status: 'ended', verdict: 'exhausted', deadLetters: 1 });
      // Nobody sent it again: what the answer led to was the end of the run.
      expect(await second.deadLetters()).toEqual([
        expect.objectContaining({ type: 'lw.call.done', resent: false }),
      ]);
      await second.close();
      await expectReplays(file, [forever]);
    },
  );

  it('X8: the cap counts over restarts', async () => {
    const file = temporaryFile();
    const limits = { turnsPerRun: 6 };
    let sent = 0;
    for (let round = 0; round < 5; round += 1) {
      const runtime = await open({ file, workflows: [tally], agents: {}, limits });
      const run =
        round === 0 ? await runtime.start('tally', null, { id: 't' }) : await runtime.run('t', 'tally');
      for (let each = 0; each < 2 && sent < 6; each += 1, sent += 1)
        await run.send({ type: 'ADD', value: 1 });
      await runtime.close();
    }
    const last = await open({ file, workflows: [tally], agents: {}, limits });
    expect(await (await last.run('t')).result()).toMatchObject({ verdict: 'exhausted', turns: 7 });
    expect((await last.actor('t')).context).toMatchObject({ sum: 5 });
  });

  it('X8: two machines that answer each other for ever end exhausted; other runs go on', async () => {
    const file = temporaryFile();
    const workflows = [pingPong, echo, tally];
    const limits = { deliveriesPerTurn: 100 };
    const first = await open({ file, workflows, agents: {}, limits });
    const run = await first.start('ping-pong', null, { id: 'p' });
    const other = await first.start('tally', null, { id: 't' });
    const [receipt] = await Promise.all([run.send({ type: 'PING' }), other.send({ type: 'ADD', value: 1 })]);
    expect(receipt.taken).toBe(false);
    await first.close();

    const second = await open({ file, workflows, agents: {}, limits });
    const result = await (await second.run('p')).result();
    expect(result).toMatchObject({
      verdict: 'exhausted',
      reason: expect.stringContaining('more than 100 messages'),
    });
    // Nothing of the endless exchange is in the log: the message that began it is kept as a dead letter.
    expect((await second.audit({ run: 'p', types: ['PING'] })).map(({ kind }) => kind)).toEqual([
      'undelivered',
    ]);
    expect((await second.actor('p/echo')).status).toBe('stopped');
    expect((await second.actor('t')).context).toMatchObject({ sum: 1 });
    await second.close();
    await expectReplays(file, workflows);
  });
});

/** Sends what it is told to whom it is told; starts and stops children by name. */
const postman = workflow(
  'postman',
  setup({
    types: {
      events: {} as
        | { type: 'POST'; to: string; say: string }
        | { type: 'HIRE'; id: string }
        | { type: 'DISMISS'; id: string },
      emitted: {} as
        | { type: string; to: string; value: number }
        | ReturnType<typeof startActor>
        | ReturnType<typeof stopActor>,
    },
  }).createMachine({
    on: {
      POST: { actions: emit(({ event }) => ({ type: event.say, to: event.to, value: 7 })) },
      HIRE: { actions: emit(({ event }) => startActor({ id: event.id, machine: 'tally' })) },
      DISMISS: { actions: emit(({ event }) => stopActor(event.id)) },
    },
  }),
);

describe('X9: dead letters', () => {
  const workflows = [postman, tally];

  it('X9: messages that nobody took are kept, counted and listed; sent again, they are marked', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows, agents: {} });
    const run = await first.start('postman', null, { id: 'p' });
    await run.send({ type: 'POST', to: './clerk', say: 'ADD' });
    await run.send({ type: 'HIRE', id: 'gone' });
    await run.send({ type: 'DISMISS', id: 'gone' });
    await run.send({ type: 'POST', to: 'p/gone', say: 'ADD' });
    await run.send({ type: 'HIRE', id: 'clerk' });
    const receipt = await first.send('p/clerk', { type: 'RESUME' }, { by: 'someone' });
    expect(receipt).toMatchObject({ taken: false, delivered: 'undelivered' });
    await first.close();

    const second = await open({ file, workflows, agents: {} });
    const letters = await second.deadLetters();
    expect(letters.map(({ to, type, reason, resent }) => ({ to, type, reason, resent }))).toEqual([
      { to: 'p/clerk', type: 'ADD', reason: 'no such actor', resent: false },
      { to: 'p/gone', type: 'ADD', reason: 'the actor has ended (stopped)', resent: false },
      { to: 'p/clerk', type: 'RESUME', reason: 'not taken in this state', resent: false },
    ]);
    expect(letters[0]).toMatchObject({ run: 'p', message: { value: 7 } });
    expect((await second.read(runSummary, 'p')).deadLetters).toBe(3);
    const [toClerk, toGone, tooEarly] = letters.map(({ position }) => position);

    // The clerk is there now, and takes it; the other is still gone.
    expect(await second.resend(toClerk ?? 0, { by: 'someone' })).toMatchObject({ taken: true });
    expect(await second.resend(toGone ?? 0)).toMatchObject({ taken: false });
    await second.close();

    const third = await open({ file, workflows, agents: {} });
    expect((await third.actor('p/clerk')).context).toMatchObject({ sum: 7 });
    const marked = await third.deadLetters({ run: 'p' });
    expect(marked.map(({ to, type, resent }) => [to, type, resent])).toEqual([
      ['p/clerk', 'ADD', true],
      ['p/gone', 'ADD', true],
      ['p/clerk', 'RESUME', false],
      ['p/gone', 'ADD', false],
    ]);
    expect((await third.read(runSummary, 'p')).deadLetters).toBe(4);
    await third.send('p/clerk', { type: 'STOP' });
    expect(await third.resend(tooEarly ?? 0)).toMatchObject({ taken: true });
    expect((await third.actor('p/clerk')).value).toBe('counting');
    await third.close();
    await expectReplays(file, workflows);
  });

  it('X9: a letter to a run that began later arrives there, and is marked as resent', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows, agents: {} });
    const run = await first.start('postman', null, { id: 'p' });
    await run.send({ type: 'POST', to: 'later', say: 'ADD' });
    await first.start('tally', null, { id: 'later' });
    const [letter] = await first.deadLetters();
    expect(letter).toMatchObject({ run: 'p', to: 'later', resent: false });
    await first.resend(letter?.position ?? 0);
    await first.close();

    const second = await open({ file, workflows, agents: {} });
    expect((await second.actor('later')).context).toMatchObject({ sum: 7 });
    expect(await second.deadLetters()).toEqual([{ ...letter, resent: true }]);
  });

  it('X9: what is no dead letter cannot be sent again', async () => {
    const runtime = await open({ file: temporaryFile(), workflows, agents: {} });
    const run = await runtime.start('tally', null, { id: 't' });
    await run.send({ type: 'ADD', value: 1 });
    for (const position of [0, 1, 2, 3, -1, 1.5, Number.NaN]) {
      const { fields } = await refusal(runtime.resend(position), 'BAD_OPTION');
      expect(fields.expected).toContain('dead letter');
    }
    expect((await run.state()).context.sum).toBe(1);
  });
});

describe('facts and child machines', () => {
  it('facts are in the log with their actor, and reach nobody', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows: [decision], agents: {} });
    const run = await first.start('decision', null, { id: 'd' });
    const fact = firstValueFrom(run.events$.pipe(take(2), toArray()));
    await run.send({ type: 'APPROVE', who: 'ann' });
    await first.close();

    const second = await open({ file, workflows: [decision], agents: {} });
    const facts = await second.audit({ run: 'd', kinds: ['fact'] });
    expect(facts).toEqual([
      expect.objectContaining({ actor: 'd', type: 'decided', data: { who: 'ann' }, from: null, cause: 2 }),
    ]);
    expect((await fact)[1]).toEqual(facts[0]);
    expect(await second.deadLetters()).toEqual([]);
  });

  it('children are started, stopped with what they wait for, and started anew under another address', async () => {
    const file = temporaryFile();
    const workflows = [postman, tally];
    const first = await open({ file, workflows, agents: {} });
    const run = await first.start('postman', null, { id: 'p' });
    for (const type of ['HIRE', 'DISMISS', 'HIRE'] as const) await run.send({ type, id: 'clerk' });
    await run.send({ type: 'POST', to: './clerk', say: 'ADD' });
    await run.cancel({ by: 'ann', reason: 'enough' });
    await first.close();

    const second = await open({ file, workflows, agents: {} });
    const { actors, verdict } = await second.read(runSummary, 'p');
    expect(verdict).toBe('cancelled');
    expect(
      Object.entries(actors).map(([address, { status, messages }]) => [address, status, messages]),
    ).toEqual([
      ['p', 'stopped', 4],
      ['p/clerk', 'stopped', 0],
      ['p/clerk~2', 'stopped', 1],
    ]);
    expect(await (await second.run('p')).result()).toMatchObject({ verdict: 'cancelled', reason: 'enough' });
    await second.close();
    await expectReplays(file, workflows);
  });

  it('a child whose machine throws fails alone; its parent is told, and decides', async () => {
    const file = temporaryFile();
    const fragile = workflow(
      'fragile',
      setup({ types: { events: {} as { type: 'TOUCH' } } }).createMachine({
        on: {
          TOUCH: {
            reenter: true,
            guard: () => {
              throw new Error('broken');
            },
          },
        },
      }),
    );
    const keeper = workflow(
      'keeper',
      setup({
        actors: { fragile: fragile.machine },
        types: { context: {} as { why: unknown } },
      }).createMachine({
        context: { why: null },
        initial: 'keeping',
        states: {
          keeping: {
            invoke: {
              id: 'vase',
              src: 'fragile',
              onError: { target: 'mourning', actions: assign({ why: ({ event }) => event.error }) },
            },
          },
          mourning: {},
        },
      }),
    );
    const first = await open({ file, workflows: [keeper, fragile], agents: {} });
    await first.start('keeper', null, { id: 'k' });
    expect(await first.send('k/vase', { type: 'TOUCH' })).toMatchObject({
      taken: false,
      delivered: 'failed',
    });
    await first.close();

    const second = await open({ file, workflows: [keeper, fragile], agents: {} });
    expect(await second.actor('k')).toMatchObject({
      value: 'mourning',
      status: 'active',
      context: { why: { name: 'Error', message: expect.stringContaining('broken') } },
    });
    expect(await second.actor('k/vase')).toMatchObject({ status: 'failed' });
    expect((await second.read(runSummary, 'k')).failures).toEqual([
      expect.objectContaining({ actor: 'k/vase', what: 'actor', message: expect.stringContaining('broken') }),
    ]);
    await second.close();
    await expectReplays(file, [keeper, fragile]);
  });
});

describe('many at once', () => {
  it('K1: 200 runs at once end each with its own result', async () => {
    const file = temporaryFile();
    const first = await open({
      file,
      workflows: [callOnce],
      agents: {
        worker: agent(async ({ input }: { input: { task: string } }) => input.task.toUpperCase(), {
          concurrency: 50,
        }),
      },
    });
    const runs = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        first.start('call-once', { task: `task ${index}` }, { id: `r${index}` }),
      ),
    );
    await Promise.all(runs.map((run) => run.result()));
    await first.close();

    const second = await open({ file, workflows: [callOnce], agents: { worker: () => 'not called' } });
    const records = await second.runs({ status: 'ended' });
    expect(records).toHaveLength(200);
    const outputs = records.map(({ id, result }) => [id, JSON.parse(result ?? '').output.answer]);
    expect(Object.fromEntries(outputs)).toEqual(
      Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`r${index}`, `TASK ${index}`])),
    );
    await second.close();
    await expectReplays(file, [callOnce]);
  });

  it('K4: actors that leave memory come back as they were', async () => {
    const file = temporaryFile();
    const limits = { loaded: 5 };
    const first = await open({ file, workflows: [tally], agents: {}, limits });
    const runs = await Promise.all(
      Array.from({ length: 40 }, (_, index) => first.start('tally', null, { id: `t${index}` })),
    );
    for (let round = 1; round <= 4; round += 1) {
      await Promise.all(runs.map((run, index) => run.send({ type: 'ADD', value: round * index })));
    }
    const states = await Promise.all(runs.map(async (run) => (await run.state()).context.sum));
    await first.close();
    expect(states).toEqual(runs.map((_, index) => 10 * index));

    const inMemory = storedStates(file);
    expect((await expectReplays(file, [tally])).states).toBe(inMemory);
  });

  it('K4: actors that are idle for long enough are stored and leave memory, and take messages again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const file = temporaryFile();
    const clock = createFakeClock();
    const stored = () => readFile(file, (db) => db.prepare('select count(*) from snapshots').pluck().get());
    const first = await open({ file, workflows: [tally], agents: {}, clock, limits: { idleMs: 60_000 } });
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => first.start('tally', null, { id })));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(stored()).toBe(0);
    clock.advance(60_001);
    // Only messages make time pass for the runtime: this one is not idle.
    await runs[2]?.send({ type: 'ADD', value: 1 });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(stored()).toBe(2);
    for (const run of runs) await run.send({ type: 'ADD', value: 2 });
    expect(await Promise.all(runs.map(async (run) => (await run.state()).context.sum))).toEqual([2, 2, 3]);
    await first.close();
    const inMemory = storedStates(file);
    expect((await expectReplays(file, [tally])).states).toBe(inMemory);
  });
});

describe('snapshots', () => {
  // Method: the machine counts how often its assign runs, which shows how much of a stream was folded. The copy is taken while
  // the runtime is open, so that it has only the snapshots that are written on the way.
  const steps = { count: 0 };
  const makeCounted = (extra: object) =>
    workflow(
      'counted',
      setup({
        types: { context: {} as { n: number }, events: {} as { type: 'STEP' } },
        actions: {
          step: assign({
            n: ({ context }) => {
              steps.count += 1;
              return context.n + 1;
            },
          }),
        },
      }).createMachine({
        context: { n: 0 },
        initial: 'on',
        states: { on: { on: { STEP: { actions: 'step' } } }, ...extra },
      }),
    );
  const counted = makeCounted({});
  const leaveLog = async (): Promise<string> => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [counted], agents: {} });
    const run = await runtime.start('counted', null, { id: 'c' });
    for (const length of [200, 30]) {
      await Promise.all(Array.from({ length }, () => run.send({ type: 'STEP' })));
    }
    await runtime.backup(`${file}.copy`);
    await runtime.close();
    return `${file}.copy`;
  };
  const stepsToLoad = async (read: () => Promise<unknown>): Promise<number> => {
    steps.count = 0;
    await read();
    return steps.count;
  };

  it('after 100 events of an actor only the tail of its stream is folded', async () => {
    const file = await leaveLog();
    const runtime = await open({ file, workflows: [counted], agents: {} });
    const folded = await stepsToLoad(async () =>
      expect((await runtime.actor('c')).context).toEqual({ n: 230 }),
    );
    expect(folded).toBeGreaterThan(0);
    expect(folded).toBeLessThan(100);
    // All of the stream, and once more what is folded onto the snapshot: both must come to the same.
    expect(await stepsToLoad(() => runtime.verify())).toBe(230 + folded);
  });

  it('after a clean close nothing is folded at all', async () => {
    const file = (await leaveLog()).replace(/\.copy$/, '');
    const runtime = await open({ file, workflows: [counted], agents: {} });
    expect(await stepsToLoad(() => runtime.actor('c'))).toBe(0);
    expect(await stepsToLoad(async () => (await runtime.run('c')).send({ type: 'STEP' }))).toBe(1);
  });

  it('a snapshot of a machine with another structure is dropped, and the whole stream folded', async () => {
    const file = await leaveLog();
    const runtime = await open({ file, workflows: [makeCounted({ off: {} })], agents: {} });
    expect(
      await stepsToLoad(async () => expect((await runtime.actor('c')).context).toEqual({ n: 230 })),
    ).toBe(230);
  });
});

describe('the log is for everyone', () => {
  it('K2: an export has every event, and a reader sees them while the runtime is open', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [tally], agents: {} });
    const run = await runtime.start('tally', null, { id: 't' });
    const receipt = await run.send({ type: 'ADD', value: 1 }, { by: 'ann' });
    expect(committedPosition(file)).toBe(receipt.position);
    const lines: Record<string, unknown>[] = [];
    await runtime.export((line) => void lines.push(JSON.parse(line)));
    const turns = lines.flatMap(({ turn }) => (turn === undefined ? [] : [turn]));
    expect(turns).toHaveLength(2);
    expect(JSON.stringify(lines)).toContain('"ann"');
  });

  it('K2: runs are listed by status and workflow', async () => {
    const file = temporaryFile();
    const workflows = [tally, decision];
    const first = await open({ file, workflows, agents: {} });
    const run = await first.start('tally', null, { id: 'a' });
    await first.start('decision', null, { id: 'b' });
    await run.send({ type: 'STOP' });
    await run.send({ type: 'STOP' });
    await first.close();

    const second = await open({ file, workflows, agents: {} });
    const ids = async (filter: Parameters<typeof second.runs>[0]) =>
      (await second.runs(filter)).map(({ id }) => id);
    expect(await ids({})).toEqual(['a', 'b']);
    expect(await ids({ reverse: true })).toEqual(['b', 'a']);
    expect(await ids({ status: 'open' })).toEqual(['b']);
    expect(await ids({ workflow: 'tally' })).toEqual(['a']);
    expect(await (await second.run('a')).result()).toMatchObject({ verdict: 'verified', output: { sum: 0 } });
  });

  it('the same command, given twice under one id, is done once', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows: [tally], agents: {} });
    const run = await first.start('tally', null, { id: 't' });
    const twice = await Promise.all([1, 2].map(() => run.send({ type: 'ADD', value: 5 }, { id: 'once' })));
    expect(twice.filter(({ duplicate }) => duplicate)).toHaveLength(1);
    await first.close();

    const second = await open({ file, workflows: [tally], agents: {} });
    const again = await (await second.run('t', 'tally')).send({ type: 'ADD', value: 5 }, { id: 'once' });
    expect(again.duplicate).toBe(true);
    expect((await second.actor('t')).context).toMatchObject({ sum: 5 });
    const events: readonly RecordedEvent[] = await second.audit({ run: 't', types: ['ADD'] });
    expect(events).toHaveLength(1);
  });
});
