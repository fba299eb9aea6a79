import type { Verdict } from '../index.ts';

/** What the process ends with. */
export const EXIT = {
  ok: 0,
  /** Also: a check found something. */
  failed: 1,
  wrongUse: 2,
  /** A person is waited for. */
  waiting: 3,
  /** Exhausted, stalled, cancelled or inconclusive. */
  unfinished: 4,
  /** By Ctrl-C: what was open goes on with `resume`. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const OF_VERDICT: Readonly<Record<Verdict, ExitCode>> = {
  verified: EXIT.ok,
  accepted: EXIT.ok,
  failed: EXIT.failed,
  exhausted: EXIT.unfinished,
  stalled: EXIT.unfinished,
  cancelled: EXIT.unfinished,
};

export const exitOf = (verdict: Verdict): ExitCode => OF_VERDICT[verdict];

const WORST_FIRST: readonly ExitCode[] = [
  EXIT.interrupted,
  EXIT.failed,
  EXIT.unfinished,
  EXIT.waiting,
  EXIT.ok,
];

/** Of several runs the worst. */
export const worstOf = (codes: readonly ExitCode[]): ExitCode =>
  WORST_FIRST.find((code) => codes.includes(code)) ?? EXIT.ok;
