import type { ActorRecord } from '../actors/actor-record.ts';
import type { Registry } from '../actors/registry.ts';
import { AGENT } from '../machines/agent-machine.ts';
import { boardMachine } from '../machines/board-machine.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import type { CoordinatorState } from '../machines/coordinator-state.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import { repeatMachine } from '../machines/repeat-loop.ts';
import { runMachine } from '../machines/run-machine.ts';
import { storyMachine } from '../machines/story-machine.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import type { TreeState } from '../machines/tree-state.ts';
import { kindsOf } from './alike-nodes.ts';
import { REDUCTIONS, type Reduce, type Reductions, reduceRun, withGrants } from './reduce.ts';
import { reducePhases } from './reduce-phase.ts';
import { reduceBoard, reduceStory } from './reduce-stories.ts';
import { reduceRepeat, reduceTight } from './reduce-tight.ts';
import { farOf, reduceTree, treeReductions } from './reduce-tree.ts';
import { outlookOf, type TreeOutlook } from './tree-outlook.ts';

/** Which shortcuts an exploration takes. Each is checked while it is taken, and left out if it does not hold. */
export interface Mode {
  /** What actors do by themselves is one step. */
  readonly summarizes: boolean;
  /** Every answer is tried from every place that an actor gets to by itself. */
  readonly isExact: boolean;
  /** Limits that are far away are counted, too. */
  readonly counts: boolean;
  /** Rounds between the nodes of a tree are counted beside the states. */
  readonly setsAside: boolean;
  /** What can only go on when a person decides is forgotten. */
  readonly forgets: boolean;
  /** Nodes of a tree that are alike but for their names are not told apart. */
  readonly renames: boolean;
  /** Whether an agent that is refused is asked again at once is told by the rules of its tree. */
  readonly foretells: boolean;
  /** Whether decisions of persons are explored, which is no shortcut: they may raise limits. */
  readonly hasPersons: boolean;
}

/** Thrown when a shortcut turns out not to hold for this workflow: it is explored without it. */
export class NotSo {
  readonly mode: Mode;
  constructor(mode: Mode) {
    this.mode = mode;
  }
}

/** These have the same machine under whatever names their users give them. */
const REDUCTIONS_BY_MACHINE = new Map<unknown, Reduce>([
  [runMachine, reduceRun],
  [tightMachine, reduceTight],
  [repeatMachine, reduceRepeat],
  [boardMachine, reduceBoard],
  [storyMachine, reduceStory],
  [treeMachine, reduceTree],
  [phaseMachine, reducePhases],
]);

/** What can still come of a tree, which it and its coordinator know together; null if that is not known. */
export type Outlook = (tree: ActorRecord, coordinator: ActorRecord) => TreeOutlook | null;

/** How the actors of an exploration reduce: each by itself, and trees as a whole unless what they are told apart by counts. */
export interface ReductionsInUse {
  readonly reductionOf: (machine: string) => Reduce | undefined;
  readonly outlook: Outlook | undefined;
  /** What sort of node each of a tree is; null if they go by their names. */
  readonly kinds: (tree: ActorRecord) => ReadonlyMap<string, number> | null;
}

export const reductionsFor = (
  registry: Registry,
  given: Reductions,
  { counts, forgets, renames, hasPersons }: Mode,
): ReductionsInUse => {
  const byName: Reductions = { ...REDUCTIONS, ...treeReductions(counts), ...given };
  const ofMachines = new Map<unknown, Reduce>(
    [...REDUCTIONS_BY_MACHINE].map(([machine, reduce]) => [
      machine,
      hasPersons ? withGrants(reduce) : reduce,
    ]),
  );
  const reductionOf = (machine: string): Reduce | undefined =>
    byName[machine] ?? ofMachines.get(registry.newest(machine)?.workflow.machine);
  const outlook: Outlook = (tree, { snapshot }) =>
    reductionOf(tree.machine) === reduceTree && !Object.hasOwn(given, COORDINATOR)
      ? outlookOf(contextOf<TreeState>(tree), contextOf<CoordinatorState>({ snapshot }), farOf(counts))
      : null;
  const isOurs = !Object.hasOwn(given, AGENT);
  // Of a tree that is a step of a plan others may know the nodes by their names.
  const kinds = (tree: ActorRecord) =>
    renames && isOurs && tree.parent === null ? kindsOf(contextOf<TreeState>(tree)) : null;
  return { reductionOf, outlook: forgets ? outlook : undefined, kinds };
};

/** Kept for the machine of tree runs, and under the name of the coordinator, only. */
const contextOf = <Context>({ snapshot }: Pick<ActorRecord, 'snapshot'>): Context =>
  snapshot?.context as Context;
