import { isBlobRef, largeInWords } from '../events/blob.ts';
import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { VERDICTS } from '../events/turn.ts';
import { TYPE } from '../events/vocabulary.ts';
import { projection } from './projection.ts';

interface PassView {
  number: number;
  implementation: string;
  review: 'PASS' | 'FAIL' | null;
  reviewIssues: string[];
  test: 'PASS' | 'FAIL' | null;
  testFailures: string[];
  status: string;
}

/** How far a tight loop is. */
export interface TightProgress {
  /** Null until the loop has started. */
  folder: string | null;
  task: string;
  enabled: boolean;
  status: string;
  passesMax: number | null;
  reviewFailuresInRow: number;
  testFailuresInRow: number;
  passes: PassView[];
}

const initial: TightProgress = {
  folder: null,
  task: '',
  enabled: true,
  status: 'in_progress',
  passesMax: null,
  reviewFailuresInRow: 0,
  testFailuresInRow: 0,
  passes: [],
};

const VERIFIED = 'IMPLEMENTATION_VERIFIED';

/** Each tight loop pass by pass: what its scratchpad and its progress file are made of. */
export const tightProgress = projection({
  name: 'tight-progress',
  version: 2,
  partition: 'run',
  initial,
  on: {
    'loop.started': (state, event) => {
      if (!isOwn(event)) return;
      const { folder, task, enabled, passesMax } = event.data;
      state.folder = typeof folder === 'string' ? folder : null;
      state.task = isBlobRef(task)
        ? largeInWords(task)
        : typeof task === 'string'
          ? task
          : JSON.stringify(task);
      state.enabled = enabled !== false;
      state.passesMax = numberOr(passesMax, null);
    },
    'loop.pass': (state, event) => {
      if (isOwn(event)) notePass(state, event.data);
    },
    'loop.status': (state, event) => {
      if (isOwn(event)) setStatus(state, event.data['status']);
    },
    'loop.decided': (state, event) => {
      if (!isOwn(event)) return;
      const { option } = event.data;
      if (option !== 'continue' && option !== 'retry') return;
      setStatus(state, 'in_progress');
      setCounts(state, event.data);
    },
    [TYPE.runEnded]: (state, event) => {
      if (isOwn(event) && hasStarted(state)) setStatus(state, event.data['verdict']);
    },
  },
});

/** Rows that a loop which is the root of its run wrote about itself. */
const isOwn = ({ kind, actor, run }: Pick<RecordedEvent, 'kind' | 'actor' | 'run'>): boolean =>
  kind === 'fact' && actor === run;

/** Runs of all kinds end: of others than tight loops there is nothing to tell. */
const hasStarted = ({ folder, task, passesMax }: TightProgress): boolean =>
  folder !== null || task !== '' || passesMax !== null;

function setStatus(state: TightProgress, status: Json | undefined): void {
  if (typeof status !== 'string') return;
  // How it ended is the last word.
  if (state.status === VERIFIED || VERDICTS.some((verdict) => verdict === state.status)) return;
  state.status = status === 'verified' ? VERIFIED : status;
}

function notePass(state: TightProgress, data: JsonObject): void {
  const { number, implementation, review, test, status } = data;
  state.passes.push({
    number: numberOr(number, 0),
    implementation: typeof implementation === 'string' ? implementation : '',
    ...asResult('review', 'reviewIssues', review),
    ...asResult('test', 'testFailures', test),
    status: status === 'verified' ? VERIFIED : typeof status === 'string' ? status : '',
  } as PassView); // Both results together make it one.
  setCounts(state, data);
}

function setCounts(state: TightProgress, { passesMax, failedInRow }: JsonObject): void {
  state.passesMax = numberOr(passesMax, null);
  const inRow = isJsonObject(failedInRow) ? failedInRow : {};
  state.reviewFailuresInRow = numberOr(inRow['review'], 0);
  state.testFailuresInRow = numberOr(inRow['test'], 0);
}

const asResult = (
  name: string,
  list: string,
  result: Json | undefined,
): Readonly<Record<string, unknown>> => {
  if (!isJsonObject(result)) return { [name]: null, [list]: [] };
  const { passed, issues } = result;
  return {
    [name]: passed === true ? 'PASS' : 'FAIL',
    [list]: (Array.isArray(issues) ? issues : []).map((issue: Json) => inWords(issue)),
  };
};

const inWords = (issue: Json): string => {
  const { description, large, category, details }: JsonObject = isJsonObject(issue) ? issue : {};
  const { file, line }: JsonObject = isJsonObject(details) ? details : {};
  const place = typeof file === 'string' ? `${file}${typeof line === 'number' ? `:${line}` : ''} - ` : '';
  const kind = typeof category === 'string' && category !== '' ? ` (${category})` : '';
  const words = isBlobRef(large) ? largeInWords(large) : typeof description === 'string' ? description : '';
  return `${place}${words}${kind}`;
};

const numberOr = <Else>(value: Json | undefined, otherwise: Else): number | Else =>
  typeof value === 'number' ? value : otherwise;

/** The files of a run, by name. */
export const tightFiles = (state: TightProgress): Readonly<Record<string, string>> => ({
  'feedback-scratchpad.md': scratchpad(state),
  'progress.json': `${JSON.stringify(progress(state), undefined, 2)}\n`,
});

const scratchpad = ({ task, status, passes }: TightProgress): string =>
  [
    '# Feedback scratchpad',
    '',
    ...quoted(task),
    '',
    ...(passes.length === 0 ? ['No pass has ended yet.', ''] : passes.flatMap(entry)),
    `Status of the loop: ${status}`,
    '',
  ].join('\n');

const entry = (pass: PassView): readonly string[] => [
  `## Pass ${pass.number}`,
  '',
  `- **Implementation**: ${inOneLine(pass.implementation)}`,
  `- **Review**: ${pass.review ?? 'not run'}`,
  ...pass.reviewIssues.map((issue) => `  - ${inOneLine(issue)}`),
  `- **Tests**: ${pass.test ?? 'not run'}`,
  ...pass.testFailures.map((failure) => `  - ${inOneLine(failure)}`),
  `- **Status**: ${pass.status}`,
  '',
];

/** What agents say must not be able to look like the headings around it. */
const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
/** Whatever some reader takes for the end of a line. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
const quoted = (text: string): readonly string[] => text.split(LINE_END).map((line) => `> ${line}`);

/** In the shape that other tools read. */
const progress = (state: TightProgress) => ({
  feedback_loop: {
    enabled: state.enabled,
    current_iteration: Math.max(1, state.passes.length + (state.status === 'in_progress' ? 1 : 0)),
    max_iterations: state.passesMax,
    status: state.status,
    consecutive_review_failures: state.reviewFailuresInRow,
    consecutive_test_failures: state.testFailuresInRow,
    iterations: state.passes.map((pass) => ({
      number: pass.number,
      implementation: pass.implementation,
      review_result: pass.review ?? 'NOT_RUN',
      test_result: pass.test ?? 'NOT_RUN',
      ...(pass.reviewIssues.length > 0 && { review_issues: pass.reviewIssues }),
      ...(pass.testFailures.length > 0 && { test_failures: pass.testFailures }),
      ...(pass.status === VERIFIED && { status: VERIFIED }),
    })),
  },
});
