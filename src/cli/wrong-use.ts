import { RuntimeError } from '../errors.ts';

/** What is wrong with a command line, and what to write instead. */
export const wrong = (problem: string, instead: string): RuntimeError =>
  new RuntimeError('WRONG_USE', { problem, instead });
