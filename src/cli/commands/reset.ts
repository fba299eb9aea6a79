import { RuntimeError } from '../../index.ts';
import { whoIsHere } from '../by.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { lookUp } from '../open.ts';
import { sendToOwner } from '../send-to-owner.ts';
import { findStory } from '../stories.ts';
import { hint } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright reset S-12
  loopwright reset S-12 --max 5 --note "the plan was changed"`;

interface ResetOptions extends CommonOptions {
  readonly max?: string;
  readonly note?: string;
  readonly by?: string;
}

/** `reset STORY`: sets the count of its refinements back to 0. */
export const addReset: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Sets the count of refinements of a story back to 0, so that it may be sent back again.')
    .argument('<story>', 'its id, or the beginning of it')
    .option('--max <number>', 'how many refinements it may have from now on')
    .option('--note <text>', 'why')
    .option('--by <name>', 'who decides')
    .addHelpText('after', EXAMPLES)
    .action(
      action<ResetOptions>(async ([given = ''], options) => {
        const max = maxOf(options);
        const { file, found } = await lookUp(options, (runtime) => findStory(runtime, given));
        const { run, key } = found;
        if (run.verdict !== null) throw new RuntimeError('RUN_ENDED', { run: run.id, verdict: run.verdict });
        const by = whoIsHere(options);
        const message = { type: 'story.reset', story: key, max, note: options.note ?? null, by };
        const { hasOwner } = await sendToOwner(file, { kind: 'send', to: run.id, message }, { by });
        if (terminal.isJson) terminal.json({ run: run.id, story: key, reset: true, max, hasOwner });
        else {
          terminal.say(`${escapeLine(key)}: the count of its refinements is 0 again.`);
          if (!hasOwner) terminal.say(`Go on with: ${hint(options, 'resume', run.id)}`);
        }
        return EXIT.ok;
      }),
    );

const maxOf = ({ max }: ResetOptions): number | null => {
  if (max === undefined) return null;
  const number = Number(max);
  if (max.trim() !== '' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new RuntimeError('WRONG_USE', {
    problem: `--max is "${max}".`,
    instead: 'Give it a whole number from 0.',
  });
};
