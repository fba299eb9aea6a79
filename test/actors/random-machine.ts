import fc from 'fast-check';
import {
  type AnyActorRef,
  type AnyStateMachine,
  and,
  assign,
  cancel,
  emit,
  enqueueActions,
  fromPromise,
  not,
  raise,
  sendTo,
  setup,
  stateIn,
  type UnknownActorLogic,
} from 'xstate';
import type { ActorRecord } from '../../src/actors/actor-record.ts';
import { foldActor, foldEvent, toStored } from '../../src/actors/fold.ts';
import { createRegistry } from '../../src/actors/registry.ts';
import type { Stimulus } from '../../src/actors/stimulus.ts';
import { createKernel, type Kernel, type KernelLimits, type TurnResult } from '../../src/actors/turn.ts';
import type { System } from '../../src/actors/workspace.ts';
import { encode } from '../../src/events/encode.ts';
import type { Address, RecordedEvent } from '../../src/events/event.ts';
import type { ClosedCall, ClosedTimer, OpenCall, OpenTimer, RunRecord, Turn } from '../../src/events/turn.ts';
import { type Workflow, workflow } from '../../src/machines/workflow.ts';
import { recordTurn } from '../../src/store/record-turn.ts';

// Random machines: fast-check makes sketches (data that it can shrink and print), `buildWorkflows` makes machines of them. And
// at the end, `KernelRun`: what these and all other tests of the kernel run machines in.
//
// The machines always come to rest: what a machine does without anyone outside (always, raise, onDone) costs fuel, and only
// events from outside bring new fuel.

export interface MachineSketch {
  readonly root: StateSketch;
  /** Whether states have ids of their own, or those that XState derives from their paths. */
  readonly ids: 'own' | 'path';
}

export interface StateSketch {
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  readonly states: readonly StateSketch[];
  readonly history: 'none' | 'shallow' | 'deep';
  readonly entry: readonly ActionSketch[];
  readonly exit: readonly ActionSketch[];
  readonly on: readonly (TransitionSketch & { readonly event: string })[];
  readonly always: TransitionSketch | null;
  readonly after: (TransitionSketch & { readonly delay: number }) | null;
  readonly onDone: TransitionSketch | null;
  readonly invoke: InvokeSketch | null;
}

export interface TransitionSketch {
  /** Index of a state, modulo their number; null for a transition without a target. */
  readonly target: number | null;
  readonly reenter: boolean;
  readonly guard: 'none' | 'even' | 'odd' | 'joined' | 'in';
  readonly actions: readonly ActionSketch[];
}

interface ActionSketch {
  readonly kind: 'count' | 'named' | 'fact' | 'raise' | 'raiseLater' | 'restartTimer' | 'cancel' | 'enqueue';
  readonly n: number;
}

interface InvokeSketch {
  /** The machine of the child; null for a call of an agent. */
  readonly child: MachineSketch | null;
  readonly hasId: boolean;
  readonly onDone: TransitionSketch | null;
  readonly onError: TransitionSketch | null;
  /** When the child is sent an event of the same name as those from outside. */
  readonly tells: 'never' | 'entry' | 'exit' | 'on';
}

/** The events from outside that machines know, and those that they raise. */
export const EVENTS = ['E0', 'E1', 'E2', 'E3'] as const;
const RAISED = ['R0', 'R1'] as const;

const anyAction: fc.Arbitrary<ActionSketch> = fc.record({
  kind: fc.constantFrom(
    'count',
    'count',
    'named',
    'fact',
    'fact',
    'raise',
    'raiseLater',
    'restartTimer',
    'cancel',
    'enqueue',
  ),
  n: fc.nat(3),
});

const anyActions = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.array(anyAction, { maxLength: 2 }) },
);

const anyTransition: fc.Arbitrary<TransitionSketch> = fc.record({
  target: fc.option(fc.nat(99), { freq: 6 }),
  reenter: fc.boolean(),
  guard: fc.constantFrom('none', 'none', 'none', 'even', 'odd', 'joined', 'in'),
  actions: anyActions,
});

const anyHandler = fc
  .tuple(anyTransition, fc.constantFrom(...EVENTS, ...RAISED))
  .map(([transition, event]) => ({ ...transition, event }));

const rarely = <Value>(arbitrary: fc.Arbitrary<Value>, oneIn: number): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const anyDelayed = fc
  .tuple(anyTransition, fc.nat(3))
  .map(([transition, delay]) => ({ ...transition, delay }));

