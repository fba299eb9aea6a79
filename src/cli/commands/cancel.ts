import { RuntimeError } from '../../index.ts';
import { whoIsHere } from '../by.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { findRun, lookUp } from '../open.ts';
import { sendToOwner } from '../send-to-owner.ts';

const EXAMPLES = `
Examples:
  loopwright cancel ship-3
  loopwright cancel last --reason "no longer needed"`;

interface CancelOptions extends CommonOptions {
  readonly reason?: string;
  readonly by?: string;
}

/** `cancel RUN`: ends it, and what its agents are doing. */
export const addCancel: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Ends a run, and everything that its agents are doing for it.')
    .argument('<run>', 'its id, the beginning of it, or last')
    .option('--reason <text>', 'why')
    .option('--by <name>', 'who decides')
    .addHelpText('after', EXAMPLES)
    .action(
      action<CancelOptions>(async ([given = ''], options) => {
        const { file, found: run } = await lookUp(options, (runtime) => findRun(runtime, given));
        if (run.verdict !== null) throw new RuntimeError('RUN_ENDED', { run: run.id, verdict: run.verdict });
        const { reason } = options;
        await sendToOwner(
          file,
          { kind: 'cancel', run: run.id, ...(reason !== undefined && { reason }) },
          { by: whoIsHere(options) },
        );
        if (terminal.isJson) terminal.json({ run: run.id, verdict: 'cancelled' });
        else terminal.say(`${escapeLine(run.id)} is cancelled.`);
        return EXIT.ok;
      }),
    );
