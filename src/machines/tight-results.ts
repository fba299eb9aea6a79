import { isBlobRef } from '../events/blob.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Envelope } from './agent-work.ts';
import { readIssues } from './issues.ts';
import type { Check, CheckResult } from './tight-state.ts';

/** What plain-text agents may say, and what it means. A word that says no counts before one that says yes. */
const WORDS: Readonly<Record<Check, { readonly yes: RegExp; readonly no: RegExp }>> = {
  review: { yes: /\bSPEC_COMPLIANT\b/, no: /\bNOT_COMPLIANT\b/ },
  test: { yes: /\bALL_TESTS_PASSING\b/, no: /\bTESTS_FAILING\b/ },
};

/** How much of a text is passed on. */
const TEXT_LENGTH_MAX = 4_000;

/** How many findings of a pass are taken: what a person is asked has them all, and must fit into one event. */
const ISSUES_MAX = 300;

/** How many lines of a text are taken for findings. */
const LINES_MAX = 50;

/**
 * What a reviewer or a test runner said: `{ passed, issues }` (tests may say `failures`), a word in a text, or an exit code. What
 * does not say that it passed has not.
 */
export const readCheck = (check: Check, answer: Said & Pick<Envelope, 'issues'>): CheckResult => {
  const { output } = answer;
  const object: JsonObject = isJsonObject(output) ? output : {};
  const listed = listIn(answer.issues, object['issues'], object['failures']);
  const text = textIn(answer);
  const passed = saidIn(check, { output, object, text, listed });
  const all = readIssues(listed);
  const found = all.slice(0, ISSUES_MAX);
  const issues =
    passed || found.length > 0
      ? found
      : readIssues(text === undefined ? [`The ${check} gave no reason.`] : linesOf(check, text));
  const said = text === undefined ? null : text.trim().slice(-TEXT_LENGTH_MAX).toWellFormed();
  const isCut = all.length > ISSUES_MAX;
  return {
    passed,
    issues,
    text: isCut ? `${all.length - ISSUES_MAX} more were left out.\n${said ?? ''}` : said,
  };
};

/** The first list that has something in it, else the first. */
const listIn = (...given: readonly (Json | undefined)[]): Json | undefined =>
  given.find((list) => Array.isArray(list) && list.length > 0) ?? given.find(Array.isArray);

/** What an agent said, and an excerpt of it if it is large. */
type Said = Pick<Envelope, 'output' | 'excerpt'>;

interface Read {
  readonly output: Json;
  readonly object: JsonObject;
  readonly text: string | undefined;
  readonly listed: Json | undefined;
}

const saidIn = (check: Check, { output, object, text, listed }: Read): boolean => {
  if (typeof output === 'boolean') return output;
  const { passed, exitCode } = object;
  // One that says so in words of its own does not say that it passed.
  if (passed !== undefined) return passed === true;
  if (text !== undefined && WORDS[check].no.test(text)) return false;
  // A program that failed has failed, whatever is in its log.
  if (typeof exitCode === 'number') return exitCode === 0;
  if (text !== undefined && WORDS[check].yes.test(text)) return true;
  return Array.isArray(listed) && listed.length === 0;
};

const textIn = ({ output, excerpt }: Said): string | undefined => {
  const said = isJsonObject(output) && !isBlobRef(output) ? output['text'] : output;
  if (isBlobRef(said)) return excerpt;
  return typeof said === 'string' ? said : undefined;
};

/** How test runners mark a test that failed: TAP, node, vitest, jest, mocha, pytest, go, cargo. */
const FAILED_TEST = /^(?:not ok\b|✖|✗|×|✕|FAIL(?:ED)?\b|--- FAIL\b|test .* \.\.\. FAILED)/;

/**
 * The findings in a text. Of a test runner, the lines that name a test which failed; of a reviewer, its list items; if there
 * are none, all its lines, without the word that says no.
 */
const linesOf = (check: Check, text: string): readonly string[] => {
  const lines = text
    .split('\n')
    .map((line) => line.replace(WORDS[check].no, '').trim())
    .filter((line) => line !== '');
  const isItem = check === 'test' ? FAILED_TEST : /^(?:[-*•]|\d{1,3}[.)]) /;
  const items = lines.filter((line) => isItem.test(line));
  const found = (items.length > 0 ? items : lines).slice(0, LINES_MAX);
  return found.length > 0 ? found : [`The ${check} failed without a word.`];
};

const SUMMARY_LENGTH_MAX = 500;

/** What a developer says that it did, in short. */
export const summaryOf = ({ output, excerpt }: Said): string => {
  const object: JsonObject = isJsonObject(output) ? output : {};
  const named = object['summary'] ?? object['implementation'] ?? object['text'] ?? output;
  const said = isBlobRef(named) ? (excerpt ?? '') : named;
  const text = (typeof said === 'string' ? said : JSON.stringify(said)).trim();
  // A cut may go through a surrogate pair, and half of one cannot be written.
  return text.length > SUMMARY_LENGTH_MAX ? `${text.slice(0, SUMMARY_LENGTH_MAX).toWellFormed()}…` : text;
};

const DONE = /\b(?:TASK_COMPLETE|DONE)\b/;

/** Whether an agent says that it is done with its own task. */
export const saysDone = (said: Said): boolean => {
  const { output } = said;
  const object: JsonObject = isJsonObject(output) ? output : {};
  if (typeof object['done'] === 'boolean') return object['done'];
  const text = textIn(said);
  return text !== undefined && DONE.test(text);
};
