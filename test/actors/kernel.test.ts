import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnyStateMachine, assign, emit, raise, sendTo, setup, spawnChild, stopChild } from 'xstate';
import { type ActorRecord, WAITS_FOR_NOTHING } from '../../src/actors/actor-record.ts';
import { toStored } from '../../src/actors/fold.ts';
import { createPacking } from '../../src/actors/packing.ts';
import { delivery } from '../../src/events/delivery.ts';
import { encode } from '../../src/events/encode.ts';
import type { RecordedEvent } from '../../src/events/event.ts';
import type { Turn } from '../../src/events/turn.ts';
import { startActor, stopActor } from '../../src/events/vocabulary.ts';
import { agentCall } from '../../src/machines/agent-call.ts';
import { workflow } from '../../src/machines/workflow.ts';
import { rounds } from '../support/sample-sizes.ts';
import { anyMachine, buildWorkflows, EVENTS, KernelRun, type MachineSketch } from './random-machine.ts';

const RUNS = rounds(200, 10_000);

/** The call, timer or whatever it is that a test says there is. */
const the = <Value>(values: Iterable<Value>): Value => {
  const [value, ...others] = values;
  if (value === undefined || others.length > 0)
    throw new Error(`There are ${value === undefined ? 0 : others.length + 1}.`);
  return value;
};

const rowsOf = (run: KernelRun, ...kinds: readonly RecordedEvent['kind'][]) =>
  run.rows.filter(({ kind }) => kinds.includes(kind));
const kindsOf = (run: KernelRun, actor: string) =>
  run.rows.filter((row) => row.actor === actor).map(({ kind }) => kind);
const valueOf = (run: KernelRun, address = 'run') => run.actor(address)?.snapshot?.value;
const lastTurn = (run: KernelRun): Turn => {
  const turn = run.turns.at(-1);
  if (!turn) throw new Error('There was no turn.');
  return turn;
};

/** What machines here emit: facts, and messages to someone. */
interface Letter {
  readonly type: string;
  readonly to?: unknown;
  readonly [key: string]: unknown;
}

const letters = {} as { emitted: Letter };

/** Waits for an agent, can be told to begin again, and gives up after a while. */
const worker = setup({ actors: { work: agentCall<undefined, { text: string }>() } }).createMachine({
  initial: 'working',
  states: {
    working: {
      invoke: { id: 'job', src: 'work', onDone: 'done', onError: 'failed' },
      after: { 1000: 'overdue' },
      on: { AGAIN: { target: 'working', reenter: true }, REST: 'resting' },
    },
    resting: { on: { AGAIN: 'working' } },
    overdue: {},
    failed: {},
    done: { type: 'final' },
  },
  output: { is: 'done' },
});

const start = (...machines: readonly AnyStateMachine[]): KernelRun => {
  const run = new KernelRun(
    machines.map((machine, index) => workflow(index === 0 ? 'main' : `child${index}`, machine)),
  );
  run.start('main');
  return run;
};

describe('M7: what comes too late', () => {
  test('an answer to an earlier call of the same name is kept as a late row, and the call that is open stays open', () => {
    const run = start(worker);
    const first = the(run.calls.values());
    run.send('run', 'AGAIN');
    const before = run.actor('run');
    const second = the(run.calls.values());
    expect(second.generation).toBeGreaterThan(first.generation);

    const result = run.answer(first, { output: { text: 'late' } });

    expect(result).toMatchObject({ kind: 'turn', delivered: 'dropped' });
    expect(rowsOf(run, 'late')).toMatchObject([
      { type: 'lw.call.done', data: { call: 'job', output: { text: 'late' } } },
    ]);
    expect(run.actor('run')).toEqual({ ...before, version: (before?.version ?? 0) + 1 });
    expect(the(run.calls.values())).toBe(second);
    run.answer(second, { output: { text: 'in time' } });
    expect(valueOf(run)).toBe('done');
  });

  test('so is the failure of a call that nobody waits for any more', () => {
    const run = start(worker);
    const call = the(run.calls.values());
    run.send('run', 'REST');
    run.answer(call, { error: new Error('no') });
    expect(rowsOf(run, 'late')).toMatchObject([
      { type: 'lw.call.failed', data: { error: { message: 'no' } } },
    ]);
    expect(valueOf(run)).toBe('resting');
  });

  test('a timer of a state that was left or entered again does nothing', () => {
    const run = start(worker);
    const timer = the(run.timers.values());
    run.send('run', 'AGAIN');
    expect(run.fire(timer)).toEqual({ kind: 'nothing' });
    run.send('run', 'REST');
    expect(run.fire(timer)).toEqual({ kind: 'nothing' });
    expect(run.timers.size).toBe(0);
    run.send('run', 'AGAIN');
    run.advance(999);
    expect(valueOf(run)).toBe('working');
    run.advance(1);
    expect(valueOf(run)).toBe('overdue');
  });

  // Method: any machine, any events; then every call that was ever closed is answered once more.
  test('no late answer ever moves an actor', () => {
    fc.assert(
      fc.property(anyRun, (sketch) => {
        const run = runOf(sketch);
        for (const call of run.closedCalls) {
          const before = run.actor(call.actor);
          run.answer(call, { output: { n: 1 } });
          expect(run.actor(call.actor)?.snapshot).toBe(before?.snapshot);
          expect(run.actor(call.actor)?.waits).toBe(before?.waits);
          expect(run.rows.at(-1)).toMatchObject({ kind: 'late', actor: call.actor });
        }
      }),
      { numRuns: RUNS / 4 },
    );
  });
});

