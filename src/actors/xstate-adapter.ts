import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type EventObject } from 'xstate';
import { hashText } from '../events/blob.ts';
import { canonicalJson } from '../events/encode.ts';
import type { StateValue } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import { invariant } from '../invariant.ts';
import { INVOKE, LEAVE, lowerMachine } from './lower-machine.ts';
import { createPlainSteps } from './plain-step.ts';
import { type CollectedAction, refuseSpawn } from './plain-walk.ts';

/** A machine's state as XState has it. Only this file looks inside. */
export type Snapshot = AnyMachineSnapshot;

/** What one step of a machine asks for. The kernel makes it durable. */
export type Request =
  | { readonly kind: 'emit'; readonly event: EmittedEvent }
  | {
      readonly kind: 'invoke';
      readonly id: string;
      readonly src: string;
      readonly input: unknown;
      /** Whether it takes the place of what has this id already; otherwise that is an error. */
      readonly replaces: boolean;
    }
  | { readonly kind: 'leave'; readonly id: string }
  | {
      readonly kind: 'timer';
      readonly id: string | undefined;
      readonly delayMs: number;
      readonly event: EventObject;
    }
  | { readonly kind: 'cancel'; readonly id: string };

export interface EmittedEvent extends EventObject {
  readonly to?: unknown;
}

export interface Step {
  readonly next: Snapshot;
  readonly requests: readonly Request[];
}

/** A machine as the kernel sees it: where it starts, and how one event moves it. Pure. */
export interface Behavior {
  /** Throws if the machine's context or first states do. */
  initial(input: Json): Step;
  /** The same snapshot object and no requests mean that it ignored the event. */
  step(snapshot: Snapshot, event: EventObject): Step;
  /** The parts of a snapshot that make it up, in the order in which the machine made them. */
  persist(snapshot: Snapshot): PersistedSnapshot;
  restore(persisted: PersistedSnapshot): Snapshot;
  /** Whether some state has a transition for events of this type. */
  accepts(type: string): boolean;
  /** The event types that it takes, for error messages. */
  readonly takes: readonly string[];
  /** Hash of the machine's structure. It sees states and names, not the bodies of guards and actions. */
  readonly structure: string;
}

export interface PersistedSnapshot {
  readonly value: StateValue;
  readonly context: unknown;
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly output?: unknown;
  readonly error?: unknown;
  /** Ids of the states that each history state remembers. */
  readonly history: Readonly<Record<string, readonly string[]>>;
  /** Ids of the states that it is in, in the order in which XState asks them for transitions; that of the document if absent. */
  readonly nodes?: readonly string[];
}

const behaviors = new WeakMap<AnyStateMachine, Behavior>();

/** How a machine behaves. It is made ready once, however many runtimes have it: nearly all the time of starting one goes into that. */
export const behaviorOf = (machine: AnyStateMachine): Behavior => {
  const behavior = behaviors.get(machine) ?? adaptMachine(machine);
  behaviors.set(machine, behavior);
  return behavior;
};

export const adaptMachine = (machine: AnyStateMachine): Behavior => {
  const lowered = lowerMachine(machine);
  let collector: ReturnType<typeof createCollector> | undefined;
  /** Many a machine that is registered is never used. */
  const collecting = () => {
    collector ??= createCollector(lowered);
    return collector;
  };
  let structure: string | undefined;
  /** The first step, if it is the same for all actors of the machine. */
  let first: Step | undefined;
  const descriptors = lowered.events.filter((type) => !type.startsWith('xstate.'));
  return {
    initial(input) {
      if (first) return first;
      const step = collecting().begin(input);
      // XState puts what was thrown at the start into the snapshot in place of throwing it.
      if (step.next.status === 'error') throw step.next.error;
      if (hasOneBeginning(lowered)) {
        // One that is given is frozen already. All actors begin with this one, in whatever runtime.
        Object.freeze(step.next.context);
        first = step;
      }
      return step;
    },
    step: (snapshot, event) => collecting().step(snapshot, event),
    persist,
    restore: (persisted) => collecting().restore(persisted),
    accepts: (type) => descriptors.some((descriptor) => matches(type, descriptor)),
    takes: descriptors,
    get structure() {
      structure ??= hashText(canonicalJson(structureOf(machine.root)));
      return structure;
    },
  };
};

/**
 * XState as a pure function: one scope for the machine's whole life, which collects actions in place of executing them.
 * (The exported `transition()` builds an actor on every call and is four times slower.)
 */
