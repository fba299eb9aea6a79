import type { AddCommand } from '../command-table.ts';
import { EXIT } from '../exit-codes.ts';
import { isOfPeople, openToLook } from '../open.ts';
import { linesOf, type RunLine } from '../run-status.ts';
import { duration, money, table } from '../text.ts';
import { inLog, resumeLine } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright ps             open runs, and the newest that have ended
  loopwright ps --waiting   those that wait for a person
  loopwright ps --all       every run, and the descriptions of workflows too`;

const ENDED_MAX = 20;

/** `ps`: the runs of a log. */
export const addPs: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Lists runs: those that are open, and the newest that have ended.')
    .option('--waiting', 'only those that wait for a person')
    .option('--all', 'all that have ended, and the descriptions of workflows')
    .addHelpText('after', EXAMPLES)
    .action(
      action<{ waiting?: boolean; all?: boolean }>(
        async (_args, { waiting = false, all = false, ...common }) => {
          const { file, runtime } = await openToLook(common);
          try {
            const runs = (await runtime.runs()).filter((run) => all || isOfPeople(run));
            const ended = runs.filter(({ verdict }) => verdict !== null);
            const left = new Set((all ? ended : ended.slice(-ENDED_MAX)).map(({ id }) => id));
            const listed = runs.filter(({ id, verdict }) => verdict === null || left.has(id));
            const lines = (await linesOf(runtime, listed, Date.now())).filter(
              ({ status }) => !waiting || status === 'waiting',
            );
            if (terminal.isJson) terminal.json(lines);
            else if (lines.length === 0)
              terminal.say(waiting ? 'No run waits for a person.' : 'No runs yet.');
            else terminal.say(table(HEADS, lines.map(toRow)));
            const isLeft = lines.some(({ status }) => status === 'working' || status === 'paused');
            const resume = isLeft ? resumeLine(file) : undefined;
            if (resume !== undefined)
              terminal.say(`Nobody works on this log now. Go on with: ${inLog(resume, common)}`);
            return EXIT.ok;
          } finally {
            await runtime.close();
          }
        },
      ),
    );

const HEADS = ['RUN', 'WORKFLOW', 'STATUS', 'STARTED', 'TOOK', 'CALLS', 'COST'];

const toRow = ({ id, workflow, version, status, startedAt, tookMs, calls, costUsd }: RunLine) => [
  id,
  version === 1 ? workflow : `${workflow} v${version}`,
  status,
  startedAt.replace('T', ' ').slice(0, 16),
  duration(tookMs),
  calls === null ? '' : String(calls),
  costUsd === null ? '' : money(costUsd),
];