const family = setup({ types: letters, actors: { child: worker } }).createMachine({
  id: 'family',
  initial: 'idle',
  context: { heard: [] as unknown[] },
  on: { TELL: { actions: emit({ type: 'AGAIN', to: './kid' }) } },
  states: {
    idle: { on: { GO: 'together' } },
    together: {
      invoke: {
        id: 'kid',
        src: 'child',
        onDone: { target: 'idle', actions: assign({ heard: ({ event }) => [event.output] }) },
        onError: { target: 'idle', actions: assign({ heard: ({ event }) => [event.error] }) },
      },
      on: { LEAVE: 'idle', GO: { target: 'together', reenter: true } },
    },
  },
});

describe('M9: an actor that has ended', () => {
  const ended = () => {
    const run = start(family, worker);
    run.send('run', 'GO');
    const call = the(run.calls.values());
    run.answer(call, { output: { text: 'x' } });
    expect(run.actor('run/kid')?.status).toBe('done');
    return { run, call };
  };

  test('is given no message: it is a dead letter', () => {
    const { run } = ended();
    const before = run.actor('run/kid')?.snapshot;
    expect(run.send('run/kid', 'AGAIN')).toMatchObject({ delivered: 'undelivered' });
    expect(run.actor('run/kid')?.snapshot).toBe(before);
    expect(rowsOf(run, 'undelivered')).toMatchObject([
      {
        actor: 'run/kid',
        type: 'AGAIN',
        data: { to: 'run/kid', reason: 'the actor has ended (done)', message: {} },
      },
    ]);
  });

  test('is given no answer, no timer and no word of its call having begun', () => {
    const { run, call } = ended();
    run.answer(call, { output: { text: 'twice' } });
    expect(run.rows.at(-1)?.kind).toBe('late');
    expect(
      run.fire({ actor: 'run/kid', timer: 'xstate.after.1000.(machine).working', generation: 2 }),
    ).toEqual({ kind: 'nothing' });
    expect(run.turn({ kind: 'begun', actor: 'run/kid', call: 'job', generation: 1 })).toEqual({
      kind: 'nothing',
    });
  });

  test('has told its parent once, and waits for nothing', () => {
    const { run } = ended();
    expect(run.actor('run')?.snapshot?.context.heard).toEqual([{ is: 'done' }]);
    expect(run.actor('run/kid')?.waits).toMatchObject({ calls: {}, timers: {}, children: {} });
    expect([run.calls.size, run.timers.size]).toEqual([0, 0]);
  });

  test('and is the root of its run ends that run, which takes nothing more', () => {
    const run = start(worker);
    run.answer(the(run.calls.values()), { output: { text: 'x' } });
    expect(run.run('run')).toMatchObject({ verdict: 'verified', result: '{"output":{"is":"done"}}' });
    expect(run.send('run', 'AGAIN')).toMatchObject({ kind: 'refused', error: { code: 'RUN_ENDED' } });
  });
});

const boom = (): never => {
  throw new Error('boom');
};

/** Waits for an agent, a timer and a child, and throws as it is told. */
const fragile = setup({
  types: letters,
  actors: { work: agentCall(), child: worker },
  delays: { never: () => Number.POSITIVE_INFINITY },
}).createMachine({
  context: { n: 0 },
  initial: 'fine',
  invoke: [
    { id: 'job', src: 'work' },
    { id: 'kid', src: 'child' },
  ],
  states: {
    fine: {
      after: { 5000: 'fine' },
      on: {
        GUARD: { guard: () => boom(), target: 'entry' },
        ASSIGN: { actions: assign({ n: () => boom() }) },
        EMIT: { actions: emit(() => boom()) },
        RAISE: { actions: raise(() => boom()) },
        SEND: { actions: sendTo('kid', () => boom()) },
        RAISED: { actions: [raise({ type: 'ASSIGN' })] },
        ENTRY: 'entry',
        INPUT: 'input',
        DELAY: 'delay',
        STORED: { actions: emit(() => ({ type: 'stored', when: new Date(0) })) },
        CHILD: { actions: emit(startActor({ id: 'kid', machine: 'child2' })) },
        ADDRESS: { actions: emit({ type: 'X', to: 7 }) },
        ID: { actions: emit(startActor({ id: 'a/b', machine: 'child2' })) },
        TYPE: { actions: emit(() => ({ type: 'xstate.forged' })) },
        ORPHAN: { actions: emit({ type: 'X', to: '..' }) },
      },
    },
    entry: { entry: assign({ n: () => boom() }) },
    input: { invoke: { src: 'work', input: () => boom() } },
    delay: { after: { never: {} }, entry: raise({ type: 'X' }, { delay: () => boom() }) },
  },
});

const FAULTS = [
  'GUARD',
  'ASSIGN',
  'EMIT',
  'RAISE',
  'SEND',
  'RAISED',
  'ENTRY',
  'INPUT',
  'DELAY',
  'STORED',
  'CHILD',
  'ADDRESS',
  'ID',
  'TYPE',
];

