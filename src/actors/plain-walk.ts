import { type AnyMachineSnapshot, type AnyStateMachine, cancel, type EventObject, raise } from 'xstate';
import { type PlainAction, type Scope, toAction } from './plain-actions.ts';
import type { Move, Place, PlainChart, Transition } from './plain-chart.ts';
import { passes } from './plain-guard.ts';

/** An action as XState hands it to an executor. */
export interface CollectedAction {
  readonly type: string;
  readonly params: unknown;
}

export interface WalkGround {
  readonly chart: PlainChart;
  readonly machine: AnyStateMachine;
  readonly scope: Scope;
}

/** One step under way: the actions of small steps change the context, and a snapshot is made when somebody needs one. */
export class PlainWalk {
  readonly collected: CollectedAction[] = [];
  /** Events that the machine has given itself, and takes before it rests. */
  readonly raised: EventObject[] = [];
  event: EventObject;
  context: AnyMachineSnapshot['context'];
  /** Counts what changed. */
  changes = 0;
  readonly machine: AnyStateMachine;
  readonly #chart: PlainChart;
  readonly #scope: Scope;
  #place: Place | undefined;
  #snapshot: AnyMachineSnapshot;
  #shown = 0;
  #end: { readonly output: unknown } | undefined;
  #isPlain = true;

  constructor(
    { chart, machine, scope }: WalkGround,
    { from, event, place }: { from: AnyMachineSnapshot; event: EventObject; place: Place | undefined },
  ) {
    this.#chart = chart;
    this.machine = machine;
    this.#scope = scope;
    this.#snapshot = from;
    this.context = from.context;
    this.event = event;
    this.#place = place;
  }

  /** Whether all that was met so far could be done here. */
  get isPlain(): boolean {
    return this.#isPlain;
  }

  get isDone(): boolean {
    return this.#end !== undefined;
  }

  /** As it is now; the same object as long as nothing has changed. */
  get snapshot(): AnyMachineSnapshot {
    // Before a machine is in its first state only XState knows what it looks like.
    if (!this.#place) this.#isPlain = false;
    else if (this.#shown !== this.changes)
      this.#snapshot = copied(this.#snapshot, { context: this.context, place: this.#place, end: this.#end });
    this.#shown = this.changes;
    return this.#snapshot;
  }

  /** The transition for the event in hand, as XState selects it. */
  selected(): Transition | undefined {
    const { event } = this;
    const byType = this.#place?.byType;
    return byType
      ? byType.get(event.type)?.find((transition) => this.#isOpen(transition))
      : this.machine.getTransitionData(this.snapshot, event)[0];
  }

  /** The first transition that needs no event. */
  eventless(): Transition | undefined {
    return this.#place?.always.find(
      ({ guard }) => this.#isPlain && (guard === undefined || this.#passes(guard)),
    );
  }

  /** Whether it could be done here. */
  follow(transition: Transition): boolean {
    const move = this.#place && this.#chart.move(this.#place, transition);
    return move !== undefined && this.make(move);
  }

  make({ actions, target }: Move): boolean {
    this.#perform(actions);
    if (target && target !== this.#place) {
      this.#place = target;
      this.changes += 1;
    }
    if (target?.leaf.type === 'final') this.#arriveAtEnd(target);
    return this.#isPlain;
  }

  #isOpen({ guard }: Transition): boolean {
    if (!this.#isPlain) return false;
    try {
      return guard === undefined || this.#passes(guard);
    } catch {
      // XState says in which transition that was.
      this.#isPlain = false;
      return false;
    }
  }

  #passes(guard: unknown): boolean {
    const holds = passes(guard, this);
    if (holds === undefined) this.#isPlain = false;
    // Whatever a guard gives counts as JavaScript has it, as in XState.
    return Boolean(holds);
  }

  #perform(actions: readonly PlainAction[]): void {
    for (const action of actions) {
      if (!this.#isPlain) return;
      const { context, event } = this;
      const { params } = action;
      this.#do(action, typeof params === 'function' ? params({ context, event }) : params);
    }
  }

  #do(action: PlainAction, params: unknown): void {
    const { self, system } = this.#scope;
    const { context, event } = this;
    switch (action.kind) {
      case 'data':
        this.collected.push({ type: action.type, params });
        break;
      case 'assign': {
        const args = { context, event, spawn: refuseSpawn, self, system };
        this.context = Object.assign({}, context, updateOf(action.assignment, args, params));
        this.changes += 1;
        break;
      }
      case 'emit': {
        const given = action.event;
        const emitted: unknown =
          typeof given === 'function' ? given({ context, event, self, system }, params) : given;
        this.collected.push({ type: 'xstate.emit', params: { event: emitted } });
        break;
      }
      case 'enqueue':
        this.#enqueue(action.collect, params);
        break;
      case 'other': {
        const { builtin } = action;
        const args = { context, event, self, system };
        const extra = { internalQueue: this.raised, deferredActorIds: undefined };
        const [, resolved] = builtin.resolve(this.#scope, this.#snapshot, args, params, builtin, extra);
        if (builtin.execute) this.collected.push({ type: builtin.type, params: resolved });
      }
    }
  }

  /** Collects actions first, and does them then: none of them sees in `collect` what another does. */
  #enqueue(collect: (args: object, params: unknown) => void, params: unknown): void {
    const { self, system } = this.#scope;
    const { context, event } = this;
    const actions: PlainAction[] = [];
    const add = (action: unknown): void => {
      const plain = toAction(this.machine, action);
      if (plain) actions.push(plain);
      else this.#isPlain = false;
    };
    const leaveToXState = (): void => {
      this.#isPlain = false;
    };
    const enqueue = Object.assign(add, {
      assign: (assignment: unknown) => void actions.push({ kind: 'assign', params: undefined, assignment }),
      emit: (given: unknown) => void actions.push({ kind: 'emit', params: undefined, event: given }),
      cancel: (id: unknown) => add(cancel(id as string)), // Or a function: XState takes both.
      raise: (...args: unknown[]) => add(raiseAny(...args)),
      sendTo: leaveToXState,
      sendParent: leaveToXState,
      spawnChild: leaveToXState,
      stopChild: leaveToXState,
    });
    collect(
      { context, event, enqueue, check: (guard: unknown) => this.#passes(guard), self, system },
      params,
    );
    this.#perform(actions);
  }

  /** The end of a state is an event for the one around it; that of the machine is its own. */
  #arriveAtEnd({ leaf, exits }: Place): void {
    const { parent } = leaf;
    const { self } = this.#scope;
    const { context, event, machine } = this;
    const output = resolved(leaf.output, { context, event, self });
    if (parent !== machine.root) {
      this.raised.push(doneEvent(parent?.id ?? '', output));
      return;
    }
    const said = { context, event: doneEvent(leaf.id, output), self };
    this.#end = { output: resolved(machine.root.output, said) };
    this.changes += 1;
    this.#perform(exits);
  }
}

