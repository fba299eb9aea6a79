import type { Json } from '../events/json.ts';
import type { AgentSettings } from './agent-work.ts';
import type { Issue, IssueRecord, IssueRegistry } from './issues.ts';
import type { Limits } from './limits.ts';
import type { StepInputs } from './nested.ts';
import type { Phase, Phases } from './phase-plan.ts';
import { hashOf, needsOf, type Plan, type Step } from './plan.ts';
import type { RunMessage } from './run-messages.ts';
import {
  freshSteps,
  type Halt,
  type RunState,
  type StepAnswer,
  type StepRecord,
  stepOf,
} from './run-state.ts';

/** What a phase run is started with, as the log keeps it. */
export interface PhaseRunInput extends StepInputs {
  readonly task: Json;
  readonly plan: Plan;
  readonly phases: Phases;
  readonly limits: Limits;
  readonly unbounded: string | null;
  readonly onLimit: RunState['onLimit'];
  readonly questionLevels: RunState['questionLevels'];
  readonly onExpiry: RunState['onExpiry'];
  readonly roles: Readonly<Record<string, AgentSettings>>;
  /** How reviewers are told to find the phase at fault. */
  readonly guideline: Json;
  /** What becomes of a report that asks for improvement. */
  readonly needsImprovement: 'fail' | 'pass';
  /** Above which correction rate somebody should look; null for none. */
  readonly alertAbove: number | null;
}

/** One fault, and who has made and found it. */
export interface Defect extends Issue {
  /** What its finder calls it, or else a number. */
  readonly id: string;
  /** The phases that it affects, earliest first. */
  readonly phases: readonly string[];
  /** The earliest of them. */
  readonly injected: string;
  /** Why these, if its finder did not say. */
  readonly reason: string | null;
  readonly foundBy: readonly string[];
}

/** How a fault came to light. */
export type Finding =
  /** By a review or a test. */
  | 'review'
  /** By a phase that was to work on what others made. */
  | 'work'
  /** Without an agent: it does not have the shape that it must have. */
  | 'structure'
  /** A report that cannot be understood. */
  | 'report';

/** Everything that was done because of one failed pass. */
export interface Correction {
  readonly id: string;
  /** The phase that found the defects, and in which of its failed passes. */
  readonly detected: string;
  readonly pass: number;
  readonly finding: Finding;
  readonly openedAtMs: number;
  readonly defects: readonly Defect[];
  /** What was said besides, for all who have to correct something. */
  readonly remarks: readonly Json[];
  /** How often each phase ran again because of it; reviews that only looked again are counted apart. */
  readonly attempts: Readonly<Record<string, number>>;
  readonly costUsd: number;
  readonly tokens: number;
  readonly latencyMs: number;
  readonly reviews: { readonly runs: number; readonly costUsd: number; readonly latencyMs: number };
  /** Whether the phase that had found the defects was content afterwards, or found something again; null as long as nobody knows. */
  readonly outcome: 'verified' | 'repeated' | null;
}

/** Everything that a phase run knows. */
export interface PhaseState extends PhaseRunInput {
  readonly started: readonly string[];
  readonly steps: Readonly<Record<string, StepRecord>>;
  readonly issues: IssueRegistry;
  readonly spent: RunState['spent'];
  readonly corrections: readonly Correction[];
  /** The correction that a limit holds back. */
  readonly held: string | null;
  /** The phase at work, since when, and the correction that it works for. */
  readonly work: {
    readonly phase: string;
    readonly sinceMs: number;
    readonly correction: string | null;
    readonly spent: RunState['spent'];
  } | null;
  /** How many passes of all phases have failed. */
  readonly failed: number;
  /** How often each defect went from one phase back to another. */
  readonly rounds: Readonly<Record<string, number>>;
  /** The inputs with which each phase has failed, oldest first. */
  readonly failedWith: Readonly<Record<string, readonly string[]>>;
  /** The key for which it was noted already that a phase looks at the same inputs again. */
  readonly noted: Readonly<Record<string, string>>;
  /** Answers of reviewers that need not be asked again, since only the report of another one was refused. */
  readonly kept: Readonly<
    Record<string, { readonly inputs: string; readonly answers: Readonly<Record<string, StepAnswer>> }>
  >;
  /** Where persons have said that an issue belongs, by its fingerprint. */
  readonly reclassified: Readonly<Record<string, readonly string[]>>;
  readonly unchanged: number;
  readonly oscillations: number;
  /** How many more failed passes persons have allowed, by phase; of the whole run under `''`. */
  readonly allowed: Readonly<Record<string, number>>;
  readonly isAlerted: boolean;
  readonly deadlineMs: number | null;
  readonly pauseReasons: readonly string[];
  readonly halt: Halt | null;
  readonly debt: readonly IssueRecord[];
  readonly decidedBy: string | null;
}

/** What a rule makes of a run. */
export interface PhaseOutcome {
  readonly state: PhaseState;
  readonly messages: readonly RunMessage[];
}

/** One rule after the other, each on what those before it have made. */
export const andThen = (
  start: PhaseOutcome,
  ...rules: readonly ((state: PhaseState) => PhaseOutcome)[]
): PhaseOutcome =>
  rules.reduce((done, rule) => {
    const next = rule(done.state);
    return { state: next.state, messages: [...done.messages, ...next.messages] };
  }, start);

export const nothing = (state: PhaseState): PhaseOutcome => ({ state, messages: [] });

export const phaseOf = ({ phases }: Pick<PhaseState, 'phases'>, id: string): Phase => {
  const phase = phases[id];
  if (!phase) throw new Error(`There is no phase "${id}".`);
  return phase;
};

export const stepNamed = ({ plan }: Pick<PhaseState, 'plan'>, id: string): Step => {
  const step = plan.steps.find((each) => each.id === id);
  if (!step) throw new Error(`There is no phase "${id}".`);
  return step;
};

export const isReview = (state: Pick<PhaseState, 'phases'>, id: string): boolean =>
  phaseOf(state, id).kind !== 'work';

/** Of what the phases that it needs have made: not of what was said about its own work. */
export const inputsOf = (state: Pick<PhaseState, 'plan' | 'steps'>, step: Step): string =>
  hashOf(needsOf(state.plan, step).map(({ id }) => [id, stepOf(state, id).hash]));

/** The phase that runs next: the earliest whose result does not stand. All that it needs comes before it, and stands. */
export const nextPhase = (state: Pick<PhaseState, 'plan' | 'steps'>): Step | undefined => {
  const fresh = freshSteps(state);
  return state.plan.steps.find(({ id }) => !fresh.has(id));
};

/** Bounds on failed passes by now: of one phase, or of the whole run. */
export const passesMax = (state: PhaseState, id: string | null): number | null => {
  const atFirst = id === null ? state.limits.passes : phaseOf(state, id).passes;
  return atFirst === null ? null : atFirst + (state.allowed[id ?? ''] ?? 0);
};
