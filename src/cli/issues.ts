import type { IssueRecord, Runtime } from '../index.ts';
import { contextOf, isObject } from './run-context.ts';

/** A finding of a run. */
export interface RunIssue extends IssueRecord {
  readonly run: string;
}

/** What gates of a run have found, and remember: by how often it was found. */
export const issuesOf = async (runtime: Runtime, run: string): Promise<readonly RunIssue[]> => {
  const { issues } = (await contextOf(runtime, run)).whole;
  if (!isObject(issues)) return [];
  return Object.values(issues)
    .filter(isIssue)
    .map((issue) => ({ run, ...issue }));
};

/** The loops of the package keep them so. */
const isIssue = (value: unknown): value is IssueRecord =>
  isObject(value) && typeof value['fingerprint'] === 'string' && typeof value['status'] === 'string';

export const isOpenIssue = ({ status }: IssueRecord): boolean => status === 'open';