describe('an actor that throws', () => {
  const parent = setup({ actors: { child: fragile } }).createMachine({
    initial: 'together',
    context: { why: null },
    states: {
      together: {
        invoke: {
          id: 'kid',
          src: 'child',
          onError: { target: 'alone', actions: assign({ why: ({ event }) => event.error }) },
        },
      },
      alone: { on: { X: {} } },
    },
  });

  test.each(FAULTS)(
    'on %s fails alone: its parent is told, its calls, timers and children are over',
    (type) => {
      const run = start(parent, fragile, worker);
      const before = run.actor('run/kid')?.snapshot;
      expect([run.calls.size, run.timers.size]).toEqual([2, 2]);

      expect(run.send('run/kid', type, { n: 7 })).toMatchObject({ kind: 'turn', delivered: 'failed' });

      expect(run.actor('run/kid')).toMatchObject({ status: 'failed', snapshot: before });
      expect(run.actor('run/kid/kid')?.status).toBe('stopped');
      expect([run.calls.size, run.timers.size]).toEqual([0, 0]);
      expect(valueOf(run)).toBe('alone');
      const { error, message } = the(rowsOf(run, 'failed')).data;
      expect(message).toEqual({ type, data: { n: 7 } });
      expect(run.actor('run')?.snapshot?.context.why).toEqual(error);
      expect(run.turns).toHaveLength(2);
    },
  );

  test('without a parent who minds takes the parent along', () => {
    const careless = setup({ actors: { child: fragile } }).createMachine({
      invoke: { id: 'kid', src: 'child' },
    });
    const run = start(careless, fragile, worker);
    run.send('run/kid', 'ASSIGN');
    expect(run.run('run')).toMatchObject({ verdict: 'failed', result: expect.stringContaining('boom') });
    expect([run.calls.size, run.timers.size]).toEqual([0, 0]);
    expect(kindsOf(run, 'run')).toEqual(['started', 'message', 'failed', 'fact']);
  });

  test('before it has a state fails all the same', () => {
    const stillborn = setup({}).createMachine({ context: () => boom() });
    const mother = setup({ actors: { child: stillborn } }).createMachine({
      initial: 'a',
      states: { a: { invoke: { src: 'child', onError: 'b' } }, b: {} },
    });
    const run = start(mother, stillborn);
    expect(valueOf(run)).toBe('b');
    expect(run.actor('run/0.(machine).a')).toMatchObject({ status: 'failed', snapshot: null, version: 1 });
    expect([...run.folded().values()]).toEqual([...run.actors.values()]);
  });

  test('by sending to a parent that it does not have fails', () => {
    const run = start(fragile, worker);
    run.send('run', 'ORPHAN');
    expect(run.run('run')?.result).toContain('the root of a run has no parent');
  });

  test('leaves no trace of what it had asked for before it threw', () => {
    const half = setup({ types: letters }).createMachine({
      context: { n: 0 },
      on: {
        X: {
          actions: [
            emit({ type: 'stated' }),
            emit({ type: 'PING', to: './kid' }),
            assign({ n: () => boom() }),
          ],
        },
      },
    });
    const run = start(half);
    run.send('run', 'X');
    expect(run.rows.map(({ type }) => type)).toEqual(['lw.started', 'lw.failed', 'lw.run.ended']);
    // Nor does the next actor of the machine get any of it.
    run.start('main', null, 'next');
    expect(kindsOf(run, 'next')).toEqual(['started']);
  });
});

describe('an answer that its machine cannot digest', () => {
  const picky = setup({
    actors: { work: agentCall<undefined, { text: string }>() },
    types: {},
  }).createMachine({
    context: { attempts: 0, text: '', errors: [] },
    initial: 'working',
    states: {
      working: {
        entry: assign({ attempts: ({ context }) => context.attempts + 1 }),
        invoke: {
          id: 'job',
          src: 'work',
          onDone: {
            target: 'done',
            actions: assign({ text: ({ event }) => event.output.text.toUpperCase() }),
          },
          onError: [
            {
              guard: ({ context }) => context.attempts < 3,
              target: 'working',
              reenter: true,
              actions: assign({ errors: ({ context, event }) => [...context.errors, event.error] }),
            },
            { target: 'exhausted' },
          ],
        },
      },
      done: { type: 'final' },
      exhausted: { type: 'final' },
    },
  });

  test('is a failed attempt: the agent is called no more often than its limit', () => {
    const run = start(picky);
    while (run.calls.size > 0) run.answer(the(run.calls.values()), { output: { text: 7 } });
    expect(run.opened).toBe(3);
    expect(valueOf(run)).toBe('exhausted');
    expect(run.actor('run')?.snapshot?.context.errors).toMatchObject([
      { name: 'AnswerRefused' },
      { name: 'AnswerRefused' },
    ]);
    const refused = run.rows.filter(({ type }) => type === 'lw.call.failed');
    expect(refused).toHaveLength(3);
    expect(refused[0]).toMatchObject({
      kind: 'message',
      data: { answer: { text: 7 }, error: { name: 'AnswerRefused' } },
    });
    expect([...run.folded().values()]).toEqual([...run.actors.values()]);
  });

  test('fails an actor that does not handle failures, and closes the call', () => {
    const careless = setup({ actors: { work: agentCall() } }).createMachine({
      context: { n: 0 },
      invoke: { id: 'job', src: 'work', onDone: { actions: assign({ n: () => boom() }) } },
    });
    const run = start(careless);
    run.answer(the(run.calls.values()), { output: null });
    expect(run.run('run')?.verdict).toBe('failed');
    expect(run.calls.size).toBe(0);
  });

  test('and whose refusal throws, too, fails the actor', () => {
    const hopeless = setup({ actors: { work: agentCall() } }).createMachine({
      context: { n: 0 },
      invoke: {
        id: 'job',
        src: 'work',
        onDone: { actions: assign({ n: () => boom() }) },
        onError: { actions: assign({ n: () => boom() }) },
      },
    });
    const run = start(hopeless);
    run.answer(the(run.calls.values()), { output: null });
    expect(kindsOf(run, 'run')).toEqual(['started', 'failed', 'fact']);
    expect([...run.folded().values()]).toEqual([...run.actors.values()]);
  });
});

