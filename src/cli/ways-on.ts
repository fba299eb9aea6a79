import { type Command, logOwner, type WhatIfOptions } from '../index.ts';
import { escapeLine } from './escape.ts';

/** A word of a command line, quoted if a shell would read something else. */
const word = (text: string): string =>
  /^[\w./:@%+=,-][\w./:@%+=,~-]*$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A command line to be copied: each word is one to a shell as well. */
export const line = (...words: readonly string[]): string => ['loopwright', ...words.map(word)].join(' ');

/** The log that a command was given, if it was given one. */
export interface NamedLog {
  readonly db?: string | undefined;
}

/** A command line for the log that was named, if one was. */
export const inLog = (text: string, { db }: NamedLog): string =>
  db === undefined || !text.startsWith('loopwright ') ? text : `${text} --db ${word(db)}`;

/** A command line to be shown: for the log that was named, if one was, and escaped. */
export const hint = (log: NamedLog, ...words: readonly string[]): string =>
  escapeLine(inLog(line(...words), log));

/** What lets runs go on whose process has gone; undefined while one works on the log. */
export const resumeLine = (file: string, ...runs: readonly string[]): string | undefined =>
  logOwner(file) === undefined ? line('resume', ...runs) : undefined;

/** The command line that does what a command says. */
export const goOnLine = (command: Command): string => {
  switch (command.kind) {
    case 'answer':
      return typeof command.option === 'string'
        ? line('answer', command.question, command.option)
        : line('answer', command.question, '--value', JSON.stringify(command.value ?? null));
    case 'send': {
      const message = command.message as { readonly type?: unknown; readonly reason?: unknown }; // The runtime made it.
      const [run = ''] = command.to.split('/');
      return message.type === 'run.resume' && run === command.to && typeof message.reason === 'string'
        ? line('resume', run)
        : `runtime.execute(${JSON.stringify(command)})`;
    }
    case 'cancel':
      return line('cancel', command.run);
    case 'start':
    case 'resend':
      return `runtime.execute(${JSON.stringify(command)})`;
  }
};

/** The command line that makes a branch. */
export const forkLine = (
  run: string,
  { at, limits = {}, answers = [], of, calls = 'list' }: WhatIfOptions,
): string => {
  const [answer] = answers;
  const sets = [
    ...Object.entries(limits).map(([name, value]) => `limits.${name}=${JSON.stringify(value)}`),
    ...Object.entries(answer ?? {}).flatMap(([name, value]) =>
      name === 'at' ? [] : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
    ),
  ];
  const position = answer?.at ?? at;
  return line(
    'fork',
    run,
    ...(position === undefined ? [] : ['--at', String(position)]),
    ...(of === undefined ? [] : ['--of', of]),
    ...sets.flatMap((set) => ['--set', set]),
    ...(calls === 'make' ? ['--make-calls'] : []),
  );
};
