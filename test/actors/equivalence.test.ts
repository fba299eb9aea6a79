import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyTransitionDefinition,
  and,
  createActor,
  type EventObject,
  emit,
  type InspectionEvent,
  initialTransition,
  not,
  SimulatedClock,
  setup,
  stateIn,
  transition,
} from 'xstate';
import { lowerMachine } from '../../src/actors/lower-machine.ts';
import { createPlainSteps } from '../../src/actors/plain-step.ts';
import { adaptMachine, type Request, type Step } from '../../src/actors/xstate-adapter.ts';
import type { Workflow } from '../../src/machines/workflow.ts';
import { rounds } from '../support/sample-sizes.ts';
import {
  anyMachine,
  anyPlainMachine,
  buildWorkflows,
  EVENTS,
  KernelRun,
  type LiveCall,
  type MachineSketch,
  type StateSketch,
} from './random-machine.ts';

// Two promises are held here. The kernel runs a rewritten machine as a function; whoever wrote the machine may expect that it
// does what XState's documentation says. And XState may change with a new version; then these tests are the first to know.

const CASES = rounds(2_000, 50_000, 400);

/** A case takes 10 ms; a machine that is busy otherwise may take longer. */
const PATIENT = { timeout: CASES * 100 };

// XState warns of every message to an actor that has ended; here there are many.
beforeAll(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});

type Move =
  | { readonly kind: 'event'; readonly actor: number; readonly type: string; readonly n: number }
  | { readonly kind: 'answer'; readonly which: number; readonly isDone: boolean; readonly n: number }
  | { readonly kind: 'late'; readonly which: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'reload' };

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('event'),
      actor: fc.nat(7),
      type: fc.constantFrom(...EVENTS),
      n: fc.nat(3),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('answer'),
      which: fc.nat(7),
      isDone: fc.boolean(),
      n: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late'), which: fc.nat(7) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('advance'), ms: fc.nat(5).map((tens) => tens * 10) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reload') }) },
);

const anyMoves = fc.array(anyMove, { minLength: 4, maxLength: 10, size: 'max' });

/** All that is compared after each move. Actors go by their addresses. */
interface View {
  readonly root: {
    readonly status: string;
    readonly value: unknown;
    readonly context: unknown;
    readonly end: unknown;
  };
  readonly children: Readonly<Record<string, { readonly value: unknown; readonly context: unknown }>>;
  /** Open calls, with what the agent is given. */
  readonly calls: Readonly<Record<string, unknown>>;
  /** What each actor stated since the move before. */
  readonly facts: Readonly<Record<string, readonly unknown[]>>;
}

const ROOT = 'run';

/** The unmodified machine as a live actor of XState, with its clock and its promises in the hands of the test. */
class LiveRun {
  readonly features = new Set<Feature>();
  /**
   * Set once XState has done one of three things that nobody can want, and that the kernel does not do:
   *
   * - An actor fails since it sends something to a child that has just been let go of. (The kernel keeps a dead letter.)
   * - A parent is handed the end of a child that it has let go of in the meantime, and since ids are used again, takes it for
   *   the end of the child that has the id now.
   * - A state is entered again without being left, so that what it invoked goes on unseen beside what it invokes now.
   */
  get isIncomparable(): boolean {
    return (
      this.#tookStale ||
      this.#enteredTwice ||
      String(messageOf(this.#snapshot.error)).startsWith('Unable to send event to actor')
    );
  }

  #tookStale = false;
  #enteredTwice = false;
  readonly #clock = new SimulatedClock();
  readonly #root: AnyActorRef & { start(): void };
  readonly #names = new Map<AnyActorRef, string>();
  readonly #counts = new Map<string, number>();
  readonly #calls: LiveCall[];
  readonly #senders = new WeakMap<object, unknown>();
  readonly #before = new WeakMap<object, AnyMachineSnapshot>();
  #facts: Record<string, unknown[]> = {};

  constructor([main]: readonly Workflow[], calls: LiveCall[]) {
    if (!main) throw new Error('A sketch has a main machine.');
    this.#calls = calls;
    this.#root = createActor(main.machine, {
      id: ROOT,
      input: null,
      clock: this.#clock,
      inspect: (event) => this.#inspect(event),
    });
    // Without it, an error would be thrown again, out of reach.
    this.#root.subscribe({ error: () => undefined });
    this.#root.start();
  }

