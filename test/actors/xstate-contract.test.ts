import { readFileSync } from 'node:fs';
import { EMPTY } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  type AnyActorLogic,
  type AnyMachineSnapshot,
  and,
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions,
  forwardTo,
  fromCallback,
  fromEventObservable,
  fromObservable,
  fromPromise,
  fromTransition,
  initialTransition,
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
  transition,
} from 'xstate';
import { isPromiseLogic, isStateMachine, kindOfLogic } from '../../src/actors/actor-logic.ts';
import { agentCall } from '../../src/machines/agent-call.ts';

// What the adapter, the rewriting and the validator read of XState beyond its documentation. All of it is collected from the
// XState that is installed: whoever upgrades it learns here what has to be looked at.

/** What a machine asks for at its start. */
const asked = (machine: AnyActorLogic) => {
  const [, actions] = initialTransition(machine);
  return actions.map(({ type, params }: { type: string; params: unknown }) => ({ type, params }));
};

/** What a machine with these entry actions asks for at its start. */
const askedAtEntry = (...entry: readonly unknown[]) =>
  asked(
    setup({ delays: { soon: () => 20 }, actions: { custom: (_args, _params: { n: number }) => undefined } })
      // Whether the actions suit the machine is what is tried here.
      .createMachine({ id: 'm', context: { n: 1 }, entry: entry as never }),
  );

describe('the version of XState', () => {
  test('is fixed, and the one that is installed', () => {
    const version = (file: URL | string): string => {
      const { dependencies, version: own } = JSON.parse(readFileSync(file, 'utf8'));
      return dependencies?.xstate ?? own;
    };
    const wanted = version(new URL('../../package.json', import.meta.url));
    expect(wanted).toMatch(/^\d+\.\d+\.\d+$/);
    expect(version(new URL('../../node_modules/xstate/package.json', import.meta.url))).toBe(wanted);
  });
});

describe('an action that XState asks for', () => {
  test('is, for emit, the event', () => {
    const event = { type: 'noted', n: 1 };
    expect(
      askedAtEntry(
        emit(event),
        emit(({ context }) => ({ type: 'noted', n: context.n })),
      ),
    ).toEqual([
      { type: 'xstate.emit', params: { event } },
      { type: 'xstate.emit', params: { event } },
    ]);
  });

  test('is, for raise with a delay, the event, its id and the number of milliseconds', () => {
    const event = { type: 'LATER' };
    expect(
      askedAtEntry(
        raise(event, { delay: 10, id: 'timer' }),
        raise(event, { delay: 'soon' as never }),
        raise(event, { delay: () => Number.POSITIVE_INFINITY }),
        raise(event, { delay: () => undefined as never }),
        raise(event),
      ),
    ).toEqual([
      { type: 'xstate.raise', params: { event, id: 'timer', delay: 10 } },
      { type: 'xstate.raise', params: { event, id: undefined, delay: 20 } },
      { type: 'xstate.raise', params: { event, id: undefined, delay: Number.POSITIVE_INFINITY } },
      // The same as without a delay: why the rewriting checks what functions give.
      { type: 'xstate.raise', params: { event, id: undefined, delay: undefined } },
      { type: 'xstate.raise', params: { event, id: undefined, delay: undefined } },
    ]);
  });

  test('is, for after, a raise whose id is the type of its event, and a cancel of that id on leaving', () => {
    const machine = createMachine({ id: 'm', initial: 'a', states: { a: { after: { 10: 'b' } }, b: {} } });
    const type = 'xstate.after.10.m.a';
    expect(asked(machine)).toEqual([
      { type: 'xstate.raise', params: { event: { type }, id: type, delay: 10 } },
    ]);
    const [snapshot] = initialTransition(machine);
    const [next, actions] = transition(machine, snapshot, { type });
    expect(next.value).toBe('b');
    expect(actions).toMatchObject([{ type: 'xstate.cancel', params: { sendId: type } }]);
  });

  test('is, for cancel, the id', () => {
    expect(
      askedAtEntry(
        cancel('timer'),
        cancel(() => 'timer'),
      ),
    ).toEqual([
      { type: 'xstate.cancel', params: { sendId: 'timer' } },
      { type: 'xstate.cancel', params: { sendId: 'timer' } },
    ]);
  });

  test('is, for a custom action, its name and its parameters, evaluated with the context of its place in the row', () => {
    const params = ({ context }: { context: { n: number } }) => ({ n: context.n });
    expect(
      askedAtEntry(
        'custom',
        { type: 'custom', params: { n: 1 } },
        assign({ n: 2 }),
        { type: 'custom', params },
        { type: 'unknown', params },
        function inPlace() {},
      ),
    ).toEqual([
      { type: 'custom', params: undefined },
      { type: 'custom', params: { n: 1 } },
      { type: 'custom', params: { n: 2 } },
      // An action that nobody has written is no error: the rewriting relies on it, the validator refuses it.
      { type: 'unknown', params: { n: 2 } },
      { type: 'inPlace', params: undefined },
    ]);
  });

  test('is none, for assign and enqueueActions; what was enqueued comes out by itself', () => {
    const enqueued = enqueueActions(({ enqueue }) => {
      enqueue.emit({ type: 'noted' });
      enqueue({ type: 'unknown' });
    });
    expect(askedAtEntry(assign({ n: 3 }), enqueued)).toEqual([
      { type: 'xstate.emit', params: { event: { type: 'noted' } } },
      { type: 'unknown', params: undefined },
    ]);
  });

  test('is, for invoke, a spawnChild with id, src and input after the entry actions, and a stopChild after the exit actions', () => {
    const machine = setup({ actors: { work: agentCall<{ n: number }, null>() } }).createMachine({
      id: 'm',
      context: { n: 1 },
      initial: 'a',
      states: {
        a: {
          entry: [assign({ n: 2 }), emit({ type: 'entered' })],
          exit: emit({ type: 'left' }),
          invoke: { src: 'work', input: ({ context }) => ({ n: context.n }), onDone: 'b', onError: 'b' },
        },
        b: {},
      },
    });
    expect(asked(machine)).toMatchObject([
      { type: 'xstate.emit' },
      { type: 'xstate.spawnChild', params: { id: '0.m.a', src: 'work', input: { n: 2 } } },
    ]);
    const [snapshot] = initialTransition(machine);
    for (const end of ['done', 'error']) {
      const [next, actions] = transition(machine, snapshot, { type: `xstate.${end}.actor.0.m.a` });
      expect(next.value).toBe('b');
      expect(actions).toMatchObject([
        { type: 'xstate.emit' },
        { type: 'xstate.stopChild', params: { id: '0.m.a' } },
      ]);
    }
  });
});

