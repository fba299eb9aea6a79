import type { Verdict } from '../index.ts';
import { escapeLine } from './escape.ts';
import type { Terminal } from './terminal.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time as people say it: the two greatest units of it. */
export const duration = (ms: number): string => {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 1 : 0)}s`;
  const [unit, next, names] =
    ms < HOUR
      ? ([MINUTE, SECOND, 'ms'] as const)
      : ms < DAY
        ? ([HOUR, MINUTE, 'hm'] as const)
        : ([DAY, HOUR, 'dh'] as const);
  const rest = Math.floor((ms % unit) / next);
  return `${Math.floor(ms / unit)}${names[0]}${rest === 0 ? '' : ` ${rest}${names[1]}`}`;
};

export const money = (usd: number): string => `$${usd.toFixed(usd !== 0 && usd < 0.01 ? 4 : 2)}`;

/** The columns under their heads, as wide as what is in them. Cells are escaped. */
export const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = [heads, ...rows.map((row) => row.map(escapeLine))];
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

/** A verdict in its colour: a limit is never shown as success. */
export const inColor = ({ colors }: Terminal, verdict: Verdict): string => {
  if (verdict === 'verified' || verdict === 'accepted') return colors.green(verdict);
  return verdict === 'failed' ? colors.red(verdict) : colors.yellow(verdict);
};