describe('what an actor withdraws', () => {
  const level = (src: AnyStateMachine | undefined) =>
    setup({ actors: { work: agentCall(), child: src ?? worker } }).createMachine({
      initial: 'on',
      states: {
        on: {
          invoke: [{ id: 'job', src: 'work' }, ...(src ? [{ id: 'kid', src: 'child' } as const] : [])],
          after: { 1000: 'off' },
          on: { OFF: 'off', END: 'end' },
        },
        off: {},
        end: { type: 'final' },
      },
    }) as unknown as AnyStateMachine;
  const grandchild = level(undefined);
  const child = level(grandchild);
  const root = level(child);
  const all = ['run', 'run/kid', 'run/kid/kid'];

  test.each([
    ['leaves the state', 'OFF', 'active'],
    ['ends', 'END', 'done'],
  ])('is over in the same turn, down to the last grandchild, when it %s', (_what, type, status) => {
    const run = start(root, child, grandchild, worker);
    expect([...run.calls.values()].map(({ actor }) => actor)).toEqual(all);
    expect(run.timers.size).toBe(3);

    run.send('run', type);

    expect(all.map((address) => run.actor(address)?.status)).toEqual([status, 'stopped', 'stopped']);
    expect(lastTurn(run).closedCalls.map(({ actor }) => actor)).toEqual(all);
    expect(lastTurn(run).closedTimers.map(({ actor }) => actor)).toEqual(all);
    expect([run.calls.size, run.timers.size]).toEqual([0, 0]);
    expect(rowsOf(run, 'stopped').map(({ actor, from }) => [actor, from])).toEqual([
      ['run/kid', 'run'],
      ['run/kid/kid', 'run/kid'],
    ]);
  });

  test('is everything, when a person ends the run', () => {
    const run = start(root, child, grandchild, worker);
    run.turn({ kind: 'end', run: 'run', verdict: 'cancelled', reason: 'enough' });
    expect(all.map((address) => run.actor(address)?.status)).toEqual(['stopped', 'stopped', 'stopped']);
    expect(run.run('run')).toMatchObject({ verdict: 'cancelled', result: '{"reason":"enough"}' });
    expect([run.calls.size, run.timers.size]).toEqual([0, 0]);
  });

  test('was never opened, for anyone else, if it was opened in the same turn', () => {
    const hasty = setup({ actors: { work: agentCall() } }).createMachine({
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { invoke: { src: 'work' }, after: { 10: 'a' }, always: 'a' } },
    });
    const run = start(hasty);
    run.send('run', 'GO');
    expect(valueOf(run)).toBe('a');
    expect(lastTurn(run)).toMatchObject({
      openedCalls: [],
      closedCalls: [],
      openedTimers: [],
      closedTimers: [],
    });
  });
});