/** What it is given is for XState to check. */
const raiseAny = raise as unknown as (...args: unknown[]) => unknown;

const doneEvent = (id: string, output: unknown) => ({ type: `xstate.done.state.${id}`, output });

const resolved = (given: unknown, args: object): unknown =>
  typeof given === 'function' ? given(args) : given;

const updateOf = (assignment: unknown, args: object, params: unknown): object => {
  if (typeof assignment === 'function') return assignment(args, params) as object; // As its author declared it.
  const given = assignment as Readonly<Record<string, unknown>>;
  const update: Record<string, unknown> = {};
  // Pairs of key and value are made by V8's runtime, outside of compiled code.
  for (const key of Object.keys(given)) {
    const value = given[key];
    update[key] = typeof value === 'function' ? value(args, params) : value;
  }
  return update;
};

export const refuseSpawn = (): never => {
  throw new Error(
    'spawn() inside assign cannot be made durable: emit(startActor({ id, machine, input })) instead.',
  );
};

/** Written out member by member, in XState's order: this runs for every event, and a spread costs more. */
const copied = (
  from: AnyMachineSnapshot,
  {
    context,
    place,
    end,
  }: { context: AnyMachineSnapshot['context']; place: Place; end: { readonly output: unknown } | undefined },
): AnyMachineSnapshot =>
  ({
    status: end ? 'done' : from.status,
    output: end ? end.output : from.output,
    error: from.error,
    machine: from.machine,
    context,
    // When a machine ends, XState leaves its states in the order in which they were left.
    _nodes: end ? place.nodes.toReversed() : place.nodes,
    value: place.value,
    tags: place.tags,
    children: from.children,
    historyValue: from.historyValue,
    matches: from.matches,
    hasTag: from.hasTag,
    can: from.can,
    getMeta: from.getMeta,
    toJSON: from.toJSON,
  }) as AnyMachineSnapshot; // A snapshot's type depends on its status.
