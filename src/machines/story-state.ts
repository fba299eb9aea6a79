import type { Json, JsonObject } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { NOTHING_SPENT, type Spent } from '../events/usage.ts';
import type { AgentSettings } from './agent-work.ts';
import { type Limits, nestedLimits } from './limits.ts';
import type { StepInputs } from './nested.ts';
import type { Halt, RunState } from './run-state.ts';
import { isAtLimit, type StoryActionName, type StoryCard } from './story-actions.ts';
import type { FaultTable, StoryPhase, WorkPhase } from './story-phases.ts';
import type { ReviewDecision, ReviewIssue, ReviewResult, ReviewSeverity, StoryText } from './story-review.ts';

/** What happens to a story at its limit. */
export type LimitPolicy = 'manual' | 'error' | 'skip';

/** What holds for every story of a run, fixed when the run starts. */
export interface StorySettings extends StepInputs {
  /** `reworks` is the limit of a story that sets none. */
  readonly limits: Limits;
  readonly unbounded: string | null;
  readonly policy: LimitPolicy;
  readonly reviewers: readonly string[];
  readonly faults: FaultTable;
  readonly roles: Readonly<Record<string, AgentSettings>>;
  readonly onFailure: 'ask' | 'stop';
  readonly questionLevels: RunState['questionLevels'];
  readonly onExpiry: RunState['onExpiry'];
  /** What the board is given as a step of a plan. */
  readonly task?: Json;
}

/** What the author of a story wrote: text and fields that are not ours. */
export interface AuthorsPart {
  readonly title: string;
  readonly body: StoryText;
  /** Other fields of the frontmatter. */
  readonly fields: JsonObject;
  /** `max_refinement_attempts`; null if the story sets none. */
  readonly max: number | null;
}

export interface StoryInput {
  readonly key: string;
  /** Absolute; null for a story without a file. */
  readonly file: string | null;
  /** Of a story without a file. */
  readonly given: (AuthorsPart & { readonly id: string }) | null;
  readonly settings: StorySettings;
}

export interface Iteration {
  readonly iteration: number;
  readonly agentType: WorkPhase;
  readonly startedAt: string;
  readonly reviewFeedback: string;
  readonly result: 'in_progress' | 'failed' | 'passed';
}

export interface ReviewRecord {
  readonly at: string;
  readonly decision: ReviewDecision;
  readonly severity: ReviewSeverity | null;
  readonly summary: string;
  /** Where it sent the story; null if it approved. */
  readonly phase: WorkPhase | null;
}

/** A flag, or the count, that was set back. */
export interface FlagReset {
  readonly flag: string;
  readonly at: string;
  readonly iteration: number;
}

/** One entry of the section of notes. */
export type StoryNote =
  | {
      readonly kind: 'review';
      readonly at: string;
      readonly summary: string;
      readonly decision: ReviewDecision;
      readonly issues: readonly ReviewIssue[];
      readonly feedback: StoryText;
    }
  | {
      readonly kind: 'refinement';
      readonly at: string;
      readonly iteration: number;
      readonly max: number | null;
      readonly target: WorkPhase;
      readonly reset: readonly string[];
    };

/** What a phase made at some time, and what the review said of it. */
export interface Attempt {
  /** 0 is the first run of the phase. */
  readonly iteration: number;
  readonly output: Json;
  readonly review: {
    readonly summary: string;
    readonly issues: readonly ReviewIssue[];
    readonly feedback: StoryText;
  } | null;
}

/** Our part of a story's file. */
export interface OwnPart {
  /** Null for a field that is not there. */
  readonly fields: JsonObject;
  /** Notes of earlier runs, as they were found. */
  readonly earlier: StoryText;
  readonly notes: readonly StoryNote[];
}

/** What is known of the file. */
export interface FileState {
  /** Hash of the file whose author's part is in the state. */
  readonly seen: string | null;
  /** Our fields as they are in the file, and the hash of our section there. */
  readonly fields: JsonObject;
  readonly notes: string | null;
  /** What the file is to become; null if it is up to date. */
  readonly intended: { readonly base: string; readonly hash: string } | null;
  /** How often it had changed when it was to be written. */
  readonly tries: number;
  /** Hash of what was reported last, so that it is reported once. */
  readonly reported: string | null;
}

/** Where a story goes on when its file has been seen to. */
export type AfterSync = 'act' | 'work' | 'settled';

export interface StoryState extends StoryInput {
  readonly isOpen: boolean;
  readonly id: string;
  readonly author: AuthorsPart;
  readonly complete: Readonly<Record<WorkPhase, boolean>>;
  readonly review: StoryCard['review'];
  /** The last review that came about. */
  readonly last: ReviewResult | null;
  readonly target: WorkPhase | null;
  readonly refinements: number;
  /** The limit, once it is fixed. */
  readonly fixed: { readonly max: number | null } | null;
  /** Counts reworks for ever, resets or not. */
  readonly reworks: number;
  readonly iterations: readonly Iteration[];
  readonly reviews: readonly ReviewRecord[];
  readonly resets: readonly FlagReset[];
  readonly earlierNotes: StoryText;
  readonly notes: readonly StoryNote[];
  readonly lastError: string | null;
  readonly work: Readonly<Partial<Record<StoryPhase, Json>>>;
  readonly attempts: Readonly<Partial<Record<StoryPhase, readonly Attempt[]>>>;
  readonly action: StoryActionName | null;
  /** The phase that is at work. */
  readonly phase: StoryPhase | null;
  /** The request that is open with each role. */
  readonly pending: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<string, ReviewResult>>;
  /** How often each reviewer failed in the review under way. */
  readonly failures: Readonly<Record<string, { readonly times: number; readonly reason: string }>>;
  readonly requests: number;
  readonly started: readonly string[];
  readonly spent: Spent;
  readonly pauseReasons: readonly string[];
  readonly halt: Halt | null;
  readonly isAccepted: boolean;
  readonly debt: readonly ReviewIssue[];
  readonly decidedBy: string | null;
  readonly verdict: Verdict | null;
  readonly isSkipped: boolean;
  readonly afterSync: AfterSync;
  readonly sync: FileState;
  /** What was told of its status last. */
  readonly told: string | null;
}