  get #snapshot(): AnyMachineSnapshot {
    return this.#root.getSnapshot();
  }

  #children(): readonly AnyActorRef[] {
    const children: readonly (AnyActorRef | undefined)[] = Object.values(this.#snapshot.children);
    return children
      .filter((child) => child !== undefined)
      .filter((child) => child.getSnapshot().status === 'active');
  }

  send(address: string, event: EventObject): void {
    const actor = [this.#root, ...this.#children()].find((each) => this.#names.get(each) === address);
    actor?.send(event);
  }

  async answer(
    name: string,
    answer: { readonly output: unknown } | { readonly error: Error },
  ): Promise<void> {
    // The last one of that name is the one that is open, if any is.
    const call = this.#calls.filter(({ self }) => this.#names.get(self) === name).at(-1);
    await this.#settle(call, answer);
  }

  /** Answers every call that was let go of. */
  async answerLate(): Promise<void> {
    for (const call of this.#calls) {
      if (call.self.getSnapshot().status !== 'active') await this.#settle(call, { output: { n: 1 } });
    }
  }

  async #settle(
    call: LiveCall | undefined,
    answer: { readonly output: unknown } | { readonly error: Error },
  ): Promise<void> {
    if ('output' in answer) call?.resolve(answer.output);
    else call?.reject(answer.error);
    // XState is two promises away.
    for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
  }

  advance(ms: number): void {
    this.#clock.increment(ms);
  }

  view(): View {
    const { status, value, context, output, error } = this.#snapshot;
    const isActive = status === 'active';
    const children = isActive ? this.#children() : [];
    const machines = children.filter((child) => 'value' in child.getSnapshot());
    const owners = [this.#root, ...machines];
    const open = this.#calls.filter(
      ({ self }) =>
        isActive &&
        self.getSnapshot().status === 'active' &&
        owners.some((owner) => owner === parentOf(self)),
    );
    const facts = this.#facts;
    this.#facts = {};
    return {
      root: { status, value, context, end: status === 'error' ? String(messageOf(error)) : output },
      children: Object.fromEntries(
        machines.map((child) => [this.#names.get(child), pick(child.getSnapshot() as AnyMachineSnapshot)]),
      ),
      calls: Object.fromEntries(open.map(({ self, input }) => [this.#names.get(self), input])),
      facts,
    };
  }

  #inspect(event: InspectionEvent): void {
    // What XState hands to inspectors under a smaller type is always one of its actors.
    const actor = event.actorRef as AnyActorRef;
    switch (event.type) {
      case '@xstate.actor':
        this.#meet(actor);
        break;
      case '@xstate.event':
        this.#senders.set(event.event, event.sourceRef);
        if (event.event.type.startsWith('R')) this.features.add('raise with a delay');
        break;
      case '@xstate.snapshot':
        // Promises have snapshots, too, but neither children nor states.
        if ('children' in event.snapshot)
          this.#watchForStale(actor, event.event, event.snapshot as AnyMachineSnapshot);
        break;
      case '@xstate.microstep': {
        const { _transitions: taken, snapshot } = event;
        this.#noteFeatures(taken, snapshot as AnyMachineSnapshot);
        break;
      }
      case '@xstate.action':
        for (const feature of featuresOfAction(event.action)) this.features.add(feature);
        break;
      default:
    }
  }

  #meet(actor: AnyActorRef): void {
    const owner = parentOf(actor);
    const parent = owner && this.#names.get(owner);
    const isCall = actor.src === 'agent';
    const name = parent === undefined ? ROOT : `${parent}${isCall ? '#' : '/'}${actor.id}`;
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    const address = nth === 1 || isCall ? name : `${name}~${nth}`;
    this.#names.set(actor, address);
    actor.on('*', (fact) => {
      this.#facts[address] = [...(this.#facts[address] ?? []), fact];
    });
  }

  #noteFeatures(taken: readonly AnyTransitionDefinition[], snapshot: AnyMachineSnapshot): void {
    for (const feature of featuresOfSnapshot(snapshot)) this.features.add(feature);
    if (snapshot.context.enteredTwice) this.#enteredTwice = true;
    for (const each of taken)
      for (const feature of featuresOfTransition(each, snapshot)) this.features.add(feature);
  }

  #watchForStale(actor: AnyActorRef, event: EventObject, snapshot: AnyMachineSnapshot): void {
    const before = this.#before.get(actor);
    this.#before.set(actor, snapshot);
    const [, id] = /^xstate\.(?:done|error)\.actor\.(.+)$/.exec(event.type) ?? [];
    if (id === undefined || before === undefined || snapshot === before) return;
    if (before.children[id] !== this.#senders.get(event)) this.#tookStale = true;
  }
}

const parentOf = ({ _parent: parent }: AnyActorRef): AnyActorRef | undefined => parent;

const pick = ({ value, context }: AnyMachineSnapshot) => ({ value, context });

const messageOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'message' in error ? error.message : error;

const STATUS = { active: 'active', done: 'done', failed: 'error', stopped: 'stopped' } as const;

/** What the kernel has, in the words of XState. */
const viewOf = (run: KernelRun, since: number): View => {
  const root = run.actor(ROOT);
  if (!root?.snapshot) throw new Error('The root of a run has a state.');
  const { result } = run.run(ROOT) ?? {};
  const end = JSON.parse(result ?? '{}') as { output?: unknown; failure?: { message: string } };
  const children = Object.values(root.waits.children).map((address) => run.actor(address));
  const facts: Record<string, unknown[]> = {};
  for (const { kind, type, actor, data } of run.rows.slice(since)) {
    if (kind === 'fact' && type === 'noted') facts[actor] = [...(facts[actor] ?? []), { type, ...data }];
  }
  return {
    root: { status: STATUS[root.status], ...pick(root.snapshot), end: end.failure?.message ?? end.output },
    children: Object.fromEntries(
      children.flatMap((child) => (child?.snapshot ? [[child.address, pick(child.snapshot)]] : [])),
    ),
    calls: Object.fromEntries([...run.calls.values()].map((call) => [nameOf(call), JSON.parse(call.input)])),
    facts,
  };
};

const nameOf = ({ actor, call }: { readonly actor: string; readonly call: string }): string =>
  `${actor}#${call}`;

/** Runs a machine both ways. Throws at the first difference. */
const compare = async (
  live: readonly Workflow[],
  kernel: readonly Workflow[],
  given: Given,
): Promise<LiveRun> => {
  const liveRun = new LiveRun(live, given.calls);
  const run = new KernelRun(kernel);
  run.start('main');
  let since = 0;
  for (let next = 0; ; next += 1) {
    if (liveRun.isIncomparable) return liveRun;
    const [expected, found] = [liveRun.view(), viewOf(run, since)];
    if (!isDeepStrictEqual(found, expected))
      expect({ afterMoves: next, ...found }).toEqual({ afterMoves: next, ...expected });
    since = run.rows.length;
    const move = given.moves[next];
    if (move === undefined || found.root.status !== 'active') return liveRun;
    await make(move, liveRun, run);
  }
};

interface Given {
  readonly moves: readonly Move[];
  readonly calls: LiveCall[];
}

const make = async (move: Move, live: LiveRun, run: KernelRun): Promise<void> => {
  switch (move.kind) {
    case 'event': {
      const children = Object.values(run.actor(ROOT)?.waits.children ?? {});
      const addresses = [ROOT, ...children, ...children, ...children];
      const address = addresses[move.actor % addresses.length] ?? ROOT;
      live.send(address, { type: move.type, n: move.n } as EventObject);
      run.send(address, move.type, { n: move.n });
      return;
    }
    case 'answer': {
      const call = [...run.calls.values()][move.which % Math.max(1, run.calls.size)];
      if (!call) return;
      const answer = move.isDone ? { output: { n: move.n } } : { error: new Error('x'.repeat(move.n)) };
      await live.answer(nameOf(call), answer);
      run.answer(call, answer);
      return;
    }
    case 'late': {
      await live.answerLate();
      const call = run.closedCalls[move.which % Math.max(1, run.closedCalls.length)];
      if (call) run.answer(call, { output: { n: 1 } });
      return;
    }
    case 'advance':
      live.advance(move.ms);
      run.advance(move.ms);
      return;
    case 'reload':
      run.reload();
  }
};

/** What a case must make use of for the comparison to say something about it. */
const FEATURES = [
  'nested states',
  'parallel states',
  'shallow history',
  'deep history',
  'final states with onDone',
  'always',
  'raise',
  'raise with a delay',
  'cancel',
  'guards',
  'after',
  'an agent that answered',
  'an agent that failed',
  'a child that ended or failed',
  'sendTo',
  'entry actions',
  'exit actions',
  'facts',
  'enqueueActions',
  'reenter',
] as const;

type Feature = (typeof FEATURES)[number];

const featuresOfSnapshot = ({ value, context }: AnyMachineSnapshot): readonly Feature[] => {
  const trace: readonly string[] = context.trace;
  return [
    ...(typeof value === 'string' ? [] : (['nested states'] as const)),
    ...(hasRegions(value) ? (['parallel states'] as const) : []),
    ...(trace.some((place) => place.includes('.entry.')) ? (['entry actions'] as const) : []),
    ...(trace.some((place) => place.includes('.exit.')) ? (['exit actions'] as const) : []),
    ...(trace.some((place) => place.endsWith('.enqueued')) ? (['enqueueActions'] as const) : []),
  ];
};

const hasRegions = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.keys(value).length > 1 || Object.values(value).some(hasRegions));

