import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RuntimeError } from '../../errors.ts';
import type { AddCommand } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { IGNORED, TEST, WORKFLOW } from '../starter.ts';

const EXAMPLES = `
Examples:
  loopwright init           in this folder
  loopwright init my-loop   in a new one`;

const FILES: readonly (readonly [name: string, text: string])[] = [
  ['workflow.yaml', WORKFLOW],
  ['workflow.test.mjs', TEST],
];

/** `init [DIR]`: a first workflow and its test. */
export const addInit: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Writes a starter workflow, its test, and a .gitignore. Nothing is overwritten.')
    .argument('[dir]', 'where; this folder unless given', '.')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async ([given], _options) => {
        const folder = given ?? '.';
        const taken = FILES.map(([name]) => join(folder, name)).find((path) => existsSync(path));
        if (taken !== undefined) throw new RuntimeError('FILE_EXISTS', { file: taken });
        mkdirSync(folder, { recursive: true });
        for (const [name, text] of FILES) writeFileSync(join(folder, name), text, { flag: 'wx' });
        const isIgnored = ignore(join(folder, '.gitignore'));
        const files = [...FILES.map(([name]) => name), ...(isIgnored === 'written' ? ['.gitignore'] : [])];
        if (terminal.isJson) terminal.json({ folder, files });
        else {
          const where = resolve(folder) === process.cwd() ? 'this folder' : escapeLine(folder);
          terminal.say(`Wrote to ${where}: ${files.join(', ')}`);
          if (isIgnored === 'missing') terminal.say('Add this line to your .gitignore: .loopwright/');
          terminal.say(
            'Its test needs the package: npm link loopwright (from a clone) or npm i -D loopwright, then node --test',
          );
          terminal.say(`Next: loopwright run ${escapeLine(join(folder, 'workflow.yaml'))}`);
        }
        return EXIT.ok;
      }),
    );

/** A file that is there belongs to somebody: they are told what to add. */
const ignore = (path: string): 'written' | 'known' | 'missing' => {
  if (!existsSync(path)) {
    writeFileSync(path, IGNORED, { flag: 'wx' });
    return 'written';
  }
  return readFileSync(path, 'utf8').includes('.loopwright') ? 'known' : 'missing';
};