describe('a child', () => {
  const echo = setup({ types: letters }).createMachine({
    id: 'echo',
    context: ({ input }: { input: unknown }) => ({ input, got: [] as unknown[] }),
    on: {
      PING: {
        actions: [
          assign({ got: ({ context, event }) => [...context.got, event] }),
          emit({ type: 'PONG', to: '..' }),
        ],
      },
    },
  });
  const owner = setup({
    types: letters,
    actors: { echo },
    actions: { tell: sendTo('kid', { type: 'PING', n: 1 }) },
  }).createMachine({
    initial: 'alone',
    context: { pongs: 0 },
    on: {
      PONG: { actions: assign({ pongs: ({ context }) => context.pongs + 1 }) },
      'xstate.error.actor.odd': { actions: assign({ pongs: -1 }) },
      START: {
        actions: emit(({ event }) => startActor({ id: event.id, machine: event.machine, input: 'by emit' })),
      },
      STOP: { actions: emit(({ event }) => stopActor(event.id)) },
      SPAWN: { actions: spawnChild('echo', { id: 'spawned', input: () => 'by spawn' }) },
      UNSPAWN: { actions: stopChild('spawned') },
      TELL: { actions: emit(({ event }) => ({ type: 'PING', to: event.to })) },
      TWICE: { actions: [emit(startActor({ id: 'q', machine: 'child1' })), emit(stopActor('q'))] },
    },
    states: {
      alone: { on: { MEET: 'together', PASS: 'passing' } },
      together: {
        entry: 'tell',
        exit: 'tell',
        invoke: { id: 'kid', src: 'echo', input: () => 'by invoke' },
        on: { PART: 'alone', MEET: { target: 'together', reenter: true } },
      },
      passing: { invoke: { id: 'kid', src: 'echo' }, always: 'alone' },
    },
  });
  const begin = () => start(owner, echo);

  test('has its address from its parent, another one each time', () => {
    const run = begin();
    run.send('run', 'MEET');
    run.send('run', 'MEET');
    run.send('run', 'PART');
    run.send('run', 'MEET');
    expect([...run.actors].map(([address, { status }]) => [address, status])).toEqual([
      ['run', 'active'],
      ['run/kid', 'stopped'],
      ['run/kid~2', 'stopped'],
      ['run/kid~3', 'active'],
    ]);
  });

  test('is told what the entry and exit actions of its state say, by sendTo, and answers', () => {
    const run = begin();
    run.send('run', 'MEET');
    run.send('run', 'MEET');
    expect(kindsOf(run, 'run/kid')).toEqual(['started', 'message', 'message', 'stopped']);
    expect(kindsOf(run, 'run/kid~2')).toEqual(['started', 'message']);
    expect(run.actor('run/kid~2')?.snapshot?.context).toMatchObject({
      input: 'by invoke',
      got: [{ type: 'PING', n: 1 }],
    });
    expect(run.actor('run')?.snapshot?.context.pongs).toBe(3);
    expect(rowsOf(run, 'undelivered')).toEqual([]);
  });

  test('never starts if it is let go of in the step that asks for it', () => {
    const run = begin();
    run.send('run', 'PASS');
    run.send('run', 'TWICE');
    expect([...run.actors.keys()]).toEqual(['run']);
    expect(run.rows.map(({ kind }) => kind)).toEqual(['started', 'message', 'message']);
    run.send('run', 'MEET');
    expect(run.actor('run/kid~2')?.status).toBe('active');
  });

  test('can be started and stopped by a message, too', () => {
    const run = begin();
    run.send('run', 'START', { id: 'q1', machine: 'child1' });
    expect(run.actor('run/q1')?.snapshot?.context.input).toBe('by emit');
    run.send('run', 'TELL', { to: './q1' });
    expect(run.actor('run')?.snapshot?.context.pongs).toBe(1);
    run.send('run', 'STOP', { id: 'q1' });
    expect(run.actor('run/q1')?.status).toBe('stopped');
    run.send('run', 'START', { id: 'q1', machine: 'child1' });
    expect(run.actor('run/q1~2')?.status).toBe('active');
  });

  test('can be started by spawnChild, and stopped by stopChild', () => {
    const run = begin();
    run.send('run', 'SPAWN');
    expect(run.actor('run/spawned')?.snapshot?.context.input).toBe('by spawn');
    run.send('run', 'UNSPAWN');
    expect(run.actor('run/spawned')?.status).toBe('stopped');
  });

  test('M5: cannot have the id of another', () => {
    const run = begin();
    run.send('run', 'SPAWN');
    expect(run.send('run', 'SPAWN')).toMatchObject({ delivered: 'failed' });
    expect(run.run('run')?.result).toContain('\\"spawned\\" is open already');
  });

  test('of a machine that nobody knows fails, and its parent is told', () => {
    const run = begin();
    run.send('run', 'START', { id: 'odd', machine: 'unheard-of' });
    expect(run.actor('run/odd')).toBeNull();
    expect(run.actor('run')).toMatchObject({ status: 'active', waits: { children: {} } });
    expect(run.actor('run')?.snapshot?.context.pongs).toBe(-1);
  });

  // XState enters a state that it has not left if a history state leads back to it.
  test('of a state that is entered again without being left is replaced', () => {
    const circle = setup({ actors: { echo, work: agentCall() } }).createMachine({
      id: 'circle',
      initial: 'a',
      states: {
        a: {
          initial: 'b',
          states: {
            b: {
              invoke: [
                { id: 'kid', src: 'echo' },
                { id: 'job', src: 'work' },
              ],
              on: { BACK: '#circle.a.h' },
            },
            h: { type: 'history' },
          },
        },
      },
    });
    const run = start(circle, echo);
    const call = the(run.calls.values());
    run.send('run', 'BACK');
    expect(run.actor('run')).toMatchObject({ status: 'active', waits: { children: { kid: 'run/kid~2' } } });
    expect(run.actor('run/kid')?.status).toBe('stopped');
    expect(the(run.calls.values()).generation).toBeGreaterThan(call.generation);
  });

  test('that ended is out of reach of late messages to its id', () => {
    const run = begin();
    run.send('run', 'MEET');
    run.send('run', 'MEET');
    run.send('run', 'PART');
    run.send('run', 'TELL', { to: './kid' });
    expect(rowsOf(run, 'undelivered')).toMatchObject([
      { actor: 'run/kid~2', from: 'run', data: { reason: 'the actor has ended (stopped)' } },
    ]);
  });
});

describe('a dead letter', () => {
  const talker = setup({ types: letters }).createMachine({
    initial: 'a',
    on: { TELL: { actions: emit(({ event }) => ({ type: 'HELLO', to: event.to, n: 7 })) } },
    states: { a: { on: { GO: 'b' } }, b: {} },
  });

  test('is a message to nobody, with its sender', () => {
    const run = start(talker);
    run.send('run', 'TELL', { to: 'nowhere' });
    expect(run.rows.at(-1)).toMatchObject({
      kind: 'undelivered',
      actor: 'run',
      type: 'HELLO',
      from: 'run',
      data: { to: 'nowhere', reason: 'no such actor', message: { n: 7 } },
    });
  });

  test('is a message that its actor does not take in this state', () => {
    const run = start(talker);
    run.send('run', 'GO');
    const before = run.actor('run')?.snapshot;
    expect(run.send('run', 'GO', { n: 1 })).toMatchObject({ delivered: 'undelivered' });
    expect(run.rows.at(-1)).toMatchObject({
      kind: 'undelivered',
      data: { reason: 'not taken in this state', message: { n: 1 } },
    });
    expect(run.actor('run')?.snapshot).toBe(before);
  });

  test('is a message to an actor of another run that has ended', () => {
    const run = start(talker);
    run.start('main', null, 'other');
    run.turn({ kind: 'end', run: 'other', verdict: 'cancelled', reason: 'enough' });
    run.send('run', 'TELL', { to: 'other' });
    expect(run.rows.at(-1)).toMatchObject({
      kind: 'undelivered',
      actor: 'other',
      from: 'run',
      data: { reason: 'the actor has ended (stopped)' },
    });
  });
});

