import { isRuntimeError, RuntimeError } from '../errors.ts';

/**
 * A fold threw, or left something in its state that JSON would change. That partition stays as it was before the event
 * and answers with this; every other one goes on.
 */
export type ProjectionFault = RuntimeError<'PROJECTION_FAULT'>;

export const projectionFault = (
  place: Omit<ProjectionFault['fields'], 'problem'>,
  cause: unknown,
): ProjectionFault => {
  const problem = cause instanceof Error ? cause.message : String(cause);
  return new RuntimeError('PROJECTION_FAULT', { ...place, problem }, { cause });
};

export const isProjectionFault = (error: unknown): error is ProjectionFault =>
  isRuntimeError(error, 'PROJECTION_FAULT');

/** Told of what went wrong in the background, where nobody waits for an answer. */
export type OnFault = (error: unknown, projection: string, partition: string) => void;
