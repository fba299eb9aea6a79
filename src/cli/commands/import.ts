import { existsSync, rmSync } from 'node:fs';
import { createRedactor, importLog, RuntimeError } from '../../index.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { readRows } from '../import-rows.ts';
import { importRun, tellImport } from '../import-run.ts';
import { importSettings } from '../import-settings.ts';
import { type ImportSource, readSource } from '../import-source.ts';
import { goingOn } from '../import-workflow.ts';
import { newOrExistingLog } from '../log-file.ts';
import { secretsOf } from '../secrets.ts';
import type { Terminal } from '../terminal.ts';

const EXAMPLES = `
Examples:
  loopwright import log.jsonl --db copy.db                             an export of ours, into a new log
  loopwright import feedback.jsonl --workflow tree.yaml --task "…"     open feedback goes to its nodes
  loopwright import progress.json --workflow tight.yaml --task "…"     goes on in the pass that was recorded
  loopwright import stories/ --workflow stories.yaml                   each .md file with frontmatter
  loopwright import .agentic-sdlc.json --out stories.yaml              settings become a workflow file

What a file is, is found out from what is in it. Each row is accepted, or named with the reason: then the exit code is 1.
The same is never imported twice. A run that was imported goes on with: loopwright resume RUN`;

export interface ImportOptions {
  readonly format?: string;
  readonly workflow?: string;
  readonly task?: string;
  readonly check?: boolean;
  readonly strict?: boolean;
  readonly loop?: string;
  readonly out?: string;
  readonly force?: boolean;
}

/** `import`: a log of ours, or what another system has left. */
export const addImport: AddCommand = (command, { terminal, action }) =>
  void command
    .description(
      'Brings in an export of a log, or files of other systems: feedback, progress, stories, settings.',
    )
    .argument('<file>', 'a file, packed with gzip or not; a folder of stories; - for the standard input')
    .option('--workflow <file>', 'the workflow that goes on: a file, or the name of one that the log has')
    .option('--task <text>', 'what the run is about, if the workflow file does not say')
    .option('--check', 'only say what would be accepted')
    .option('--strict', 'import nothing if a row is refused')
    .option('--format <format>', 'feedback, progress, stories or settings; found out unless set')
    .option('--loop <loop>', 'of settings: stories or tight')
    .option('--out <file>', 'of settings: where to write the workflow file')
    .option('--force', 'replace a file that is there')
    .addHelpText('after', EXAMPLES)
    .action(
      action<ImportOptions>(async ([given = ''], options) => {
        const source = await readSource(given);
        if (source.kind === 'log') return importOwn(given, source, { terminal, options });
        const known = options.workflow === undefined ? undefined : await goingOn(options);
        const redactor = createRedactor(
          known ? await secretsOf([known.described], [known.described.name]) : {},
        );
        const read = readRows(given, source, { format: options.format, redactor });
        if (options.check === true && !known && read.format !== 'settings')
          return tellImport({ terminal, options }, { run: null, read }, null);
        return read.format === 'settings'
          ? importSettings(read, { terminal, options })
          : importRun(read, known ?? (await goingOn(options)), { terminal, options });
      }),
    );

const importOwn = async (
  given: string,
  { lines }: Extract<ImportSource, { kind: 'log' }>,
  { terminal, options }: { readonly terminal: Terminal; readonly options: ImportOptions & CommonOptions },
): Promise<ExitCode> => {
  if (options.check === true || options.workflow !== undefined)
    throw new RuntimeError('WRONG_USE', {
      problem: 'An export of a log is imported whole: every line of it is checked.',
      instead: 'Leave --check and --workflow out, and name a new log with --db.',
    });
  const file = newOrExistingLog(options);
  const isNew = !existsSync(file);
  const head = await importLog(lines(), file, { source: given }).catch((error: unknown) => {
    // Nothing was imported: nor is there a log then, if there was none.
    if (isNew)
      for (const side of ['', '-wal', '-shm', '.lock', '.head']) rmSync(`${file}${side}`, { force: true });
    throw error;
  });
  if (terminal.isJson) terminal.json({ format: 'log', file, head });
  else terminal.say(`Imported ${head.position} events into ${file}.`);
  return EXIT.ok;
};
