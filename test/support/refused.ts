import { expect } from 'vitest';
import { type ErrorCode, isRuntimeError, type RuntimeError } from '../../src/errors.ts';

/** The error that an action throws, which must be one of ours, say what to do and have this code. */
export const refused = <Code extends ErrorCode>(action: () => unknown, code: Code): RuntimeError<Code> => {
  let error: unknown;
  try {
    const value = action();
    error = new Error(`It was not refused, but gave ${JSON.stringify(value)}.`);
  } catch (thrown) {
    error = thrown;
  }
  if (!isRuntimeError(error, code)) throw error;
  expect(error.advice).not.toBe('');
  expect(error.message).toContain(error.advice);
  return error;
};
