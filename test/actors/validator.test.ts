import { EMPTY } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  type AnyStateMachine,
  and,
  assign,
  createMachine,
  emit,
  enqueueActions,
  fromCallback,
  fromEventObservable,
  fromObservable,
  fromPromise,
  fromTransition,
  log,
  not,
  or,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  stateIn,
  stopChild,
} from 'xstate';
import { createRegistry } from '../../src/actors/registry.ts';
import { isRuntimeError } from '../../src/errors.ts';
import { startActor } from '../../src/events/vocabulary.ts';
import { agentCall } from '../../src/machines/agent-call.ts';
import { workflow } from '../../src/machines/workflow.ts';
import { KernelRun } from './random-machine.ts';

const child = createMachine({ id: 'child', initial: 'idle', states: { idle: { on: { PING: {} } } } });

/** What a machine may name without being refused. */
const words = setup({
  actors: {
    work: agentCall(),
    child,
    callback: fromCallback(() => undefined),
    observable: fromObservable(() => EMPTY),
    events: fromEventObservable(() => EMPTY),
    reducer: fromTransition((state: number) => state, 0),
  },
  actions: { count: assign({ n: 1 }) },
  guards: { isReady: () => true },
  delays: { soon: 10 },
});

/** A machine whose config need not be right: that is what is tried here. */
const machineOf = (config: object, made = words): AnyStateMachine =>
  made.createMachine({ id: 'm', context: { n: 0 }, ...config } as never) as unknown as AnyStateMachine;

/** What is wrong with a machine, according to the registry. */
const problemsOf = (machine: AnyStateMachine): readonly string[] => {
  try {
    createRegistry().register([workflow('tried', machine), workflow('child', child)]);
    return [];
  } catch (error) {
    if (!isRuntimeError(error, 'MACHINE_REFUSED')) throw error;
    expect(error.fields.machine).toBe('tried');
    for (const problem of error.fields.problems) expect(error.message).toContain(problem);
    return error.fields.problems;
  }
};

interface Hazard {
  readonly id?: string;
  readonly what: string;
  readonly refused: object;
  /** What the refusal must say: what is wrong, and what to write instead. */
  readonly says: readonly [wrong: string, advice: string];
  /** The machine, changed as the refusal says. */
  readonly accepted: object;
}

const inState = (state: object) => ({ initial: 'a', states: { a: state } });
const asyncFunction = async () => undefined as never;
const ASYNC = ['is asynchronous', 'call an agent with invoke'] as const;
const withAgent = inState({ invoke: { src: 'work' } });

