import type { AddCommand, CommonOptions } from '../command-table.ts';
import { excerpt } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { isOpenIssue, issuesOf } from '../issues.ts';
import { findRun, isOfPeople, openToLook } from '../open.ts';
import { table } from '../text.ts';

const EXAMPLES = `
Examples:
  loopwright issues          what was found and is not resolved, over all runs
  loopwright issues ship-3   of one run
  loopwright issues --all    those that were resolved, rejected or accepted too`;

const RUNS_MAX = 100;
const HEADS = ['RUN', 'SEVERITY', 'STATUS', 'PASSES', 'GATE', 'ISSUE'];

/** `issues [RUN]`: what gates have found. */
export const addIssues: AddCommand = (command, { terminal, action }) =>
  void command
    .description(`Lists open issues over runs, the newest ${RUNS_MAX} of them.`)
    .argument('[run]', 'those of one run: its id, the beginning of it, or last')
    .option('--all', 'those that are no longer open too')
    .addHelpText('after', EXAMPLES)
    .action(
      action<CommonOptions & { all?: boolean }>(async ([given], { all = false, ...options }) => {
        const { runtime } = await openToLook(options);
        try {
          const runs =
            given === undefined
              ? (await runtime.runs({ reverse: true })).filter(isOfPeople).slice(0, RUNS_MAX)
              : [await findRun(runtime, given)];
          const found = (await Promise.all(runs.map(({ id }) => issuesOf(runtime, id)))).flat();
          const issues = found.filter((issue) => all || isOpenIssue(issue));
          if (terminal.isJson) terminal.json(issues);
          else if (issues.length === 0) terminal.say('No issue is open.');
          else
            terminal.say(
              table(
                HEADS,
                issues.map(({ run, severity, status, firstPass, lastPass, gate, description }) => [
                  run,
                  severity,
                  status,
                  firstPass === lastPass ? `${firstPass}` : `${firstPass}-${lastPass}`,
                  gate,
                  `"${excerpt(description, 200)}"`,
                ]),
              ),
            );
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );
