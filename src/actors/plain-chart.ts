import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { type PlainAction, toActions } from './plain-actions.ts';

/** What can be known of a machine before any event comes: where each transition leads, and what is done on the way. */

export type Node = AnyStateMachine['root'];
export type Transition = ReturnType<AnyStateMachine['getTransitionData']>[number];

/** A state without others inside, and what all snapshots in it have in common. */
export interface Place {
  readonly leaf: Node;
  /** From the root to the leaf. */
  readonly nodes: Node[];
  readonly value: AnyMachineSnapshot['value'];
  readonly tags: Set<string>;
  /** What it takes without an event, the innermost first. */
  readonly always: readonly Transition[];
  /** What it takes for events of each type, likewise; undefined if some are for any type, which is for XState to match. */
  readonly byType: ReadonlyMap<string, readonly Transition[]> | undefined;
  /** What is done when a machine ends here. */
  readonly exits: readonly PlainAction[];
  readonly moves: Map<Transition, Move | undefined>;
}

/** Actions to be done in this order, and the place where they lead; undefined if none is left. */
export interface Move {
  readonly actions: readonly PlainAction[];
  readonly target: Place | undefined;
}

export interface PlainChart {
  placeOf(snapshot: AnyMachineSnapshot): Place | undefined;
  /** What a transition means in a place; undefined if that is for XState to find out. */
  move(place: Place, transition: Transition): Move | undefined;
  /** How a machine begins, from the root on. */
  readonly beginning: Move | undefined;
}

const NOWHERE: PlainChart = { placeOf: () => undefined, move: () => undefined, beginning: undefined };

/** A machine in which one state at a time has no others inside: no regions side by side, and no history. */
export const plainChart = (machine: AnyStateMachine): PlainChart => {
  const { root } = machine;
  const nodes = nodesIn(root);
  if (!nodes.every(isPlain)) return NOWHERE;
  const places = new Map(nodes.flatMap((node) => toPlace(machine, node) ?? []));
  const enters = (entered: readonly Entered[], before: readonly unknown[]): Move | undefined => {
    const last = entered.at(-1)?.node;
    const target = last && places.get(last);
    const actions = toActions(machine, [...before, ...entered.flatMap(entryOf)]);
    return target && actions && { actions, target };
  };
  return {
    placeOf({ status, _nodes: at }) {
      const leaf = at.at(-1);
      const place = status === 'active' && leaf ? places.get(leaf) : undefined;
      return place?.nodes.length === at.length ? place : undefined;
    },
    move(place, transition) {
      if (!place.moves.has(transition))
        place.moves.set(transition, toMove(machine, { place, transition, enters }));
      return place.moves.get(transition);
    },
    beginning: enters([{ node: root, isDefault: true }, ...inside(root)], []),
  };
};

const nodesIn = (node: Node): readonly Node[] => [node, ...Object.values(node.states).flatMap(nodesIn)];

const isPlain = (node: Node): boolean =>
  node.invoke.length === 0 &&
  (node.type === 'compound'
    ? node.initial.target?.length === 1 && node.initial.target[0]?.parent === node
    : (node.type === 'atomic' || node.type === 'final') && !node.config.initial && node.parent !== undefined);

const toPlace = (machine: AnyStateMachine, leaf: Node): [[Node, Place]] | undefined => {
  if (leaf.type === 'compound') return undefined;
  const upward = [leaf, ...above(leaf)];
  const exits = toActions(
    machine,
    upward.flatMap(({ exit }) => exit),
  );
  if (!exits) return undefined;
  const value = upward
    .slice(1, -1)
    .reduce<Place['value']>((inner, { key }) => Object.freeze({ [key]: inner }), leaf.key);
  const nodes = upward.toReversed();
  const tags = new Set(nodes.flatMap((node) => node.tags));
  const always = upward.flatMap((node) => node.always ?? []);
  return [[leaf, { leaf, nodes, value, tags, always, byType: byTypeIn(upward), exits, moves: new Map() }]];
};

const byTypeIn = (upward: readonly Node[]): Place['byType'] => {
  const byType = new Map<string, Transition[]>();
  for (const [descriptor, transitions] of upward.flatMap((node) => [...node.transitions])) {
    if (descriptor.includes('*')) return undefined;
    byType.set(descriptor, [...(byType.get(descriptor) ?? []), ...transitions]);
  }
  return byType;
};

const above = ({ parent }: Node): readonly Node[] => (parent ? [parent, ...above(parent)] : []);

interface Entered {
  readonly node: Node;
  /** Whether its initial state is entered because nothing else was asked for: only then its initial actions are done. */
  readonly isDefault: boolean;
}

const entryOf = ({ node, isDefault }: Entered): readonly unknown[] =>
  isDefault && node.type === 'compound' ? [...node.entry, ...node.initial.actions] : node.entry;

/** The states that are entered with a state when nothing inside it is asked for. */
const inside = (node: Node): readonly Entered[] => {
  const first = node.type === 'compound' ? node.initial.target?.[0] : undefined;
  return first ? [{ node: first, isDefault: true }, ...inside(first)] : [];
};

interface MovePlan {
  readonly place: Place;
  readonly transition: Transition;
  readonly enters: (entered: readonly Entered[], before: readonly unknown[]) => Move | undefined;
}

const toMove = (machine: AnyStateMachine, { place, transition, enters }: MovePlan): Move | undefined => {
  const { source, target: targets, reenter, actions } = transition;
  const [target, second] = targets ?? [];
  if (!target) {
    const own = toActions(machine, actions);
    return own && { actions: own, target: undefined };
  }
  if (second || !target.parent || (source === machine.root && reenter)) return undefined;
  const domain = domainOf(source, target, reenter);
  const left = place.nodes.filter((node) => isBelow(node, domain)).toReversed();
  const between = above(target)
    .filter((node) => isBelow(node, domain))
    .toReversed();
  const entered = [
    ...between.map((node) => ({ node, isDefault: false })),
    ...(target === domain ? [] : [{ node: target, isDefault: true }]),
    ...inside(target),
  ];
  if (entered.length === 0) {
    const own = toActions(machine, actions);
    return own && { actions: own, target: undefined };
  }
  return enters(entered, [...left.flatMap(({ exit }) => exit), ...actions]);
};

/** The innermost state that a transition leaves neither nor enters. */
const domainOf = (source: Node, target: Node, reenter: boolean): Node => {
  if (!reenter && (target === source || isBelow(target, source))) return source;
  return above(target).find((node) => isBelow(source, node)) ?? source.machine.root;
};

const isBelow = (node: Node, other: Node): boolean => above(node).includes(other);
