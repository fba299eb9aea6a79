import { isatty } from 'node:tty';
import picocolors from 'picocolors';
import { createRedactor } from '../index.ts';
import { redacted } from './redacted.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

/** Where a command writes, and how. Tokens of a known shape are printed by none of it, wherever they come from. */
export interface Terminal {
  /** A line for people on the standard output; nothing if JSON was asked for. */
  say(line?: string): void;
  /** A line on the standard error: what is no result. */
  note(line: string): void;
  /** A document for programs: one line of JSON on the standard output. */
  json(value: unknown): void;
  /** Text as it is, for people or programs. */
  readonly write: (text: string) => void;
  /** Text as it is, without a line feed: for progress that is redrawn in place. */
  draw(text: string): void;
  /** Text as it is on the standard error, if that is a terminal and people read it: a sign of life. */
  drawNote(text: string): void;
  /** Whether programs are to read the output. */
  readonly isJson: boolean;
  /** Whether a person sits at both ends, so that one can be asked. */
  readonly canAsk: boolean;
  /** Whether the standard output is a terminal, so that progress can be redrawn in place. */
  readonly isTty: boolean;
  readonly columns: number;
  readonly colors: Colors;
}

export interface TerminalOptions {
  readonly isJson: boolean;
  /** False for --no-color. */
  readonly mayColor: boolean;
}

const COLUMNS = 80;

export const createTerminal = ({ isJson, mayColor }: TerminalOptions): Terminal => {
  const { stdout, stderr, stdin, env } = process;
  // `isTTY` is undefined on a pipe, whatever its type says; picocolors would take that for "decide yourself".
  const isTty = isatty(stdout.fd) && env['TERM'] !== 'dumb';
  const redactor = createRedactor({});
  const hasColor = mayColor && isTty && (env['NO_COLOR'] ?? '') === '';
  return {
    say: (line = '') => {
      if (!isJson) stdout.write(`${redactor.text(line)}\n`);
    },
    note: (line) => {
      stderr.write(`${redactor.text(line)}\n`);
    },
    json: (value) => {
      stdout.write(`${JSON.stringify(redacted(value, redactor))}\n`);
    },
    write: (text) => {
      stdout.write(redactor.text(text));
    },
    draw: (text) => {
      if (!isJson) stdout.write(text);
    },
    drawNote: (text) => {
      if (!isJson && isatty(stderr.fd) && env['TERM'] !== 'dumb') stderr.write(text);
    },
    isJson,
    canAsk: isTty && isatty(stdin.fd) && !isJson,
    isTty,
    get columns() {
      return stdout.columns || COLUMNS;
    },
    colors: picocolors.createColors(hasColor),
  };
};