describe('a stimulus that is wrong in itself', () => {
  test.each([
    ['RUN_EXISTS', { kind: 'start', run: 'run', workflow: 'main', version: 1, input: encode(null) }],
    ['UNKNOWN_RUN', { kind: 'end', run: 'nobody', verdict: 'cancelled', reason: 'x' }],
    [
      'UNKNOWN_ACTOR',
      { kind: 'message', to: 'run/nobody', type: 'AGAIN', data: encode({}), expectedVersion: undefined },
    ],
    [
      'UNKNOWN_EVENT',
      { kind: 'message', to: 'run', type: 'UNHEARD', data: encode({}), expectedVersion: undefined },
    ],
    ['STALE_VERSION', { kind: 'message', to: 'run', type: 'AGAIN', data: encode({}), expectedVersion: 7 }],
  ] as const)('is refused with %s, and changes nothing', (code, stimulus) => {
    const run = start(worker);
    const rows = run.rows.length;
    expect(run.turn(stimulus)).toMatchObject({ kind: 'refused', error: { code } });
    expect(run.rows).toHaveLength(rows);
  });
});

describe('a cap', () => {
  const volley = setup({ types: letters, actors: { work: agentCall() } }).createMachine({
    invoke: { src: 'work' },
    context: ({ input }: { input: unknown }) => ({ input }),
    entry: emit(({ context }) => ({ type: 'BALL', to: context.input ? 'run' : 'nobody' })),
    on: {
      BALL: { actions: emit({ type: 'BALL', to: 'run' }) },
      NOTHING: { actions: emit({ type: 'noted' }) },
    },
  });
  const volleys = (limits: object, options = {}) =>
    new KernelRun([workflow('main', volley as unknown as AnyStateMachine, options)], limits);

  test('on the deliveries of a turn ends the run exhausted, and keeps the message that was too much', () => {
    const run = volleys({ deliveriesPerTurn: 20 });
    run.start('main');
    expect(run.send('run', 'BALL', { n: 1 })).toMatchObject({ kind: 'turn', delivered: 'undelivered' });
    expect(run.run('run')).toMatchObject({
      verdict: 'exhausted',
      result: expect.stringContaining('more than 20 messages'),
    });
    expect(lastTurn(run).events.map(({ kind }) => kind)).toEqual(['undelivered', 'stopped', 'fact']);
    expect(rowsOf(run, 'undelivered').at(-1)?.data).toMatchObject({ to: 'run', message: { n: 1 } });
    expect(run.calls.size).toBe(0);
  });

  test('on the deliveries of a turn refuses a run that cannot even start', () => {
    const run = volleys({ deliveriesPerTurn: 20 });
    expect(run.start('main', 'endless')).toMatchObject({ kind: 'refused', error: { code: 'TURN_TOO_LONG' } });
    expect([run.rows.length, run.actors.size, run.runs.size]).toEqual([0, 0, 0]);
  });

  test.each([
    ["of the runtime's", { turnsPerRun: 4 }, {}],
    ["of the workflow's", {}, { turnsMax: 4 }],
  ])('on turns, one %s, ends the run exhausted', (_whose, limits, options) => {
    const run = volleys(limits, options);
    run.start('main');
    for (let turn = 2; turn <= 4; turn += 1)
      expect(run.send('run', 'NOTHING')).toMatchObject({ delivered: 'taken' });
    expect(run.run('run')).toMatchObject({ turns: 4, verdict: null });
    run.answer(the(run.calls.values()), { output: null });
    expect(run.run('run')).toMatchObject({
      verdict: 'exhausted',
      result: expect.stringContaining('4 turns'),
    });
    expect(run.actor('run')?.status).toBe('stopped');
    expect(run.calls.size).toBe(0);
  });

  test('on turns does not keep a person from ending the run otherwise', () => {
    const run = volleys({ turnsPerRun: 1 });
    run.start('main');
    run.turn({ kind: 'end', run: 'run', verdict: 'accepted', reason: 'good enough' });
    expect(run.run('run')?.verdict).toBe('accepted');
  });
});

describe('a fact', () => {
  test('is a row of the actor that states it, in the order in which it was stated, and moves nobody', () => {
    const machine = setup({ types: letters }).createMachine({
      entry: emit({ type: 'born' }),
      on: {
        X: {
          actions: [
            emit({ type: 'first', n: 1 }),
            emit(({ event }) => ({ type: 'second', of: event.type })),
            raise({ type: 'Y' }),
          ],
        },
        Y: { actions: emit({ type: 'third' }) },
      },
    });
    const run = start(machine);
    run.send('run', 'X');
    expect(
      run.rows.map(({ kind, type, data, version, cause }) => [kind, type, data, version, cause]),
    ).toEqual([
      ['started', 'lw.started', { child: null, input: null, parent: null }, 1, null],
      ['fact', 'born', {}, 2, 1],
      ['message', 'X', {}, 3, null],
      ['fact', 'first', { n: 1 }, 4, 3],
      ['fact', 'second', { of: 'X' }, 5, 3],
      ['fact', 'third', {}, 6, 3],
    ]);
  });
});

