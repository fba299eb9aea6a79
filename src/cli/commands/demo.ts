import { join } from 'node:path';
import type { AddCommand } from '../command-table.ts';
import { runDemo } from '../demo/run-demo.ts';
import { EXIT, exitOf, worstOf } from '../exit-codes.ts';
import { FOLDER, newOrExistingLog } from '../log-file.ts';

const EXAMPLES = `
Examples:
  loopwright demo          a story of five loops, read back from the log that it leaves
  loopwright demo --json   one object for each loop: loop, verdict, iterations, agentCalls`;

const LOG = join(FOLDER, 'demo.db');

/** `demo`: every loop of the package, on agents whose answers are known before. */
export const addDemo: AddCommand = (command, { terminal, action }) =>
  void command
    .description(
      `Runs all five loops on scripted agents, and leaves a log to look at (${LOG} unless --db says another).`,
    )
    .addHelpText('after', EXAMPLES)
    .action(
      action(async (_args, { db = LOG }) => {
        const loops = await runDemo({
          file: newOrExistingLog({ db }),
          write: terminal.write,
          json: terminal.isJson,
        });
        return worstOf(loops.map(({ verdict }) => (verdict === null ? EXIT.waiting : exitOf(verdict))));
      }),
    );