export const newStory = (input: StoryInput): StoryState => ({
  ...input,
  isOpen: input.file === null,
  id: input.given?.id ?? input.key,
  author: input.given ?? { title: input.key, body: '', fields: {}, max: null },
  complete: { research: false, plan: false, implement: false },
  review: 'none',
  last: null,
  target: null,
  refinements: 0,
  fixed: null,
  reworks: 0,
  iterations: [],
  reviews: [],
  resets: [],
  earlierNotes: '',
  notes: [],
  lastError: null,
  work: {},
  attempts: {},
  action: null,
  phase: null,
  pending: {},
  answers: {},
  failures: {},
  requests: 0,
  started: [],
  spent: NOTHING_SPENT,
  pauseReasons: [],
  halt: null,
  isAccepted: false,
  debt: [],
  decidedBy: null,
  verdict: null,
  isSkipped: false,
  afterSync: 'settled',
  sync: { seen: null, fields: {}, notes: null, intended: null, tries: 0, reported: null },
  told: null,
});

/** The limit in force: the one that was fixed, else the story's own (0 is one), else that of the settings. */
export const maxOf = ({
  fixed,
  author,
  settings,
}: Pick<StoryState, 'fixed' | 'author' | 'settings'>): number | null =>
  fixed ? fixed.max : settings.limits.reworks === null ? null : (author.max ?? settings.limits.reworks);

export type StoryStatus =
  | 'ready'
  | StoryPhase
  | 'done'
  | 'accepted'
  | 'failed'
  | 'skipped'
  | 'cancelled'
  | 'exhausted';

/** In one word where a story is: what its file says. */
export const statusOf = (state: StoryState): StoryStatus => {
  const { verdict, isSkipped, phase, review, complete } = state;
  if (verdict === 'verified') return 'done';
  if (isSkipped) return 'skipped';
  if (verdict !== null) return verdict === 'stalled' ? 'exhausted' : verdict;
  if (phase !== null) return phase;
  if (review === 'approved') return 'create-pr';
  if (review === 'rejected') return 'review';
  if (complete.implement) return 'review';
  if (complete.plan) return 'implement';
  if (complete.research) return 'plan';
  return state.reviews.length > 0 ? 'research' : 'ready';
};

/** Its own limits, within what its board has left of its cap if that is a step of a plan. */
export const limitsInForce = ({ limits, cap }: Pick<StorySettings, 'limits' | 'cap'>): Limits =>
  cap ? nestedLimits(limits, cap) : limits;

/** What the board is told. */
export const cardOf = (state: StoryState, stage: StoryCard['stage']): StoryCard => ({
  key: state.key,
  id: state.id,
  title: state.author.title,
  stage,
  complete: state.complete,
  review: state.review,
  target: state.target,
  refinements: state.refinements,
  max: maxOf(state),
  verdict: state.verdict,
  isSkipped: state.isSkipped,
  isFatal: state.verdict === 'failed' && state.halt?.met != null && state.settings.policy === 'error',
  reason: state.lastError,
  spent: state.spent,
  // Whoever waits for the step that its board is wants to see what was made.
  ...(stage === 'ended' && state.settings.task !== undefined && { work: state.work }),
});

export const isBreakerOpen = (state: StoryState): boolean =>
  state.review === 'rejected' && isAtLimit({ refinements: state.refinements, max: maxOf(state) });

/** Our fields of the file, as they should be. */
export const ownPart = (state: StoryState): OwnPart => {
  const listed = (list: readonly unknown[]): Json => (list.length === 0 ? null : (list as readonly Json[]));
  return {
    fields: {
      id: state.id,
      status: statusOf(state),
      // Until it is fixed it is the author's.
      ...(state.fixed && state.fixed.max !== null && { max_refinement_attempts: state.fixed.max }),
      research_complete: state.complete.research,
      plan_complete: state.complete.plan,
      implement_complete: state.complete.implement,
      refinement_count: state.refinements,
      refinement_iterations: listed(state.iterations),
      review_history: listed(state.reviews),
      resets: listed(state.resets),
      last_error: state.lastError,
    },
    earlier: state.earlierNotes,
    notes: notesInFile(state.notes),
  };
};

/** How much of what reviews said goes into a file: it must fit into one event. The log has everything. */
const NOTES_LENGTH_MAX = 200_000;

/** All notes; the oldest in one line each if they are too much. */
const notesInFile = (notes: readonly StoryNote[]): readonly StoryNote[] => {
  let left = NOTES_LENGTH_MAX;
  return notes
    .toReversed()
    .map((note): StoryNote => {
      left -= JSON.stringify(note).length;
      return left >= 0 || note.kind === 'refinement' ? note : { ...note, issues: [], feedback: '' };
    })
    .toReversed();
};

export const flagOf = (phase: WorkPhase): string => `${phase}_complete`;

export const isoOf = (atMs: number): string => new Date(atMs).toISOString();