describe('delivery()', () => {
  const listener = setup({
    types: {},
    actions: { look: assign({ seen: ({ context }) => [...context.seen, delivery()] }) },
  }).createMachine({
    context: () => ({ seen: [delivery()] }),
    initial: 'a',
    states: {
      a: { on: { X: { target: 'b', actions: ['look', raise({ type: 'Y' })] } }, exit: 'look' },
      b: {
        entry: 'look',
        on: { Y: { guard: () => delivery().self === 'run/kid', target: 'c', actions: 'look' } },
      },
      c: { always: { target: 'd', guard: () => delivery().atMs === 50, actions: 'look' } },
      d: {},
    },
  });
  const speaker = setup({ types: letters, actors: { listener } }).createMachine({
    invoke: { id: 'kid', src: 'listener' },
    on: { GO: { actions: emit({ type: 'X', to: './kid' }) } },
  });

  test('gives self, parent, sender and time in every microstep, also after a raise', () => {
    const run = start(speaker, listener);
    run.atMs = 50;
    run.send('run', 'GO');
    const at = { self: 'run/kid', parent: 'run', from: 'run' };
    const here = { ...at, atMs: 50 };
    expect(run.actor('run/kid')?.snapshot).toMatchObject({
      value: 'd',
      context: { seen: [{ ...at, atMs: 0 }, here, here, here, here, here] },
    });
    expect([...run.folded().values()]).toEqual([...run.actors.values()]);
  });

  test('gives nothing outside of a turn, also after one that threw', () => {
    const nowhere = { self: '', parent: null, from: null, atMs: 0, functions: {} };
    expect(delivery()).toEqual(nowhere);
    const run = start(fragile, worker);
    run.send('run', 'ASSIGN');
    expect(delivery()).toEqual(nowhere);
  });
});

describe('an actor that goes on under a newer machine', () => {
  const version = (number: number, states: readonly string[]) =>
    workflow(
      'main',
      setup({ types: letters }).createMachine({
        context: { n: 0 },
        initial: states[0] ?? '',
        on: { X: { actions: assign({ n: ({ context }) => context.n + number }) } },
        states: Object.fromEntries(states.map((state) => [state, {}])),
      }) as unknown as AnyStateMachine,
      { version: number },
    );

  test('has a migrated row with its new state, from which its stream is folded with the new machine alone', () => {
    const [old, young] = [version(1, ['draft']), version(2, ['started', 'drafted'])];
    const run = new KernelRun([old]);
    run.start('main');
    run.send('run', 'X');
    run.registry.register([young]);
    const before = run.actor('run');
    const { parent = null, childId = null, waits = WAITS_FOR_NOTHING } = before ?? {};
    const snapshot = { value: 'drafted', context: { n: 100 }, status: 'active' as const, history: {} };
    const state = { ...snapshot, parent, childId, waits };
    // What the loader does before it asks for the row.
    const restored = run.registry.find('main', 2)?.behavior.restore(snapshot) ?? null;
    if (before) run.actors.set('run', { ...before, machineVersion: 2, snapshot: restored });

    run.turn({ kind: 'migrate', actor: 'run', from: 1, state: encode(state) });
    run.send('run', 'X');

    expect(run.rows.slice(2)).toMatchObject([
      {
        kind: 'migrated',
        type: 'lw.migrated',
        machineVersion: 2,
        state: 'drafted',
        data: { from: 1, to: 2, state },
      },
      { kind: 'message', type: 'X', machineVersion: 2 },
    ]);
    expect(run.actor('run')?.snapshot).toMatchObject({ value: 'drafted', context: { n: 102 } });
    expect([...run.folded().values()]).toMatchObject([
      { ...run.actor('run'), snapshot: { context: { n: 102 } } },
    ]);
  });
});

describe('a turn', () => {
  test('that needs an actor which is not loaded says so, and does nothing', () => {
    const run = start(family, worker);
    run.send('run', 'GO');
    const stimulus = run.stimulus({
      kind: 'message',
      to: 'run',
      type: 'TELL',
      data: encode({}),
      expectedVersion: undefined,
    });
    const loaded = new Map([['run', run.actor('run')]]);
    const system = { actor: (address: string) => loaded.get(address), run: (id: string) => run.run(id) };
    expect(run.kernel.turn({ ...system, actor: () => undefined }, stimulus)).toEqual({
      kind: 'needs',
      actors: ['run'],
    });
    expect(run.kernel.turn({ ...system, run: () => undefined }, stimulus)).toEqual({
      kind: 'needs',
      actors: ['run'],
    });
    expect(run.kernel.turn(system, stimulus)).toEqual({ kind: 'needs', actors: ['run/kid'] });
    loaded.set('run/kid', run.actor('run/kid'));
    expect(run.kernel.turn(system, stimulus)).toMatchObject({ kind: 'turn', delivered: 'taken' });
  });

  // Method: random runs in which each turn is made twice, on actors and stimuli that cannot be changed.
  test('is pure: twice the same gives the same, and nothing that it was given is changed', () => {
    class FrozenRun extends KernelRun {
      override turn(said: Parameters<KernelRun['turn']>[0]) {
        const stimulus = frozen(this.stimulus(said));
        for (const record of this.actors.values()) frozen(record);
        const result = this.kernel.turn(this, stimulus);
        expect(this.kernel.turn(this, stimulus)).toStrictEqual(result);
        if (result.kind === 'turn') this.apply(result);
        return result;
      }
    }
    fc.assert(
      fc.property(anyRun, (sketch) => {
        runOf(sketch, FrozenRun);
      }),
      { numRuns: RUNS / 4 },
    );
  });
});

