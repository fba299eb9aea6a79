import type { ActorRecord } from '../actors/actor-record.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Address } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import type { OpenCall } from '../events/turn.ts';
import { AGENT } from '../machines/agent-machine.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import { agentId } from '../machines/run-messages.ts';
import { nodeOf, type TreeState } from '../machines/tree-state.ts';
import { inAnyNames, type NodeOrder } from './alike-nodes.ts';
import type { ExploredSystem, Part } from './explored-system.ts';
import type { Reduce } from './reduce.ts';
import type { ReductionsInUse } from './reductions.ts';
import { isInSlot, slotNameOf } from './slot-names.ts';

/** A tree with its coordinator, as numbers for what can still come of it and of its nodes. */
interface SeenTree {
  readonly coordinator: ActorRecord;
  readonly whole: number;
  readonly nodes: readonly { readonly id: string; readonly parent: string | null; readonly sees: number }[];
}

/** What systems come down to: equal for states that behave alike. */
export class Keys {
  readonly #using: ReductionsInUse;
  // Most actors of a state are those of the state before it.
  readonly #known = new WeakMap<ActorRecord, number>();
  readonly #trees = new WeakMap<ActorRecord, SeenTree>();
  readonly #work = new WeakMap<ActorRecord, number>();
  readonly #keys = new WeakMap<ExploredSystem, string>();
  readonly #orders = new WeakMap<ExploredSystem, NodeOrder>();
  readonly #ids = new Map<string, number>();

  constructor(using: ReductionsInUse) {
    this.#using = using;
  }

  keyOf(system: ExploredSystem): string {
    const key = this.#keys.get(system) ?? this.#newKeyOf(system);
    this.#keys.set(system, key);
    return key;
  }

  #newKeyOf(system: ExploredSystem): string {
    if (this.#using.outlook && system.isAsking() && system.isAtRest()) return RESTS;
    const wholes = this.#treesIn(system);
    const found = [...wholes.values()].map(({ id }) => id);
    for (const record of system.actors.values()) {
      if (record.status !== 'active' || isPartOf(wholes, record)) continue;
      const { address } = record;
      const id = this.idOf({ record, open: system.openOf(address) });
      found.push(isInSlot(address) ? this.#numbered(`${id} ${slotNameOf(system, address)}`) : id);
    }
    return `${system.verdict()} ${found.sort((one, other) => one - other).join()}`;
  }

  /**
   * The nodes of the tree of a system that has its key, in the order in which those of all systems with this key are alike; empty if they
   * go by their names.
   */
  orderOf(system: ExploredSystem): NodeOrder {
    return this.#orders.get(system) ?? [];
  }

  /** A small number for what one actor comes down to. */
  idOf({ record, open: { begun } }: Part): number {
    return this.#withBegun(this.#recordId(record), begun);
  }

  /** What has left its queue is not in the record. */
  #withBegun(id: number, begun: readonly OpenCall[]): number {
    return begun.length === 0 ? id : this.#numbered(`${id} ${begun.map(({ call }) => call).join(' ')}`);
  }

