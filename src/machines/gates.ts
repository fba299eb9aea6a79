import { type BlobRef, isBlobRef } from '../events/blob.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { type Issue, type IssueRegistry, isBlocking, readIssues, standing } from './issues.ts';
import type { Step } from './plan.ts';
import type { StepAnswer, StepRecord } from './run-state.ts';

/** What the reviewers of a gate said, counted. */
export interface Judgement {
  readonly passed: boolean;
  /** All that counts: without what a person rejected. */
  readonly issues: readonly Issue[];
  readonly approvals: readonly string[];
  readonly rejections: readonly string[];
  /** Reviewers that were declared and have not answered. */
  readonly absent: readonly string[];
  /** What the corrected step is told: every issue, by whom. */
  readonly feedback: readonly Json[];
}

/** Judges the answers of a gate's reviewers by its rule. */
export const judge = (
  { gate }: Pick<Step, 'gate'>,
  { answers }: Pick<StepRecord, 'answers'>,
  registry: IssueRegistry,
): Judgement => {
  const reviewers = gate?.reviewers ?? [];
  const reviews = reviewers.flatMap((role) => {
    const answer = answers[role];
    return answer ? [{ role, ...reviewOf(answer, registry) }] : [];
  });
  const approvals = reviews.filter(({ approves }) => approves).map(({ role }) => role);
  const rejections = reviews.filter(({ approves }) => !approves).map(({ role }) => role);
  const absent = reviewers.filter((role) => !answers[role]);
  const issues = reviews.flatMap((review) => review.issues);
  const rule = gate?.rule ?? 'all';
  const passed =
    rule === 'any-blocker'
      ? absent.length === 0 && !reviews.some(({ blocks }) => blocks)
      : approvals.length >= (rule === 'all' ? reviewers.length : rule.quorum);
  const feedback = reviews.flatMap(({ role, issues: found, text }) => [
    ...found.map(({ severity, category, description, large = description, details }) => ({
      ...details,
      severity,
      category,
      description: large,
      reviewer: role,
    })),
    ...(text === null ? [] : [{ reviewer: role, text }]),
  ]);
  return { passed, issues, approvals, rejections, absent, feedback };
};

interface Review {
  readonly approves: boolean;
  readonly blocks: boolean;
  readonly issues: readonly Issue[];
  /** A large one is a reference, which is resolved when an agent is given it. */
  readonly text: string | BlobRef | null;
}

/**
 * What a reviewer says: `{ passed, issues, feedback }`, or `{ option: 'approve' }` of a person. Without `passed`, having no
 * issue is approval: but only of a reviewer that gave a list of issues at all.
 */
const reviewOf = ({ output: given, issues: beside }: StepAnswer, registry: IssueRegistry): Review => {
  const output = freely(given);
  const review: JsonObject = isJsonObject(output) ? output : {};
  const named = beside ?? review['issues'];
  const found = readIssues(named);
  const issues = standing(registry, found);
  const said = saidOf(output, review);
  // Whoever rejected for reasons that a person has thrown out all of, has no reason left.
  const isOverruled = said === false && found.length > 0 && issues.length === 0;
  const approves = isOverruled || (said ?? (Array.isArray(named) && issues.length === 0));
  const note = isJsonObject(given) ? given['note'] : undefined;
  const text = review['feedback'] ?? review['note'] ?? note ?? (output === given ? undefined : output);
  return {
    approves,
    // A rejection without a word of why blocks as well: there is nothing that says it is minor.
    blocks: issues.some(isBlocking) || (!approves && issues.length === 0),
    issues,
    text: isBlobRef(text) || (typeof text === 'string' && text !== '') ? text : null,
  };
};

/** What a person says without choosing an option is the review itself. */
export const freely = (output: Json): Json =>
  isJsonObject(output) && output['option'] === null && 'value' in output ? (output['value'] ?? null) : output;

const saidOf = (output: Json, { passed, decision, option }: JsonObject): boolean | undefined => {
  if (typeof output === 'boolean') return output;
  if (typeof passed === 'boolean') return passed;
  const word = decision ?? option;
  if (word === 'approved' || word === 'approve') return true;
  return typeof word === 'string' ? false : undefined;
};
