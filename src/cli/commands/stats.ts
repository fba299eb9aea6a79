import { statSync } from 'node:fs';
import { type RunRecord, type Verdict } from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { EXIT } from '../exit-codes.ts';
import { isOfPeople, openToLook } from '../open.ts';
import { linesOf, type RunLine } from '../run-status.ts';
import { duration, money, table } from '../text.ts';

const EXAMPLES = `
Examples:
  loopwright stats          verdicts, calls, cost and time by workflow
  loopwright stats --json`;

/** What the runs of a workflow came to. */
interface WorkflowStats {
  readonly workflow: string;
  readonly runs: number;
  readonly open: number;
  readonly verdicts: Readonly<Partial<Record<Verdict, number>>>;
  readonly calls: number;
  readonly costUsd: number;
  readonly medianMs: number | null;
}

/** `stats`: what all runs came to. */
export const addStats: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Adds up runs by workflow: verdicts, calls, cost and time.')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async (_args, options) => {
        const { file, runtime } = await openToLook(options);
        try {
          const runs = (await runtime.runs()).filter(isOfPeople);
          const lines = await linesOf(runtime, runs, Date.now());
          const names = [...new Set(runs.map(({ workflow }) => workflow))];
          const workflows = names.map((name) => statsOf(name, runs, lines));
          const [last] = await runtime.audit({ reverse: true, limit: 1 });
          const log = { file, events: last?.position ?? 0, bytes: statSync(file).size };
          if (terminal.isJson) terminal.json({ log, workflows });
          else {
            terminal.say(workflows.length === 0 ? 'No runs yet.' : table(HEADS, workflows.map(toRow)));
            terminal.say(`\n${log.file}: ${log.events} events, ${(log.bytes / 1024 / 1024).toFixed(1)} MiB`);
          }
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );

const statsOf = (workflow: string, runs: readonly RunRecord[], lines: readonly RunLine[]): WorkflowStats => {
  const own = runs.filter((run) => run.workflow === workflow);
  const ownLines = lines.filter((line) => line.workflow === workflow);
  const verdicts: Partial<Record<Verdict, number>> = {};
  for (const { verdict } of own) if (verdict !== null) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  const times = own
    .flatMap(({ startedAtMs, endedAtMs }) => (endedAtMs === null ? [] : [endedAtMs - startedAtMs]))
    .sort((one, other) => one - other);
  return {
    workflow,
    runs: own.length,
    open: own.filter(({ verdict }) => verdict === null).length,
    verdicts,
    calls: ownLines.reduce((all, { calls }) => all + (calls ?? 0), 0),
    costUsd: ownLines.reduce((all, { costUsd }) => all + (costUsd ?? 0), 0),
    medianMs: times[Math.floor((times.length - 1) / 2)] ?? null,
  };
};

const HEADS = ['WORKFLOW', 'RUNS', 'OPEN', 'VERDICTS', 'CALLS', 'COST', 'MEDIAN TIME'];

const toRow = ({ workflow, runs, open, verdicts, calls, costUsd, medianMs }: WorkflowStats) => [
  workflow,
  String(runs),
  String(open),
  Object.entries(verdicts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', '),
  String(calls),
  money(costUsd),
  medianMs === null ? '' : duration(medianMs),
];
