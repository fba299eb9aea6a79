import type { Json } from '../events/json.ts';
import type { Spent } from '../events/usage.ts';
import type { AgentSettings } from './agent-work.ts';
import type { Issue, IssueRecord, IssueRegistry } from './issues.ts';
import type { Limits } from './limits.ts';
import type { StepInputs } from './nested.ts';
import type { Halt, RunState } from './run-state.ts';
import type { EarlierPass } from './tight-earlier.ts';

export type TightRole = 'developer' | 'reviewer' | 'tester';
/** The checks of a pass. */
export type Check = 'review' | 'test';

/** What a tight loop is started with, as the log keeps it. */
export interface TightInput extends StepInputs {
  readonly task: Json;
  readonly limits: Limits;
  /** Why a count that would end it is missing. */
  readonly unbounded: string | null;
  /** False: one pass, whatever comes of it. */
  readonly enabled: boolean;
  /** Whether the developer is called again until it says that it is done. */
  readonly repeats: boolean;
  readonly onLimit: RunState['onLimit'];
  readonly questionLevels: RunState['questionLevels'];
  readonly onExpiry: RunState['onExpiry'];
  readonly roles: Readonly<Record<TightRole, AgentSettings>>;
  /** Where its files are; null if there are none. */
  readonly folder: string | null;
  /** Passes that were made before the run began, if there are some. */
  readonly earlier?: readonly EarlierPass[];
}

/** What a check said. */
export interface CheckResult {
  readonly passed: boolean;
  readonly issues: readonly Issue[];
  /** The last part of what it wrote, if it wrote a text. */
  readonly text: string | null;
}

/** One way through implement, review and test. */
export interface Pass {
  readonly number: number;
  readonly implementation: string;
  /** Null if it did not run. */
  readonly review: CheckResult | null;
  readonly test: CheckResult | null;
}

/** The states in which a loop can go on after it was held up. */
export type Resume = 'implementing' | 'reviewing' | 'testing' | 'nextPass';

export interface TightState extends TightInput {
  readonly passes: readonly Pass[];
  /** The pass under way. */
  readonly current: Pass;
  /** How often the developer was called in this pass. */
  readonly repeat: number;
  /** What is waited for, if anything is. */
  readonly pending: { readonly role: TightRole; readonly request: string } | null;
  /** Counts requests, so that each has an id of its own. */
  readonly requests: number;
  readonly started: readonly TightRole[];
  readonly issues: IssueRegistry;
  /** How often each check ran, and how often in a row it failed. */
  readonly ran: Readonly<Record<Check, number>>;
  readonly failedInRow: Readonly<Record<Check, number>>;
  /** Of what the developer said that it made, oldest first. */
  readonly artifacts: readonly string[];
  readonly unchanged: number;
  readonly oscillations: number;
  readonly spent: Spent;
  /** How many more passes persons have allowed. */
  readonly allowed: number;
  /** When the time is up that a person has allowed; null if none has. */
  readonly deadlineMs: number | null;
  readonly pauseReasons: readonly string[];
  readonly halt: Halt | null;
  /** Where it goes on if a person says so. */
  readonly resume: Resume;
  readonly debt: readonly IssueRecord[];
  readonly decidedBy: string | null;
}

export const newPass = (number: number): Pass => ({ number, implementation: '', review: null, test: null });

/** How many passes there may be by now; null without a bound. */
export const passesMax = (state: TightState): number | null => {
  const atFirst = passesAtFirst(state);
  return atFirst === null ? null : atFirst + state.allowed;
};

/** How many there may be before a person allows more. */
export const passesAtFirst = ({ limits, enabled }: Pick<TightInput, 'limits' | 'enabled'>): number | null =>
  enabled ? limits.passes : 1;
