import { resolve } from 'node:path';
import type { Workflow } from '../../src/machines/workflow.ts';

// Apart from who compares them, since programs that are no tests check logs with the same functions as tests do.

export interface NotedLog {
  /** By name and version. A test that changes a machine on purpose does so once the log has begun: the first of each counts. */
  readonly workflows: Map<string, Workflow>;
  state: 'due' | 'compared' | 'not comparable';
}

/** The logs of the tests that are under way, by their paths. */
export const logs = new Map<string, NotedLog>();

/** Whether a log is one that will be compared: for who removes it before the test has finished. */
export const isToBeCompared = (file: string): boolean => logs.get(resolve(file))?.state === 'due';

/** Says that a log was compared by the test itself. If it is opened once more, it is compared again. */
export const wasCompared = (file: string): void => {
  const log = logs.get(resolve(file));
  if (log) log.state = 'compared';
};
