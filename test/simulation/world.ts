import type { Incoming } from '../../src/actors/host.ts';
import type { Registry } from '../../src/actors/registry.ts';
import type { Outcome } from '../../src/actors/stimulus.ts';
import type { Kernel } from '../../src/actors/turn.ts';
import type { OpenCall } from '../../src/events/turn.ts';
import type { EventLog } from '../../src/store/event-log.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Settled } from './shell.ts';

/**
 * What an agent makes of a call. `twice` answers in two stimuli, `floods` in many, `resent` in one that comes twice; `late`
 * waits until nobody waits for it any more, and then answers all the same.
 */
export type Fate =
  | 'passes'
  | 'finds fault'
  | 'fails'
  | 'garbage'
  | 'silent'
  | 'late'
  | 'twice'
  | 'resent'
  | 'floods';

/** Something that the host or a person wants of a run. The id is its own: sent again, it is the same. */
export interface Command {
  readonly run: string;
  readonly incoming: Incoming;
}

/** What the host application and the people around it do in one schedule. It outlives crashes, and repeats itself. */
export interface Script {
  /** Runs of which something can be asked now. */
  ready(): readonly string[];
  next(run: string): Command;
  settled(command: Command, settled: Settled): void;
  /** Nobody knows what became of the commands under way. */
  crashed(): void;
}

export interface ScriptPorts {
  readonly random: Random;
  readonly ledger: Ledger;
  readonly newId: () => string;
}

/** Machines, with a kernel that leaves runs the turns they need, and one that ends them soon. Pure: they serve all schedules. */
export interface Core {
  readonly registry: Registry;
  readonly patient: Kernel;
  readonly hasty: Kernel;
}

/** What schedules are about: machines, those who answer and ask them, and what must hold of them. */
export interface World {
  readonly core: Core;
  /** The same, with each step of each machine computed anew. */
  readonly plainCore: Core;
  /** What agents make of calls; one that is there twice is as likely again. */
  readonly fates: readonly Fate[];
  /** How often time passes before the next step. */
  readonly passes: number;
  /** When an agent that does not answer is given up. */
  readonly limitMs: number;
  readonly createLedger: (registry: Registry) => Ledger;
  readonly createScript: (ports: ScriptPorts) => Script;
  readonly outcomeOf: (call: OpenCall, fate: Fate, random: Random) => Outcome;
  /** What must hold after each commit, besides the laws of all worlds. */
  readonly checkCommit: (ledger: Ledger) => void;
  /** What must hold whenever a schedule is left. */
  readonly checkSafety: (ledger: Ledger, crashes: number) => void;
  /** What must hold when all is quiet. */
  readonly checkEnd: (ledger: Ledger, log: EventLog) => Promise<void>;
}
