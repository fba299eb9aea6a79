import { isBlobRef, largeInWords } from '../events/blob.ts';
import type { Json } from '../events/json.ts';
import { type Issue, standing } from './issues.ts';
import { type CheckResult, type Pass, passesMax, type TightState } from './tight-state.ts';

const SCRATCHPAD = 'feedback-scratchpad.md';

/** What the developer is given. */
export interface DeveloperInput {
  readonly task: Json;
  readonly pass: number;
  readonly passesMax: number | null;
  /** How often it is called in this pass, itself included. */
  readonly repeat: number;
  /** Where the history of all passes can be read; null if there is no folder. */
  readonly scratchpad: string | null;
  /** Word for word what the last pass found. */
  readonly reviewIssues: readonly Json[];
  readonly testFailures: readonly Json[];
  /** What the checks wrote, if they wrote a text; its last part if it was long. */
  readonly reviewText: string | null;
  readonly testText: string | null;
  /** The same in words, for agents that take a text. */
  readonly prompt: string;
}

/** A finding as its finder wrote it. A large one is a reference, which is resolved when an agent is given it. */
const asWritten = ({ severity, category, description, large, details }: Issue): Json => ({
  ...details,
  severity,
  category,
  description: large ?? description,
});

export const developerInput = (state: TightState): DeveloperInput => {
  const last = lastPass(state);
  const scratchpad = scratchpadOf(state);
  return {
    task: state.task,
    pass: state.current.number,
    passesMax: passesMax(state),
    repeat: state.repeat,
    scratchpad,
    reviewIssues: (last?.review?.issues ?? []).map(asWritten),
    testFailures: (last?.test?.issues ?? []).map(asWritten),
    reviewText: last?.review?.text ?? null,
    testText: last?.test?.text ?? null,
    prompt: promptOf(state.task, last, scratchpad),
  };
};

/** The last pass without what a person has thrown out of it since: that is not to be mended. */
const lastPass = ({ passes, issues }: TightState): Pass | undefined => {
  const last = passes.at(-1);
  const left = (result: CheckResult | null): CheckResult | null =>
    result && { ...result, issues: standing(issues, result.issues) };
  return last && { ...last, review: left(last.review), test: left(last.test) };
};

const scratchpadOf = ({ folder }: TightState): string | null =>
  folder === null ? null : `${folder}/${SCRATCHPAD}`;

const promptOf = (task: Json, last: Pass | undefined, scratchpad: string | null): string => {
  const text = isBlobRef(task)
    ? `The task is what "task" of your input says ${largeInWords(task)}.`
    : typeof task === 'string'
      ? task
      : JSON.stringify(task, undefined, 2);
  if (!last) return text;
  return [
    text,
    '',
    `This is not the first try. Pass ${last.number} was not good enough; what it left open comes first.`,
    ...(scratchpad === null ? [] : [`Before anything else, read ${scratchpad}: all passes so far.`]),
    ...section('The review found', 'reviewIssues', last.review?.issues ?? []),
    ...section('These tests failed', 'testFailures', last.test?.issues ?? []),
    ...quote('The reviewer wrote', last.review?.text ?? null),
    ...quote('The tests wrote', last.test?.text ?? null),
    '',
    'Mend exactly these before you do anything else.',
  ].join('\n');
};

const section = (title: string, member: string, issues: readonly Issue[]): readonly string[] =>
  issues.length === 0 ? [] : ['', `${title}:`, ...issues.map((issue) => inWords(issue, member))];

/** Quoted line by line: what an agent wrote must not look like our own words. */
const quote = (title: string, text: string | null): readonly string[] =>
  text === null || text === '' ? [] : ['', `${title}:`, ...text.split('\n').map((line) => `> ${line}`)];

const inWords = ({ category, description, large, details }: Issue, member: string): string => {
  const { file, line } = details;
  const words = large ? `what "${member}" of your input says ${largeInWords(large)}` : description;
  const place = typeof file === 'string' ? `${file}${typeof line === 'number' ? `:${line}` : ''}: ` : '';
  return `- ${place}${words}${category === '' ? '' : ` (${category})`}`;
};

/** What reviewer and tester are given. */
export const checkerInput = ({ task, current, folder }: TightState, implementation: Json): Json => ({
  task,
  pass: current.number,
  implementation,
  scratchpad: folder === null ? null : `${folder}/${SCRATCHPAD}`,
});
