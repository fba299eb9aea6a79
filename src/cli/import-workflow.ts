import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Json, openLog, readWorkflowFile } from '../index.ts';
import type { CommonOptions } from './command-table.ts';
import type { ImportOptions } from './commands/import.ts';
import { descriptionOf, readDefinitions, type StoredDefinition } from './definitions.ts';
import { newOrExistingLog } from './log-file.ts';
import { wrong } from './wrong-use.ts';

/** The workflow that goes on with what is imported. */
export interface GoingOn {
  readonly described: StoredDefinition;
  /** What its file says that it is about. */
  readonly input: Json | undefined;
}

/** The workflow that goes on, from a file or from the log. */
export const goingOn = async (options: ImportOptions & CommonOptions): Promise<GoingOn> => {
  const { workflow: given } = options;
  if (given === undefined)
    throw wrong(
      'Which workflow is to go on with it?',
      'Name its file with --workflow; loopwright init makes one.',
    );
  if (statSync(given, { throwIfNoEntry: false })?.isFile()) {
    const file = await readWorkflowFile(given);
    return {
      described: descriptionOf({ ...file, path: resolve(given) }, dirname(resolve(given))),
      input: file.input,
    };
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