  #numbered(key: string): number {
    const id = this.#ids.get(key) ?? this.#ids.size;
    this.#ids.set(key, id);
    return id;
  }

  #recordId(record: ActorRecord): number {
    const found = this.#known.get(record);
    if (found !== undefined) return found;
    const state = stateOf(record, this.#using.reductionOf);
    const place = isInSlot(record.address) ? null : placeOf(record.address);
    const id = this.#numbered(canonicalJson([place, record.machine, ...state]));
    this.#known.set(record, id);
    return id;
  }

  /** Trees that are looked at as a whole, by where they are. */
  #treesIn(system: ExploredSystem): ReadonlyMap<string, Whole> {
    const found = new Map<string, Whole>();
    if (!this.#using.outlook) return found;
    for (const coordinator of system.actors.values()) {
      if (coordinator.machine !== COORDINATOR || coordinator.status !== 'active') continue;
      const tree = system.actor(coordinator.parent ?? '');
      const seen = tree && this.#seen(tree, coordinator);
      if (seen) found.set(tree.address, this.#wholeOf(system, tree, seen));
    }
    return found;
  }

  /** Undefined if a tree and its coordinator are to be looked at apart. */
  #seen(tree: ActorRecord, coordinator: ActorRecord): SeenTree | undefined {
    const found = this.#trees.get(tree);
    if (found?.coordinator === coordinator) return found;
    const outlook = this.#using.outlook?.(tree, coordinator);
    if (!outlook) return undefined;
    const { snapshot, waits } = tree;
    const own = [snapshot?.value ?? null, Object.keys(waits.calls).sort(), Object.keys(waits.timers).sort()];
    const numberOf = (content: Json): number => this.#numbered(canonicalJson(content));
    const whole = numberOf([placeOf(tree.address), ...own, outlook.whole]);
    const nodes = outlook.nodes.map(({ id, parent, sees }) => ({ id, parent, sees: numberOf(sees) }));
    const seen = { coordinator, whole, nodes };
    this.#trees.set(tree, seen);
    return seen;
  }

  #wholeOf(system: ExploredSystem, tree: ActorRecord, { whole, nodes }: SeenTree): Whole {
    const kinds = this.#using.kinds(tree);
    if (!kinds)
      return { id: this.#numbered(`${whole} ${nodes.map(({ sees }) => sees).join()}`), hasAgents: false };
    const { text, order } = inAnyNames(
      nodes.map(({ id, parent, sees }) => {
        const agent = agentOf(tree, id);
        const work = this.#workOf(system, `${tree.address}/${agentId(agent)}`, id);
        return { id, parent, agent, text: `${kinds.get(id)} ${sees} ${work}` };
      }),
    );
    this.#orders.set(system, order);
    return { id: this.#numbered(`${whole} ${text}`), hasAgents: true };
  }

  /** What the agent of a node, and of no other, is about. */
  #workOf(system: ExploredSystem, agent: Address, node: string): number | null {
    const part = system.partOf(agent);
    if (!part || isAtRest(part.record)) return null;
    const { record, open } = part;
    const id = this.#work.get(record) ?? this.#numbered(this.#workIn(record, node));
    this.#work.set(record, id);
    return this.#withBegun(id, open.begun);
  }

  #workIn(record: ActorRecord, node: string): string {
    const [value = null, context = null, ...waits] = stateOf(record, this.#using.reductionOf);
    // Its requests go by the name of the node.
    const requests = canonicalJson(context).replaceAll(JSON.stringify(node), '"@"');
    return `${canonicalJson([record.machine, value, ...waits])} ${requests}`;
  }
}

/** A tree as one number; whether its agents are in it, at work or not. */
interface Whole {
  readonly id: number;
  readonly hasAgents: boolean;
}

/** Kept for the machine of tree runs only. */
const agentOf = ({ snapshot }: ActorRecord, node: string): string =>
  nodeOf(snapshot?.context as TreeState, node)?.agent ?? '';

/** Nothing is at work, and only a person can go on: where that is so, it is as good as anywhere else. */
const RESTS = 'rests';

/** Whether what is known of a tree says all of an actor. What works on a feedback is where its coordinator says. */
const isPartOf = (wholes: ReadonlyMap<string, Whole>, record: ActorRecord): boolean => {
  if (wholes.size === 0) return false;
  const { address, parent, machine } = record;
  if (wholes.has(address)) return true;
  if (isInSlot(address))
    return wholes.has(address.slice(0, address.lastIndexOf('/', address.indexOf('/fix:') - 1)));
  const whole = parent === null ? undefined : wholes.get(parent);
  return (
    whole !== undefined &&
    (machine === COORDINATOR || (machine === AGENT && (whole.hasAgents || isAtRest(record))))
  );
};

/** Whether an agent has nothing to do. */
const isAtRest = (record: ActorRecord): boolean => placeIn(record, record.snapshot?.value ?? null) === 'idle';

/** A child that was started anew has a number in its address: only one of them is active. */
const placeOf = (address: string): string => address.replaceAll(/~\d+/g, '');

/**
 * How its last request ended decides nothing: an agent that rests takes the next one. In a feedback loop it stands for what
 * the loop remembers of it.
 */
const placeIn = ({ machine, address }: ActorRecord, value: Json): Json =>
  machine === AGENT && !address.includes('/loop-') && (value === 'failed' || value === 'cancelled')
    ? 'idle'
    : value;

const stateOf = (
  record: ActorRecord,
  reductionOf: (machine: string) => Reduce | undefined,
): readonly Json[] => {
  const { snapshot, waits, machine } = record;
  const context = snapshot?.context as Json; // What a machine keeps is what the log can hold.
  const reduce = reductionOf(machine);
  return [
    placeIn(record, snapshot?.value ?? null),
    reduce ? reduce(context) : context,
    Object.keys(waits.calls).sort(),
    Object.keys(waits.timers).sort(),
    // Those of a coordinator go by what they work on.
    machine === COORDINATOR ? null : Object.keys(waits.children).sort(),
  ];
};
