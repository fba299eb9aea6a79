import type { OpenQuestion, RunRecord, Runtime, Verdict } from '../index.ts';
import { spentIn } from './glance.ts';
import { contextOf } from './run-context.ts';

/** Where a run stands: its verdict, or what an open one does. */
export type RunStatus = Verdict | 'working' | 'waiting' | 'paused';

/** What there is to say of a run in one line. */
export interface RunLine {
  readonly id: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: RunStatus;
  readonly startedAt: string;
  readonly tookMs: number;
  readonly calls: number | null;
  readonly costUsd: number | null;
  readonly questions: readonly string[];
}

/** Lines of runs, in their order. */
export const linesOf = async (
  runtime: Runtime,
  runs: readonly RunRecord[],
  nowMs: number,
): Promise<readonly RunLine[]> => {
  const questions = await runtime.questions();
  return Promise.all(
    runs.map(async (run) => {
      const open = questions.filter((question) => question.run === run.id);
      const context = await contextOf(runtime, run.id);
      const spent = spentIn(context);
      return {
        id: run.id,
        workflow: run.workflow,
        version: run.workflowVersion,
        status: statusOf(run, open, context.pauseReasons),
        startedAt: new Date(run.startedAtMs).toISOString(),
        tookMs: (run.endedAtMs ?? nowMs) - run.startedAtMs,
        calls: spent?.calls ?? null,
        costUsd: spent?.costUsd ?? null,
        questions: open.map(({ id }) => id),
      };
    }),
  );
};

const statusOf = (
  { verdict }: Pick<RunRecord, 'verdict'>,
  questions: readonly OpenQuestion[],
  pauseReasons: readonly string[],
): RunStatus => {
  if (verdict !== null) return verdict;
  if (questions.length > 0) return 'waiting';
  return pauseReasons.length > 0 ? 'paused' : 'working';
};
