import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import {
  type Agent,
  agent,
  agentCall,
  createRuntime,
  isRuntimeError,
  type Migration,
  type Runtime,
  runSummary,
  type Workflow,
  workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { notComparable } from '../support/compared-logs.ts';
import { tally } from '../support/machines.ts';
import {
  createFakeClock,
  dropDerived,
  expectReplays,
  headOf,
  open,
  refusal,
  storedStates,
} from '../support/runtimes.ts';

type CountEvent = { type: 'ADD'; value: number } | { type: 'ASK' } | { type: 'END' };
type Answering = Agent<{ sum: number }, number>;

/** Adds up what it is sent, asks an agent on demand, and reminds after an hour. */
const countingMachine = setup({
  types: {
    context: {} as { sum: number; answer: number | null; reminders: number },
    events: {} as CountEvent,
  },
  actors: { oracle: agentCall<{ sum: number }, number>() },
  actions: {
    add: assign({ sum: ({ context, event }) => context.sum + ('value' in event ? event.value : 0) }),
  },
  delays: { hour: 3_600_000 },
}).createMachine({
  context: { sum: 0, answer: null, reminders: 0 },
  initial: 'counting',
  states: {
    counting: {
      on: { ADD: { actions: 'add' }, ASK: 'asking', END: 'ended' },
      after: {
        hour: {
          target: 'counting',
          reenter: true,
          actions: assign({ reminders: ({ context }) => context.reminders + 1 }),
        },
      },
    },
    asking: {
      invoke: {
        id: 'ask',
        src: 'oracle',
        input: ({ context }) => ({ sum: context.sum }),
        onDone: { target: 'counting', actions: assign({ answer: ({ event }) => event.output }) },
        onError: 'counting',
      },
    },
    ended: { type: 'final' },
  },
});

/** The second version counts in another unit, under other names. */
const totallingMachine = setup({
  types: { context: {} as { cents: number; answer: number | null }, events: {} as CountEvent },
  actors: { oracle: agentCall<{ sum: number }, number>() },
  actions: {
    add: assign({
      cents: ({ context, event }) => context.cents + ('value' in event ? event.value * 100 : 0),
    }),
  },
  delays: { hour: 3_600_000 },
}).createMachine({
  context: { cents: 0, answer: null },
  initial: 'totalling',
  states: {
    totalling: {
      on: { ADD: { actions: 'add' }, ASK: 'asking', END: 'ended' },
      after: { hour: { target: 'totalling', reenter: true } },
    },
    asking: {
      invoke: {
        id: 'ask',
        src: 'oracle',
        input: ({ context }) => ({ sum: context.cents }),
        onDone: { target: 'totalling', actions: assign({ answer: ({ event }) => event.output * 100 }) },
        onError: 'totalling',
      },
    },
    ended: { type: 'final' },
  },
});

const counting = workflow('count', countingMachine);
const totalling = workflow('count', totallingMachine, { version: 2 });

const migrate: Migration<typeof totallingMachine>['migrate'] = ({ value, context }) => ({
  value: value === 'counting' ? 'totalling' : (value as 'asking' | 'ended'),
  // What version 1 left: see countingMachine.
  context: { cents: (context as { sum: number }).sum * 100, answer: null },
});
/** With the old machine to fold what came after the last snapshot, and without. */
const migrating = (from?: typeof countingMachine) =>
  workflow('count', totallingMachine, { version: 2, migrations: { 1: { ...(from && { from }), migrate } } });

const never = (): Promise<never> => new Promise(() => undefined);

/** Opens the log with other versions of the workflow: what it was written with is a matter between the log and the runtime. */
const openWith = async (
  file: string,
  workflows: readonly Workflow[],
  {
    oracle = never,
    ...options
  }: { oracle?: Answering | (() => unknown); clock?: ReturnType<typeof createFakeClock> } = {},
) => {
  const warnings: string[] = [];
  const runtime: Runtime = await open({
    file,
    workflows,
    agents: { oracle },
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  return { runtime, warnings };
};

const send = (runtime: Runtime, to: string, event: CountEvent) => runtime.send(to, event);

/** A run of version 1 that has counted to 7 and, if asked to, waits for an answer; closed, or as a kill leaves it. */
const leaveRun = async (end: 'closed' | 'killed', { asking = false } = {}): Promise<string> => {
  const file = temporaryFile();
  const runtime = await open({ file, workflows: [counting, tally], agents: { oracle: never } });
  const run = await runtime.start('count', null, { id: 'old' });
  await run.send({ type: 'ADD', value: 3 });
  await run.send({ type: 'ADD', value: 4 });
  if (asking) await run.send({ type: 'ASK' });
  await runtime.start('tally', null, { id: 'other' });
  // A copy of a log in use has what is committed, and none of what a close would store.
  await runtime.backup(`${file}.killed`);
  await runtime.close();
  return end === 'closed' ? file : `${file}.killed`;
};

describe('versions of workflows', () => {
  it('a run goes on under the version that it began with while that is registered; new runs use the newest', async () => {
    const file = await leaveRun('killed', { asking: true });
    const { runtime, warnings } = await openWith(file, [totalling, counting, tally], { oracle: () => 5 });
    await expect.poll(async () => (await runtime.actor('old')).context).toMatchObject({ sum: 7, answer: 5 });
    await send(runtime, 'old', { type: 'ADD', value: 1 });
    expect(await runtime.actor('old')).toMatchObject({ value: 'counting', context: { sum: 8 } });
    const typed = runtime as unknown as Runtime<typeof totalling>; // The newest version is what `start` takes.
    const young = await typed.start('count', null, { id: 'young' });
    await young.send({ type: 'ADD', value: 1 });
    expect(await young.state()).toMatchObject({ value: 'totalling', context: { cents: 100 } });
    await runtime.close();
    expect(warnings).toEqual([]);

    const second = await openWith(file, [counting, totalling, tally]);
    const records = await second.runtime.runs({ workflow: 'count' });
    expect(records.map(({ id, workflowVersion }) => [id, workflowVersion])).toEqual([
      ['old', 1],
      ['young', 2],
    ]);
    await second.runtime.close();
    await expectReplays(file, [totalling, counting, tally]);
  });

  it.each(['closed', 'killed'] as const)(
    'without its version and a migration a run (%s) is parked, its call not started, and all others go on',
    async (end) => {
      const file = await leaveRun(end, { asking: true });
      let calls = 0;
      const oracle = () => (calls += 1);
      const { runtime, warnings } = await openWith(file, [totalling, tally], { oracle });
      expect(warnings).toEqual([expect.stringMatching(/run "old" is parked.*version 1 of "count"/)]);
      const before = await headOf(runtime);
      const error = await refusal(send(runtime, 'old', { type: 'ADD', value: 1 }), 'RUN_PARKED');
      expect(error.message).toMatch(/Version 1 of the machine "count" is not registered.*registered: 2/);
      await refusal((await runtime.run('old')).cancel(), 'RUN_PARKED');
      await refusal(runtime.actor('old'), 'RUN_PARKED');
      expect(await headOf(runtime)).toBe(before);
      expect(await runtime.send('other', { type: 'ADD', value: 1 } as { type: 'ADD' })).toMatchObject({
        taken: true,
      });
      expect((await runtime.read(runSummary, 'old')).actors['old']?.state).toBe('asking');
      expect(await runtime.runs({ status: 'open' })).toHaveLength(2);
      await runtime.close();
      expect(calls).toBe(0);

      // Registered again, it goes on as if nothing had been.
      const second = await openWith(file, [totalling, counting, tally], { oracle });
      await expect
        .poll(async () => (await second.runtime.actor('old')).context)
        .toMatchObject({ sum: 7, answer: 1 });
      expect(calls).toBe(1);
      await second.runtime.close();
      await expectReplays(file, [totalling, counting, tally]);
    },
  );

  it('the calls of the children of a parked run are not started either', async () => {
    const file = temporaryFile();
    const child = workflow('child', countingMachine);
    const parentOf = (version: number, extra: object) =>
      workflow(
        'parent',
        setup({ actors: { child: countingMachine } }).createMachine({
          initial: 'waiting',
          states: {
            waiting: { invoke: { id: 'child', src: 'child', onDone: 'done' } },
            done: { type: 'final' },
            ...extra,
          },
        }),
        { version },
      );
    const first = await openWith(file, [parentOf(1, {}), child]);
    await (first.runtime as unknown as Runtime<ReturnType<typeof parentOf>>).start('parent', null, {
      id: 'p',
    });
    await send(first.runtime, 'p/child', { type: 'ASK' });
    await first.runtime.close();

    let calls = 0;
    const second = await openWith(file, [parentOf(2, { more: {} }), child], { oracle: () => (calls += 1) });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(second.warnings).toEqual([expect.stringMatching(/run "p" is parked/)]);
    expect(calls).toBe(0);
    await second.runtime.close();
  });
});

describe('migrations', () => {
  it.each([
    ['after a clean close, from the stored state', 'closed', migrating()],
    ['after a clean close, with the old machine', 'closed', migrating(countingMachine)],
    ['after a kill, with the old machine', 'killed', migrating(countingMachine)],
  ] as const)('a run goes on in the newest version: %s', async (_name, end, newest) => {
    const file = await leaveRun(end);
    const { runtime, warnings } = await openWith(file, [newest, tally]);
    // Looking at it changes nothing.
    const before = await headOf(runtime);
    expect(await runtime.actor('old')).toMatchObject({ value: 'totalling', context: { cents: 700 } });
    expect(await headOf(runtime)).toBe(before);
    expect(await send(runtime, 'old', { type: 'ADD', value: 1 })).toMatchObject({ taken: true });
    const rows = (await runtime.audit({ run: 'old', after: before })).map(
      ({ kind, type, machineVersion, state }) => [kind, type, machineVersion, state],
    );
    expect(rows).toEqual([
      ['migrated', 'lw.migrated', 2, 'totalling'],
      ['message', 'ADD', 2, 'totalling'],
    ]);
    const state = await runtime.actor('old');
    expect(state.context).toEqual({ cents: 800, answer: null });
    // So that it is in memory as well, and stored at the close.
    await runtime.send('other', { type: 'ADD', value: 1 } as { type: 'ADD' });
    // As a kill would leave it: without a stored state of version 2.
    await runtime.backup(`${file}.migrated`);
    const { replay } = await runtime.verify();
    expect(replay.problem).toBeUndefined();
    await runtime.close();
    expect(warnings).toEqual([]);
    expect(storedStates(file)).toBe(replay.states);

    for (const path of [file, `${file}.migrated`]) {
      for (const workflows of [
        [newest, tally],
        [totalling, tally],
        [totalling, counting, tally],
      ]) {
        const again = await openWith(path, workflows);
        expect(await again.runtime.actor('old')).toEqual(state);
        expect((await again.runtime.verify()).replay.problem).toBeUndefined();
        await again.runtime.close();
      }
    }
    const last = await openWith(`${file}.migrated`, [newest, tally]);
    expect(await send(last.runtime, 'old', { type: 'END' })).toMatchObject({ taken: true });
    expect(await (await last.runtime.run('old')).result()).toMatchObject({ verdict: 'verified' });
    await last.runtime.close();
    await expectReplays(`${file}.migrated`, [newest, tally]);
  });

  it.each(['closed', 'killed'] as const)(
    'what was open stays open: its call is answered and its timer fires in the newest version (%s in between)',
    async (between) => {
      const file = await leaveRun('closed', { asking: true });
      const newest = migrating();
      const first = await openWith(file, [newest, tally], { oracle: () => 5 });
      await expect
        .poll(async () => (await first.runtime.actor('old')).context)
        .toEqual({ cents: 700, answer: 500 });
      await first.runtime.close();

      const timed = await leaveRun('closed');
      const clock = createFakeClock(Date.now() + 1_000);
      const second = await openWith(timed, [newest, tally], { clock });
      await send(second.runtime, 'old', { type: 'ADD', value: 1 });
      await second.runtime.backup(`${timed}.migrated`);
      await second.runtime.close();
      const path = between === 'closed' ? timed : `${timed}.migrated`;
      const third = await openWith(path, [newest, tally], { clock });
      clock.advance(3_600_000);
      await expect
        .poll(async () => (await third.runtime.audit({ run: 'old', types: ['lw.timer.fired'] })).length)
        .toBe(1);
      await third.runtime.close();
      await expectReplays(path, [newest, tally]);
    },
  );

  it('after a kill without the old machine a run is parked, with what to do', async () => {
    const file = await leaveRun('killed');
    const { runtime } = await openWith(file, [migrating(), tally]);
    // Another process has made it, with a machine that is not here.
    notComparable(file);
    const error = await refusal(send(runtime, 'old', { type: 'ADD', value: 1 }), 'RUN_PARKED');
    expect(error.message).toContain('Version 1 of the machine "count" is not registered');
    expect(await runtime.send('other', { type: 'ADD', value: 1 } as { type: 'ADD' })).toMatchObject({
      taken: true,
    });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('cannot be done');
      },
    ],
    ['gives a state that there is not', () => ({ value: 'elsewhere', context: { cents: 0, answer: null } })],
    ['gives a context that cannot be stored', () => ({ value: 'totalling', context: { cents: 1n } })],
  ])('a migration that %s parks the run, and nothing else', async (_name, broken) => {
    const file = await leaveRun('closed');
    const newest = workflow('count', totallingMachine, {
      version: 2,
      migrations: { 1: { migrate: broken as never } },
    });
    const { runtime } = await openWith(file, [newest, tally]);
    const before = await headOf(runtime);
    const error = await refusal(send(runtime, 'old', { type: 'ADD', value: 1 }), 'RUN_PARKED');
    expect(error.fields.problem).toMatch(/migration.*version 1/);
    expect(await headOf(runtime)).toBe(before);
    expect(await runtime.send('other', { type: 'ADD', value: 1 } as { type: 'ADD' })).toMatchObject({
      taken: true,
    });
    await runtime.close();

    const mended = await openWith(file, [migrating(), tally]);
    expect(await send(mended.runtime, 'old', { type: 'ADD', value: 1 })).toMatchObject({ taken: true });
    expect((await mended.runtime.actor('old')).context).toMatchObject({ cents: 800 });
  });

  it('a run that has ended is left as it is', async () => {
    const file = await leaveRun('closed');
    const first = await openWith(file, [counting, tally]);
    await send(first.runtime, 'old', { type: 'END' });
    const result = await (await first.runtime.run('old')).result();
    await first.runtime.close();

    const second = await openWith(file, [migrating(), tally]);
    const before = await headOf(second.runtime);
    expect(await second.runtime.actor('old')).toMatchObject({
      value: 'ended',
      status: 'done',
      context: { sum: 7 },
    });
    await refusal(send(second.runtime, 'old', { type: 'ADD', value: 1 }), 'RUN_ENDED');
    expect(await (await second.runtime.run('old')).result()).toEqual(result);
    expect(await headOf(second.runtime)).toBe(before);
  });

  it('K4: an actor that has ended and is not stored whole is not migrated either', async () => {
    const file = await leaveRun('closed');
    const first = await openWith(file, [counting, tally]);
    await send(first.runtime, 'old', { type: 'END' });
    await first.runtime.close();
    dropDerived(file);

    const second = await openWith(file, [migrating(countingMachine), tally]);
    const before = await headOf(second.runtime);
    expect(await second.runtime.actor('old')).toMatchObject({
      value: 'ended',
      status: 'done',
      context: { sum: 7 },
    });
    await refusal(send(second.runtime, 'old', { type: 'ADD', value: 1 }), 'RUN_ENDED');
    expect(await headOf(second.runtime)).toBe(before);
  });
});

describe('changed code without a new version', () => {
  /** The same structure, but it counts double from the third message on, and then lands elsewhere. */
  const changed = workflow(
    'count',
    countingMachine.provide({
      actions: {
        add: assign({ sum: ({ context, event }) => context.sum + ('value' in event ? event.value : 0) }),
      },
    }),
  );

  const machineWith = (limit: number) =>
    workflow(
      'gate',
      setup({
        types: {
          context: {} as { sum: number },
          events: {} as { type: 'ADD'; value: number } | { type: 'ASK' },
        },
        actors: { oracle: agentCall<null, number>({ announce: true }) },
        guards: { isOver: ({ context }) => context.sum > limit },
        actions: {
          add: assign({ sum: ({ context, event }) => context.sum + ('value' in event ? event.value : 0) }),
        },
      }).createMachine({
        context: { sum: 0 },
        initial: 'low',
        states: {
          low: {
            on: { ADD: { actions: 'add' }, ASK: 'asking' },
            always: { guard: 'isOver', target: 'high' },
          },
          asking: { invoke: { id: 'ask', src: 'oracle', input: null, onDone: 'high' } },
          high: { on: { ADD: { actions: 'add' } } },
        },
      }),
    );

  const leaveGate = async (): Promise<string> => {
    const file = temporaryFile();
    const { runtime } = await openWith(file, [machineWith(10), tally]);
    const typed = runtime as unknown as Runtime<ReturnType<typeof machineWith> | typeof tally>;
    const run = await typed.start('gate', null, { id: 'g' });
    for (const value of [3, 4, 1]) await run.send({ type: 'ADD', value });
    await run.send({ type: 'ASK' });
    await typed.start('tally', null, { id: 'other' });
    await runtime.close();
    return file;
  };

  it('G11: replay names the first position at which it leads elsewhere', async () => {
    const file = await leaveGate();
    const { runtime } = await openWith(file, [machineWith(5), tally]);
    const { log, replay } = await runtime.verify();
    expect(log.ok).toBe(true);
    expect(replay.ok).toBe(false);
    expect(replay.problem).toEqual({
      position: 3,
      what: expect.stringMatching(/"g" replays differently at position 3: recorded "low", now "high"/),
    });
  });

  it('G11: a run whose tail leads elsewhere is parked with that position, before it does harm; others go on', async () => {
    const file = await leaveGate();
    dropDerived(file);
    const { runtime } = await openWith(file, [machineWith(5), tally]);
    const error = await refusal(
      runtime.send('g', { type: 'ADD', value: 1 } as { type: 'ADD' }),
      'RUN_PARKED',
    );
    expect(isRuntimeError(error.cause, 'REPLAY_DIVERGED') && error.cause.fields).toMatchObject({
      address: 'g',
      position: 3,
      recorded: '"low"',
      computed: '"high"',
    });
    expect(error.message).toContain('give it one, and keep the old one registered');
    expect(await runtime.send('other', { type: 'ADD', value: 1 } as { type: 'ADD' })).toMatchObject({
      taken: true,
    });
    await runtime.close();

    // The code as it was: the run goes on.
    const second = await openWith(file, [machineWith(10), tally], { oracle: () => 1 });
    await expect.poll(async () => (await second.runtime.actor('g')).value).toBe('high');
    await second.runtime.close();
    await expectReplays(file, [machineWith(10), tally]);
  });

  it('G11, G16: a parked run keeps no place of its agent from others', async () => {
    const file = await leaveGate();
    dropDerived(file);
    let calls = 0;
    const oracle = agent(() => (calls += 1), { concurrency: 1 }) as unknown as Answering;
    const { runtime, warnings } = await openWith(file, [machineWith(5), tally], { oracle });
    const typed = runtime as unknown as Runtime<ReturnType<typeof machineWith>>;
    const run = await typed.start('gate', null, { id: 'fresh' });
    await run.send({ type: 'ASK' });
    await expect.poll(async () => (await run.state()).value, { timeout: 3_000 }).toBe('high');
    expect(calls).toBe(1);
    expect(warnings.some((warning) => warning.includes('"g" replays differently'))).toBe(true);
  });

  it('a change that leads to the same states is none', async () => {
    const file = await leaveRun('killed');
    const { runtime } = await openWith(file, [changed, tally]);
    expect((await runtime.verify()).replay.problem).toBeUndefined();
    expect(await send(runtime, 'old', { type: 'ADD', value: 1 })).toMatchObject({ taken: true });
  });
});

describe('versions of events', () => {
  const makeBook = (options: Parameters<typeof workflow>[2], field: 'name' | 'title') =>
    workflow(
      'book',
      setup({
        types: {
          context: {} as { titles: readonly unknown[] },
          events: {} as { type: 'ADDED'; [key: string]: unknown },
        },
      }).createMachine({
        context: { titles: [] },
        on: {
          ADDED: {
            actions: assign({ titles: ({ context, event }) => [...context.titles, event[field] ?? null] }),
          },
        },
      }),
      options,
    );
  const old = makeBook({}, 'name');
  const second = makeBook(
    {
      eventVersions: { ADDED: 2 },
      readers: { 'ADDED@1': ({ name = null, ...rest }) => ({ ...rest, title: name }) },
    },
    'title',
  );
  const third = makeBook(
    {
      eventVersions: { ADDED: 3 },
      readers: {
        'ADDED@1': ({ name = null, ...rest }) => ({ ...rest, title: name }),
        'ADDED@2': ({ title = null, ...rest }) => ({
          ...rest,
          title: typeof title === 'string' ? `${title}!` : title,
        }),
      },
    },
    'title',
  );

  it('events of older versions pass through readers, step by step; the log is as it was', async () => {
    const file = temporaryFile();
    const addTo = async (book: typeof old, event: object) => {
      const { runtime } = await openWith(file, [book]);
      const typed = runtime as unknown as Runtime<typeof old>;
      const known = await runtime.runs({});
      const run =
        known.length === 0 ? await typed.start('book', null, { id: 'b' }) : await typed.run('b', 'book');
      await run.send({ type: 'ADDED', ...event });
      await runtime.close();
    };
    await addTo(old, { name: 'Emma' });
    await addTo(second, { title: 'Ulysses' });
    dropDerived(file);
    await addTo(third, { title: 'Middlemarch!' });
    dropDerived(file);

    const { runtime } = await openWith(file, [third]);
    expect((await runtime.actor('b')).context).toEqual({ titles: ['Emma!', 'Ulysses!', 'Middlemarch!'] });
    expect((await runtime.verify()).replay.problem).toBeUndefined();
    const lines: string[] = [];
    await runtime.export((line) => void lines.push(line));
    expect(lines.join('\n')).toMatch(/Emma/);
    expect(lines.join('\n')).not.toMatch(/Emma!/);
    await runtime.close();
    await expectReplays(file, [third]);
  });

  it('a version without a reader between two others is refused when the workflow is registered', async () => {
    const gap = makeBook({ eventVersions: { ADDED: 3 }, readers: { 'ADDED@2': (data) => data } }, 'title');
    const error = await refusal(
      createRuntime({ file: temporaryFile(), workflows: [gap], agents: {} }),
      'BAD_OPTION',
    );
    expect(error.message).toContain('"ADDED@1"');
  });
});