const featuresOfTransition = (
  { eventType, guard, reenter, target, source }: AnyTransitionDefinition,
  { historyValue }: AnyMachineSnapshot,
): readonly Feature[] => {
  const features: Feature[] = [];
  if (eventType === '') features.push('always');
  if (eventType.startsWith('R')) features.push('raise');
  if (eventType.startsWith('xstate.after.')) features.push('after');
  if (eventType.startsWith('xstate.done.state.')) features.push('final states with onDone');
  if (guard !== undefined && guard !== 'hasFuel') features.push('guards');
  if (reenter && target) features.push('reenter');
  for (const { type, history, id } of target ?? []) {
    if (type === 'history' && historyValue[id])
      features.push(history === 'deep' ? 'deep history' : 'shallow history');
  }
  const [, end, invoke] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(eventType) ?? [];
  const isCall = source.invoke.find(({ id }) => id === invoke)?.src === 'agent';
  if (end !== undefined && !isCall) features.push('a child that ended or failed');
  if (end !== undefined && isCall)
    features.push(end === 'done' ? 'an agent that answered' : 'an agent that failed');
  return features;
};

const featuresOfAction = ({
  type,
  params,
}: {
  readonly type: string;
  readonly params: unknown;
}): readonly Feature[] => {
  switch (type) {
    case 'xstate.emit':
      return ['facts'];
    case 'xstate.sendTo':
      return ['sendTo'];
    case 'xstate.cancel':
      return JSON.stringify(params).includes('timer') ? ['cancel'] : [];
    default:
      return [];
  }
};