describe("an action of XState's own, before it is run", () => {
  const event = { type: 'X' };
  const input = { n: 1 };
  test.each<[name: string, action: unknown, properties: object]>([
    ['assign', assign({ n: 1 }), { type: 'xstate.assign', assignment: { n: 1 } }],
    ['emit', emit(event), { type: 'xstate.emit', event }],
    ['raise', raise(event, { id: 'i', delay: 5 }), { type: 'xstate.raise', event, id: 'i', delay: 5 }],
    ['cancel', cancel('i'), { type: 'xstate.cancel', sendId: 'i' }],
    [
      'enqueueActions',
      enqueueActions(() => undefined),
      { type: 'xstate.enqueueActions', collect: expect.any(Function) },
    ],
    ['log', log('text'), { type: 'xstate.log' }],
    ['sendTo', sendTo('a', event, { delay: 5 }), { type: 'xstate.sendTo', to: 'a', event, delay: 5 }],
    ['sendParent', sendParent(event), { type: 'xstate.sendTo', to: '#_parent', event, delay: undefined }],
    ['forwardTo', forwardTo('a'), { type: 'xstate.sendTo', to: 'a', event: expect.any(Function) }],
    [
      'spawnChild',
      spawnChild('src' as never, { id: 'i', input, systemId: 's', syncSnapshot: true }),
      { type: 'xstate.spawnChild', src: 'src', id: 'i', input, systemId: 's', syncSnapshot: true },
    ],
    ['stopChild', stopChild('i'), { type: 'xstate.stopChild', actorRef: 'i' }],
  ])(
    '%s is a function with what it was given as properties, and can be resolved',
    (_name, action, properties) => {
      expect(action).toBeTypeOf('function');
      expect({ ...Object(action) }).toMatchObject({ ...properties, resolve: expect.any(Function) });
    },
  );

  test('a custom one cannot be resolved', () => {
    expect(() => undefined).not.toHaveProperty('resolve');
  });

  test.each([
    ['and', and(['a', 'b'] as never), ['a', 'b']],
    ['or', or(['a', 'b'] as never), ['a', 'b']],
    ['not', not('a' as never), ['a']],
    ['stateIn', stateIn('a'), undefined],
  ])('%s is a guard with the guards that it joins', (_name, guard, guards) => {
    expect(guard).toBeTypeOf('function');
    expect(Object(guard).guards).toEqual(guards);
  });
});

