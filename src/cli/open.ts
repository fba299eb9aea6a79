import { existsSync } from 'node:fs';
import {
  createRuntime,
  DEFINITION,
  openLog,
  type RunRecord,
  type Runtime,
  RuntimeError,
  type SecretOptions,
} from '../index.ts';
import type { CommonOptions } from './command-table.ts';
import { isNew, keepDefinition, readDefinitions, type StoredDefinition } from './definitions.ts';
import { existingLog } from './log-file.ts';
import { registeredWith } from './registered.ts';
import { secretsOf } from './secrets.ts';
import { linesUsedIn } from './used-lines.ts';

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
  return { file, runtime: await openRuntime(file, { mode: 'look' }) };
};

/** Looks something up in a log, and lets go of it. */
export const lookUp = async <Found>(
  options: CommonOptions,
  look: (runtime: Runtime) => Promise<Found>,
): Promise<{ readonly file: string; readonly found: Found }> => {
  const { file, runtime } = await openToLook(options);
  try {
    return { file, found: await look(runtime) };
  } finally {
    await runtime.close();
  }
};

export interface OpenOptions {
  /**
   * `look`: for reading, whoever writes. `command`: to carry out what waits in the inbox, without agents. `work`: agents and timers of
   * the runs that are taken up.
   */
  readonly mode: 'look' | 'command' | 'work';
  /** A workflow that is to be kept in the log. */
  readonly described?: StoredDefinition;
  /** Runs that are written to: what their files declare as secrets must be readable. */
  readonly runs?: readonly string[];
  readonly takesUp?: (run: string) => boolean;
  /** The log was put in its place on purpose: see the option of `createRuntime`. */
  readonly restored?: boolean;
  readonly onWarning?: (warning: string) => void;
}

/**
 * Opens a log with every workflow that it has the description of, and one more if that is given.
 *
 * @throws {RuntimeError} SECRETS_UNREADABLE
 */
export const openRuntime = async (file: string, options: OpenOptions): Promise<Runtime> => {
  const { mode, described, takesUp, onWarning, restored } = options;
  const known = existsSync(file) ? await storedIn(file, options.runs) : NOTHING;
  const { definitions: stored, usedLines } = known;
  const needed = described ? [...known.workflows, described.name] : known.workflows;
  const added = described && (await isNew(stored, described)) ? described : undefined;
  const definitions = added ? [...stored, added] : stored;
  const runtime = await createRuntime({
    file,
    ...registeredWith(definitions, { mustHaveAgents: mode === 'work', usedLines }),
    secrets: await secretsOf(definitions, needed),
    readOnly: mode === 'look',
    idle: mode !== 'work',
    printEscalations: false,
    ...(takesUp && { takesUp }),
    ...(onWarning && { onWarning }),
    ...(restored && { restored }),
  });
  if (mode === 'look') return runtime;
  if ((await runtime.runs({ workflow: DEFINITION })).length !== stored.length) {
    // Another process has added one between the two openings.
    await runtime.close();
    return openRuntime(file, options);
  }
  if (added) await keepDefinition(runtime, added, stored.length + 1);
  return runtime;
};

/**
 * What is never to be told of a log: what the workflows in it have declared. For runs that are written to, it must be known.
 *
 * @throws {RuntimeError} SECRETS_UNREADABLE
 */
export const secretsIn = async (file: string, runs: readonly string[]): Promise<SecretOptions> => {
  const { definitions, workflows } = await storedIn(file, runs);
  return secretsOf(definitions, workflows);
};

const NOTHING = { definitions: [], usedLines: () => 0, workflows: [] };

const storedIn = async (file: string, runs: readonly string[] = []) => {
  const log = await openLog(file);
  try {
    const definitions = await readDefinitions(log);
    const records = await Promise.all(runs.map((id) => log.run(id)));
    const workflows = records.flatMap((record) => record?.workflow ?? []);
    return { definitions, usedLines: await linesUsedIn(log, definitions), workflows };
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
