import Database from 'better-sqlite3';
import { expect, onTestFinished } from 'vitest';
import { hashText } from '../../src/events/blob.ts';
import { canonicalJson } from '../../src/events/encode.ts';
import {
  type AgentsOf,
  createRuntime,
  type ErrorCode,
  isRuntimeError,
  type ReplayReport,
  type Runtime,
  type RuntimeError,
  type RuntimeOptions,
  type Workflow,
} from '../../src/index.ts';
import { wasCompared } from './noted-logs.ts';

export { rounds } from './sample-sizes.ts';

/** Opens a runtime that is closed when the test has finished, if it was not before. */
export const open = async <const Workflows extends Workflow>(
  options: RuntimeOptions<Workflows, AgentsOf<Workflows>>,
): Promise<Runtime<Workflows>> => {
  const runtime = await createRuntime(options);
  onTestFinished(() => runtime.close());
  return runtime;
};

/** The error that a promise is rejected with, which must be one of ours, say what to do and have this code. */
export const refusal = async <Code extends ErrorCode>(
  action: Promise<unknown>,
  code: Code,
): Promise<RuntimeError<Code>> => {
  const error: unknown = await action.then(
    (value) => {
      throw new Error(`It was not refused, but gave ${JSON.stringify(value)}.`);
    },
    (reason: unknown) => reason,
  );
  if (!isRuntimeError(error, code)) throw error;
  expect(error.advice).not.toBe('');
  expect(error.message).toContain(error.advice);
  return error;
};

/** Where the log ends: equal before and after if and only if no event was written. */
export const headOf = async (runtime: Pick<Runtime, 'audit'>): Promise<number> =>
  (await runtime.audit({ reverse: true, limit: 1 }))[0]?.position ?? 0;

/** Reads a file with a connection of its own, as another process would. */
export const readFile = <Result>(file: string, read: (db: Database.Database) => Result): Result => {
  const db = new Database(file, { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
};

/** Changes a file behind the back of everyone, as a stranger or a bad disk would. */
export const changeFile = (file: string, ...statements: readonly string[]): void => {
  const db = new Database(file);
  try {
    for (const statement of statements) db.exec(statement);
  } finally {
    db.close();
  }
};

/** Position of the last event that a stranger finds in the file. */
export const committedPosition = (file: string): number =>
  readFile(file, (db) => Number(db.prepare('select coalesce(max(position), 0) from events').pluck().get()));

/**
 * The hash that a replay gives for all states, made from what live actors stored of themselves when the runtime closed: equal
 * if and only if each was in memory what the log says.
 */
export const storedStates = (file: string): string =>
  readFile(file, (db) => {
    const rows = db
      .prepare<[], [string, string]>(
        'select a.address, s.hash from snapshots s join actors a on a.id = s.actor',
      )
      .raw()
      .all();
    return hashText(canonicalJson(rows.sort(([a], [b]) => (a < b ? -1 : 1))));
  });

/** Forgets all that is derived from events and can be made again. */
export const dropDerived = (file: string): void =>
  changeFile(file, 'delete from snapshots', 'delete from views');

/**
 * Replays the log twice, with and without what is derived from it, and compares: to be called at the end of a test whose
 * runtimes are closed. The workflows must be those that the log was written with.
 */
export const expectReplays = async (file: string, workflows: readonly Workflow[]): Promise<ReplayReport> => {
  const replays: ReplayReport[] = [];
  for (const prepare of [() => undefined, () => dropDerived(file)]) {
    prepare();
    const runtime = await createRuntime({ file, workflows, agents: {}, idle: true });
    const { log, replay } = await runtime.verify();
    const compared = await runtime.compareMachines();
    await runtime.close();
    // Machines that nobody changed make no difference to any run. Those that a run was migrated from may be gone.
    expect(compared.filter(({ kind }) => kind !== 'identical' && kind !== 'no machine')).toEqual([]);
    expect(log.problem).toBeUndefined();
    expect(replay.problem).toBeUndefined();
    replays.push(replay);
  }
  const [first, second] = replays;
  if (!first) throw new Error('Nothing was replayed.');
  expect(second).toEqual(first);
  wasCompared(file);
  return first;
};

export {
  createVirtualClock as createFakeClock,
  type VirtualClock as FakeClock,
} from '../../src/testing/index.ts';