const HAZARDS: readonly Hazard[] = [
  {
    id: 'M4',
    what: 'an invoke of logic that is written in place',
    refused: inState({ invoke: { src: fromPromise(async () => 1) } }),
    says: ['written in place', "name it under setup({ actors }) and write src: 'its name'"],
    accepted: withAgent,
  },
  {
    id: 'M4',
    what: 'a spawnChild of logic that is written in place',
    refused: {
      entry: spawnChild(
        fromPromise(async () => 1),
        { id: 'one' },
      ),
    },
    says: ['spawnChild', 'the name of its logic under setup({ actors })'],
    accepted: { entry: spawnChild('work' as never, { id: 'one' }) },
  },
  {
    id: 'M5',
    what: 'a spawnChild without an id',
    refused: { entry: spawnChild('child' as never) },
    says: ['spawnChild needs an id', "spawnChild('src', { id: 'name' })"],
    accepted: { entry: spawnChild('child' as never, { id: 'name' }) },
  },
  {
    id: 'M5',
    what: 'a spawnChild whose id is computed',
    refused: { entry: spawnChild('child' as never, { id: () => 'x' }) },
    says: ['spawnChild needs an id', "spawnChild('src', { id: 'name' })"],
    accepted: { entry: emit(({ context }) => startActor({ id: `child-${context.n}`, machine: 'child' })) },
  },
  {
    id: 'M6',
    what: 'a spawn in an assign',
    refused: { entry: assign({ ref: ({ spawn }) => spawn('child' as never) }) },
    says: ['spawn inside assign', 'emit(startActor({ id, machine, input }))'],
    accepted: { entry: emit(startActor({ id: 'q1', machine: 'child', input: null })) },
  },
  {
    id: 'M6',
    what: 'a spawn in an assign of the whole context',
    refused: { entry: assign(({ spawn }) => ({ ref: spawn('child' as never) })) },
    says: ['spawn inside assign', 'emit(startActor({ id, machine, input }))'],
    accepted: { entry: emit(startActor({ id: 'q1', machine: 'child', input: null })) },
  },
  {
    id: 'M6',
    what: 'a spawn in the function that makes the context',
    refused: { context: ({ spawn }: { spawn: (src: string) => unknown }) => ({ ref: spawn('child') }) },
    says: ['spawn', 'emit(startActor({ id, machine, input }))'],
    accepted: { context: () => ({ n: 1 }), entry: emit(startActor({ id: 'q1', machine: 'child' })) },
  },
  {
    id: 'M12',
    what: 'an asynchronous action',
    refused: { entry: asyncFunction },
    says: ASYNC,
    accepted: withAgent,
  },
  {
    id: 'M12',
    what: 'an asynchronous guard',
    refused: { on: { X: { guard: asyncFunction } } },
    says: ASYNC,
    accepted: withAgent,
  },
  {
    id: 'M12',
    what: 'an asynchronous guard inside of others',
    refused: { on: { X: { guard: not(and([or([asyncFunction as never])])) } } },
    says: ASYNC,
    accepted: { on: { X: { guard: not(and([or([() => true]), stateIn('a')])) } } },
  },
  {
    id: 'M12',
    what: 'an asynchronous assign',
    refused: { entry: assign(asyncFunction) },
    says: ASYNC,
    accepted: withAgent,
  },
  {
    id: 'M12',
    what: 'an assign with an asynchronous member',
    refused: { entry: assign({ n: asyncFunction }) },
    says: ASYNC,
    accepted: { entry: assign({ n: () => 1 }) },
  },
  {
    id: 'M12',
    what: 'an emit of an asynchronous function',
    refused: { entry: emit(asyncFunction as never) },
    says: ASYNC,
    accepted: withAgent,
  },
  {
    id: 'M12',
    what: 'a raise of an asynchronous function',
    refused: { entry: raise(asyncFunction as never) },
    says: ASYNC,
    accepted: withAgent,
  },
  {
    id: 'M12',
    what: 'a raise with an asynchronous delay',
    refused: { entry: raise({ type: 'X' }, { delay: asyncFunction as never }) },
    says: ASYNC,
    accepted: { entry: raise({ type: 'X' }, { delay: () => 10 }) },
  },
  {
    id: 'M12',
    what: 'a sendTo of an asynchronous function',
    refused: inState({ invoke: { src: 'child', id: 'c' }, entry: sendTo('c', asyncFunction) }),
    says: ASYNC,
    accepted: inState({ invoke: { src: 'child', id: 'c' }, entry: sendTo('c', () => ({ type: 'PING' })) }),
  },
  {
    id: 'M12',
    what: 'an asynchronous enqueueActions',
    refused: { entry: enqueueActions(asyncFunction as never) },
    says: ASYNC,
    accepted: { entry: enqueueActions(({ enqueue }) => enqueue.assign({ n: 1 })) },
  },
  {
    id: 'M12',
    what: 'an invoke whose input is asynchronous',
    refused: inState({ invoke: { src: 'work', input: asyncFunction } }),
    says: ASYNC,
    accepted: inState({ invoke: { src: 'work', input: () => null } }),
  },
  {
    id: 'M16',
    what: 'a "*" beside an invoke without onError, whose failure it would hide',
    refused: { on: { '*': {} }, ...inState({ invoke: { src: 'work', id: 'call' } }) },
    says: ['"*" transition also takes the failure of "call"', 'give that invoke an onError'],
    accepted: { on: { '*': {} }, ...inState({ invoke: { src: 'work', id: 'call', onError: {} } }) },
  },
  {
    id: 'M16',
    what: 'a "*" in a state far away from the invoke',
    refused: {
      initial: 'a',
      states: { a: { invoke: { src: 'work' } }, b: { initial: 'c', states: { c: { on: { '*': {} } } } } },
    },
    says: ['"*" transition also takes the failure of "work"', 'give that invoke an onError'],
    accepted: {
      initial: 'a',
      states: {
        a: { invoke: { src: 'work', onError: {} } },
        b: { initial: 'c', states: { c: { on: { '*': {} } } } },
      },
    },
  },
  {
    id: 'M16',
    what: 'a "*" beside a spawnChild whose failure nobody handles',
    refused: { on: { '*': {} }, entry: spawnChild('child' as never, { id: 'c' }) },
    says: ['"*" transition also takes the failure of "c"', "'xstate.error.actor.c'"],
    accepted: {
      on: { '*': {}, 'xstate.error.actor.c': {} },
      entry: spawnChild('child' as never, { id: 'c' }),
    },
  },
  ...['xstate.*', 'xstate.error.*', 'xstate.done.actor.*'].map((type) => ({
    id: 'M16',
    what: `a transition for "${type}"`,
    refused: { on: { [type]: {} } },
    says: ["takes the runtime's own events", 'name the ones that you mean'] as const,
    accepted: { on: { 'xstate.done.actor.c': {}, 'task.*': {} } },
  })),
  {
    id: 'M17',
    what: 'an action that nobody has written',
    refused: { entry: 'missing' },
    says: ['there is no action "missing"', 'add it to setup({ actions })'],
    accepted: { entry: 'count' },
  },
  {
    id: 'M17',
    what: 'an action with parameters that nobody has written',
    refused: { on: { X: { actions: [{ type: 'missing', params: {} }] } } },
    says: ['an action of "X"', 'add it to setup({ actions })'],
    accepted: { on: { X: { actions: [{ type: 'count', params: {} }] } } },
  },
  {
    id: 'M17',
    what: 'a guard that nobody has written',
    refused: { on: { X: [{ guard: 'missing' }] } },
    says: ['there is no guard "missing"', 'add it to setup({ guards })'],
    accepted: { on: { X: [{ guard: 'isReady' }] } },
  },
  {
    id: 'M17',
    what: 'a guard inside of others that nobody has written',
    refused: inState({ always: { guard: and(['isReady', not('missing')]) } }),
    says: ['there is no guard "missing"', 'add it to setup({ guards })'],
    accepted: inState({ always: { guard: and(['isReady', not('isReady')]) } }),
  },
  {
    id: 'M17',
    what: 'a delay that nobody has written',
    refused: inState({ after: { missing: {} } }),
    says: ['there is no delay "missing"', 'add it to setup({ delays })'],
    accepted: inState({ after: { soon: {}, 10: {} } }),
  },
  {
    id: 'M17',
    what: 'a raise with a delay that nobody has written',
    refused: { entry: raise({ type: 'X' }, { delay: 'missing' as never }) },
    says: ['there is no delay "missing"', 'add it to setup({ delays })'],
    accepted: { entry: raise({ type: 'X' }, { delay: 'soon' as never }) },
  },
  {
    id: 'M17',
    what: 'an invoke of something that is not there',
    refused: inState({ invoke: { src: 'missing' } }),
    says: ['"missing", which is not under setup({ actors })', 'add missing: agentCall<Input, Output>()'],
    accepted: withAgent,
  },
  {
    id: 'M17',
    what: 'a spawnChild of something that is not there',
    refused: { entry: spawnChild('missing' as never, { id: 'c' }) },
    says: ['"missing", which is not under setup({ actors })', 'add missing: agentCall<Input, Output>()'],
    accepted: { entry: spawnChild('work' as never, { id: 'c' }) },
  },
  {
    id: 'M28',
    what: 'sendParent',
    refused: { entry: sendParent({ type: 'X' }) },
    says: ['sendParent', "to: '..' for the parent"],
    accepted: { entry: emit({ type: 'X', to: '..' }) },
  },
  {
    id: 'M28',
    what: 'a sendTo by reference',
    refused: { entry: sendTo(({ self }) => self, { type: 'X' }) },
    says: ['sendTo by reference', 'emit(({ context }) => ({ to: context.address, type: … }))'],
    accepted: { entry: emit(({ context }) => ({ to: context.address, type: 'X' })) },
  },
  {
    id: 'M28',
    what: 'a sendTo of the machine itself',
    refused: { entry: sendTo('#_internal', { type: 'X' }) },
    says: ['sendTo', 'raise'],
    accepted: { entry: raise({ type: 'X' }) },
  },
  {
    what: 'a sendTo with a delay',
    refused: inState({
      invoke: { src: 'child', id: 'c' },
      entry: sendTo('c', { type: 'PING' }, { delay: 10 }),
    }),
    says: ['sendTo with a delay', 'raise an event of your own with that delay'],
    accepted: inState({
      invoke: { src: 'child', id: 'c' },
      entry: raise({ type: 'LATER' }, { delay: 10 }),
      on: { LATER: { actions: sendTo('c', { type: 'PING' }) } },
    }),
  },
  {
    what: 'log',
    refused: { entry: log('text') },
    says: ['leaves no trace in the log', 'emit a message'],
    accepted: { entry: emit({ type: 'noted', text: 'text' }) },
  },
  {
    what: 'an action that is a function of its own',
    refused: inState({ exit: () => undefined }),
    says: ['the exit of state "a" is a function of its own', 'emit a message, assign, or call an agent'],
    accepted: inState({ exit: [emit({ type: 'left' }), assign({ n: 2 })] }),
  },
  {
    what: 'a stopChild by reference',
    refused: { on: { X: { actions: stopChild(({ self }) => self) } } },
    says: ['stopChild by reference', "stopChild('id')"],
    accepted: { on: { X: { actions: stopChild('id') } } },
  },
  {
    what: 'onSnapshot',
    refused: inState({ invoke: { src: 'child', onSnapshot: {} } }),
    says: ['onSnapshot', 'let the child emit a message'],
    accepted: inState({ invoke: { src: 'child' }, on: { CHANGED: {} } }),
  },
  {
    what: 'syncSnapshot of a spawnChild',
    refused: { entry: spawnChild('child' as never, { id: 'c', syncSnapshot: true }) },
    says: ['syncSnapshot', 'let the child emit a message'],
    accepted: { entry: spawnChild('child' as never, { id: 'c' }) },
  },
  {
    what: 'a systemId',
    refused: inState({ invoke: { src: 'child', systemId: 's' } }),
    says: ['systemId', 'send by address'],
    accepted: inState({ invoke: { src: 'child', id: 's' } }),
  },
  {
    what: 'a systemId of a spawnChild',
    refused: { entry: spawnChild('child' as never, { id: 'c', systemId: 's' }) },
    says: ['systemId', 'send by address'],
    accepted: { entry: spawnChild('child' as never, { id: 'c' }) },
  },
  ...['xstate.done.actor.c', '@xstate.x', 'lw.stopped'].map((type) => ({
    what: `an emit of "${type}"`,
    refused: { entry: emit({ type }) },
    says: [`"${type}" is a type of the runtime's own`, 'choose another'] as const,
    accepted: { entry: emit({ type: 'stopped' }) },
  })),
  {
    what: 'an emit of something without a type',
    refused: { entry: emit({ n: 1 } as never) },
    says: ['what is emitted', 'needs a string "type"'],
    accepted: { entry: emit({ type: 'noted', n: 1 }) },
  },
  ...['callback', 'observable', 'events', 'reducer'].map((src) => ({
    what: `an invoke of "${src}", whose state cannot be stored`,
    refused: inState({ invoke: { src } }),
    says: [
      `"${src}", a callback, observable or transition actor`,
      'make it an agent (agentCall) or a machine',
    ] as const,
    accepted: inState({ invoke: [{ src: 'work' }, { src: 'child' }] }),
  })),
  {
    what: 'an invoke of a child in a state whose name cannot be part of an address',
    refused: { initial: 'in review', states: { 'in review': { invoke: { src: 'child' } } } },
    says: ['"in review"', 'give it an id'],
    accepted: { initial: 'in review', states: { 'in review': { invoke: { src: 'child', id: 'review' } } } },
  },
];