describe('a machine under the kernel', () => {
  // Method: the same random machine, given the same events, answers and time, once under the kernel and once as a live actor.
  // After each move, states, contexts, open calls with their input, children and facts must be the same.
  //
  // What is not compared: the order of facts of different actors (a live actor starts its children before it goes on, the
  // kernel after it has come to rest), when within a macrostep a call starts, and answers on which a machine throws (for the
  // kernel they are failed attempts).
  test(
    'is in the same states, calls the same agents and states the same facts as a live actor',
    PATIENT,
    async () => {
      const counts = new Map<string, number>();
      let incomparable = 0;
      await fc.assert(
        fc.asyncProperty(anyMachine, anyMoves, async (sketch, moves) => {
          const calls: LiveCall[] = [];
          const workflows = buildWorkflows(sketch, (call) => calls.push(call));
          const live = await compare(workflows, workflows, { moves, calls });
          for (const feature of live.features) counts.set(feature, (counts.get(feature) ?? 0) + 1);
          if (live.isIncomparable) incomparable += 1;
        }),
        { numRuns: CASES },
      );
      const shares = FEATURES.map((feature) => [feature, (counts.get(feature) ?? 0) / CASES] as const);
      expect(shares.filter(([, share]) => share < SHARE_MIN)).toEqual([]);
      expect(incomparable / CASES).toBeLessThan(INCOMPARABLE_MAX);
    },
  );

  test('does so if it is plain, too', PATIENT, async () => {
    await fc.assert(
      fc.asyncProperty(anyPlainMachine, anyMoves, async (sketch, moves) => {
        const calls: LiveCall[] = [];
        const workflows = buildWorkflows(sketch, (call) => calls.push(call));
        await compare(workflows, workflows, { moves, calls });
      }),
      { numRuns: CASES / 2 },
    );
  });

  test.each<[what: string, change: (state: StateSketch) => StateSketch]>([
    ['drops exit actions', (state) => ({ ...state, exit: [] })],
    ['drops entry actions', (state) => ({ ...state, entry: [] })],
    [
      'takes deep history for shallow',
      (state) => ({ ...state, history: state.history === 'deep' ? 'shallow' : state.history }),
    ],
    [
      'does not enter states again',
      (state) => ({ ...state, on: state.on.map((each) => ({ ...each, reenter: false })) }),
    ],
    ['forgets timers', (state) => ({ ...state, after: null })],
    ['forgets the end of nested states', (state) => ({ ...state, onDone: null })],
    [
      'drops the answers of agents',
      (state) => ({ ...state, invoke: state.invoke && { ...state.invoke, onDone: null } }),
    ],
    [
      'drops the failures of agents',
      (state) => ({ ...state, invoke: state.invoke && { ...state.invoke, onError: null } }),
    ],
    [
      'forgets what children are told',
      (state) => ({ ...state, invoke: state.invoke && { ...state.invoke, tells: 'never' } }),
    ],
  ])('would be found out if the kernel had one that %s', async (_what, change) => {
    const checked = await fc.check(
      fc.asyncProperty(anyMachine, anyMoves, async (sketch, moves) => {
        const calls: LiveCall[] = [];
        const workflows = buildWorkflows(sketch, (call) => calls.push(call));
        const changed = buildWorkflows(everywhere(sketch, change), () => undefined);
        await compare(workflows, changed, { moves, calls });
      }),
      // It ends at the first difference, so that the rare ones get all the cases that they need.
      { numRuns: rounds(2_000, 50_000), endOnFailure: true },
    );
    expect(checked.failed).toBe(true);
  });
});

