import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { openLog, readWorkflowFile } from '../../index.ts';
import { type Check, checkCommands, checkLog, checkPrograms, checkRuns, checkVariables } from '../checks.ts';
import type { AddCommand } from '../command-table.ts';
import { descriptionOf, readDefinitions, type StoredDefinition } from '../definitions.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { logFileOf } from '../log-file.ts';
import type { Terminal } from '../terminal.ts';

const EXAMPLES = `
Examples:
  loopwright doctor                 1 if something must be seen to
  loopwright doctor workflow.yaml   whether the programs and variables of its agents are there
  loopwright doctor --json`;

/** `doctor`: whether everything that a run needs is there. */
export const addDoctor: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Looks whether everything that runs need is there, and says what to do where it is not.')
    .argument('[file]', 'a workflow that is to be run; those of the log unless given')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async ([path], options) => {
        const file = logFileOf(options);
        const described = path === undefined ? undefined : await readDescription(path);
        const checks = [
          ...checkPrograms(),
          ...checkLog(file),
          ...(described
            ? [...checkCommands([described]), ...checkVariables(described)]
            : await checkContents(file)),
        ];
        if (terminal.isJson) terminal.json(checks);
        else for (const check of checks) terminal.say(lineOf(check, terminal));
        return checks.some(({ result }) => result === 'bad') ? EXIT.failed : EXIT.ok;
      }),
    );

const readDescription = async (path: string): Promise<StoredDefinition> =>
  descriptionOf({ ...(await readWorkflowFile(path)), path: resolve(path) }, dirname(resolve(path)));

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