describe('the logic of an actor', () => {
  test.each<[kind: string, name: string, logic: unknown]>([
    ['agent', 'agentCall', agentCall()],
    ['promise', 'fromPromise', fromPromise(async () => 1)],
    ['machine', 'createMachine', createMachine({})],
    ['other', 'fromCallback', fromCallback(() => undefined)],
    ['other', 'fromObservable', fromObservable(() => EMPTY)],
    ['other', 'fromEventObservable', fromEventObservable(() => EMPTY)],
    ['other', 'fromTransition', fromTransition((state: number) => state, 0)],
    [
      'other',
      'fromTransition that reads its context',
      fromTransition((state: { n: number }) => ({ n: state.n + 1 }), { n: 0 }),
    ],
    ['other', 'an object', {}],
    ['other', 'nothing', undefined],
    ['other', 'a function', () => undefined],
    ['other', 'logic that throws', { config: {}, transition: () => Object(undefined).a.b }],
  ])('is of the kind "%s" if it is made by %s', (kind, _name, logic) => {
    expect(kindOfLogic(logic)).toBe(kind);
  });

  test('made by fromPromise holds the function that it was made of', () => {
    const creator = async () => 1;
    const logic = fromPromise(creator);
    expect(isPromiseLogic(logic) && logic.config).toBe(creator);
  });

  test('is asked without being run', () => {
    let runs = 0;
    const count = () => {
      runs += 1;
    };
    kindOfLogic(fromPromise(async () => count()));
    kindOfLogic(fromCallback(count));
    kindOfLogic(fromObservable(() => (count(), EMPTY)));
    expect(runs).toBe(0);
  });

  test('is a machine if XState made it a state node', () => {
    expect(isStateMachine(setup({}).createMachine({}))).toBe(true);
    expect(isStateMachine({ root: {} })).toBe(false);
  });
});

describe('a machine and its snapshots', () => {
  const machine = createMachine({
    id: 'm',
    type: 'parallel',
    states: {
      a: {
        initial: 'a1',
        states: { a1: { on: { X: 'a2' } }, a2: {}, h: { type: 'history' } },
        on: { OUT: '#m.b' },
      },
      b: { initial: 'b1', states: { b1: {} } },
    },
  });
  const after = (...types: readonly string[]): AnyMachineSnapshot =>
    types.reduce<AnyMachineSnapshot>(
      (snapshot, type) => transition(machine, snapshot as never, { type })[0],
      initialTransition(machine)[0],
    );
  const ids = (nodes: readonly { readonly id: string }[] = []) => nodes.map(({ id }) => id);
  const statesOf = ({ _nodes: nodes }: AnyMachineSnapshot) => ids(nodes);

  test('list the states that they are in as they were entered, which decides whose transition comes first', () => {
    expect(statesOf(after())).toEqual(['m', 'm.a', 'm.a.a1', 'm.b', 'm.b.b1']);
    expect(statesOf(after('X'))).toEqual(['m', 'm.a', 'm.b', 'm.b.b1', 'm.a.a2']);
  });

  test('are restored in another order, and with less history', () => {
    const { value, context, historyValue } = after('X', 'OUT');
    expect(ids(historyValue['m.a.h'])).toEqual(['m.a.a2']);
    const persisted = { value, context, historyValue: { 'm.a.h': [] }, status: 'active', children: {} };
    const restored = machine.restoreSnapshot(persisted as never, {} as never);
    expect(statesOf(restored)).toEqual(['m', 'm.a', 'm.b', 'm.a.a1', 'm.b.b1']);
    // It would go to the default state of "h" now, where an actor that was not restored would go nowhere.
    expect(restored.historyValue).toEqual({});
  });

  test('are the same object if an event is not taken', () => {
    const snapshot = after();
    expect(transition(machine, snapshot as never, { type: 'UNKNOWN' })[0]).toBe(snapshot);
  });

  test('hold no children if nothing was invoked or spawned', () => {
    expect(after().children).toEqual({});
  });

  test('say what went wrong at the start, but throw what went wrong later', () => {
    const spin = { initial: 'a', states: { a: { always: 'b' }, b: { always: 'a' } } } as const;
    const options = { maxIterations: 10 };
    const [atOnce] = initialTransition(createMachine({ ...spin, options }));
    expect(atOnce).toMatchObject({ status: 'error', error: expect.any(Error) });
    const later = createMachine({ initial: 'rest', states: { rest: { on: { X: 'spin' } }, spin }, options });
    const [snapshot] = initialTransition(later);
    expect(() => transition(later, snapshot, { type: 'X' })).toThrow('Infinite loop');
  });

  test('fail by the failure of a child that they do not handle, and keep their state', () => {
    const error = new Error('no');
    const [next] = transition(machine, after() as never, { type: 'xstate.error.actor.i', error });
    expect(next).toMatchObject({ status: 'error', error, value: after().value });
  });

  test('have events, states, config and implementations where they are looked for', () => {
    const made = setup({
      actors: { work: agentCall() },
      actions: { note: assign({}) },
      guards: { isDone: () => true },
      delays: { soon: 10 },
    }).createMachine({ id: 'made', context: {}, on: { X: {}, Y: { actions: 'note' } } });
    expect(made.config).toMatchObject({ id: 'made', context: {}, on: { Y: { actions: 'note' } } });
    expect(made.events).toEqual(['Y']);
    expect(Object.keys(made.root.states)).toEqual([]);
    expect(made.implementations).toMatchObject({
      actors: { work: { agentCall: {} } },
      actions: { note: expect.any(Function) },
      guards: { isDone: expect.any(Function) },
      delays: { soon: 10 },
    });
  });
});
