import type { Registry } from '../actors/registry.ts';
import { boardMachine } from '../machines/board-machine.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import { repeatMachine } from '../machines/repeat-loop.ts';
import { runMachine } from '../machines/run-machine.ts';
import { storyMachine } from '../machines/story-machine.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import { REDUCTIONS, type Reduce, type Reductions, reduceRun } from './reduce.ts';
import { reducePhases } from './reduce-phase.ts';
import { reduceBoard, reduceStory } from './reduce-stories.ts';
import { reduceRepeat, reduceTight } from './reduce-tight.ts';
import { reduceTree, treeReductions } from './reduce-tree.ts';

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

export const reductionsFor = (
  registry: Registry,
  given: Reductions,
  { counts }: Mode,
): ((machine: string) => Reduce | undefined) => {
  const byName: Reductions = { ...REDUCTIONS, ...treeReductions(counts), ...given };
  return (machine) =>
    byName[machine] ?? REDUCTIONS_BY_MACHINE.get(registry.newest(machine)?.workflow.machine);
};