describe('the registration of a machine', () => {
  test.each(HAZARDS.map((hazard) => [hazard.id ? `${hazard.id}: ` : '', hazard.what, hazard] as const))(
    '%srefuses %s, and takes it the way it says',
    (_id, _what, { refused, says, accepted }) => {
      const problems = problemsOf(machineOf(refused));
      expect(problems).toHaveLength(1);
      for (const part of says) expect(problems[0]).toContain(part);
      expect(problemsOf(machineOf(accepted))).toEqual([]);
    },
  );

  test.each([
    ['M12: an asynchronous delay', { delays: { never: asyncFunction } }, ['the delay "never"', ...ASYNC]],
    [
      'M12: an asynchronous guard by name',
      { guards: { isSo: asyncFunction } },
      ['the guard "isSo"', ...ASYNC],
    ],
    [
      'M12: an asynchronous action by name',
      { actions: { save: asyncFunction } },
      ['the action "save"', ...ASYNC],
    ],
    [
      'a function of its own by name',
      { actions: { save: () => undefined } },
      ['the action "save"', 'emit a message, assign'],
    ],
    [
      'M17: a guard that names a missing one',
      { guards: { isSo: not('missing') } },
      ['the guard "isSo"', '"missing"'],
    ],
  ])('refuses what stands in setup(): %s', (_what, written, says) => {
    const problems = problemsOf(setup(written as never).createMachine({}));
    expect(problems).toHaveLength(1);
    for (const part of says) expect(problems[0]).toContain(part);
  });

  test('refuses a machine that invokes one which is not registered', () => {
    const machine = machineOf(inState({ invoke: { src: 'child' } }));
    expect(() => createRegistry().register([workflow('tried', machine)])).toThrow(
      expect.objectContaining({
        code: 'MACHINE_REFUSED',
        message: expect.stringContaining("add workflow('child', …)"),
      }),
    );
  });

  test('lists all that is wrong at once, each with its place', () => {
    const machine = machineOf({
      entry: ['missing', log('x')],
      on: { X: { guard: 'absent', actions: sendParent({ type: 'Y' }) } },
      initial: 'a',
      states: {
        a: { after: { whenever: 'b' }, invoke: { src: 'callback', onSnapshot: {} } },
        b: {
          initial: { target: 'c', actions: () => undefined },
          states: { c: { exit: spawnChild('child' as never) } },
        },
      },
    });
    const problems = problemsOf(machine);
    expect(problems).toEqual([
      expect.stringMatching(/the entry of the root.*"missing"/),
      expect.stringMatching(/the entry of the root.*log/),
      expect.stringMatching(/the guard of "X" in the root.*"absent"/),
      expect.stringMatching(/an action of "X" in the root.*sendParent/),
      expect.stringMatching(/state "a" invokes "callback"/),
      expect.stringMatching(/onSnapshot in state "a"/),
      expect.stringMatching(/after in state "a".*"whenever"/),
      expect.stringMatching(/the initial of state "b"/),
      expect.stringMatching(/the exit of state "c".*spawnChild needs an id/),
    ]);
  });

  test('registers all workflows, or none', () => {
    const registry = createRegistry();
    const refused = workflow('bad', machineOf({ entry: 'missing' }));
    expect(() => registry.register([workflow('child', child), refused])).toThrow(
      'there is no action "missing"',
    );
    expect(registry.names()).toEqual([]);
  });
});

