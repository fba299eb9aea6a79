import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  type ImportedRun,
  importedRun,
  isRuntimeError,
  type Json,
  openLog,
  type Runtime,
  RuntimeError,
  readStoryFiles,
  readWorkflowFile,
  type Workflow,
  workflowOf,
} from '../index.ts';
import type { CommonOptions } from './command-table.ts';
import type { ImportOptions } from './commands/import.ts';
import { descriptionOf, readDefinitions, type StoredDefinition } from './definitions.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { tellRows } from './import-rows.ts';
import { newOrExistingLog } from './log-file.ts';
import { openRuntime } from './open.ts';
import type { Terminal } from './terminal.ts';

interface Importing {
  readonly terminal: Terminal;
  readonly options: ImportOptions & CommonOptions;
}

/** Starts a run that goes on where another system has stopped. No agent is called before it is resumed. */
export const importRun = async (
  read: ImportedRun['read'],
  { terminal, options }: Importing,
): Promise<ExitCode> => {
  const { check = false, strict = false } = options;
  const { described, input } = await describedBy(options);
  const workflow = workflowOf(described.definition, 1);
  if (check || (strict && read.refused.length > 0)) {
    const checked = importedRun(workflow, read, { task: null });
    return tell(terminal, { ...checked, run: null }, null);
  }
  const runtime = await openRuntime(newOrExistingLog(options), { mode: 'command', described });
  try {
    const free = read.format === 'stories' ? await freeStories(runtime, described.name, read) : read;
    const task = free.format === 'stories' ? null : taskOf(options.task, input);
    const imported = importedRun(workflow, free, { task, redactor: runtime.redactor });
    const isStopped = imported.run === null || (strict && imported.read.refused.length > 0);
    const isNew = isStopped ? null : await startOnce(runtime, workflow, imported);
    return tell(terminal, isStopped ? { ...imported, run: null } : imported, isNew);
  } finally {
    await runtime.close();
  }
};

const wrong = (problem: string, instead: string): RuntimeError =>
  new RuntimeError('WRONG_USE', { problem, instead });

/** The workflow that goes on, from a file or from the log. */
const describedBy = async (
  options: ImportOptions & CommonOptions,
): Promise<{ readonly described: StoredDefinition; readonly input: Json | undefined }> => {
  const { workflow: given } = options;
  if (given === undefined)
    throw wrong(
      'Which workflow is to go on with it?',
      'Name its file with --workflow; loopwright init makes one.',
    );
  if (statSync(given, { throwIfNoEntry: false })?.isFile()) {
    const file = await readWorkflowFile(given);
    return { described: descriptionOf(file, dirname(resolve(given))), input: file.input };
  }
  const file = newOrExistingLog(options);
  const stored = existsSync(file) ? await definitionsIn(file) : [];
  const described = stored.findLast(({ name }) => name === given);
  if (described) return { described, input: undefined };
  throw wrong(
    `"${given}" is no file, and the log has no workflow of that name.`,
    'Give the path of a workflow file.',
  );
};

const definitionsIn = async (file: string): Promise<readonly StoredDefinition[]> => {
  const log = await openLog(file);
  try {
    return await readDefinitions(log);
  } finally {
    await log.close();
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

/** Two runs must not work on one file. */
const freeStories = async (
  runtime: Runtime,
  workflow: string,
  read: Extract<ImportedRun['read'], { format: 'stories' }>,
): Promise<Extract<ImportedRun['read'], { format: 'stories' }>> => {
  const taken = new Map<string, string>();
  for (const { id } of await runtime.runs({ status: 'open', workflow }))
    for (const path of await filesOf(runtime, id)) taken.set(path, id);
  const paths = read.stories.map((story) => ({ ...story, path: resolve(story.path) }));
  const mine = importedIds(paths, taken);
  if (mine.size === 0) return { ...read, stories: paths };
  const again = readStoryFiles(
    paths.map((story) => {
      const run = taken.get(story.path);
      return run === undefined ? story : { path: story.path, problem: `the run "${run}" is at work on it` };
    }),
  );
  return { ...again, refused: [...read.refused, ...again.refused], notes: [...read.notes, ...again.notes] };
};

const importedIds = (
  paths: readonly { readonly path: string }[],
  taken: ReadonlyMap<string, string>,
): ReadonlySet<string> => new Set(paths.flatMap(({ path }) => taken.get(path) ?? []));

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
const tell = (terminal: Terminal, { run, read }: ImportedRun, isNew: boolean | null): ExitCode => {
  const { format, accepted, refused, notes } = read;
  if (terminal.isJson) terminal.json({ format, accepted, refused, notes, run, isNew });
  else {
    tellRows(terminal, read);
    if (isNew === null) terminal.say('Nothing was imported.');
    else if (isNew) terminal.say(`Imported as the run ${run}. Go on with it: loopwright resume ${run}`);
    else terminal.say(`It was imported before, as the run ${run}: nothing was done.`);
  }
  return refused.length === 0 ? EXIT.ok : EXIT.failed;
};
