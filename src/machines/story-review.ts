import { type BlobRef, isBlobRef, largeInWords } from '../events/blob.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';
import type { Envelope } from './agent-work.ts';

/** How grave a finding of a review is, in the words of story files. */
export type StorySeverity = 'blocker' | 'critical' | 'major' | 'minor';

/** The gravest first. */
const SEVERITIES: readonly StorySeverity[] = ['blocker', 'critical', 'major', 'minor'];

/** What these words are elsewhere in the package: the one table between both. */
export const SEVERITY_OF_STORY: Readonly<Record<StorySeverity, Severity>> = {
  blocker: 'blocking',
  critical: 'critical',
  major: 'high',
  minor: 'low',
};

/** A text; a large one is a reference, which is resolved when an agent is given it. */
export type StoryText = string | BlobRef;

export interface ReviewIssue {
  readonly severity: StorySeverity;
  readonly category: string;
  readonly description: StoryText;
  readonly file?: string;
  readonly line?: number;
  readonly suggestedFix?: StoryText;
  /** Who found it, if there were several reviewers. */
  readonly reviewer?: string;
}

/** `failed` is a review that did not come about: it says nothing about the work. */
export type ReviewDecision = 'approved' | 'rejected' | 'failed';
export type ReviewSeverity = 'low' | 'medium' | 'high' | 'critical';

const REVIEW_SEVERITIES: readonly ReviewSeverity[] = ['low', 'medium', 'high', 'critical'];

export interface ReviewResult {
  readonly passed: boolean;
  readonly decision: ReviewDecision;
  readonly severity: ReviewSeverity | null;
  readonly issues: readonly ReviewIssue[];
  readonly feedback: StoryText;
  /** What each of several reviewers wrote. */
  readonly texts?: readonly { readonly reviewer: string; readonly text: StoryText }[];
}

/** How many findings of one reviewer are taken, and how much text: what a person is asked has them all, in one event. */
const ISSUES_MAX = 300;
const ISSUES_LENGTH_MAX = 60_000;

/** Reads what a reviewer answered. Nothing about it is sure: one that says neither yes nor no has not reviewed. */
export const readReview = ({ output, issues: beside }: Pick<Envelope, 'output' | 'issues'>): ReviewResult => {
  const said: JsonObject = isJsonObject(output) && !isBlobRef(output) ? output : {};
  const decision = decisionIn(output, said);
  const listed = beside ?? said['issues'];
  const issues = readReviewIssues(listed);
  const leftOut = (Array.isArray(listed) ? listed.length : 0) - issues.length;
  const { severity, feedback } = said;
  const text = textOf(feedback) ?? (decision === 'failed' ? NO_DECISION : '');
  return {
    passed: decision === 'approved',
    decision,
    severity: REVIEW_SEVERITIES.find((name) => name === wordOf(severity)) ?? severityOf(issues),
    issues: decision === 'failed' ? [] : issues,
    feedback:
      leftOut > 0 && typeof text === 'string'
        ? `${text}\n${leftOut} more issues were left out.`.trim()
        : text,
  };
};

const NO_DECISION = 'The review gave no decision.';

const YES = ['approved', 'approve', 'passed', 'pass'];
const NO = ['rejected', 'reject'];

const decisionIn = (output: Json, { passed, decision, option }: JsonObject): ReviewDecision => {
  if (typeof output === 'boolean') return output ? 'approved' : 'rejected';
  const word = wordOf(decision ?? option);
  if (word !== '' && !YES.includes(word) && !NO.includes(word)) return 'failed';
  // Of two words that contradict each other, no counts.
  if (passed === false || NO.includes(word)) return 'rejected';
  return passed === true || YES.includes(word) ? 'approved' : 'failed';
};

const wordOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value.trim().toLowerCase() : '';

const textOf = (value: Json | undefined): StoryText | undefined =>
  typeof value === 'string' || isBlobRef(value) ? value : undefined;

const readReviewIssues = (given: Json | undefined): readonly ReviewIssue[] =>
  fitting((Array.isArray(given) ? given : []).slice(0, ISSUES_MAX).map(readIssue));

/** As many as fit, the gravest first. */
const fitting = (issues: readonly ReviewIssue[]): readonly ReviewIssue[] => {
  const byGravity = issues.toSorted(
    (one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity),
  );
  let left = ISSUES_LENGTH_MAX;
  const taken = new Set(
    byGravity.filter((issue) => {
      left -= JSON.stringify(issue).length;
      return left >= 0;
    }),
  );
  return issues.filter((issue) => taken.has(issue));
};

const readIssue = (given: Json): ReviewIssue => {
  const said: JsonObject = isJsonObject(given) && !isBlobRef(given) ? given : { description: given };
  const { severity, category, description, file, line, reviewer } = said;
  const fix = textOf(said['suggestedFix'] ?? said['suggested_fix']);
  return {
    severity: storySeverity(severity),
    category: typeof category === 'string' ? category : '',
    description: textOf(description) ?? JSON.stringify(description ?? said),
    ...(typeof file === 'string' && { file }),
    ...(typeof line === 'number' && { line }),
    ...(fix !== undefined && { suggestedFix: fix }),
    ...(typeof reviewer === 'string' && { reviewer }),
  };
};

/** One that is not known is not taken lightly. */
const storySeverity = (given: Json | undefined): StorySeverity => {
  const word = wordOf(given);
  return (
    SEVERITIES.find((name) => name === word) ??
    SEVERITIES.find((name) => SEVERITY_OF_STORY[name] === word) ??
    'major'
  );
};

const severityOf = (issues: readonly ReviewIssue[]): ReviewSeverity | null => {
  const [gravest] = SEVERITIES.filter((name) => issues.some(({ severity }) => severity === name));
  if (gravest === undefined) return null;
  return gravest === 'major' ? 'high' : gravest === 'minor' ? 'low' : 'critical';
};

/** What a rejected review comes down to, in one line. */
export const summaryOfReview = ({ issues }: Pick<ReviewResult, 'issues'>): string => {
  const counts = SEVERITIES.flatMap((name) => {
    const count = issues.filter(({ severity }) => severity === name).length;
    return count === 0 ? [] : [name === 'blocker' ? `${count} blocker(s)` : `${count} ${name}`];
  });
  return `Review failed: ${counts.length === 0 ? 'no issue was named' : counts.join(', ')}`;
};

/** Several reviews as one: approved only if all approve; one that failed to run is no rejection of the others' making. */
export const joinReviews = (reviews: Readonly<Record<string, ReviewResult>>): ReviewResult => {
  const all = Object.entries(reviews);
  const [only] = all;
  if (only && all.length === 1) return only[1];
  const has = (decision: ReviewDecision) => all.some(([, review]) => review.decision === decision);
  const decision = has('rejected') ? 'rejected' : has('failed') || all.length === 0 ? 'failed' : 'approved';
  const graves = all
    .flatMap(([, { severity }]) => severity ?? [])
    .map((each) => REVIEW_SEVERITIES.indexOf(each));
  const texts = all.flatMap(([reviewer, { feedback: text }]) => (text === '' ? [] : [{ reviewer, text }]));
  const issues = fitting(
    all.flatMap(([reviewer, review]) => review.issues.map((issue) => ({ ...issue, reviewer }))),
  );
  return {
    passed: decision === 'approved',
    decision,
    severity: REVIEW_SEVERITIES[Math.max(...graves)] ?? null,
    issues,
    feedback: texts.map(({ reviewer, text }) => `${reviewer}: ${shown(text)}`).join('\n'),
    texts,
  };
};

const shown = (text: StoryText): string => (isBlobRef(text) ? largeInWords(text) : text);
