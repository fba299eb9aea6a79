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
): FileProblem => ({ line, column, path: pathText(path), problem, allowed });

/** `steps[0].gate`: as people write it. */
const pathText = (path: Path): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
