import { AGENT_MESSAGES, type AgentErrorFields } from './agent-errors.ts';

/** What is wrong at one place of a file that a person wrote. */
export interface FileProblem {
  /** Both from 1; null if it is about the file as a whole. */
  readonly line: number | null;
  readonly column: number | null;
  /** The place in the document: `steps[0].gate`. Empty for the document itself. */
  readonly path: string;
  readonly problem: string;
  /** What may stand there; null if that says nothing more. */
  readonly allowed: string | null;
}

/** What each error carries besides its text. A caller acts on these; people read the message. */
export interface ErrorFields extends AgentErrorFields {
  UNKNOWN_ACTOR: { address: string };
  UNKNOWN_RUN: { run: string };
  UNKNOWN_WORKFLOW: { workflow: string; known: readonly string[] };
  UNKNOWN_EVENT: { address: string; type: string; known: readonly string[] };
  UNKNOWN_PROJECTION: { projection: string; known: readonly string[] };
  PROJECTION_FAULT: {
    projection: string;
    version: number;
    partition: string;
    position: number;
    problem: string;
  };
  RESERVED_EVENT: { type: string };
  BAD_MESSAGE: { found: string };
  BAD_ADDRESS: { address: string; problem: string };
  BAD_OPTION: { option: string; found: string; expected: string };
  BAD_PATTERN: { pattern: string; problem: string };
  BAD_PATH: { path: string; problem: string };
  BAD_PLAN: { problems: readonly string[] };
  BAD_BRANCH: { run: string; problems: readonly string[] };
  BAD_STORIES: { problems: readonly string[] };
  BAD_WORKFLOW_FILE: { file: string; problems: readonly FileProblem[] };
  BAD_DEFINITION: { problem: string };
  SCRIPT_ENDED: { agent: string; lines: number };
  SCRIPTED_FAILURE: { agent: string; problem: string };
  BAD_ANSWER: { question: string; problem: string; options: readonly string[] };
  UNKNOWN_QUESTION: { question: string };
  QUESTION_CLOSED: { question: string; outcome: string };
  QUESTION_CHANGED: { question: string; expected: string; found: string };
  NOT_PAUSABLE: { run: string };
  BAD_FEEDBACK: { run: string; problems: readonly string[] };
  UNKNOWN_LOOP: { loop: string };
  LOOP_NOT_OPEN: { loop: string; state: string };
  FEEDBACK_TIMED_OUT: { loop: string; limitMs: number };
  FEEDBACK_ENDED: { loop: string };
  ANSWER_REFUSED: { agent: string; problem: string };
  PAYLOAD_UNSUPPORTED: { path: string; found: string };
  PAYLOAD_TOO_LARGE: { path: string; what: 'bytes' | 'depth' | 'keys'; limit: number };
  RUN_EXISTS: { run: string };
  RUN_ENDED: { run: string; verdict: string };
  RUN_PARKED: { run: string; problem: string };
  RUNTIME_CLOSED: { action: string };
  QUEUE_FULL: { limit: number };
  STALE_VERSION: { address: string; expected: number; actual: number };
  VERSION_CONFLICT: { address: string; expected: number; actual: number };
  DUPLICATE_TURN: { id: string };
  NOT_A_LOG: { file: string; problem: string };
  LOG_NOT_FOUND: { file: string };
  NEWER_SCHEMA: { file: string; found: number; supported: number };
  LOG_LOCKED: { file: string; owner: string };
  LOG_CORRUPT: { file: string; position: number; problem: string };
  LOG_NOT_AS_LEFT: { file: string; problem: string };
  DISK_LOW: { file: string; freeBytes: number; reserveBytes: number };
  DISK_FULL: { file: string };
  LOG_WRITE_FAILED: { file: string; problem: string };
  LOG_READ_FAILED: { file: string; problem: string };
  LOG_FAULT: { file: string; problem: string };
  SQLITE_TOO_OLD: { found: string; needed: string };
  FILE_EXISTS: { file: string };
  IMPORT_NOT_EMPTY: { file: string };
  IMPORT_BAD_LINE: { file: string; line: number; problem: string };
  MACHINE_REFUSED: { machine: string; problems: readonly string[] };
  MACHINE_MISSING: { machine: string; version: number; known: readonly number[] };
  REPLAY_DIVERGED: { address: string; position: number; recorded: string; computed: string };
  TURN_TOO_LONG: { run: string; deliveries: number };
  COMMAND_TIMED_OUT: { file: string; id: string };
  WRONG_USE: { problem: string; instead: string };
  AMBIGUOUS_ID: { given: string; found: readonly string[] };
  SECRET_IN_FILE: { file: string; path: string };
  SECRETS_UNREADABLE: { file: string; workflow: string; count: number; problem: string };
}