type Kind = StateSketch['kind'];

/** States of one kind. What they are made of is made once: fast-check takes long to make an arbitrary. */
const stateOf = (
  inner: fc.Arbitrary<readonly StateSketch[]>,
  kind: Kind,
  children: fc.Arbitrary<MachineSketch | null>,
) => {
  const isInner = kind === 'compound' || kind === 'parallel';
  const isFinal = kind === 'final';
  const anyInvoke: fc.Arbitrary<InvokeSketch> = fc.record({
    child: children,
    hasId: fc.boolean(),
    onDone: fc.option(anyTransition, { freq: 5 }),
    onError: fc.option(anyTransition, { freq: 5 }),
    tells: fc.constantFrom('never', 'entry', 'exit', 'on'),
  });
  return fc.record<StateSketch>({
    kind: fc.constant(kind),
    states: inner,
    history: isInner ? fc.constantFrom('none', 'shallow', 'deep') : fc.constant('none'),
    entry: anyActions,
    exit: anyActions,
    on: isFinal ? fc.constant([]) : fc.array(anyHandler, { maxLength: 3 }),
    always: isFinal ? fc.constant(null) : rarely(anyTransition, 6),
    after: isFinal ? fc.constant(null) : rarely(anyDelayed, 3),
    onDone: isInner ? fc.option(anyTransition, { freq: 6 }) : fc.constant(null),
    invoke: isFinal ? fc.constant(null) : rarely(anyInvoke, 3),
  });
};

/** The states that may stand at a place with this many levels below it. */
const statesOf = (
  depth: number,
  children: fc.Arbitrary<MachineSketch | null>,
): Record<Kind, fc.Arbitrary<StateSketch>> => {
  const none = fc.constant([]);
  const atomic = stateOf(none, 'atomic', children);
  const final = stateOf(none, 'final', children);
  if (depth === 0) return { atomic, final, compound: atomic, parallel: atomic };
  const inner = statesOf(depth - 1, children);
  const first = fc.oneof(inner.atomic, inner.compound, inner.parallel);
  const later = fc.oneof(inner.atomic, inner.final, inner.final);
  const compound = fc.tuple(first, later).map((inside) => [...inside]);
  const parallel = fc.tuple(first, inner.atomic).map((regions) => [...regions]);
  return {
    atomic,
    final,
    compound: stateOf(compound, 'compound', children),
    parallel: stateOf(parallel, 'parallel', children),
  };
};

const machineOf = (
  depth: number,
  children: fc.Arbitrary<MachineSketch | null>,
): fc.Arbitrary<MachineSketch> => {
  const { compound, parallel } = statesOf(depth, children);
  return fc.record({ root: fc.oneof(compound, compound, parallel), ids: fc.constantFrom('own', 'path') });
};

const anyChild = machineOf(1, fc.constant(null));

export const anyMachine: fc.Arbitrary<MachineSketch> = machineOf(3, fc.option(anyChild, { freq: 2 }));

/** The state with one state inside at a time, and none that is remembered. */
const plain = (state: StateSketch): StateSketch => ({
  ...state,
  kind: state.kind === 'parallel' ? 'compound' : state.kind,
  history: 'none',
  states: state.states.map(plain),
});

/** Machines for whose steps there is a shorter way than XState's. */
export const anyPlainMachine: fc.Arbitrary<MachineSketch> = fc
  .oneof(machineOf(1, fc.constant(null)), machineOf(2, fc.option(anyChild, { freq: 2 })), anyMachine)
  .map(({ root, ids }) => ({ root: plain(root), ids }));

