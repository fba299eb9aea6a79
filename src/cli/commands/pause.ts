import { RuntimeError } from '../../index.ts';
import { whoIsHere } from '../by.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { findRun, lookUp } from '../open.ts';
import { sendToOwner } from '../send-to-owner.ts';
import { hint } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright pause ship-3
  loopwright pause last --reason "lunch"     resume takes every such reason back`;

interface PauseOptions extends CommonOptions {
  readonly reason: string;
  readonly by?: string;
}

/** `pause RUN`: lets nothing new begin. */
export const addPause: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Lets nothing new begin in a run; what its agents do now is finished and kept.')
    .argument('<run>', 'its id, the beginning of it, or last')
    .option('--reason <text>', 'why', 'person')
    .option('--by <name>', 'who decides')
    .addHelpText('after', EXAMPLES)
    .action(
      action<PauseOptions>(async ([given = ''], options) => {
        const { file, found: run } = await lookUp(options, (runtime) => findRun(runtime, given));
        if (run.verdict !== null) throw new RuntimeError('RUN_ENDED', { run: run.id, verdict: run.verdict });
        const { reason } = options;
        const message = { type: 'run.pause', reason };
        const by = whoIsHere(options);
        const { redactor } = await sendToOwner(file, { kind: 'send', to: run.id, message }, { by });
        if (terminal.isJson) terminal.json({ run: run.id, paused: true, reason: redactor.text(reason) });
        else terminal.say(`${escapeLine(run.id)} is paused. Go on with: ${hint(options, 'resume', run.id)}`);
        return EXIT.ok;
      }),
    );
