import type { FileProblem } from '../errors.ts';

export type Path = readonly (string | number)[];

/** A place in a text: both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export const problemAt = (
  { line, column }: Place,
  path: Path,
  { problem, allowed = null }: { readonly problem: string; readonly allowed?: string | null },
): FileProblem => ({
  line,
  column,
  path: printable(pathText(path)),
  problem: printable(problem),
  allowed: allowed === null ? null : printable(allowed),
});

const TEXT_LENGTH_MAX = 1_000;
/** What moves the cursor, colours a terminal or turns the direction of a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A problem tells what a file says, and is shown on terminals: a file may have been written to mislead whoever reads that. */
const printable = (text: string): string => {
  const short = text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
  return short.replaceAll(UNPRINTABLE, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
};

/** `steps[0].gate`: as people write it. */
const pathText = (path: Path): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
