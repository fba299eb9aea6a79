import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';

/**
 * Steps of a flat machine (one level of states, neither parallel nor with history) from one atomic state to another. XState
 * finds such a step with the algorithm for all statecharts, which makes some twenty sets for it; here the transition that XState
 * has selected is followed directly. Whatever is not this plain is left to XState. The equivalence test compares both.
 */

type Node = AnyStateMachine['root'];
type Scope = Parameters<AnyStateMachine['transition']>[2];

/** An action as XState hands it to an executor. */
export interface CollectedAction {
  readonly type: string;
  readonly params: unknown;
}

interface PlainStep {
  readonly next: AnyMachineSnapshot;
  readonly actions: readonly CollectedAction[];
}

/** One of XState's own actions: a function with its arguments as properties. */
interface Builtin {
  readonly type: string;
  readonly assignment?: unknown;
  readonly delay?: unknown;
  readonly execute?: unknown;
  resolve(
    scope: Scope,
    snapshot: AnyMachineSnapshot,
    ...rest: unknown[]
  ): readonly [AnyMachineSnapshot, unknown, unknown];
}

interface PlainAction {
  readonly type: string;
  readonly params: unknown;
  /** Undefined if it has no implementation: then it is data, and goes to whoever collects actions. */
  readonly builtin: Builtin | undefined;
}

/** A state that a plain step may leave and enter, and what all snapshots in it have in common. */
interface Place {
  readonly node: Node;
  readonly nodes: Node[];
  readonly tags: Set<string>;
  readonly entry: readonly PlainAction[];
  readonly exit: readonly PlainAction[];
}

interface PlainTransition {
  readonly actions: readonly PlainAction[];
  /** The state to be entered; undefined if none is left. */
  readonly target: Place | undefined;
}

type Transition = ReturnType<AnyStateMachine['getTransitionData']>[number];

/** A step, or undefined if it is one for XState. Throws what guards and actions throw. */
export type TakePlainStep = (snapshot: AnyMachineSnapshot, event: EventObject) => PlainStep | undefined;

export const createPlainStep = (machine: AnyStateMachine, scope: Scope): TakePlainStep => {
  const places = placesOf(machine);
  if (places.size === 0) return () => undefined;
  const known = new Map<Transition, PlainTransition | undefined>();
  const plainOf = (transition: Transition): PlainTransition | undefined => {
    if (!known.has(transition)) known.set(transition, toPlain(machine, transition, places));
    return known.get(transition);
  };
  return (snapshot, event) => {
    const place = placeOf(snapshot, places);
    if (!place || OF_XSTATE.has(event.type)) return undefined;
    const [transition, second] = machine.getTransitionData(snapshot, event);
    // An error that nobody takes ends the actor: XState knows how.
    if (!transition)
      return event.type.startsWith('xstate.error.') ? undefined : { next: snapshot, actions: [] };
    const plain = second ? undefined : plainOf(transition);
    if (!plain) return undefined;
    const walk = new Walk(scope, snapshot, event);
    if (!plain.target) {
      walk.perform(plain.actions);
    } else {
      walk.perform(place.exit);
      walk.perform(plain.actions);
      walk.perform(plain.target.entry);
      if (plain.target !== place) walk.arrive(plain.target);
    }
    // An event that was raised leads on to further steps.
    return walk.hasRaised ? undefined : { next: walk.snapshot, actions: walk.collected };
  };
};

const OF_XSTATE: ReadonlySet<string> = new Set(['xstate.init', 'xstate.stop']);

const placeOf = (
  { status, _nodes: nodes }: AnyMachineSnapshot,
  places: ReadonlyMap<Node, Place>,
): Place | undefined => {
  const leaf = nodes[1];
  return status === 'active' && nodes.length === 2 && leaf ? places.get(leaf) : undefined;
};

/** The states that can be left and entered plainly. None if the machine is not flat. */
const placesOf = (machine: AnyStateMachine): ReadonlyMap<Node, Place> => {
  const { root } = machine;
  const leaves: readonly Node[] = Object.values(root.states);
  const isFlat =
    root.type === 'compound' &&
    isSteady(root) &&
    leaves.every(({ type }) => type === 'atomic' || type === 'final');
  const places = new Map<Node, Place>();
  for (const node of isFlat ? leaves : []) {
    const entry = toActions(machine, node.entry);
    const exit = toActions(machine, node.exit);
    if (node.type !== 'atomic' || !isSteady(node) || !entry || !exit || node.config.initial) continue;
    places.set(node, {
      node,
      nodes: [root, node],
      tags: new Set([...root.tags, ...node.tags]),
      entry,
      exit,
    });
  }
  return places;
};

/** Whether it is left only when an event comes. */
const isSteady = ({ always }: Node): boolean => !always || always.length === 0;

