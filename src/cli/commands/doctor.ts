import { existsSync } from 'node:fs';
import { openLog } from '../../index.ts';
import { type Check, checkCommands, checkLog, checkPrograms, checkRuns } from '../checks.ts';
import type { AddCommand } from '../command-table.ts';
import { readDefinitions } from '../definitions.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { logFileOf } from '../log-file.ts';
import type { Terminal } from '../terminal.ts';

const EXAMPLES = `
Examples:
  loopwright doctor           1 if something must be seen to
  loopwright doctor --json`;

/** `doctor`: whether everything that a run needs is there. */
export const addDoctor: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Looks whether everything that runs need is there, and says what to do where it is not.')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async (_args, options) => {
        const file = logFileOf(options);
        const checks = [...checkPrograms(), ...checkLog(file), ...(await checkContents(file))];
        if (terminal.isJson) terminal.json(checks);
        else for (const check of checks) terminal.say(lineOf(check, terminal));
        return checks.some(({ result }) => result === 'bad') ? EXIT.failed : EXIT.ok;
      }),
    );

const checkContents = async (file: string): Promise<readonly Check[]> => {
  if (!existsSync(file)) return checkCommands([]);
  try {
    const log = await openLog(file);
    try {
      const definitions = await readDefinitions(log);
      return [...checkRuns(await log.runs({ status: 'open' }), definitions), ...checkCommands(definitions)];
    } finally {
      await log.close();
    }
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return [{ what: 'contents', result: 'bad', found, advice: null }];
  }
};

const lineOf = ({ what, result, found, advice }: Check, { colors }: Terminal): string => {
  const mark = result === 'good' ? colors.green('ok  ') : result === 'bad' ? colors.red('BAD ') : 'note';
  return `${mark} ${escapeLine(`${what}: ${found}`)}${advice === null ? '' : `\n     ${escapeLine(advice)}`}`;
};
