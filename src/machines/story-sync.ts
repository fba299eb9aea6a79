import type { Failure, Json, JsonObject } from '../events/json.ts';
import { WORK_PHASES, type WorkPhase } from './story-phases.ts';
import type { StoryText } from './story-review.ts';
import type { StoryOutcome } from './story-rules.ts';
import type { AuthorsPart, FlagReset, Iteration, OwnPart, ReviewRecord, StoryState } from './story-state.ts';
import { ownPart } from './story-state.ts';

/** What is asked of whoever reads a story's file. */
export interface LookInput {
  readonly file: string;
  readonly key: string;
  /** Hash of the file that is known already. */
  readonly seen: string | null;
  /** What our part is to be; null to read only. */
  readonly own: OwnPart | null;
  /** Our fields and the hash of our notes as they should be found. */
  readonly last: { readonly fields: JsonObject; readonly notes: string | null } | null;
}

/** A field of ours that somebody else has changed. */
export interface ChangedField {
  readonly field: string;
  readonly mine: Json;
  readonly theirs: Json;
}

/** What is in a story's file. */
export type Looked =
  | {
      readonly kind: 'found';
      readonly hash: string;
      /** Null if the file is the one that was seen. */
      readonly author: AuthorsPart | null;
      /** Our fields as they stand there: null if one is not there. */
      readonly fields: JsonObject;
      readonly notes: string | null;
      /** What our section says, if the file is read for the first time. */
      readonly section: StoryText | null;
      /** What of ours was changed, and both versions of the file. */
      readonly conflict: {
        readonly changed: readonly ChangedField[];
        readonly theirs: Json;
        readonly mine: Json;
      } | null;
      /** The hash of what the file is to become; null if it stays as it is. */
      readonly intended: string | null;
    }
  | {
      readonly kind: 'unreadable';
      readonly reason: string;
      /** What is there; null if nothing is, or it is no text. */
      readonly theirs: Json;
      readonly mine: Json;
      readonly hash: string | null;
    };

/** What is asked of whoever writes it. */
export interface WriteInput {
  readonly file: string;
  readonly key: string;
  readonly own: OwnPart;
  readonly base: string;
  readonly intended: string;
}

export type Written =
  | { readonly kind: 'written'; readonly fields: JsonObject; readonly notes: string | null }
  /** It is no longer the file that was looked at. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'failed'; readonly reason: string };

export const lookInput = (state: StoryState): LookInput => ({
  file: state.file ?? '',
  key: state.key,
  seen: state.sync.seen,
  own: state.isOpen ? ownPart(state) : null,
  last: state.isOpen ? { fields: state.sync.fields, notes: state.sync.notes } : null,
});

export const writeInput = (state: StoryState): WriteInput => ({
  file: state.file ?? '',
  key: state.key,
  own: ownPart(state),
  base: state.sync.intended?.base ?? '',
  intended: state.sync.intended?.hash ?? '',
});

/** What a look at the file changes. */
export const takeLook = (state: StoryState, looked: Looked): StoryOutcome => {
  const { key: story, sync, isOpen } = state;
  if (looked.kind === 'unreadable') return unreadable(state, looked);
  const { hash, author, fields, notes, conflict, intended } = looked;
  const seen: StoryState = {
    ...state,
    author: author ?? state.author,
    sync: {
      ...sync,
      seen: hash,
      fields,
      notes,
      intended: intended === null ? null : { base: hash, hash: intended },
      reported: conflict ? hash : null,
    },
  };
  const read = author ? [{ type: 'story.read', story, hash, title: author.title }] : [];
  const told = [
    ...read,
    ...(conflict && sync.reported !== hash
      ? [{ type: 'story.conflict', story, hash, ...(conflict as unknown as JsonObject), reason: null }]
      : []),
    // In the log before the file is written.
    ...(intended === null ? [] : [{ type: 'story.intended', story, base: hash, hash: intended }]),
  ];
  return isOpen
    ? { state: seen, messages: told }
    : imported({ ...seen, earlierNotes: looked.section ?? '' }, fields, told);
};

const unreadable = (
  state: StoryState,
  { reason, theirs, mine, hash }: Looked & { kind: 'unreadable' },
): StoryOutcome => {
  const { key: story, sync, isOpen, file } = state;
  const reported = hash ?? reason;
  const left: StoryState = { ...state, sync: { ...sync, intended: null, reported } };
  // What stands in the log goes on; the file is its author's to mend.
  if (isOpen)
    return {
      state: left,
      messages:
        sync.reported === reported
          ? []
          : [{ type: 'story.conflict', story, hash, changed: [], theirs, mine, reason }],
    };
  const why = `The story cannot be read from ${file ?? ''}: ${reason}`;
  return {
    state: { ...left, halt: { verdict: 'failed', met: null, step: 'read', reason: why }, lastError: why },
    messages: [{ type: 'story.halted', story, verdict: 'failed', met: null, step: 'read', reason: why }],
  };
};

