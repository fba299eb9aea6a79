import type { Json, JsonObject } from '../events/json.ts';
import type { StoryPhase, WorkPhase } from './story-phases.ts';
import { type ReviewIssue, type StoryText, summaryOfReview } from './story-review.ts';
import { type Attempt, maxOf, type StoryState } from './story-state.ts';

/** What the agent of a phase is given as its input. */
export interface StoryWork {
  readonly story: {
    readonly id: string;
    readonly title: string;
    /** What its author wrote, without our notes. */
    readonly body: string;
    /** Other fields of its frontmatter. */
    readonly fields: JsonObject;
    /** Null for a story without a file. */
    readonly file: string | null;
  };
  readonly phase: StoryPhase;
  /** How often the story was sent back so far; 0 at first. */
  readonly iteration: number;
  readonly maxIterations: number | null;
  /** What the phases have made so far. Of those that are to run again, what was rejected. */
  readonly work: Readonly<Partial<Record<StoryPhase, Json>>>;
  /** What the step is given, if the board is a step of a plan. */
  readonly task?: Json;
  /** Why it was sent back; null at first. */
  readonly refinement: {
    readonly iteration: number;
    readonly target: WorkPhase;
    readonly summary: string;
    readonly issues: readonly ReviewIssue[];
    readonly feedback: StoryText;
  } | null;
}

export const workInput = (
  state: StoryState,
  phase: StoryPhase,
): Omit<StoryWork, 'story'> & { story: Json } => {
  const { id, author, file, refinements: iteration, work, last, target, settings } = state;
  const isRefined = iteration > 0 && last !== null && !last.passed;
  return {
    story: { id, title: author.title, body: author.body, fields: author.fields, file },
    phase,
    iteration,
    maxIterations: maxOf(state),
    work,
    ...(settings.task !== undefined && { task: settings.task }),
    refinement: isRefined
      ? {
          iteration,
          target: target ?? 'implement',
          summary: summaryOfReview(last),
          issues: last.issues,
          feedback: last.feedback,
        }
      : null,
  };
};

/** What the review said, finding by finding, for whoever works on it again. */
export const feedbackOf = ({ last, refinements }: StoryState): readonly Json[] => {
  if (last === null || last.passed || refinements === 0) return [];
  const texts = last.texts ?? (last.feedback === '' ? [] : [{ text: last.feedback }]);
  return [...last.issues, ...texts] as unknown as readonly Json[];
};

/** How much of what was made, and of what was said of it, goes with a request: it must fit into one event. */
const HISTORY_LENGTH_MAX = 200_000;

/** Every earlier attempt at a phase; the oldest without their findings, or results, if those are too much for one event. */
export const historyOf = ({ attempts }: StoryState, phase: StoryPhase): readonly Attempt[] => {
  let left = HISTORY_LENGTH_MAX;
  const fits = (value: unknown): boolean => {
    const { length } = JSON.stringify(value);
    if (length > left) return false;
    left -= length;
    return true;
  };
  return (attempts[phase] ?? [])
    .toReversed()
    .map(
      (attempt): Attempt => ({
        ...attempt,
        output: fits(attempt.output) ? attempt.output : 'left out: it is too large to be given again',
        review: attempt.review && (fits(attempt.review) ? attempt.review : { ...attempt.review, issues: [] }),
      }),
    )
    .toReversed();
};
