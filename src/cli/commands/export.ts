import { once } from 'node:events';
import {
  feedbackRows,
  formatFeedback,
  type Runtime,
  tightFiles,
  tightProgress,
  treeFeedbackLog,
} from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { EXIT } from '../exit-codes.ts';
import { createNewFile, type NewFile } from '../new-file.ts';
import { findRun, openToLook } from '../open.ts';
import { wrong } from '../wrong-use.ts';

const EXAMPLES = `
Examples:
  loopwright export log.jsonl                             the whole log, as lines of JSON
  loopwright export - | gzip > log.jsonl.gz
  loopwright export feedback.jsonl --format feedback --run last
  loopwright export progress.json --format progress --run last`;

interface Options {
  readonly format?: string;
  readonly run?: string;
  readonly force?: boolean;
}

type Write = (line: string) => void | Promise<void>;

/** `export`: the log for another machine, or what other systems read of a run. */
export const addExport: AddCommand = (command, { terminal, action }) =>
  void command
    .description(
      'Writes the log as lines of JSON, which "import" reads; or what other systems read of a run.',
    )
    .argument('[file]', 'where to: nothing may be there; - or nothing for the standard output', '-')
    .option('--format <format>', 'log (default), feedback or progress')
    .option('--run <run>', 'of which run, for feedback and progress')
    .option('--force', 'replace a file that is there')
    .addHelpText('after', EXAMPLES)
    .action(
      action<Options>(async ([given = '-'], { format = 'log', run, force = false, ...common }) => {
        const write = writerOf(format, run);
        const { file: log, runtime } = await openToLook(common);
        const isFile = given !== '-';
        let file: NewFile | undefined;
        try {
          file = isFile ? createNewFile(given, { force, log }) : undefined;
          const about = await write(runtime, file ? file.write : toStandardOutput);
          file?.finish();
          if (isFile && terminal.isJson) terminal.json({ file: given, format, ...about });
          else if (isFile) terminal.say(`Written to ${given}.`);
          return EXIT.ok;
        } catch (error) {
          file?.drop();
          throw error;
        } finally {
          await runtime.close();
        }
      }),
    );

const toStandardOutput: Write = async (line) => {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
};

type Writer = (runtime: Runtime, write: Write) => Promise<object>;

const writerOf = (format: string, run: string | undefined): Writer => {
  if (format === 'log' && run === undefined)
    return async (runtime, write) => ({ head: await runtime.export(write) });
  if (format !== 'feedback' && format !== 'progress')
    throw wrong(
      format === 'log' ? 'A log is exported as a whole.' : `There is no format "${format}".`,
      format === 'log'
        ? 'Leave --run out, or set --format to feedback or progress.'
        : 'Set it to log, feedback or progress.',
    );
  if (run === undefined) throw wrong(`The ${format} of which run?`, 'Name it with --run.');
  return async (runtime, write) => {
    const { id } = await findRun(runtime, run);
    const text = await textOf(runtime, id, format);
    await write(text.trimEnd());
    return { run: id };
  };
};

const textOf = async (runtime: Runtime, run: string, format: 'feedback' | 'progress'): Promise<string> => {
  if (format === 'feedback') {
    const rows = feedbackRows(await runtime.read(treeFeedbackLog, run));
    if (rows.length > 0) return formatFeedback(rows);
    throw wrong(`The run "${run}" has no feedback of a tree.`, 'Name a run that has.');
  }
  const progress = await runtime.read(tightProgress, run);
  if (progress.task !== '') return tightFiles(progress)['progress.json'] ?? '';
  throw wrong(`The run "${run}" is no tight loop.`, 'Name one that is.');
};