/** A call of an agent as a live actor makes it. */
export interface LiveCall {
  readonly self: AnyActorRef;
  readonly input: unknown;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

interface Context {
  readonly fuel: number;
  readonly count: number;
  /** Depends on every action that ran, and on their order. */
  readonly order: number;
  /** The last actions that ran, for whoever reads the report of a difference. */
  readonly trace: readonly string[];
  /** The states that were entered and not left since. */
  readonly inside: readonly string[];
  /** Whether a state with a timer, call or child was entered that had not been left. */
  readonly enteredTwice: boolean;
}

const FUEL = 4;
const NOTHING: Context = { fuel: FUEL, count: 0, order: 7, trace: [], inside: [], enteredTwice: false };

interface AnyEvent {
  readonly type: string;
  readonly n?: number;
  readonly output?: { readonly n?: number; readonly count?: number };
  readonly error?: { readonly message?: string };
}

/** What an event carries, as a number: so that payloads are compared, too. */
const weightOf = ({ n = 0, output, error }: AnyEvent): number =>
  n + (output?.n ?? 0) + (output?.count ?? 0) * 3 + (error?.message?.length ?? 0);

const noted = (context: Context, event: AnyEvent, place: string): Partial<Context> => ({
  count: context.count + 1 + weightOf(event),
  order: Buffer.from(place).reduce((hash, byte) => (hash * 31 + byte) % 1_000_003, context.order),
  trace: [...context.trace.slice(-9), place],
});

/**
 * The workflows of a sketch: its machine, named "main", and those of its children. The very same machines run under the kernel
 * and in live actors: to the kernel, their calls are calls of an agent; to a live actor, promises that `onCall` settles.
 */
export const buildWorkflows = (
  sketch: MachineSketch,
  onCall: (call: LiveCall) => void,
): readonly Workflow[] => {
  const logic = fromPromise(
    ({ input, self }) =>
      new Promise((resolve, reject) => {
        onCall({ self, input, resolve, reject });
      }),
  );
  const children: Workflow[] = [];
  const call = Object.assign(logic, { agentCall: {} });
  const addChild = (child: MachineSketch): Workflow => {
    const name = `child${children.length}`;
    // Timers of two machines are never due at the same time: which of them is first would be a matter of chance.
    const added = workflow(name, new Builder(child, { call, lateMs: children.length + 1, addChild }).build());
    children.push(added);
    return added;
  };
  const main = new Builder(sketch, { call, lateMs: 0, addChild }).build();
  return [workflow('main', main), ...children];
};

interface Surroundings {
  readonly call: ReturnType<typeof fromPromise>;
  /** What is added to each of the machine's delays, which are multiples of ten otherwise. */
  readonly lateMs: number;
  readonly addChild: (child: MachineSketch) => Workflow;
}

/** A machine's config is typed by its own states, which are only known when the sketch is. */
type Config = Record<string, unknown>;

class Builder {
  readonly #sketch: MachineSketch;
  readonly #around: Surroundings;
  readonly #actors: Record<string, UnknownActorLogic>;
  /** References to all states, for transitions to point to. */
  readonly #targets: readonly string[];

  constructor(sketch: MachineSketch, around: Surroundings) {
    this.#sketch = sketch;
    this.#around = around;
    this.#actors = { agent: around.call as UnknownActorLogic };
    const paths = pathsOf(sketch.root, []);
    // Children are to end soon, the machine itself is not.
    const sought = paths.filter(({ isFinal, path }) => isFinal && (around.lateMs > 0 || path.length > 1));
    this.#targets = [...paths, ...sought, ...sought, ...sought].map(({ path }) => `#${this.#id(path)}`);
  }

  build(): AnyStateMachine {
    const config = {
      ...this.#state(this.#sketch.root, []),
      context: ({ input }: { input: { count?: number } | null }) => ({
        ...NOTHING,
        count: input?.count ?? 0,
      }),
      output: ({ context }: { context: Context }) => ({ count: context.count, order: context.order }),
    };
    return setup({
      types: { context: {} as Context, events: {} as AnyEvent, input: {} },
      actors: this.#actors,
      actions: {
        note: assign(({ context, event }, { place }: { place: string }) => noted(context, event, place)),
        burn: assign({ fuel: ({ context }) => context.fuel - 1 }),
        refuel: assign({ fuel: FUEL }),
        enter: assign(({ context }, { place, waits }: { place: string; waits: boolean }) => ({
          inside: [...context.inside, place],
          enteredTwice: context.enteredTwice || (waits && context.inside.includes(place)),
        })),
        leave: assign(({ context }, { place }: { place: string }) => ({
          inside: context.inside.filter((entered) => entered !== place),
        })),
      },
      guards: {
        isEven: ({ context }) => context.count % 2 === 0,
        hasFuel: ({ context }) => context.fuel > 0,
      },
      delays: { byCount: ({ context }) => 10 + (context.count % 3) * 10 + this.#around.lateMs },
    }).createMachine(config as never) as unknown as AnyStateMachine; // As said at Config.
  }

  #id(path: readonly string[]): string {
    if (path.length === 0) return 'm';
    return this.#sketch.ids === 'own' ? path.join('_') : ['m', ...path].join('.');
  }

