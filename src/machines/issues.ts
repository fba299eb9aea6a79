import { type BlobRef, hashText, isBlobRef } from '../events/blob.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { isGrave, SEVERITIES, type Severity } from '../events/severity.ts';

/** One finding. */
export interface Issue {
  readonly severity: Severity;
  readonly category: string;
  readonly description: string;
  /** The description itself if it is so large that the log keeps it elsewhere; then the one above is just a name of it. */
  readonly large?: BlobRef;
  /** Whatever else its finder says of it. */
  readonly details: JsonObject;
  /** Equal for the same finding in other words of place and time. */
  readonly fingerprint: string;
}

/** A finding as a run remembers it. */
export interface IssueRecord {
  readonly fingerprint: string;
  readonly severity: Severity;
  readonly category: string;
  readonly description: string;
  /** By which gate it was found. */
  readonly gate: string;
  /** Pass of the gate in which it was found for the first and for the last time. */
  readonly firstPass: number;
  readonly lastPass: number;
  /** In how many passes in a row, up to the last, it was found. */
  readonly inRow: number;
  readonly status: 'open' | 'resolved' | 'rejected' | 'accepted';
  readonly note: string | null;
}

/** By gate and fingerprint: two gates may find the same fault, and each counts its own passes. */
export type IssueRegistry = Readonly<Record<string, IssueRecord>>;

const keyOf = (gate: string, fingerprint: string): string => `${gate} ${fingerprint}`;

/** Reads the issues of an answer: whoever made it wrote them, so that nothing about them is sure. */
export const readIssues = (issues: Json | undefined): readonly Issue[] =>
  Array.isArray(issues) ? issues.map(readIssue) : [];

const readIssue = (given: Json): Issue => {
  const { severity, category, description, ...details }: JsonObject =
    isJsonObject(given) && !isBlobRef(given) ? given : { description: given };
  const known = SEVERITIES.find((name) => name === severity) ?? 'high';
  // One that is not described as such goes by all that it says.
  const words = description ?? (category === undefined ? details : '');
  const issue = { category: textOf(category ?? ''), description: textOf(words) };
  return {
    severity: known,
    ...issue,
    ...(isBlobRef(words) && { large: words }),
    details,
    fingerprint: fingerprint(issue, details['file']),
  };
};

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * What stays the same when the same fault is found again: category, file and the words of its description, without line
 * numbers, times and addresses in memory, and without regard to case, spacing and punctuation. Other numbers stay: REQ-45
 * is not REQ-46.
 */
export const fingerprint = (
  { category, description }: Pick<Issue, 'category' | 'description'>,
  file?: Json,
): string => {
  const place = typeof file === 'string' ? file : '';
  return hashText(`${normalised(category)}\n${normalised(place)}\n${normalised(description)}`).slice(0, 16);
};

/** What differs from one finding of a fault to the next. Each is linear in the text: no two parts of one can take the same character. */
const PASSING: readonly RegExp[] = [
  /\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?/g,
  /\b0x[0-9a-f]+\b/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  /\b[0-9a-f]{12,}\b/g,
  /\b\d+(?:[.,]\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?)\b/g,
  /\b(?:lines?|rows?|col|columns?) \d+(?:[-–]\d+)?/g,
  /:\d+(?::\d+)?\b/g,
];

const normalised = (text: string): string =>
  PASSING.reduce((rest, passing) => rest.replace(passing, ' '), text.toLowerCase())
    // Marks are vowels in some scripts.
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();

const byGravity = (one: Issue, other: Issue): number =>
  SEVERITIES.indexOf(other.severity) - SEVERITIES.indexOf(one.severity);

/** What a pass of a gate found out about the run's issues. */
export const noteIssues = (
  registry: IssueRegistry,
  found: readonly Issue[],
  { gate, pass }: { readonly gate: string; readonly pass: number },
): IssueRegistry => {
  const next: Record<string, IssueRecord> = {};
  // Of several that are the same, the gravest counts, whatever their order.
  const now = new Map([...found].sort(byGravity).map((issue) => [keyOf(gate, issue.fingerprint), issue]));
  for (const [key, record] of Object.entries(registry)) {
    const isGone = record.gate === gate && record.status === 'open' && !now.has(key);
    next[key] = isGone ? { ...record, status: 'resolved', inRow: 0 } : record;
  }
  for (const [key, { fingerprint: print, severity, category, description }] of now) {
    const known = next[key];
    const rejected = rejectionOf(registry, print);
    next[key] = {
      fingerprint: print,
      severity,
      category,
      description,
      gate,
      firstPass: known?.firstPass ?? pass,
      lastPass: pass,
      inRow: known && known.lastPass === pass - 1 ? known.inRow + 1 : 1,
      // What a person rejected stays rejected, however often it is found, and by whom.
      status: rejected ? 'rejected' : 'open',
      note: rejected?.note ?? known?.note ?? null,
    };
  }
  return next;
};

/** What a gate knows of a fault. */
export const knownIssue = (registry: IssueRegistry, gate: string, print: string): IssueRecord | undefined =>
  registry[keyOf(gate, print)];

const rejectionOf = (registry: IssueRegistry, print: string): IssueRecord | undefined =>
  Object.values(registry).find((known) => known.fingerprint === print && known.status === 'rejected');

export const isKnown = (registry: IssueRegistry, print: string): boolean =>
  Object.values(registry).some((known) => known.fingerprint === print);

/** A person says that a finding is none: it does not count again, whichever gate finds it. */
export const rejectIssue = (registry: IssueRegistry, print: string, note: string | null): IssueRegistry =>
  Object.fromEntries(
    Object.entries(registry).map(([key, known]) => [
      key,
      known.fingerprint === print ? { ...known, status: 'rejected' as const, note } : known,
    ]),
  );

/** Those that count: a finding that a person rejected is none. */
export const standing = (registry: IssueRegistry, issues: readonly Issue[]): readonly Issue[] =>
  issues.filter(({ fingerprint: print }) => rejectionOf(registry, print) === undefined);

export const isBlocking = ({ severity }: Pick<Issue, 'severity'>): boolean => isGrave(severity);

/** What became of an artifact that was made again: compared with all that its step made before, the last one last. */
export const compareArtifact = (
  earlier: readonly string[],
  hash: string,
): 'new' | 'unchanged' | 'oscillating' => {
  if (earlier.at(-1) === hash) return 'unchanged';
  return earlier.includes(hash) ? 'oscillating' : 'new';
};