const toPlain = (
  machine: AnyStateMachine,
  { source, target: targets, reenter, actions }: Transition,
  places: ReadonlyMap<Node, Place>,
): PlainTransition | undefined => {
  const plain = toActions(machine, actions);
  if (!plain) return undefined;
  const [target, second] = targets ?? [];
  if (!target) return { actions: plain, target: undefined };
  const place = places.get(target);
  if (second || !place || (source === machine.root && reenter)) return undefined;
  // A transition of a state to itself leaves it only if it says so.
  return { actions: plain, target: target === source && !reenter ? undefined : place };
};

const toActions = (
  machine: AnyStateMachine,
  actions: readonly unknown[],
): readonly PlainAction[] | undefined => {
  const plain = actions.map((action) => toAction(machine, action));
  return plain.every((action) => action !== undefined) ? plain : undefined;
};

const toAction = (machine: AnyStateMachine, action: unknown): PlainAction | undefined => {
  // The config of a machine has functions, names, and objects with a name.
  const named = (typeof action === 'string' ? { type: action } : action) as Pick<
    PlainAction,
    'type' | 'params'
  >;
  if (typeof action === 'function') return isPlain(action) ? ofBuiltin(action, undefined) : undefined;
  const implementation: unknown = machine.implementations.actions[named.type];
  if (implementation === undefined) return { type: named.type, params: named.params, builtin: undefined };
  return isPlain(implementation) ? ofBuiltin(implementation, named.params) : undefined;
};

const ofBuiltin = (builtin: Builtin, params: unknown): PlainAction => ({
  type: builtin.type,
  params,
  builtin,
});

/** Whether it is an action of XState's that only changes the context or asks for something. */
const isPlain = (action: unknown): action is Builtin => {
  if (typeof action !== 'function' || !('resolve' in action) || !('type' in action)) return false;
  if (action.type === 'xstate.raise') return 'delay' in action && action.delay !== undefined;
  return action.type === 'xstate.assign' || action.type === 'xstate.emit' || action.type === 'xstate.cancel';
};

/** One step under way. */
class Walk {
  snapshot: AnyMachineSnapshot;
  readonly collected: CollectedAction[] = [];
  readonly #scope: Scope;
  readonly #event: EventObject;
  readonly #internalQueue: unknown[] = [];

  constructor(scope: Scope, snapshot: AnyMachineSnapshot, event: EventObject) {
    this.#scope = scope;
    this.snapshot = snapshot;
    this.#event = event;
  }

  get hasRaised(): boolean {
    return this.#internalQueue.length > 0;
  }

  perform(actions: readonly PlainAction[]): void {
    for (const { type, params, builtin } of actions) {
      const { context } = this.snapshot;
      const given: unknown = typeof params === 'function' ? params({ context, event: this.#event }) : params;
      if (!builtin) this.collected.push({ type, params: given });
      else if (type === 'xstate.assign') this.#assign(builtin.assignment, given);
      else this.#resolve(builtin, given);
    }
  }

  arrive({ node, nodes, tags }: Place): void {
    const { snapshot } = this;
    this.snapshot = copied(snapshot, { context: snapshot.context, _nodes: nodes, value: node.key, tags });
  }

  #resolve(builtin: Builtin, params: unknown): void {
    const { self, system } = this.#scope;
    const args = { context: this.snapshot.context, event: this.#event, self, system };
    const extra = { internalQueue: this.#internalQueue, deferredActorIds: undefined };
    const [next, resolved] = builtin.resolve(this.#scope, this.snapshot, args, params, builtin, extra);
    this.snapshot = next;
    if (builtin.execute) this.collected.push({ type: builtin.type, params: resolved });
  }

  #assign(assignment: unknown, params: unknown): void {
    const { snapshot } = this;
    const { self, system } = this.#scope;
    const args = { context: snapshot.context, event: this.#event, spawn: refuseSpawn, self, system };
    const context = { ...snapshot.context, ...updateOf(assignment, args, params) };
    const { _nodes, value, tags } = snapshot;
    this.snapshot = copied(snapshot, { context, _nodes, value, tags });
  }
}

const updateOf = (assignment: unknown, args: object, params: unknown): object => {
  if (typeof assignment === 'function') return assignment(args, params) as object; // As its author declared it.
  const update: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(assignment as object)) {
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
  { context, _nodes, value, tags }: Pick<AnyMachineSnapshot, 'context' | '_nodes' | 'value' | 'tags'>,
): AnyMachineSnapshot =>
  ({
    status: from.status,
    output: from.output,
    error: from.error,
    machine: from.machine,
    context,
    _nodes,
    value,
    tags,
    children: from.children,
    historyValue: from.historyValue,
    matches: from.matches,
    hasTag: from.hasTag,
    can: from.can,
    getMeta: from.getMeta,
    toJSON: from.toJSON,
  }) as AnyMachineSnapshot; // A snapshot's type depends on its status, which stays as it was.
