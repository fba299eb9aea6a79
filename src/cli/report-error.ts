import { type ErrorCode, isRuntimeError } from '../errors.ts';
import { createRedactor } from '../index.ts';
import { escapeLine, escapeText } from './escape.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** What the one who called can mend by calling otherwise. */
const WRONG_USE: ReadonlySet<ErrorCode> = new Set([
  'AMBIGUOUS_ID',
  'BAD_ADDRESS',
  'BAD_ANSWER',
  'BAD_BRANCH',
  'BAD_FEEDBACK',
  'BAD_OPTION',
  'BAD_PATH',
  'BAD_PATTERN',
  'BAD_PLAN',
  'BAD_STORIES',
  'BAD_WORKFLOW_FILE',
  'FILE_EXISTS',
  'IMPORT_NOT_EMPTY',
  'LOG_NOT_FOUND',
  'MACHINE_REFUSED',
  'NOT_A_LOG',
  'NOT_PAUSABLE',
  'QUESTION_CHANGED',
  'QUESTION_CLOSED',
  'RUN_ENDED',
  'RUN_EXISTS',
  'SECRETS_UNREADABLE',
  'SECRET_IN_FILE',
  'UNKNOWN_ACTOR',
  'UNKNOWN_QUESTION',
  'UNKNOWN_RUN',
  'UNKNOWN_WORKFLOW',
  'WRONG_USE',
]);

/** Messages that have several lines of ours. In others a line feed is what somebody wrote, and must not begin a line. */
const WITH_LINES: readonly ErrorCode[] = ['BAD_WORKFLOW_FILE', 'MACHINE_REFUSED'];

const exitOfError = (code: string | undefined): ExitCode =>
  code !== undefined && WRONG_USE.has(code as ErrorCode) ? EXIT.wrongUse : EXIT.failed; // A set may be asked for any text.

/** Tells of an error: what is wrong and what is right, in words or as JSON, on the standard error. */
export const reportError = (terminal: Terminal, error: unknown): ExitCode => {
  const { message: whole, code } = told(error);
  // Here already: in a text of JSON, a key without an end would go on to the end of that.
  const message = createRedactor({}).text(whole);
  if (terminal.isJson)
    terminal.note(JSON.stringify({ error: { ...(code !== undefined && { code }), message } }));
  else {
    const escape = isRuntimeError(error, ...WITH_LINES) ? escapeText : escapeLine;
    terminal.note(`${terminal.colors.red('error:')} ${escape(message)}`);
  }
  return exitOfError(code);
};

/** What can be done from here: that the log has an owner is told to programs in other words. */
const lockedInWords = ({ file, owner }: { readonly file: string; readonly owner: string }): string =>
  `"${file}" is in use by ${owner}, which works on its runs. From here, look at them (ps, show, why, events), or decide ` +
  '(answer, pause, resume RUN, cancel): it is carried out there. For a run beside it, name another log with --db.';

const told = (error: unknown): { readonly message: string; readonly code: string | undefined } => {
  if (isRuntimeError(error, 'LOG_LOCKED')) return { message: lockedInWords(error.fields), code: error.code };
  if (isRuntimeError(error)) return { message: error.message, code: error.code };
  if (error instanceof Error) {
    const { code } = error as { readonly code?: unknown }; // Node's errors have one.
    return { message: error.message, code: typeof code === 'string' ? code : undefined };
  }
  return { message: String(error), code: undefined };
};