/** At first the file tells how far the story is. */
const imported = (state: StoryState, fields: JsonObject, told: StoryOutcome['messages']): StoryOutcome => {
  const problems = problemsOfFields(fields);
  if (problems.length > 0) {
    const reason = problems.join('; ');
    return unreadable(state, { kind: 'unreadable', reason, theirs: null, mine: null, hash: state.sync.seen });
  }
  const { id, status, last_error: lastError } = fields;
  // They were looked at just now.
  const iterations = (fields['refinement_iterations'] ?? []) as unknown as readonly Iteration[];
  const reviews = (fields['review_history'] ?? []) as unknown as readonly ReviewRecord[];
  const resets = (fields['resets'] ?? []) as unknown as readonly FlagReset[];
  const refinements = typeof fields['refinement_count'] === 'number' ? fields['refinement_count'] : 0;
  const complete = {
    research: fields['research_complete'] === true,
    plan: fields['plan_complete'] === true,
    implement: fields['implement_complete'] === true,
  };
  const decision = reviews.at(-1)?.decision;
  const isStanding = complete.implement && iterations.at(-1)?.result !== 'in_progress';
  const review = isStanding && (decision === 'approved' || decision === 'rejected') ? decision : 'none';
  const max = state.author.max;
  const next: StoryState = {
    ...state,
    isOpen: true,
    id: typeof id === 'number' ? String(id) : typeof id === 'string' && id !== '' ? id : state.key,
    complete,
    review,
    target: review === 'rejected' ? targetIn(reviews) : null,
    last: review === 'rejected' ? rejectionIn(reviews) : null,
    refinements,
    // One that was refined before goes on with the limit that it had then.
    fixed: refinements > 0 && max !== null ? { max } : null,
    iterations,
    reviews,
    resets,
    lastError: typeof lastError === 'string' ? lastError : null,
    verdict: status === 'done' ? 'verified' : status === 'accepted' ? 'accepted' : null,
  };
  return {
    state: next,
    messages: [...told, { type: 'story.imported', story: state.key, fields }],
  };
};

/** Somebody else may have written it. */
const targetIn = (reviews: readonly ReviewRecord[]): WorkPhase =>
  WORK_PHASES.find((phase) => phase === reviews.at(-1)?.phase) ?? 'implement';

/** Of a review in an earlier run only its summary is known. */
const rejectionIn = (reviews: readonly ReviewRecord[]): StoryState['last'] => ({
  passed: false,
  decision: 'rejected',
  severity: reviews.at(-1)?.severity ?? null,
  issues: [],
  feedback: reviews.at(-1)?.summary ?? '',
});

const FLAGS = ['research_complete', 'plan_complete', 'implement_complete'];
const LISTS = ['refinement_iterations', 'review_history', 'resets'];

/** Everything that is wrong with the fields of a file. */
export const problemsOfFields = (fields: JsonObject): readonly string[] => {
  const count = fields['refinement_count'] ?? null;
  const isCount = count === null || (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0);
  const isFlag = (flag: string): boolean =>
    fields[flag] === null || typeof (fields[flag] ?? true) === 'boolean';
  const isList = (list: string): boolean => {
    const value = fields[list] ?? [];
    return Array.isArray(value) && value.every((each: Json) => typeof each === 'object' && each !== null);
  };
  const { id = null, status = null } = fields;
  return [
    ...(id === null || typeof id === 'string' || typeof id === 'number' ? [] : ['id is no text']),
    ...(status === null || typeof status === 'string' ? [] : ['status is no text']),
    ...(isCount ? [] : ['refinement_count is no count']),
    ...FLAGS.filter((flag) => !isFlag(flag)).map((flag) => `${flag} is neither true nor false`),
    ...LISTS.filter((list) => !isList(list)).map((list) => `${list} is no list of entries`),
  ];
};

/** What the writing of the file changes. */
export const takeWritten = (state: StoryState, written: Written): StoryOutcome => {
  const { key: story, sync } = state;
  const { intended } = sync;
  switch (written.kind) {
    case 'written': {
      const { fields, notes } = written;
      return {
        state: {
          ...state,
          sync: {
            ...sync,
            seen: intended?.hash ?? sync.seen,
            fields,
            notes,
            intended: null,
            tries: 0,
            reported: null,
          },
        },
        messages: [{ type: 'story.written', story, hash: intended?.hash ?? null }],
      };
    }
    case 'changed': {
      const tries = sync.tries + 1;
      const bound = state.settings.limits.fileTries ?? 0;
      const isBusy = tries >= bound;
      return {
        state: { ...state, sync: { ...sync, intended: null, tries: isBusy ? 0 : tries } },
        messages: isBusy ? [{ type: 'story.busy', story, tries }] : [],
      };
    }
    case 'failed':
      return {
        state: { ...state, sync: { ...sync, intended: null, tries: 0 } },
        messages: [{ type: 'story.unwritten', story, reason: written.reason }],
      };
  }
};

export const unreadableBy = (failure: Failure): Looked => ({
  kind: 'unreadable',
  reason: failure.message,
  theirs: null,
  mine: null,
  hash: null,
});