/** Starts a machine and sends it GO; what it failed of. */
const failureOf = (machine: AnyStateMachine): unknown => {
  const run = new KernelRun([workflow('tried', machine), workflow('child', child)]);
  run.start('tried');
  expect(run.actor('run')?.status).toBe('active');
  run.send('run', 'GO');
  expect(run.actor('run')?.status).toBe('failed');
  expect(run.run('run')?.verdict).toBe('failed');
  // The kernel goes on, and so do all others.
  run.start('child', null, 'another');
  expect(run.actor('another')?.status).toBe('active');
  return JSON.parse(run.run('run')?.result ?? '').failure.message;
};

const onGo = (actions: unknown) => machineOf({ on: { GO: { actions } } });

describe('what only shows when a machine runs fails its actor, and nobody else', () => {
  test('a delay that is undefined', () => {
    const machine = setup({ delays: { soon: () => undefined as never } }).createMachine({
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { after: { soon: 'a' } } },
    });
    expect(failureOf(machine as unknown as AnyStateMachine)).toMatch(
      /delay soon.*undefined.*milliseconds.*Infinity for never/,
    );
  });

  test.each([
    ['undefined', undefined],
    ['a promise', Promise.resolve(1)],
    ['no number', Number.NaN],
    ['less than nothing', -1],
  ])('a raise with a delay that is %s', (_what, delay) => {
    expect(failureOf(onGo(raise({ type: 'X' }, { delay: () => delay as never })))).toMatch(
      /milliseconds, or Infinity/,
    );
  });

  test('M15: a loop of always', () => {
    const spin = { initial: 'b', states: { b: { always: 'c' }, c: { always: 'b' } } };
    expect(failureOf(machineOf({ initial: 'a', states: { a: { on: { GO: 'spin' } }, spin } }))).toMatch(
      /Infinite loop/,
    );
  });

  test('M15: a loop of raise', () => {
    const again = { actions: raise({ type: 'GO' }) };
    expect(failureOf(machineOf({ on: { GO: again } }))).toMatch(/Infinite loop/);
  });

  test('M15: a loop of always at the start', () => {
    const machine = machineOf({ initial: 'b', states: { b: { always: 'c' }, c: { always: 'b' } } });
    const run = new KernelRun([workflow('tried', machine), workflow('child', child)]);
    run.start('tried');
    expect(run.actor('run')).toMatchObject({ status: 'failed', snapshot: null });
    expect(run.run('run')?.result).toMatch(/Infinite loop/);
  });

  test.each([
    [
      'a function',
      enqueueActions(({ enqueue }) => enqueue(() => undefined)),
      /emit a message, or call an agent/,
    ],
    [
      'an action that nobody has written',
      enqueueActions(({ enqueue }) => enqueue('missing')),
      /"missing".*emit a message/,
    ],
    [
      'a spawnChild',
      enqueueActions(({ enqueue }) => enqueue.spawnChild('child' as never)),
      /emit\(startActor/,
    ],
    ['a spawn inside assign', enqueueActions(({ enqueue }) => enqueue.assign(spawning)), /emit\(startActor/],
    [
      'a sendTo',
      enqueueActions(({ enqueue }) => enqueue.sendTo(({ self }) => self, { type: 'X' })),
      /emit a message/,
    ],
  ])('M6, M17: enqueueActions with %s', (_what, action, advice) => {
    expect(failureOf(onGo(action))).toMatch(advice);
  });

  test('M6: a spawn that is hidden in another function', () => {
    expect(failureOf(onGo(assign(spawning)))).toMatch(/emit\(startActor/);
  });

  test('M17: a guard inside enqueueActions that nobody has written', () => {
    const asking = enqueueActions(({ enqueue, check }) => {
      if (check('missing')) enqueue.assign({ n: 1 });
    });
    expect(failureOf(onGo(asking))).toMatch(/Guard 'missing' is not implemented/);
  });
});

/** Its text does not give away what it does. */
const spawning = (given: object) => ({ ref: Reflect.get(given, ['sp', 'awn'].join(''))('child') });

test('a delay that is Infinity never fires', () => {
  const delays = { never: () => Number.POSITIVE_INFINITY };
  const machine = setup({ delays }).createMachine({
    initial: 'a',
    states: { a: { after: { never: 'b' } }, b: {} },
  });
  const run = new KernelRun([workflow('tried', machine as unknown as AnyStateMachine)]);
  run.start('tried');
  run.advance(Number.MAX_SAFE_INTEGER);
  expect(run.timers.size).toBe(0);
  expect(run.actor('run')?.snapshot?.value).toBe('a');
});
