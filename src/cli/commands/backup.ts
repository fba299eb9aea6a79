import { rmSync } from 'node:fs';
import { openLog } from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { EXIT } from '../exit-codes.ts';
import { existingLog } from '../log-file.ts';
import { draftOf, newFileAt, takePlace } from '../new-file.ts';

const EXAMPLES = `
Examples:
  loopwright backup log-2026-01-31.db   while runs go on`;

/** `backup`: a copy of the log, whoever writes it. */
export const addBackup: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Copies the log to a new file, also while it is in use.')
    .argument('<file>', 'where to: nothing may be there')
    .option('--force', 'replace a file that is there')
    .addHelpText('after', EXAMPLES)
    .action(
      action<{ force?: boolean }>(async ([file = ''], { force = false, ...common }) => {
        const source = existingLog(common);
        const place = { force, log: source };
        const path = newFileAt(file, place);
        const log = await openLog(source);
        try {
          const draft = draftOf(path);
          await log.backup(draft);
          takePlace(draft, file, place);
          // What was kept of another log under this name says nothing of the copy.
          rmSync(`${path}.head`, { force: true });
          const { position, turn } = await log.head();
          if (terminal.isJson) terminal.json({ file: path, position, turn });
          else terminal.say(`Copied to ${file}.`);
          return EXIT.ok;
        } finally {
          await log.close();
        }
      }),
    );