const createCollector = (machine: AnyStateMachine) => {
  const self = createActor(machine);
  let actions: CollectedAction[] = [];
  const scope = {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger() {},
    defer() {},
    emit() {},
    stopChild() {},
    actionExecutor: (action: CollectedAction) => actions.push(action),
  };
  // XState's scope type lists what live actors need besides; a pure transition reads no more than this.
  const asScope = scope as unknown as Parameters<AnyStateMachine['transition']>[2];
  const byId = new Map(nodesIn(machine.root).map((node) => [node.id, node]));
  const nodesOf = (ids: readonly string[]) => ids.flatMap((id) => byId.get(id) ?? []);
  const plainSteps = createPlainSteps(machine, asScope);
  const collect = (step: (collecting: typeof asScope) => Snapshot): Step => {
    // Fresh before each step, or a step that throws would leave its actions to the next actor.
    actions = [];
    const next = step(asScope);
    for (const _ in next.children) refuseSpawn();
    return { next, requests: toRequests(actions) };
  };
  const of = (plain: { readonly next: Snapshot; readonly actions: readonly CollectedAction[] }): Step => ({
    next: plain.next,
    requests: toRequests(plain.actions),
  });
  return {
    begin(input: Json): Step {
      const plain = plainSteps.begin(input);
      return plain ? of(plain) : collect((collecting) => machine.getInitialSnapshot(collecting, input));
    },
    step(snapshot: Snapshot, event: EventObject): Step {
      const plain = plainSteps.take(snapshot, event);
      return plain ? of(plain) : collect((collecting) => machine.transition(snapshot, event, collecting));
    },
    restore(persisted: PersistedSnapshot): Snapshot {
      const { history, nodes, ...rest } = persisted;
      // XState finds the states of a value, but puts them in the order of the document, while an actor has them as it entered
      // them. History it would lose where an id has a dot of its own, or where nothing is remembered.
      const restored = machine.restoreSnapshot({ ...rest, children: {}, historyValue: {} } as never, asScope);
      const historyValue = Object.fromEntries(
        Object.entries(history).map(([id, remembered]) => [id, nodesOf(remembered)]),
      );
      return Object.assign(restored, {
        historyValue,
        ...(nodes && { _nodes: nodesOf(nodes), value: rest.value }),
      });
    },
  };
};

const nodesIn = (node: AnyStateMachine['root']): readonly AnyStateMachine['root'][] => [
  node,
  ...Object.values(node.states).flatMap(nodesIn),
];

/** Whether nothing in a machine's beginning looks at its input: neither its context nor an action. */
const hasOneBeginning = ({ config, root }: AnyStateMachine): boolean => {
  if (typeof config.context === 'function' || root.type !== 'compound' || root.entry.length > 0) return false;
  const [leaf] = root.initial.target ?? [];
  return (
    leaf?.type === 'atomic' &&
    leaf.parent === root &&
    [root.initial.actions, leaf.entry, root.always ?? [], leaf.always ?? []].every(
      ({ length }) => length === 0,
    )
  );
};

const NO_REQUESTS: readonly Request[] = [];

const toRequests = (actions: readonly CollectedAction[]): readonly Request[] => {
  if (actions.length === 0) return NO_REQUESTS;
  const requests: Request[] = [];
  for (const action of actions) {
    const request = toRequest(action);
    if (request) requests.push(request);
  }
  return requests;
};

/** Undefined for what a machine has told itself. */
const toRequest = ({ type, params }: CollectedAction): Request | undefined => {
  switch (type) {
    case 'xstate.emit': {
      // The types of params are fixed by XState for each of its own actions; the contract test holds them.
      return { kind: 'emit', event: (params as { event: EmittedEvent }).event };
    }
    case 'xstate.raise': {
      const { id, delay, event } = params as { id?: string; delay?: number; event: EventObject };
      return delay === undefined ? undefined : { kind: 'timer', id, delayMs: delay, event };
    }
    case 'xstate.cancel':
      return { kind: 'cancel', id: (params as { sendId: string }).sendId };
    case INVOKE: {
      const { id, src, input, replaces } = params as Omit<Extract<Request, { kind: 'invoke' }>, 'kind'>;
      return { kind: 'invoke', id, src, input, replaces };
    }
    case LEAVE:
      return { kind: 'leave', id: (params as { id: string }).id };
    default:
      throw new Error(
        `The action "${type}" has effects that cannot be made durable: emit a message, or call an agent with invoke.`,
      );
  }
};

const persist = ({
  value,
  context,
  status,
  output,
  error,
  historyValue,
  _nodes,
}: Snapshot): PersistedSnapshot => ({
  value,
  context,
  status,
  ...(output === undefined ? {} : { output }),
  ...(error === undefined ? {} : { error }),
  history: Object.fromEntries(
    Object.entries(historyValue).map(([id, nodes]) => [id, nodes.map((node: { id: string }) => node.id)]),
  ),
  nodes: _nodes.map(({ id }) => id),
});

/** Event descriptors may end in a wildcard: `task.*`, or be one: `*`. */
const matches = (type: string, descriptor: string): boolean =>
  descriptor === type ||
  descriptor === '*' ||
  (descriptor.endsWith('.*') &&
    (type === descriptor.slice(0, -2) || type.startsWith(descriptor.slice(0, -1))));

const structureOf = (node: AnyStateMachine['root']): Json => {
  invariant(node.transitions, 'a state of a machine has its transitions');
  const names = (actions: readonly unknown[]): string[] => actions.map(nameOf);
  return {
    type: node.type,
    history: node.history,
    tags: node.tags,
    entry: names(node.entry),
    exit: names(node.exit),
    invoke: node.invoke.map(({ id, src }) => `${id} ${typeof src === 'string' ? src : ''}`),
    on: Object.fromEntries(
      [...node.transitions].map(([type, transitions]) => [
        type,
        transitions.map(({ target, guard, reenter, actions }) => ({
          target: target?.map(({ id }) => id) ?? null,
          guard: nameOf(guard),
          reenter,
          actions: names(actions),
        })),
      ]),
    ),
    always: (node.always ?? []).map(({ target, guard }) => ({
      target: target?.map(({ id }) => id) ?? null,
      guard: nameOf(guard),
    })),
    states: Object.fromEntries(Object.entries(node.states).map(([key, child]) => [key, structureOf(child)])),
  };
};

const nameOf = (named: unknown): string => {
  if (typeof named === 'string') return named;
  if (typeof named === 'function') return 'type' in named ? String(named.type) : named.name;
  return typeof named === 'object' && named !== null && 'type' in named ? String(named.type) : '';
};
