import type { Json } from '../events/json.ts';
import type { QuestionInput, QuestionOption, QuestionOutput } from './question-machine.ts';
import { isContinuing, morePasses, raised } from './run-decisions.ts';
import { ended, type StoryOutcome } from './story-rules.ts';
import { isoOf, maxOf, type StoryState } from './story-state.ts';

const CANCEL: QuestionOption = {
  id: 'cancel',
  label: 'Cancel the story',
  impact: 'nothing of it is taken; the other stories go on',
};

const REFINEMENT_OPTIONS: readonly QuestionOption[] = [
  {
    id: 'continue',
    label: 'Refine it further',
    impact: '3 more refinements, or as many as you give as the value',
  },
  {
    id: 'accept',
    label: 'Take it as it is',
    impact: 'what is open is recorded as debt, and it goes on to create-pr',
  },
  CANCEL,
];
const BUDGET_OPTIONS: readonly QuestionOption[] = [
  {
    id: 'continue',
    label: 'Go on',
    impact: 'as much again of the budget, or as much as you give as the value',
  },
  { id: 'stop', label: 'End the story', impact: 'it ends exhausted; the other stories go on' },
  CANCEL,
];
const FAILURE_OPTIONS: readonly QuestionOption[] = [
  { id: 'retry', label: 'Try it again', impact: 'whoever failed is called again' },
  { id: 'stop', label: 'End the story', impact: 'it ends failed; the other stories go on' },
  CANCEL,
];

/** What a person is asked when a story does not go on by itself. */
export const storyQuestion = (state: StoryState): QuestionInput => {
  const { halt, settings, key, refinements, last } = state;
  const limit = halt?.met?.limit;
  return {
    text: `Story "${key}": ${halt?.reason ?? 'it does not go on.'}`,
    details: {
      story: key,
      refinements,
      max: maxOf(state),
      halt: halt as unknown as Json,
      issues: (last?.passed === false ? last.issues : []) as unknown as Json,
    },
    options:
      limit === undefined ? FAILURE_OPTIONS : limit === 'reworks' ? REFINEMENT_OPTIONS : BUDGET_OPTIONS,
    isFree: false,
    levels: settings.questionLevels,
    onExpiry: settings.onExpiry,
  };
};

/** What a person's answer changes. */
export const decideStory = (state: StoryState, said: QuestionOutput): StoryOutcome => {
  const { key: story, halt } = state;
  const verdict = halt?.verdict ?? 'failed';
  if (said.outcome === 'expired') {
    const told = { type: 'story.decided', story, option: 'expired', onExpiry: said.onExpiry };
    return {
      state: ended(state, said.onExpiry === 'cancel' ? 'cancelled' : verdict).state,
      messages: [told],
    };
  }
  const { option, note, by, value } = said;
  const told = { type: 'story.decided', story, option, note, by, halt: halt as unknown as Json };
  const decided: StoryState = { ...state, decidedBy: by };
  if (option === 'cancel') return { state: ended(decided, 'cancelled').state, messages: [told] };
  if (option === 'accept') {
    const debt = state.last?.issues ?? [];
    const accepted: StoryState = { ...decided, halt: null, review: 'approved', isAccepted: true, debt };
    return { state: { ...accepted, action: null, lastError: null }, messages: [told] };
  }
  if (!isContinuing(said)) return { state: ended(decided, verdict).state, messages: [told] };
  const more = morePasses(value);
  // The cap of a board holds whatever its stories are allowed.
  const { limits } = state.settings;
  const isRefinement = halt?.met?.limit === 'reworks';
  const next: StoryState = {
    ...decided,
    halt: null,
    lastError: null,
    action: null,
    phase: null,
    failures: {},
    answers: {},
    ...(isRefinement
      ? { fixed: { max: state.refinements + more } }
      : { settings: { ...state.settings, limits: raised({ limits }, halt, { more, value }) } }),
  };
  return { state: next, messages: [isRefinement ? { ...told, max: state.refinements + more } : told] };
};

/** What a command that sets the count back says. */
export interface ResetStory {
  /** The limit from now on; as it was unless set. */
  readonly max?: number | null;
  readonly note?: string | null;
  readonly by?: string | null;
}

/** Sets the count of refinements back to 0. Whoever asked because of it has nothing to ask any more. */
export const resetStory = (state: StoryState, given: ResetStory, atMs: number): StoryOutcome => {
  const { key: story, refinements, halt, fixed } = state;
  const { max, note = null, by = null } = given;
  const isLimit = halt?.met?.limit === 'reworks';
  const next: StoryState = {
    ...state,
    refinements: 0,
    fixed: typeof max === 'number' ? { max } : fixed,
    resets: [...state.resets, { flag: 'refinement_count', at: isoOf(atMs), iteration: refinements }],
    halt: isLimit ? null : halt,
    lastError: isLimit ? null : state.lastError,
  };
  return {
    state: next,
    messages: [{ type: 'story.reset', story, was: refinements, max: maxOf(next), note, by }],
  };
};

/** Whoever sends it from outside may have written anything. */
export const isReset = ({ max = null, note = null, by = null }: ResetStory): boolean =>
  (max === null || (typeof max === 'number' && Number.isSafeInteger(max) && max >= 0)) &&
  (note === null || typeof note === 'string') &&
  (by === null || typeof by === 'string');
