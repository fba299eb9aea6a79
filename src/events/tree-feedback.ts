import { type BlobRef, isBlobRef } from './blob.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** What a node may tell an ancestor: each kind has a way to its end of its own. */
export const FEEDBACK_KINDS = [
  'FIX_REQUEST',
  'CONTEXT_REQUEST',
  'DEPENDENCY_MISSING',
  'ARCHITECTURE_ISSUE',
] as const;
export type FeedbackKind = (typeof FEEDBACK_KINDS)[number];

/** The most urgent first. */
export const PRIORITIES = ['critical', 'high', 'medium', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A text that may be so large that the log keeps it elsewhere. */
export type FeedbackText = string | BlobRef;

/** Feedback as a node writes it: the names are those of the files in which such feedback is kept. */
export interface FeedbackItem {
  readonly type: 'FEEDBACK';
  readonly from_node: string;
  readonly to_node: string;
  readonly feedback_type: FeedbackKind;
  readonly message: FeedbackText;
  readonly priority: Priority;
  readonly suggested_fix?: FeedbackText;
  readonly suggested_action?: FeedbackText;
  /** Paths into the output of the target: a list, or one text with commas between them. */
  readonly requested_info?: string | readonly string[];
  /** `path`, `path:line` or `path:from-to`. */
  readonly artifacts?: readonly string[];
}

/** What each kind must say besides what all say. */
const OWN_MEMBER = {
  FIX_REQUEST: 'suggested_fix',
  CONTEXT_REQUEST: 'requested_info',
  DEPENDENCY_MISSING: 'suggested_action',
  ARCHITECTURE_ISSUE: 'suggested_fix',
} as const satisfies Record<FeedbackKind, string>;

const REQUIRED = ['from_node', 'to_node', 'feedback_type', 'message', 'priority'] as const;
const TEXTS = ['message', 'suggested_fix', 'suggested_action'] as const;
const NAMES = ['from_node', 'to_node', 'feedback_type', 'priority'] as const;

/** What was read, or everything that is wrong with it. */
export type ReadFeedback =
  | { readonly item: FeedbackItem; readonly faults?: undefined }
  | { readonly faults: readonly string[] };

/** Reads one feedback. Whoever wrote it is an agent or a file, so that nothing about it is sure. */
export const readFeedback = (given: Json): ReadFeedback => {
  if (!isJsonObject(given) || isBlobRef(given)) return { faults: ['it is not an object'] };
  const kind = FEEDBACK_KINDS.find((name) => name === given['feedback_type']);
  const own = kind && OWN_MEMBER[kind];
  const required = own ? [...REQUIRED, own] : REQUIRED;
  const missing = required.filter((name) => isMissing(given[name]));
  const faults = [
    ...missing.map((name) => `"${name}" is missing${name === own ? `, which a ${kind} must have` : ''}`),
    ...[...NAMES, ...TEXTS].flatMap((name) => problemOfText(given, name)),
    ...problemOfChoice(given, 'feedback_type', FEEDBACK_KINDS),
    ...problemOfChoice(given, 'priority', PRIORITIES),
    ...problemOfType(given['type']),
    ...problemsOfRequest(given['requested_info']),
    ...problemsOfArtifacts(given['artifacts']),
  ];
  return faults.length > 0 ? { faults } : { item: itemOf(given) };
};

const isMissing = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0);

const problemOfText = (given: JsonObject, name: string): readonly string[] => {
  const value = given[name];
  const isLarge = isBlobRef(value) && TEXTS.some((text) => text === name);
  return isMissing(value) || typeof value === 'string' || isLarge ? [] : [`"${name}" is not a text`];
};

const problemOfChoice = (given: JsonObject, name: string, known: readonly string[]): readonly string[] => {
  const value = given[name];
  if (isMissing(value) || typeof value !== 'string' || known.includes(value)) return [];
  return [`"${name}" is "${value.slice(0, 80)}", which is none of ${known.join(', ')}`];
};

const problemOfType = (type: Json | undefined): readonly string[] =>
  type === undefined || type === null || type === 'FEEDBACK' ? [] : ['"type" is not "FEEDBACK"'];

const problemsOfRequest = (value: Json | undefined): readonly string[] => {
  if (isMissing(value) || typeof value === 'string') return [];
  return Array.isArray(value) && value.every((path) => typeof path === 'string' && path.trim() !== '')
    ? []
    : ['"requested_info" is neither a text nor a list of paths'];
};

/** One pattern that no two parts of can take the same character: it is linear in the text. */
const ARTIFACT = /^([^:\p{Cc}]+)(?::(\d{1,9})(?:-(\d{1,9}))?)?$/u;

const problemsOfArtifacts = (value: Json | undefined): readonly string[] => {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return ['"artifacts" is not a list'];
  return value.flatMap((artifact: Json, index) =>
    typeof artifact === 'string' && readArtifact(artifact)
      ? []
      : [`"artifacts[${index}]" is not a path with lines, as in "src/model.ts:42-45"`],
  );
};

/** A part of a file. Without lines, all of it. */
export interface ArtifactPlace {
  readonly path: string;
  readonly from: number | null;
  readonly to: number | null;
}

export const readArtifact = (artifact: string): ArtifactPlace | undefined => {
  const [, path, first, last] = ARTIFACT.exec(artifact) ?? [];
  if (path === undefined || path.trim() === '') return undefined;
  if (first === undefined) return { path, from: null, to: null };
  const place = { path, from: Number(first), to: Number(last ?? first) };
  return place.from < 1 || place.to < place.from ? undefined : place;
};

/** The paths that a request for context names. */
export const requestedPaths = (value: FeedbackItem['requested_info']): readonly string[] =>
  (typeof value === 'string' ? value.split(',') : (value ?? []))
    .map((path) => path.trim())
    .filter((path) => path !== '');

/** Only what is known of it: whatever else an agent has put there decides nothing. */
const itemOf = (given: JsonObject): FeedbackItem => {
  const members = [...REQUIRED, 'suggested_fix', 'suggested_action', 'requested_info', 'artifacts'];
  const known = members.flatMap((name) => {
    const value = given[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  return { type: 'FEEDBACK', ...Object.fromEntries(known) } as FeedbackItem; // Every member was checked.
};

/** The next higher priority: what failed once is more urgent. */
export const raisedPriority = (priority: Priority): Priority =>
  PRIORITIES[Math.max(0, PRIORITIES.indexOf(priority) - 1)] ?? priority;