describe('the fold of a stream', () => {
  // Method: random runs. What their rows alone say of each actor must be what the kernel has of it, to the last byte.
  test('K4: gives the very actors that the kernel has', () => {
    fc.assert(
      fc.property(anyRun, (sketch) => {
        const run = runOf(sketch);
        expect(textsOf(run, run.folded())).toEqual(textsOf(run, run.actors));
      }),
      { numRuns: RUNS },
    );
  });

  test('K4: gives them also if they were stored and loaded again before each step', () => {
    fc.assert(
      fc.property(anyRun, (sketch) => {
        const run = runOf(sketch, ForgetfulRun);
        const remembering = runOf(sketch);
        expect(textsOf(run, run.folded())).toEqual(textsOf(run, run.actors));
        expect(textsOf(run, run.actors)).toEqual(textsOf(remembering, remembering.actors));
        expect(run.rows).toEqual(remembering.rows);
      }),
      { numRuns: RUNS },
    );
  });

  test('K4: gives them also if they were packed before each step', () => {
    fc.assert(
      fc.property(anyRun, (sketch) => {
        const run = runOf(sketch, PackedRun);
        const remembering = runOf(sketch);
        expect(textsOf(run, run.actors)).toEqual(textsOf(remembering, remembering.actors));
        expect(run.rows).toEqual(remembering.rows);
      }),
      { numRuns: RUNS / 2 },
    );
  });

  test('K4: would not if rows were lost', () => {
    const { failed } = fc.check(
      fc.property(anyRun, (sketch) => {
        const run = runOf(sketch);
        run.rows.splice(-1);
        expect(textsOf(run, run.folded())).toEqual(textsOf(run, run.actors));
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });

  test('remembers history in a machine whose id has a dot', () => {
    const machine = setup({}).createMachine({
      id: 'order.v1',
      initial: 'a',
      states: {
        a: {
          initial: 'b',
          states: { b: { on: { NEXT: 'c' } }, c: {}, h: { type: 'history' } },
          on: { OUT: 'out' },
        },
        out: { on: { BACK: 'a.h' } },
      },
    });
    const run = new ForgetfulRun([workflow('main', machine as unknown as AnyStateMachine)]);
    run.start('main');
    for (const type of ['NEXT', 'OUT', 'BACK']) run.send('run', type);
    expect(valueOf(run)).toEqual({ a: 'c' });
  });
});

class ForgetfulRun extends KernelRun {
  override turn(said: Parameters<KernelRun['turn']>[0]) {
    this.reload();
    return super.turn(said);
  }
}

class PackedRun extends KernelRun {
  readonly #packing = createPacking(this.registry);

  override turn(said: Parameters<KernelRun['turn']>[0]) {
    for (const [address, record] of this.actors) {
      const packed = this.#packing.pack(record);
      if (packed) this.actors.set(address, this.#packing.unpack(packed));
    }
    return super.turn(said);
  }
}

interface RunSketch {
  readonly machine: MachineSketch;
  readonly moves: readonly (readonly [kind: number, n: number])[];
}

const anyRun: fc.Arbitrary<RunSketch> = fc.record({
  machine: anyMachine,
  moves: fc.array(fc.tuple(fc.nat(5), fc.nat(9)), { minLength: 3, maxLength: 12, size: 'max' }),
});

/** Runs a random machine through its moves, without anyone looking. */
function runOf({ machine, moves }: RunSketch, Run: typeof KernelRun = KernelRun): KernelRun {
  const run = new Run(buildWorkflows(machine, () => undefined));
  run.start('main');
  for (const [kind, n] of moves) {
    const calls = [...run.calls.values()];
    const call = calls[n % calls.length];
    const late = run.closedCalls[n % run.closedCalls.length];
    const addresses = [...run.actors.keys()];
    if (kind <= 1) run.send(addresses[n % addresses.length] ?? '', EVENTS[n % EVENTS.length] ?? '', { n });
    if (kind === 2 && call) run.answer(call, { output: { n } });
    if (kind === 3 && call) run.answer(call, { error: new Error('x'.repeat(n)) });
    if (kind === 4) run.advance(n * 10);
    if (kind === 5 && late) run.answer(late, { output: { n } });
  }
  return run;
}

/** Actors as they would be stored, whole. */
const textsOf = (run: KernelRun, actors: ReadonlyMap<string, ActorRecord>) =>
  [...actors].map(([address, record]) => [
    address,
    toStored(run.registry, record)?.state ?? 'It cannot be stored.',
  ]);

/** Freezes data in all depth. XState's own nodes and machines, to which snapshots point, are no data. */
const frozen = <Value>(value: Value): Value => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) frozen(member);
  return value;
};
