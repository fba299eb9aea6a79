import { createRuntime, DEFINITION, openLog, type RunRecord, type Runtime, RuntimeError } from '../index.ts';
import type { CommonOptions } from './command-table.ts';
import { readDefinitions, registeredWith } from './definitions.ts';
import { existingLog } from './log-file.ts';

export interface Opened {
  readonly file: string;
  readonly runtime: Runtime;
}

/**
 * Opens a log to look at it, whoever writes it: with every workflow that it has the description of. Close the runtime.
 *
 * @throws {RuntimeError} WRONG_USE if there is no log
 */
export const openToLook = async (options: CommonOptions): Promise<Opened> => {
  const file = existingLog(options);
  return { file, runtime: await openRuntime(file, 'look') };
};

/**
 * `look`: for reading, whoever writes. `command`: to carry out what waits in the inbox, without agents. `work`: to go on with
 * everything that is open.
 */
export type OpenMode = 'look' | 'command' | 'work';

export const openRuntime = async (
  file: string,
  mode: OpenMode,
  onWarning?: (warning: string) => void,
): Promise<Runtime> => {
  const definitions = await storedIn(file);
  const runtime = await createRuntime({
    file,
    ...registeredWith(definitions),
    readOnly: mode === 'look',
    idle: mode !== 'work',
    printEscalations: false,
    ...(onWarning && { onWarning }),
  });
  if (mode === 'look' || definitions.length === (await runtime.runs({ workflow: DEFINITION })).length)
    return runtime;
  // Another process has added one between the two openings.
  await runtime.close();
  return openRuntime(file, mode, onWarning);
};

const storedIn = async (file: string) => {
  const log = await openLog(file);
  try {
    return await readDefinitions(log);
  } finally {
    await log.close();
  }
};

/** Whether a run is one that people started: not one that keeps a description. */
export const isOfPeople = ({ workflow }: Pick<RunRecord, 'workflow'>): boolean => workflow !== DEFINITION;

const NEWEST = ['last', '-'];
const SHOWN_MAX = 5;

/**
 * The run of an id, or of any beginning of one that fits no other; `last` or `-` for the newest.
 *
 * @throws {RuntimeError} AMBIGUOUS_ID, WRONG_USE if there is none
 */
export const findRun = async (runtime: Pick<Runtime, 'runs'>, given: string): Promise<RunRecord> => {
  const runs = (await runtime.runs({ reverse: true })).filter(isOfPeople);
  const found = NEWEST.includes(given) ? runs[0] : runs.find(({ id }) => id === given);
  if (found) return found;
  if (runs.length === 0) {
    throw new RuntimeError('WRONG_USE', {
      problem: 'There is no run in this log.',
      instead: 'Start one: loopwright run FILE.',
    });
  }
  const [only, ...others] = given === '' ? [] : runs.filter(({ id }) => id.startsWith(given));
  if (!only) {
    throw new RuntimeError('WRONG_USE', {
      problem: `No run has an id that begins with "${given}".`,
      instead: 'List them: loopwright ps --all.',
    });
  }
  if (others.length === 0) return only;
  throw new RuntimeError('AMBIGUOUS_ID', {
    given,
    found: [only, ...others].slice(0, SHOWN_MAX).map(({ id }) => id),
  });
};