const SHARE_MIN = 0.05;
const INCOMPARABLE_MAX = 0.1;

const everywhere = (
  { root, ids }: MachineSketch,
  change: (state: StateSketch) => StateSketch,
): MachineSketch => {
  const changed = (state: StateSketch): StateSketch => {
    const { invoke, ...rest } = change(state);
    const child = invoke?.child && { ...invoke.child, root: changed(invoke.child.root) };
    return {
      ...rest,
      invoke: invoke && { ...invoke, child: child ?? null },
      states: state.states.map(changed),
    };
  };
  return { root: changed(root), ids };
};

describe('a rewritten machine', () => {
  // Method: the same events, some of which the runtime alone may send, once to the rewritten machine and once to the original
  // by way of `transition`, which XState exports for this. States and what they ask for must be the same, step by step.
  test.each([
    ['any', anyMachine, false],
    ['a plain', anyPlainMachine, true],
  ] as const)(
    '(%s one) goes the same way, and asks for the same, as the original one in the hands of transition()',
    PATIENT,
    (_which, machines, arePlain) => {
      const steps = { all: 0, plain: 0, moved: 0 };
      fc.assert(
        fc.property(
          machines,
          fc.array(fc.nat(99), { minLength: 4, maxLength: 8, size: 'max' }),
          (sketch, choices) => {
            const [main] = buildWorkflows(sketch, () => undefined);
            if (!main) throw new Error('A sketch has a main machine.');
            compareSteps(main, choices, steps);
          },
        ),
        { numRuns: arePlain ? CASES : CASES / 4 },
      );
      // Else the comparison would say little of the shorter way.
      if (!arePlain) return;

      expect(steps.plain / steps.all).toBeGreaterThan(PLAIN_MIN);
      expect(steps.moved / steps.all).toBeGreaterThan(MOVED_MIN);
    },
  );
});

