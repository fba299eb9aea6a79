import { isBlobRef, largeInWords } from '../events/blob.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { RunMessage } from './run-messages.ts';
import { summaryOf } from './tight-results.ts';
import { checked, nextPass, type TightOutcome } from './tight-rules.ts';
import type { Check, TightState } from './tight-state.ts';

/** What a check of an earlier pass said. */
interface EarlierCheck {
  readonly passed: boolean;
  readonly issues: readonly Json[];
}

/** A pass that was made before the run began, by whatever program: as the log keeps it. */
export interface EarlierPass {
  readonly number: number;
  readonly implementation: Json;
  readonly review: EarlierCheck;
  /** Null if its review has failed. */
  readonly test: EarlierCheck | null;
}

/** What was read, or everything that is wrong with it. */
export type ReadEarlier =
  | { readonly pass: EarlierPass; readonly faults?: undefined }
  | { readonly faults: readonly string[]; readonly pass?: undefined };

const LISTS = { review: 'review_issues', test: 'test_failures' } as const;
const RESULTS = { review: 'review_result', test: 'test_result' } as const;
const NOT_RUN: readonly string[] = ['NOT_RUN', 'SKIPPED', ''];

/** Reads one iteration of a progress file. `before` is the pass that comes before it. */
export const readEarlier = (given: Json | undefined, before: EarlierPass | undefined): ReadEarlier => {
  if (!isJsonObject(given) || isBlobRef(given)) return { faults: ['it is not an object'] };
  const { implementation = '', number = (before?.number ?? 0) + 1, status = null } = given;
  const [review, test] = [readResult(given, 'review'), readResult(given, 'test')];
  const faults = [
    ...problemsOfNumber(number, before),
    ...(typeof implementation === 'string' ? [] : ['"implementation" is not a text']),
    ...(status === null || typeof status === 'string' ? [] : ['"status" is not a text']),
    ...review.faults,
    ...test.faults,
  ];
  if (faults.length > 0) return { faults };
  const order = problemOfOrder(review.check, test.check, status);
  if (order !== undefined || review.check === null) return { faults: [order ?? ''] };
  return { pass: { number: Number(number), implementation, review: review.check, test: test.check } };
};

const problemsOfNumber = (number: Json, before: EarlierPass | undefined): readonly string[] => {
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1)
    return ['"number" is not an integer from 1'];
  if (before && isGood(before)) return [`pass ${before.number} before it was good: the loop had ended`];
  return before && number <= before.number
    ? [`"number" is ${number}, but the pass before it is ${before.number}`]
    : [];
};

interface ReadResult {
  readonly check: EarlierCheck | null;
  readonly faults: readonly string[];
}

const readResult = (given: JsonObject, check: Check): ReadResult => {
  const said = given[RESULTS[check]] ?? '';
  const listed = given[LISTS[check]] ?? [];
  const word = typeof said === 'string' ? said.trim().toUpperCase() : undefined;
  const isList = Array.isArray(listed) && listed.every((each: Json) => isFinding(each));
  const isKnown = word !== undefined && (word === 'PASS' || word === 'FAIL' || NOT_RUN.includes(word));
  const isFull = Array.isArray(listed) && listed.length > 0;
  const faults = [
    ...(isKnown ? [] : [`"${RESULTS[check]}" is none of PASS, FAIL, NOT_RUN`]),
    ...(isList ? [] : [`"${LISTS[check]}" is not a list of texts or issues`]),
    ...(isKnown && word !== 'FAIL' && isFull
      ? [`"${RESULTS[check]}" is not FAIL, but "${LISTS[check]}" says what failed`]
      : []),
  ];
  if (faults.length > 0 || !Array.isArray(listed)) return { check: null, faults };
  return {
    check: word === 'PASS' || word === 'FAIL' ? { passed: word === 'PASS', issues: listed } : null,
    faults,
  };
};

const isFinding = (value: Json): boolean =>
  typeof value === 'string' ? value.trim() !== '' : isJsonObject(value) && !isBlobRef(value);

const problemOfOrder = (
  review: EarlierCheck | null,
  test: EarlierCheck | null,
  status: Json,
): string | undefined => {
  if (review === null && test !== null) return 'its tests ran without a review';
  if (review?.passed === false && test !== null) return 'its tests ran although its review had failed';
  if (review === null || (review.passed && test === null))
    return 'it was not finished: the loop makes this pass anew';
  return status === 'IMPLEMENTATION_VERIFIED' && test?.passed !== true
    ? '"status" is IMPLEMENTATION_VERIFIED, but its checks did not pass'
    : undefined;
};

/** Whether a loop ends with it. */
export const isGood = ({ test }: Pick<EarlierPass, 'test'>): boolean => test?.passed === true;

/** A new loop that goes on after earlier passes: they count as its own, and are told as such. */
export const takeUp = (fresh: TightState): TightOutcome => {
  const earlier = fresh.earlier ?? [];
  const messages: RunMessage[] = [];
  let state = fresh;
  for (const [index, pass] of earlier.entries()) {
    const isLast = index === earlier.length - 1;
    const made = passOf(state, pass);
    messages.push(...made.messages.flatMap((message) => toldOf(message, isLast)));
    const isOver = isLast && (made.state.halt !== null || isGood(pass));
    // What stopped it then, somebody has let go on.
    state = isOver ? made.state : nextPass({ ...made.state, halt: null });
  }
  return { state, messages };
};

const passOf = (state: TightState, { implementation, review, test }: EarlierPass): TightOutcome => {
  const said = isBlobRef(implementation)
    ? largeInWords(implementation)
    : summaryOf({ output: implementation });
  const current = { ...state.current, implementation: said };
  const reviewed = checked({ ...state, current }, 'review', { output: outputOf(review) });
  return test ? checked(reviewed.state, 'test', { output: outputOf(test) }) : reviewed;
};

const outputOf = ({ passed, issues }: EarlierCheck): Json => ({ passed, issues });

const toldOf = (message: RunMessage, isLast: boolean): readonly RunMessage[] => {
  if (message.type !== 'loop.pass') return isLast ? [message] : [];
  return [{ ...message, ...(!isLast && { status: 'continuing' }), imported: true }];
};
