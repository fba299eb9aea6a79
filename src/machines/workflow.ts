import type { AnyStateMachine, ContextFrom, InputFrom, OutputFrom, StateValueFrom } from 'xstate';
import type { PureFunction } from '../events/delivery.ts';
import type { RecordedEvent } from '../events/event.ts';
import type { Verdict } from '../events/turn.ts';
import type { EventReader } from '../events/versions.ts';

/** What a workflow says of itself in types alone: what it is started with, and which agents it calls by their roles. */
export interface WorkflowTypes {
  readonly given: unknown;
  readonly roles: string;
  readonly stepInput: unknown;
}

/** A workflow that is started with its machine's input, and whose calls name their agents. */
export interface PlainTypes<Machine extends AnyStateMachine> extends WorkflowTypes {
  readonly given: InputFrom<Machine>;
  readonly roles: never;
}

/** A machine that the runtime can run: under a name and a version that the log keeps. */
export interface Workflow<
  Name extends string = string,
  Machine extends AnyStateMachine = AnyStateMachine,
  Types extends WorkflowTypes = WorkflowTypes,
> {
  readonly name: Name;
  /** Raised by its author with every change of behaviour: no hash can see the body of a guard. */
  readonly version: number;
  readonly machine: Machine;
  readonly options: WorkflowOptions<Machine>;
  /** Never there: it carries types. */
  readonly types?: Types;
}

/** Where a run is about to start. */
export interface StartPlace {
  readonly run: string;
  /** The folder for the files of the run; null if the runtime has none. */
  readonly folder: string | null;
  /** Where paths that are not absolute begin. */
  readonly cwd: string;
}

export interface WorkflowOptions<Machine extends AnyStateMachine = AnyStateMachine> {
  /** 1 unless set. */
  readonly version?: number;
  /** Makes the machine's input from what a run is started with. The log keeps what it gives; it runs before the turn. */
  readonly prepare?: (given: unknown, at?: StartPlace) => InputFrom<Machine>;
  /**
   * What it is started with as a step of a plan, besides what the plan adds (see `StepInputs` in nested.ts). Without it, it cannot be a
   * step; a machine that has it tells its parent how it ended.
   */
  readonly asStep?: object;
  /** After how many turns a run of it ends exhausted; the runtime's `limits.turnsPerRun` unless set. */
  readonly turnsMax?: number;
  /** How a run that reached its final state ended; its output's `verdict`, else verified. */
  readonly verdict?: (output: OutputFrom<Machine>) => Verdict;
  /** How a run of an older version that is no longer registered goes on in this one, by that version. */
  readonly migrations?: Readonly<Record<number, Migration<Machine>>>;
  /** Counters of the machine that must equal what the log says, checked on every replay. */
  readonly counters?: Readonly<Record<string, Counter<Machine>>>;
  /** Functions that its machine calls by name, inside of turns: see `delivery().functions`. */
  readonly functions?: Readonly<Record<string, PureFunction>>;
  /** The version that its events of a type are written with; 1 unless set. */
  readonly eventVersions?: Readonly<Record<string, number>>;
  /** How events of older versions are read: `'TASK_ADDED@1'` gives the data of version 2. */
  readonly readers?: Readonly<Record<`${string}@${number}`, EventReader>>;
}

/** How an actor of an older version becomes one of this version. Entry actions do not run; open calls and timers stay. */
export interface Migration<Machine extends AnyStateMachine = AnyStateMachine> {
  /** The old machine, to fold what came after the last snapshot. Without it, only an actor that was stored whole moves. */
  readonly from?: AnyStateMachine;
  readonly migrate: (old: { readonly value: unknown; readonly context: unknown }) => {
    readonly value: StateValueFrom<Machine>;
    readonly context: ContextFrom<Machine>;
  };
}

/** A number in a machine's context, and the rows of its actor that it claims to count. */
export interface Counter<Machine extends AnyStateMachine = AnyStateMachine> {
  readonly value: (context: ContextFrom<Machine>) => number;
  readonly counts: (event: RecordedEvent) => boolean;
}

/** Gives a machine the name and version under which the log knows it. */
export const workflow = <const Name extends string, Machine extends AnyStateMachine>(
  name: Name,
  machine: Machine,
  options: WorkflowOptions<NoInfer<Machine>> = {},
): Workflow<Name, Machine, PlainTypes<Machine>> => ({
  name,
  version: options.version ?? 1,
  machine,
  options,
});
