import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The middle one: a machine that others use too has outliers on both sides. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return (
    ((sorted[middle] ?? Number.NaN) + (sorted[sorted.length % 2 === 0 ? middle - 1 : middle] ?? Number.NaN)) /
    2
  );
};

export const tempFile = (name: string): string =>
  join(mkdtempSync(join(tmpdir(), 'loopwright-bench-')), `${name}.db`);