describe('which transition is taken', () => {
  const boom = (): never => {
    throw new Error('boom');
  };
  const guarded = (guards: Readonly<Record<string, () => boolean>>, on: object) =>
    setup({ guards }).createMachine({
      initial: 'outer',
      on: { UP: { actions: emit({ type: 'root' }) }, ANY: { actions: emit({ type: 'root' }) } },
      states: {
        outer: {
          initial: 'inner',
          on: { UP: { actions: emit({ type: 'outer' }) }, 'a.b': { actions: emit({ type: 'outer a.b' }) } },
          states: { inner: { on: on as never } },
        },
      },
    });
  const guards = { yes: () => true, no: () => false, boom };
  const say = (type: string, guard?: unknown) => ({
    actions: emit({ type }),
    ...(guard !== undefined && { guard }),
  });

  test.each<[string, object]>([
    ['the first that is let through', { UP: [say('1', 'no'), say('2', 'yes'), say('3')] }],
    ['that of the state around, if none is', { UP: [say('1', 'no'), say('2', () => false)] }],
    ['none, if a guard throws, and what it says is told', { UP: [say('1', 'no'), say('2', 'boom')] }],
    ['the one before a guard that would throw', { UP: [say('1', 'yes'), say('2', 'boom')] }],
    ['what stands for several types', { '*': say('any'), 'a.*': say('a'), 'a.b': say('a.b', 'no') }],
    ['what stands for several types, outside', { 'a.b.c': say('a.b.c') }],
    ['a guard made of others', { UP: [say('1', not('yes')), say('2', and(['yes', stateIn('outer')]))] }],
    ['one whose guard gives something, if not true', { UP: [say('1', () => 0), say('2', () => 'yes')] }],
    [
      'none, if a guard throws, whatever would come after it',
      { UP: say('1', 'boom'), ANY: say('2', () => boom()) },
    ],
    ['none, if a guard is not there', { UP: [say('1', 'nobody'), say('2')] }],
    ['the one before a guard that is not there', { UP: [say('1'), say('2', 'nobody')] }],
    ['nothing, which keeps it from the state around', { UP: {} }],
  ])('is %s, as XState has it', (_which, on) => {
    const machine = guarded(guards, on);
    const behavior = adaptMachine(machine);
    const { next: first } = behavior.initial(null);
    const [theirs] = initialTransition(machine);
    for (const type of ['UP', 'ANY', 'a', 'a.b', 'a.b.c', 'unknown'])
      expect([type, attempt(() => asked(behavior.step(first, { type })))]).toEqual([
        type,
        attempt(() => asked(toStep(transition(machine, theirs, { type })))),
      ]);
  });

  test('without an event is the first whose guard gives something, as XState has it', () => {
    const machine = setup({}).createMachine({
      initial: 'first',
      states: {
        first: {
          // What is typed otherwise may give anything.
          always: [
            { guard: () => 0 as never, target: 'second' },
            { guard: () => 'yes' as never, target: 'third' },
          ],
        },
        second: {},
        third: {},
      },
    });
    const [theirs] = initialTransition(machine);
    expect([adaptMachine(machine).initial(null).next.value, theirs.value]).toEqual(['third', 'third']);
  });

  test('is not followed after a guard has thrown: what is said is what XState says', () => {
    const machine = setup({}).createMachine({
      initial: 'first',
      on: { UP: '.end' },
      states: {
        first: { on: { UP: { guard: boom, target: 'end' } } },
        end: {
          type: 'final',
          output: () => {
            throw new Error('not here');
          },
        },
      },
    });
    const behavior = adaptMachine(machine);
    const [theirs] = initialTransition(machine);
    const ours = attempt(() => behavior.step(behavior.initial(null).next, { type: 'UP' }));
    expect(ours).toEqual(attempt(() => toStep(transition(machine, theirs, { type: 'UP' }))));
    expect(ours).toMatchObject({ error: expect.stringContaining('boom') as string });
  });

  const asked = ({ requests }: Step): Step => ({ next: null as never, requests });
});

/** Shares of the steps of plain machines: those that go the shorter way, and those of them that lead to another state. */
const PLAIN_MIN = 0.8;
const MOVED_MIN = 0.1;

const nodesIn = (node: AnyStateMachine['root']): readonly AnyStateMachine['root'][] => [
  node,
  ...Object.values(node.states).flatMap(nodesIn),
];

/** Whether a step is one that does not go through XState. */
const createPlainCheck = (machine: AnyStateMachine) => {
  const lowered = lowerMachine(machine);
  const self = createActor(lowered);
  // What is read of a scope by an action that only asks for something.
  const steps = createPlainSteps(lowered, { self, system: self.system } as never);
  const own = new Map(nodesIn(lowered.root).map((node) => [node.id, node]));
  return (snapshot: AnyMachineSnapshot, event: EventObject) => {
    const { _nodes: nodes } = snapshot;
    const same = { ...snapshot, _nodes: nodes.flatMap(({ id }) => own.get(id) ?? []), machine: lowered };
    return steps.take(same as AnyMachineSnapshot, event);
  };
};

