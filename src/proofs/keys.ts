import type { ActorRecord } from '../actors/actor-record.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import { AGENT } from '../machines/agent-machine.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import type { ExploredSystem, Part } from './explored-system.ts';
import type { Reduce } from './reduce.ts';
import type { ReductionsInUse } from './reductions.ts';
import { isInSlot, slotNameOf } from './slot-names.ts';

/** What systems come down to: equal for states that behave alike. */
export interface Keys {
  /** A small number for what one actor comes down to. */
  readonly idOf: (part: Part) => number;
  readonly keyOf: (system: ExploredSystem) => string;
}

export const createKeys = ({ reductionOf, outlook }: ReductionsInUse): Keys => {
  // Most actors of a state are those of the state before it.
  const known = new WeakMap<ActorRecord, number>();
  const trees = new WeakMap<ActorRecord, { readonly coordinator: ActorRecord; readonly id: number | null }>();
  const ids = new Map<string, number>();
  const numbered = (key: string): number => {
    const id = ids.get(key) ?? ids.size;
    ids.set(key, id);
    return id;
  };
  const recordId = (record: ActorRecord): number => {
    const found = known.get(record);
    if (found !== undefined) return found;
    const state = stateOf(record, reductionOf);
    const place = isInSlot(record.address) ? null : placeOf(record.address);
    const id = numbered(canonicalJson([place, record.machine, ...state]));
    known.set(record, id);
    return id;
  };
  const idOf = ({ record, open: { begun } }: Part): number => {
    const id = recordId(record);
    return begun.length === 0 ? id : numbered(`${id} ${begun.map(({ call }) => call).join(' ')}`);
  };
  /** One number for a tree with its coordinator; null if they are to be looked at apart. */
  const treeId = (tree: ActorRecord, coordinator: ActorRecord): number | null => {
    const found = trees.get(tree);
    if (found?.coordinator === coordinator) return found.id;
    const seen = outlook?.(tree, coordinator) ?? null;
    const { snapshot, waits } = tree;
    const own = [snapshot?.value ?? null, Object.keys(waits.calls).sort(), Object.keys(waits.timers).sort()];
    const id = seen === null ? null : numbered(canonicalJson([placeOf(tree.address), ...own, seen]));
    trees.set(tree, { coordinator, id });
    return id;
  };
  /** The numbers of trees that are looked at as a whole, by where they are. */
  const treesIn = (system: ExploredSystem): ReadonlyMap<string, number> => {
    const found = new Map<string, number>();
    if (!outlook) return found;
    for (const coordinator of system.actors.values()) {
      if (coordinator.machine !== COORDINATOR || coordinator.status !== 'active') continue;
      const tree = system.actor(coordinator.parent ?? '');
      const id = tree && treeId(tree, coordinator);
      if (tree && id !== null) found.set(tree.address, id);
    }
    return found;
  };
  return {
    idOf,
    keyOf: (system) => {
      if (outlook && system.isAsking() && system.isAtRest()) return RESTS;
      const wholes = treesIn(system);
      const found: number[] = [...wholes.values()];
      for (const record of system.actors.values()) {
        if (record.status !== 'active' || isPartOf(wholes, record)) continue;
        const { address } = record;
        const id = idOf({ record, open: system.openOf(address) });
        found.push(isInSlot(address) ? numbered(`${id} ${slotNameOf(system, address)}`) : id);
      }
      return `${system.verdict()} ${found.sort((one, other) => one - other).join()}`;
    },
  };
};

/** Nothing is at work, and only a person can go on: where that is so, it is as good as anywhere else. */
const RESTS = 'rests';

/** Whether the outlook of a tree says all of an actor. What works on a feedback is where its coordinator says. */
const isPartOf = (wholes: ReadonlyMap<string, number>, record: ActorRecord): boolean => {
  if (wholes.size === 0) return false;
  const { address, parent, machine, snapshot } = record;
  if (wholes.has(address)) return true;
  if (isInSlot(address))
    return wholes.has(address.slice(0, address.lastIndexOf('/', address.indexOf('/fix:') - 1)));
  if (parent === null || !wholes.has(parent)) return false;
  return (
    machine === COORDINATOR || (machine === AGENT && placeIn(record, snapshot?.value ?? null) === 'idle')
  );
};

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