  #state(state: StateSketch, path: readonly string[]): Config {
    const place = path.join('.') || 'root';
    const invoke = state.invoke && this.#invoke(state.invoke, place, path);
    const told = (when: string) => (invoke?.tell && state.invoke?.tells === when ? [invoke.tell] : []);
    return {
      ...(path.length === 0 || this.#sketch.ids === 'own' ? { id: this.#id(path) } : {}),
      ...(state.kind === 'parallel' || state.kind === 'final' ? { type: state.kind } : {}),
      ...(state.kind === 'compound'
        ? { initial: { target: 's0', actions: { type: 'note', params: { place: `${place}.initial` } } } }
        : {}),
      ...(state.states.length === 0 ? {} : { states: this.#states(state, path) }),
      entry: [
        { type: 'enter', params: { place, waits: (state.invoke ?? state.after) !== null } },
        ...this.#actions(state.entry, `${place}.entry`),
        ...told('entry'),
      ],
      exit: [
        ...this.#actions(state.exit, `${place}.exit`),
        ...told('exit'),
        { type: 'leave', params: { place } },
      ],
      on: {
        ...this.#handlers(state.on, place),
        ...(told('on').length > 0 ? { E3: { actions: told('on') } } : {}),
      },
      ...(state.always && { always: this.#inner(state.always, `${place}.always`) }),
      ...(state.after && { after: this.#after(state.after, place) }),
      ...(state.onDone &&
        path.length > 0 &&
        state.states.length > 0 && { onDone: this.#inner(state.onDone, `${place}.onDone`) }),
      ...(state.kind === 'final'
        ? { output: ({ context }: { context: Context }) => ({ count: context.count }) }
        : {}),
      ...(invoke && { invoke: invoke.config }),
    };
  }

  #states(state: StateSketch, path: readonly string[]): Config {
    const states = state.states.map(
      (inner, index) => [`s${index}`, this.#state(inner, [...path, `s${index}`])] as const,
    );
    if (state.history === 'none') return Object.fromEntries(states);
    const own = this.#sketch.ids === 'own' ? { id: this.#id([...path, 'h']) } : {};
    // Where it leads if nothing is remembered: to a state of its own choice, or to the initial one.
    const target = this.#sketch.ids === 'own' && state.entry.length > 0 ? { target: 's1' } : {};
    return {
      ...Object.fromEntries(states),
      h: { ...own, ...target, type: 'history', history: state.history },
    };
  }

  #after({ delay, ...transition }: NonNullable<StateSketch['after']>, place: string): Config {
    const name = delay === 3 ? 'byCount' : String((delay + 1) * 10 + this.#around.lateMs);
    return { [name]: this.#transition(transition, `${place}.after`) };
  }

  #handlers(handlers: StateSketch['on'], place: string): Config {
    const on: Record<string, Config[]> = {};
    for (const { event, ...handler } of handlers) {
      const isRaised = RAISED.some((raised) => raised === event);
      const transition = isRaised
        ? this.#inner(handler, `${place}.${event}`)
        : this.#outer(handler, `${place}.${event}`);
      on[event] = [...(on[event] ?? []), transition];
    }
    return on;
  }

  /** A transition that something outside brings about. A few of them throw. */
  #outer(sketch: TransitionSketch, place: string): Config {
    const transition = this.#transition(sketch, place);
    const throws = sketch.target !== null && sketch.target > 94 ? [assign(boom)] : [];
    return { ...transition, actions: ['refuel', ...(transition.actions as readonly unknown[]), ...throws] };
  }

  /** A transition that the machine, or a child of it, brings about by itself. */
  #inner(sketch: TransitionSketch, place: string): Config {
    const transition = this.#transition(sketch, place);
    const { guard } = transition;
    return {
      ...transition,
      // The guards are made by functions that want to know the machine's types.
      guard: guard === undefined ? 'hasFuel' : and(['hasFuel', guard as never]),
      actions: ['burn', ...(transition.actions as readonly unknown[])],
    };
  }

  #transition({ target, reenter, guard, actions }: TransitionSketch, place: string): Config {
    return {
      ...(target === null ? {} : { target: this.#target(target), reenter }),
      ...(guard === 'none' ? {} : { guard: this.#guard(guard, target ?? 0) }),
      actions: [{ type: 'note', params: { place } }, ...this.#actions(actions, place)],
    };
  }

  #target(index: number): string {
    return this.#targets[index % this.#targets.length] ?? '#m';
  }

  #guard(guard: Exclude<TransitionSketch['guard'], 'none'>, index: number): unknown {
    switch (guard) {
      case 'even':
        return 'isEven';
      case 'odd':
        return not('isEven');
      case 'joined':
        return and([not('isEven'), ({ context }: { context: Context }) => context.fuel % 2 === 0]);
      case 'in':
        return not(stateIn(this.#target(index + 1)));
    }
  }

  #actions(actions: readonly ActionSketch[], place: string): readonly unknown[] {
    return actions.flatMap((action, index) => this.#action(action, `${place}.${index}`));
  }

  #action({ kind, n }: ActionSketch, place: string): readonly unknown[] {
    const delay = (n + 1) * 10 + this.#around.lateMs;
    const raised = { type: RAISED[n % 2] ?? 'R0', n };
    const timer = `timer${n}`;
    switch (kind) {
      case 'count':
        return [
          assign(({ context, event }: { context: Context; event: AnyEvent }) => noted(context, event, place)),
        ];
      case 'named':
        return [{ type: 'note', params: () => ({ place }) }];
      case 'fact':
        return [
          emit(({ context, event }) => ({
            type: 'noted',
            place,
            by: event.type,
            order: (context as Context).order,
          })),
        ];
      case 'raise':
        return [raise(raised)];
      case 'raiseLater':
        return [raise(({ context }) => ({ ...raised, n: (context as Context).count % 5 }), { delay })];
      case 'restartTimer':
        // XState lets the older of two timers with one id go on, unseen; the kernel closes it. So nobody has two here.
        return [cancel(timer), raise(raised, { id: timer, delay: () => delay })];
      case 'cancel':
        return [cancel(timer)];
      case 'enqueue':
        return [enqueued(`${place}.enqueued`)];
    }
  }

  #invoke(
    sketch: InvokeSketch,
    place: string,
    path: readonly string[],
  ): { readonly config: Config; readonly tell?: unknown } {
    const child = sketch.child && this.#around.addChild(sketch.child);
    if (child) this.#actors[child.name] = child.machine as UnknownActorLogic; // Of unknown types is what it is.
    const id = sketch.hasId ? `i-${path.join('-')}` : `0.${this.#id(path)}`;
    const config = {
      ...(sketch.hasId ? { id } : {}),
      src: child?.name ?? 'agent',
      input: ({ context, event }: { context: Context; event: AnyEvent }) => ({
        count: context.count,
        by: event.type,
      }),
      ...(sketch.onDone && { onDone: this.#inner(sketch.onDone, `${place}.done`) }),
      ...(sketch.onError && { onError: this.#inner(sketch.onError, `${place}.error`) }),
    };
    if (!child) return { config };
    return {
      config,
      tell: sendTo(id, ({ context }) => ({ type: EVENTS[(context as Context).count % 3], n: 1 })),
    };
  }
}

const boom = (): never => {
  throw new Error('boom');
};

const enqueued = (place: string) =>
  enqueueActions(({ enqueue, check }) => {
    // The actions and guards of this machine are not known to the type of a function that stands by itself.
    if (check('isEven')) enqueue({ type: 'note', params: { place } });
    else enqueue.emit({ type: 'noted', place } as never);
  });

const pathsOf = (
  state: StateSketch,
  path: readonly string[],
): readonly { readonly path: readonly string[]; readonly isFinal: boolean }[] => [
  ...state.states.flatMap((inner, index) => {
    const innerPath = [...path, `s${index}`];
    return [{ path: innerPath, isFinal: inner.kind === 'final' }, ...pathsOf(inner, innerPath)];
  }),
  ...(state.history === 'none' ? [] : [{ path: [...path, 'h'], isFinal: false }]),
];

/** What a test says of a stimulus; the rest is filled in. */
type Said = Stimulus extends infer Each
  ? Each extends Stimulus
    ? Omit<Each, 'id' | 'atMs' | 'origin' | 'by' | 'cause'>
    : never
  : never;

const LIMITS: KernelLimits = { deliveriesPerTurn: 1_000, turnsPerRun: 10_000 };

/** Runs workflows under the kernel alone, without a shell: everything is in memory, and the test is time and agents. */
export class KernelRun implements System {
  readonly registry = createRegistry();
  readonly kernel: Kernel;
  readonly actors = new Map<Address, ActorRecord>();
  readonly runs = new Map<string, RunRecord>();
  readonly turns: Turn[] = [];
  /** The log as it would be. */
  readonly rows: RecordedEvent[] = [];
  /** Open calls and timers by actor, name and generation, in the order in which they were opened. */
  readonly calls = new Map<string, OpenCall>();
  readonly timers = new Map<string, OpenTimer>();
  readonly closedCalls: OpenCall[] = [];
  /** How many calls were ever opened: what agents would have been paid for. */
  opened = 0;
  atMs = 0;
  #stimuli = 0;

  constructor(workflows: readonly Workflow[], limits: Partial<KernelLimits> = {}) {
    this.registry.register(workflows);
    this.kernel = createKernel({ registry: this.registry, limits: { ...LIMITS, ...limits } });
  }

  actor(address: Address): ActorRecord | null {
    return this.actors.get(address) ?? null;
  }

  run(id: string): RunRecord | null {
    return this.runs.get(id) ?? null;
  }

  start(name: string, input: unknown = null, run = 'run'): TurnResult {
    const version = this.registry.newest(name)?.version ?? 1;
    return this.turn({ kind: 'start', run, workflow: name, version, input: encode(input) });
  }

  send(to: Address, type: string, payload: object = {}): TurnResult {
    return this.turn({ kind: 'message', to, type, data: encode(payload), expectedVersion: undefined });
  }

  /** Answers a call, open or not. */
  answer(
    { actor, call, generation }: ClosedCall,
    answer: { readonly output: unknown } | { readonly error: Error },
  ): TurnResult {
    const outcome =
      'output' in answer
        ? { output: encode(answer.output) }
        : { failure: { name: answer.error.name, message: answer.error.message } };
    return this.turn({ kind: 'answer', actor, call, generation, outcome });
  }

  fire({ actor, timer, generation }: ClosedTimer): TurnResult {
    return this.turn({ kind: 'fired', actor, timer, generation });
  }

  /** Lets time pass, and fires what is due, the earliest first. */
  advance(ms: number): void {
    this.atMs += ms;
    for (;;) {
      const [next] = [...this.timers.values()]
        .filter(({ dueMs }) => dueMs <= this.atMs)
        .sort((a, b) => a.dueMs - b.dueMs);
      if (!next) return;
      this.fire(next);
    }
  }

  turn(said: Said): TurnResult {
    const result = this.kernel.turn(this, this.stimulus(said));
    if (result.kind === 'turn') this.apply(result);
    return result;
  }

  stimulus(said: Said): Stimulus {
    this.#stimuli += 1;
    return {
      ...said,
      id: `stimulus-${this.#stimuli}`,
      atMs: this.atMs,
      origin: 'host',
      by: null,
      cause: null,
    };
  }

  apply({ turn, actors, runs }: Extract<TurnResult, { kind: 'turn' }>): void {
    for (const [address, record] of actors) this.actors.set(address, record);
    for (const [id, run] of runs) this.runs.set(id, run);
    this.rows.push(...recordTurn(turn, { turn: this.turns.length + 1, first: this.rows.length + 1 }).events);
    this.turns.push(turn);
    for (const call of turn.openedCalls) this.calls.set(callKey(call), call);
    for (const timer of turn.openedTimers) this.timers.set(timerKey(timer), timer);
    for (const closed of turn.closedCalls) {
      const call = this.calls.get(callKey(closed));
      if (call) this.closedCalls.push(call);
      this.calls.delete(callKey(closed));
    }
    for (const closed of turn.closedTimers) this.timers.delete(timerKey(closed));
    this.opened += turn.openedCalls.length;
  }

  /** The actors as their streams alone say that they are. Rows go through JSON, as they would in a log. */
  folded(): ReadonlyMap<Address, ActorRecord> {
    const actors = new Map<Address, ActorRecord>();
    for (const row of this.rows) {
      const event: RecordedEvent = JSON.parse(JSON.stringify(row));
      actors.set(row.actor, foldEvent(this.registry, actors.get(row.actor), event));
    }
    return actors;
  }

  /** Stores each actor, and goes on with what was stored: what happens to one that leaves memory. */
  reload(): void {
    for (const [address, record] of this.actors) {
      const snapshot = toStored(this.registry, record);
      if (snapshot) this.actors.set(address, foldActor(this.registry, { address, snapshot, tail: [] }));
    }
  }
}

const callKey = ({ actor, call, generation }: ClosedCall): string => `${actor}#${call}.${generation}`;
const timerKey = ({ actor, timer, generation }: ClosedTimer): string => `${actor}@${timer}.${generation}`;