export type ErrorCode = keyof ErrorFields;

/** What is wrong, then what to do about it: every message of the package, in one list. */
const MESSAGES: {
  readonly [Code in ErrorCode]: (fields: ErrorFields[Code]) => readonly [what: string, advice: string];
} = {
  UNKNOWN_ACTOR: ({ address }) => [
    `There is no actor at "${address}".`,
    'Check the address: it is the id of a run, or that id and a path of child ids ("run-1/review").',
  ],
  UNKNOWN_RUN: ({ run }) => [`There is no run "${run}" in this log.`, 'List the runs with runtime.runs().'],
  UNKNOWN_WORKFLOW: ({ workflow, known }) => [
    `No workflow "${workflow}" is registered.`,
    `Pass it to createRuntime({ workflows: [...] }). Registered: ${list(known)}.`,
  ],
  UNKNOWN_EVENT: ({ address, type, known }) => [
    `The machine of "${address}" has no transition for "${type}" in any state.`,
    `It takes: ${list(known)}.`,
  ],
  UNKNOWN_PROJECTION: ({ projection, known }) => [
    `No projection "${projection}" is registered.`,
    `Pass it to createRuntime({ projections: [...] }). Registered: ${list(known)}.`,
  ],
  PROJECTION_FAULT: ({ projection, version, partition, position, problem }) => [
    `Version ${version} of the projection "${projection}" cannot fold the event at position ${position} into "${partition}": ${problem}`,
    'Mend its fold, give it a new version and open the log again.',
  ],
  RESERVED_EVENT: ({ type }) => [
    `Messages of type "${type}" are made by the runtime only.`,
    'Use a type that does not begin with "xstate.", "@xstate." or "lw.".',
  ],
  BAD_MESSAGE: ({ found }) => [
    `A message is an object with a string "type", not ${found}.`,
    'Write { type: "TASK_ADDED", … }.',
  ],
  BAD_ADDRESS: ({ address, problem }) => [
    `"${address}" cannot be an id or address: ${problem}.`,
    'Use letters, digits, ".", "_", ":" and "-", at most 200 characters for each part.',
  ],
  BAD_OPTION: ({ option, found, expected }) => [
    `The option "${option}" is ${found}.`,
    `Give it ${expected}.`,
  ],
  BAD_PATTERN: ({ pattern, problem }) => [
    `"${pattern}" is not a path pattern: ${problem}.`,
    'Write keys with dots between them, "*" for any one key, "**" for any number of keys: "agents.*.status".',
  ],
  BAD_PATH: ({ path, problem }) => [
    `"${path}" is not a path in a context: ${problem}.`,
    'Write keys with dots between them, "agents.developer.status", or give them as a list.',
  ],
  BAD_PLAN: ({ problems }) => [
    `The plan cannot be run: ${problems.join('; ')}.`,
    'Give each step an id of its own, an agent or a gate, and only needs that are steps or groups before it.',
  ],
  BAD_BRANCH: ({ run, problems }) => [
    `The run "${run}" has no such branch: ${problems.join('; ')}.`,
    'Take positions from runtime.audit({ run }): of an answer, or of the event that opened the call or question.',
  ],
  BAD_STORIES: ({ problems }) => [
    `These stories cannot be run: ${problems.join('; ')}.`,
    'Give each story as the path of its file, or with an id of its own, a title and a body.',
  ],
  BAD_WORKFLOW_FILE: ({ file, problems }) => [
    `The workflow file "${oneLine(file)}" cannot be used:\n${problems.map((each) => `  ${problemLine(file, each)}\n`).join('')}`,
    'Mend these places and read it again: nothing was run.',
  ],
  BAD_DEFINITION: ({ problem }) => [
    `This is not the definition of a workflow: ${problem}.`,
    'Give what readWorkflowFile() gave, or upgrade Loopwright if a newer version wrote it.',
  ],
  SCRIPT_ENDED: ({ agent, lines }) => [
    `The script of the agent "${agent}" has ${lines} lines, all of which are used up.`,
    'Give it a line for each call.',
  ],
  SCRIPTED_FAILURE: ({ agent, problem }) => [
    `The agent "${agent}" failed, as its script says: ${problem}`,
    'This line of its script has "fail": write an answer in its place.',
  ],
  BAD_ANSWER: ({ question, problem, options }) => [
    `The question "${question}" cannot be answered like this: ${problem}.`,
    options.length === 0 ? 'Give it a value of your own.' : `Choose one of ${options.join(', ')}.`,
  ],
  UNKNOWN_QUESTION: ({ question }) => [
    `There is no question "${question}".`,
    'See the open ones with runtime.questions().',
  ],
  QUESTION_CLOSED: ({ question, outcome }) => [
    `The question "${question}" is closed: ${outcome}.`,
    'See the open ones with runtime.questions().',
  ],
  QUESTION_CHANGED: ({ question, expected, found }) => [
    `The question "${question}" has the fingerprint ${found}, not ${expected}: it is not what was looked at.`,
    'Look at it again, and answer with its fingerprint if the answer still holds.',
  ],
  NOT_PAUSABLE: ({ run }) => [
    `The run "${run}" cannot be paused or resumed now: its workflow does not take that message.`,
    'Plan runs can be paused while they are open; a machine of your own has to handle run.pause and run.resume.',
  ],
  BAD_FEEDBACK: ({ run, problems }) => [
    `The feedback for the run "${run}" cannot be sent: ${problems.join('; ')}.`,
    'Correct all of this and send it again; nothing was written.',
  ],
  UNKNOWN_LOOP: ({ loop }) => [
    `There is no feedback loop "${loop}", and none about a requirement of that name.`,
    'Take the id that `runtime.feedback.trigger` gave, or look it up with `runtime.feedback.loops(run)`.',
  ],
  LOOP_NOT_OPEN: ({ loop, state }) => [
    `The feedback loop "${loop}" does not take that now: it is ${state}.`,
    'Only a loop that is not resolved can be resolved or escalated; send new feedback to begin its next round.',
  ],
  FEEDBACK_TIMED_OUT: ({ loop, limitMs }) => [
    `The feedback loop "${loop}" was not resolved within ${limitMs} ms.`,
    'It goes on all the same: wait for it again, or give `timeLimitMs`.',
  ],
  FEEDBACK_ENDED: ({ loop }) => [
    `The run of the feedback loop "${loop}" has ended before the loop was resolved.`,
    'See `runtime.feedback.loop(id)` for what was said, and the run for why it has ended.',
  ],
  ANSWER_REFUSED: ({ agent, problem }) => [
    `The answer of the agent "${agent}" does not fit its schema: ${problem}.`,
    'Mend the agent, or the schema that it was registered with.',
  ],
  PAYLOAD_UNSUPPORTED: ({ path, found }) => [
    `The value at ${path} is ${found}, which JSON would change or lose.`,
    'Use null, booleans, finite numbers, strings, plain arrays and plain objects.',
  ],
  PAYLOAD_TOO_LARGE: ({ path, what, limit }) => [
    `The value at ${path} exceeds the limit of ${limit} ${what}.`,
    'Send less, or keep the value elsewhere and send a reference to it.',
  ],
  RUN_EXISTS: ({ run }) => [
    `There is a run "${run}" already.`,
    'Take it up with runtime.run(id), or choose another id.',
  ],
  RUN_ENDED: ({ run, verdict }) => [`The run "${run}" has ended (${verdict}).`, 'Start a new one.'],
  RUN_PARKED: ({ run, problem }) => [
    `The run "${run}" is parked: ${problem}`,
    'Register the version of the machine that it began under, or a migration from it, and open the log again.',
  ],
  RUNTIME_CLOSED: ({ action }) => [
    `The runtime is closed: ${action} is not possible.`,
    'Open it again with createRuntime().',
  ],
  QUEUE_FULL: ({ limit }) => [
    `${limit} stimuli are waiting to be committed.`,
    'Wait for earlier calls to resolve before you make more, or raise limits.queue.',
  ],
  STALE_VERSION: ({ address, expected, actual }) => [
    `"${address}" is at version ${actual}, not ${expected} as expected: someone else was first.`,
    'Look at its state again, and decide anew.',
  ],
  VERSION_CONFLICT: ({ address, expected, actual }) => [
    `The stream of "${address}" is at version ${actual}, not ${expected} as the append expected.`,
    'Another writer appended first: load the actor again and repeat the turn.',
  ],
  DUPLICATE_TURN: ({ id }) => [
    `The stimulus "${id}" is in the log already.`,
    'It was done before: do not repeat it.',
  ],
  NOT_A_LOG: ({ file, problem }) => [
    `"${file}" is not a Loopwright log: ${problem}.`,
    'Give the path of a log, or of a file that does not exist yet.',
  ],
  LOG_NOT_FOUND: ({ file }) => [`There is no log at "${file}".`, 'Check the path.'],
  NEWER_SCHEMA: ({ file, found, supported }) => [
    `"${file}" has schema ${found}; this version of Loopwright reads up to ${supported}.`,
    'Upgrade Loopwright. Nothing in the file was touched.',
  ],
  LOG_LOCKED: ({ file, owner }) => [
    `"${file}" is in use by ${owner}.`,
    'A log has one writer: stop that process, send it commands through the inbox, or open the log for reading only.',
  ],
  LOG_CORRUPT: ({ file, position, problem }) => [
    `"${file}" is damaged at position ${position}: ${problem}.`,
    'Restore a backup, or export the events before that position.',
  ],
  LOG_NOT_AS_LEFT: ({ file, problem }) => [
    `"${file}" is not as it was left: ${problem}.`,
    'Commits are lost with a "-wal" file that is gone or damaged, or with an older copy in the place of the log. Nothing was touched: bring back what is missing. If it is a backup that you put there on purpose, say so once: createRuntime({ restored: true }), or loopwright verify --restored.',
  ],
  DISK_LOW: ({ file, freeBytes, reserveBytes }) => [
    `The disk of "${file}" has ${freeBytes} bytes left, less than the reserve of ${reserveBytes}.`,
    'Free some space: work goes on by itself then. Reading still works.',
  ],
  DISK_FULL: ({ file }) => [
    `The disk of "${file}" is full; nothing was written.`,
    'Free some space: work goes on by itself then.',
  ],
  LOG_WRITE_FAILED: ({ file, problem }) => [
    `Writing to "${file}" failed and nothing was written: ${problem}.`,
    'See to the cause; the write can be tried again.',
  ],
  LOG_READ_FAILED: ({ file, problem }) => [
    `Reading "${file}" failed: ${problem}.`,
    'See to the cause; the read can be tried again.',
  ],
  LOG_FAULT: ({ file, problem }) => [
    `The disk did not confirm a write to "${file}" (${problem}): whether it is there is unknown.`,
    'The runtime writes no more. See to the disk, then open the log again: it recovers to its last whole commit.',
  ],
  SQLITE_TOO_OLD: ({ found, needed }) => [
    `SQLite ${found} can corrupt a log that is written and read at once.`,
    `Install a better-sqlite3 that brings SQLite ${needed} or newer.`,
  ],
  FILE_EXISTS: ({ file }) => [`"${file}" exists already.`, 'Choose another path: nothing is overwritten.'],
  IMPORT_NOT_EMPTY: ({ file }) => [`"${file}" has events already.`, 'Import into a new file.'],
  IMPORT_BAD_LINE: ({ file, line, problem }) => [
    `Line ${line} of "${file}" cannot be imported: ${problem}.`,
    'Export the log again. Nothing was imported.',
  ],
  MACHINE_REFUSED: ({ machine, problems }) => [
    `The machine "${machine}" cannot be made durable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}\n`,
    'Change it as said and register it again.',
  ],
  MACHINE_MISSING: ({ machine, version, known }) => [
    `Version ${version} of the machine "${machine}" is not registered (registered: ${list(known.map(String))}).`,
    'Register that version too, or give the newest one a migration from it.',
  ],
  REPLAY_DIVERGED: ({ address, position, recorded, computed }) => [
    `"${address}" replays differently at position ${position}: recorded ${recorded}, now ${computed}.`,
    'The code of its machine changed without a new version: give it one, and keep the old one registered.',
  ],
  ...AGENT_MESSAGES,
  TURN_TOO_LONG: ({ run, deliveries }) => [
    `One stimulus caused more than ${deliveries} messages in the run "${run}".`,
    'Two of its machines answer each other without end: give that exchange a limit.',
  ],
  COMMAND_TIMED_OUT: ({ file, id }) => [
    `The owner of "${file}" has not dealt with the command "${id}" yet.`,
    'It stays in the inbox and will be done once: ask for its outcome later by that id.',
  ],
  WRONG_USE: ({ problem, instead }) => [problem, instead],
  AMBIGUOUS_ID: ({ given, found }) => [
    `"${given}" is the beginning of more than one id.`,
    `Give more of it: ${list(found)}.`,
  ],
  SECRET_IN_FILE: ({ file, path }) => [
    `"${file}" has what looks like a secret at ${path}, and a workflow is kept in the log.`,
    'Take it out of the file: name its environment variable in passEnv of the agent.',
  ],
  SECRETS_UNREADABLE: ({ file, workflow, count, problem }) => [
    `"${workflow}" declares ${count} secret values in "${file}", which cannot be read from there any more: ${problem}.`,
    'Put the file back with the same values, new ones after them, so that they are kept out of the log. Nothing was written.',
  ],
};

function problemLine(file: string, { line, column, path, problem, allowed }: FileProblem): string {
  const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
  return oneLine(
    `${place}${path === '' ? '' : ` ${path}`}: ${problem}${allowed === null ? '' : ` (allowed: ${allowed})`}`,
  );
}

/** A key or value of a file may go over several lines: a problem has one. */
function oneLine(text: string): string {
  return text.replaceAll('\n', String.raw`\n`);
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

/** An error that a caller may want to catch: it has a code, the fields to act on, and says what to do. */
export class RuntimeError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'RuntimeError';
  readonly code: Code;
  readonly fields: Readonly<ErrorFields[Code]>;
  readonly advice: string;

  constructor(code: Code, fields: ErrorFields[Code], options?: { readonly cause?: unknown }) {
    const [what, advice] = MESSAGES[code](fields);
    super(`${what} ${advice}`, options);
    this.code = code;
    this.fields = fields;
    this.advice = advice;
  }
}

/** Whether an error is ours, and (if given) has one of these codes. */
export const isRuntimeError = <Code extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is RuntimeError<Code> =>
  error instanceof RuntimeError && (codes.length === 0 || codes.some((code) => code === error.code));