const compareSteps = (
  { machine }: Workflow,
  choices: readonly number[],
  steps: { all: number; plain: number; moved: number },
): void => {
  const plainStep = createPlainCheck(machine);
  const behavior = adaptMachine(machine);
  const events = eventsFor(machine.events);
  let ours = attempt(() => behavior.initial(null));
  let theirs = attempt(() => thrown(initialTransition(machine, null)));
  for (const choice of choices) {
    if ('error' in theirs && theirs.error.includes('Unable to send event to actor')) return;
    const isActive = 'step' in theirs && theirs.step.next.status === 'active';
    const [found, expected] = [ours, theirs].map((outcome) =>
      'error' in outcome
        ? outcome
        : { ...behavior.persist(outcome.step.next), asked: sorted(outcome.step.requests, isActive) },
    );
    if (!isDeepStrictEqual(found, expected)) expect(found).toEqual(expected);
    if (!('step' in ours && 'step' in theirs && isActive)) return;
    const event = events[choice % events.length] ?? { type: 'E0' };
    const { step: before } = ours;
    const { step: beforeTheirs } = theirs;
    ours = attempt(() => behavior.step(before.next, event));
    const plain = 'step' in ours ? plainStep(before.next, event) : undefined;
    steps.all += 1;
    if (plain) steps.plain += 1;
    if (plain && plain.next.value !== before.next.value) steps.moved += 1;
    theirs = attempt(() => toStep(transition(machine, beforeTheirs.next, event)));
    // How the kernel knows that an event was not taken.
    if ('step' in ours && 'step' in theirs) {
      expect(ours.step.next === before.next).toBe(theirs.step.next === beforeTheirs.next);
    }
  }
};

type Outcome = { readonly step: Step } | { readonly error: string };

const attempt = (step: () => Step): Outcome => {
  try {
    return { step: step() };
  } catch (error) {
    return { error: String(messageOf(error)) };
  }
};

const eventsFor = (types: readonly string[]): readonly EventObject[] =>
  [...EVENTS, ...types.filter((type) => type.startsWith('xstate.'))].map((type) => {
    const [, actorId] = /^xstate\.(?:done|error)\.actor\.(.+)$/.exec(type) ?? [];
    return actorId === undefined
      ? { type, n: 2 }
      : { type, actorId, output: { n: 1 }, error: { message: 'no' } };
  });

/** What is left of a start that throws: XState puts the error into the snapshot. */
const thrown = ([snapshot, actions]: ReturnType<typeof initialTransition>): Step => {
  if (snapshot.status === 'error') throw snapshot.error;
  return toStep([snapshot, actions]);
};

/** What the original machine asks for, in the words of the kernel. */
const toStep = ([next, actions]: readonly [
  AnyMachineSnapshot,
  readonly { readonly type: string; readonly params: unknown }[],
]): Step => ({
  next,
  requests: actions.flatMap(({ type, params }): readonly Request[] => {
    // The shapes of XState's own actions have a test of their own.
    const { id, src, input, event, delay, sendId, targetId } = (params ?? {}) as {
      readonly [key in 'id' | 'src' | 'sendId' | 'targetId']: string;
    } & { readonly input: unknown; readonly event: EventObject; readonly delay?: number };
    switch (type) {
      case 'xstate.spawnChild':
        return [{ kind: 'invoke', id, src, input, replaces: true }];
      case 'xstate.stopChild':
        return id === undefined ? [] : [{ kind: 'leave', id }];
      case 'xstate.emit':
        return [{ kind: 'emit', event }];
      case 'xstate.sendTo':
        return [{ kind: 'emit', event: { ...event, to: `./${targetId}` } }];
      case 'xstate.raise':
        return delay === undefined ? [] : [{ kind: 'timer', id, delayMs: delay, event }];
      case 'xstate.cancel':
        return [{ kind: 'cancel', id: sendId }];
      default:
        throw new Error(`The original machine has an action "${type}".`);
    }
  }),
});

/**
 * Requests by kind. A machine that has ended lets go of everything, and says so only if it is the original. The order of calls
 * and timers of one state is not compared: no call knows of a timer.
 */
const sorted = (requests: readonly Request[], isActive: boolean) => ({
  messages: requests.filter(({ kind }) => kind === 'emit'),
  timers: requests.filter(({ kind }) => kind === 'timer' || kind === 'cancel'),
  calls: requests.filter(({ kind }) => kind === 'invoke' || (kind === 'leave' && isActive)),
});
