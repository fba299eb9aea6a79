import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { createRedactor } from '../index.ts';
import { type Adding, COMMANDS, type CommandRow } from './command-table.ts';
import { escapeLine, escapeText } from './escape.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { reportError } from './report-error.ts';
import { createTerminal } from './terminal.ts';

const INTRODUCTION = `Runs self-correcting workflows of agents: every loop ends, every step is on record, a run survives a crash.`;

const EXAMPLES = `
Examples:
  loopwright init                        a starter workflow in this folder
  loopwright run workflow.yaml "a task"  runs it, and shows how far it is
  loopwright ps                          what runs, waits and has ended
  loopwright why last                    why the newest run stands where it does

Exit codes: 0 verified or accepted, 1 failed or a check found something, 2 wrong use, 3 waiting for a person,
4 exhausted, stalled, cancelled or inconclusive, 130 interrupted (go on with: loopwright resume).`;

/** Runs one command line to its end. Never throws: what goes wrong is told, and is in the exit code. */
export const runProgram = async (given: readonly string[]): Promise<ExitCode> => {
  // Before anything is parsed, since it also decides how a wrong command line is told.
  const terminal = createTerminal({
    isJson: given.includes('--json'),
    mayColor: !given.includes('--no-color'),
  });
  let code: ExitCode = EXIT.ok;
  const adding: Adding = {
    terminal,
    action:
      (work) =>
      async (...called) => {
        const command = called.at(-1) as Command; // Commander gives arguments, then options, then the command.
        code = await work(command.args, command.optsWithGlobals());
      },
  };
  try {
    const program = await createProgram(given, adding);
    await program.parseAsync([...given], { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(terminal, error);
    if (error.exitCode === 0) return EXIT.ok;
    if (terminal.isJson)
      terminal.note(
        JSON.stringify({ error: { code: 'WRONG_USE', message: createRedactor({}).text(error.message) } }),
      );
    return EXIT.wrongUse;
  }
};

const createProgram = async (given: readonly string[], adding: Adding): Promise<Command> => {
  const program = new Command('loopwright')
    .description(INTRODUCTION)
    .version(versionOfPackage(), '-V, --version', 'print the version')
    .option('--db <file>', 'the log (default: $LOOPWRIGHT_DB, or .loopwright/log.db)')
    .option('--json', 'print JSON: one document, or one line each for what goes on')
    .option('--no-color', 'print without colours, as with NO_COLOR')
    .helpCommand('help [command]', 'help on a command')
    .configureHelp({
      showGlobalOptions: true,
      sortSubcommands: false,
      // Without the command help, which belongs to no group, and is told of at the end.
      visibleCommands: ({ commands }) => [...commands],
    })
    .configureOutput({
      // What was typed is in it, perhaps with lines of its own; what Commander would have meant is on the next one.
      outputError: (text, write) => {
        const [said = '', ...meant] = text.trimEnd().split(/\n(?=\(Did you mean )/);
        write([escapeLine(said), ...meant].join('\n'));
      },
      writeErr: (text) => {
        if (!adding.terminal.isJson) adding.terminal.note(escapeText(text.trimEnd()));
      },
    })
    .showSuggestionAfterError()
    .showHelpAfterError('See: loopwright --help')
    .addHelpText('after', EXAMPLES)
    .exitOverride();
  for (const row of COMMANDS) await addCommand(program, row, given.includes(row.name) ? adding : undefined);
  return program;
};

/** Only what is called is loaded; of the rest its name and summary are known. */
const addCommand = async (
  program: Command,
  { name, summary, group, load }: CommandRow,
  adding: Adding | undefined,
): Promise<void> => {
  const command = program.command(name).summary(summary).helpGroup(group);
  command.showHelpAfterError(`See: loopwright ${name} --help`);
  if (adding) (await load())(command, adding);
};

const versionOfPackage = (): string => {
  const read: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof read === 'object' && read !== null && 'version' in read ? String(read.version) : 'unknown';
};
