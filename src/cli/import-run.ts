import { realpathSync } from 'node:fs';
import {
  type ImportedRun,
  importedRun,
  isRuntimeError,
  type Json,
  type Runtime,
  readStoryFiles,
  type Workflow,
  workflowOf,
} from '../index.ts';
import type { CommonOptions } from './command-table.ts';
import type { ImportOptions } from './commands/import.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { tellRows } from './import-rows.ts';
import type { GoingOn } from './import-workflow.ts';
import { newOrExistingLog } from './log-file.ts';
import { openRuntime } from './open.ts';
import type { Terminal } from './terminal.ts';
import { hint } from './ways-on.ts';
import { wrong } from './wrong-use.ts';

interface Importing {
  readonly terminal: Terminal;
  readonly options: ImportOptions & CommonOptions;
}

/** Starts a run that goes on where another system has stopped. No agent is called before it is resumed. */
export const importRun = async (
  read: ImportedRun['read'],
  { described, input }: GoingOn,
  { terminal, options }: Importing,
): Promise<ExitCode> => {
  const { check = false, strict = false } = options;
  const workflow = workflowOf(described.definition, 1);
  if (check || (strict && read.refused.length > 0)) {
    const checked = importedRun(workflow, read, { task: null });
    return tellImport({ terminal, options }, { ...checked, run: null }, null);
  }
  const runtime = await openRuntime(newOrExistingLog(options), { mode: 'command', described });
  try {
    const task = read.format === 'stories' ? null : taskOf(options.task, input);
    const make = (rows: ImportedRun['read']) =>
      importedRun(workflow, rows, { task, redactor: runtime.redactor });
    const whole = make(withRealPaths(read));
    const isThere = (await runtime.runs()).some(({ id }) => id === whole.run);
    const imported =
      whole.read.format === 'stories' && !isThere
        ? make(await freeStories(runtime, workflow.name, whole.read))
        : whole;
    const isStopped = imported.run === null || (strict && imported.read.refused.length > 0);
    const isNew = isStopped ? null : await startOnce(runtime, workflow, imported);
    return tellImport({ terminal, options }, isStopped ? { ...imported, run: null } : imported, isNew);
  } finally {
    await runtime.close();
  }
};

const taskOf = (given: string | undefined, input: Json | undefined): Json => {
  if (given !== undefined) return given;
  if (input !== undefined) return input;
  throw wrong(
    'What is the run about? The file does not say.',
    'Say it with --task, or as `input` of the workflow file.',
  );
};

type Stories = Extract<ImportedRun['read'], { format: 'stories' }>;

const withRealPaths = (read: ImportedRun['read']): ImportedRun['read'] =>
  read.format === 'stories'
    ? { ...read, stories: read.stories.map((story) => ({ ...story, path: realpathSync(story.path) })) }
    : read;

/** Two runs must not work on one file. */
const freeStories = async (runtime: Runtime, workflow: string, read: Stories): Promise<Stories> => {
  const taken = new Map<string, string>();
  for (const { id } of await runtime.runs({ status: 'open', workflow }))
    for (const path of await filesOf(runtime, id)) taken.set(path, id);
  const again = readStoryFiles(
    read.stories.map((story) => {
      const run = taken.get(story.path);
      return run === undefined ? story : { path: story.path, problem: `the run "${run}" is at work on it` };
    }),
  );
  return { ...again, refused: [...read.refused, ...again.refused], notes: [...read.notes, ...again.notes] };
};

const filesOf = async (runtime: Runtime, run: string): Promise<readonly string[]> => {
  const [started] = await runtime.audit({ run, limit: 1 });
  const input = started?.data['input'] as
    | { readonly stories?: readonly { readonly file?: unknown }[] }
    | undefined; // A loop of stories.
  return (input?.stories ?? []).flatMap(({ file }) => (typeof file === 'string' ? [file] : []));
};

/** False if it was there already. */
const startOnce = async (
  runtime: Runtime,
  { name }: Workflow,
  { run, input }: ImportedRun,
): Promise<boolean> => {
  if (run === null) return false;
  try {
    await runtime.start(name, input, { id: run, by: 'import' });
    return true;
  } catch (error) {
    if (!isRuntimeError(error, 'RUN_EXISTS')) throw error;
    return false;
  }
};

/** `isNew` is null if nothing was started. */
export const tellImport = (
  { terminal, options }: Importing,
  { run, read }: Pick<ImportedRun, 'run' | 'read'>,
  isNew: boolean | null,
): ExitCode => {
  const { format, accepted, refused, notes } = read;
  if (terminal.isJson) terminal.json({ format, accepted, refused, notes, run, isNew });
  else {
    tellRows(terminal, read);
    if (isNew === null) terminal.say('Nothing was imported.');
    else if (isNew)
      terminal.say(`Imported as the run ${run}. Go on with it: ${hint(options, 'resume', String(run))}`);
    else terminal.say(`It was imported before, as the run ${run}: nothing was done.`);
  }
  return refused.length === 0 ? EXIT.ok : EXIT.failed;
};
