import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { type Agent, type CommandOptions, createRuntime, type Failure, type Json } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { ask } from './machines.ts';
import { open } from './runtimes.ts';

/** A variable by which a test finds the processes that come from it, without asking the code under test. */
export interface Mark {
  readonly options: Required<Pick<CommandOptions, 'env'>>;
  readonly value: string;
  /** The processes with it that are alive. */
  readonly pids: () => readonly number[];
}

/** A new mark; what has it is killed when the test has finished. */
export const createMark = (): Mark => {
  const value = randomUUID();
  const pids = () => pidsWith(`TEST_MARK=${value}`);
  onTestFinished(() => {
    for (const pid of pids()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
  });
  return { options: { env: { TEST_MARK: value } }, value, pids };
};

const pidsWith = (entry: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => {
      try {
        const state = readFileSync(`/proc/${id}/stat`, 'latin1').split(') ').at(-1)?.[0];
        return state !== 'Z' && readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').includes(entry);
      } catch {
        return false;
      }
    })
    .map(Number);

/** Waits until something holds. @throws if it does not within 20 seconds */
export const until = async (isThere: () => boolean | Promise<boolean>): Promise<void> => {
  for (const endMs = performance.now() + 20_000; !(await isThere()); await sleep(10)) {
    if (performance.now() > endMs) throw new Error(`Waited in vain for: ${String(isThere)}`);
  }
};

export interface Asked {
  readonly answer: Json;
  readonly failure: Failure | null;
}

export interface AskOptions {
  readonly file?: string;
  readonly attempts?: number;
}

/** Calls an agent once for each input, all at the same time, and gives what a second runtime finds in the log. */
export const askAll = async (
  worker: Agent<Json>,
  inputs: readonly Json[],
  { file = temporaryFile(), attempts = 1 }: AskOptions = {},
): Promise<readonly Asked[]> => {
  const runtime = await open({ file, workflows: [ask], agents: { worker } });
  const runs = await Promise.all(inputs.map((input) => runtime.start('ask', { input, attempts })));
  const told = await Promise.all(runs.map((run) => run.result()));
  await runtime.close();
  const second = await createRuntime({ file, workflows: [ask], agents: { worker }, idle: true });
  const found = await Promise.all(runs.map(async ({ id }) => (await second.run(id, 'ask')).result()));
  await second.close();
  expect(found).toEqual(told);
  return found.map(({ output }) => output as Asked);
};

export const askOnce = async (
  worker: Agent<Json>,
  input: Json = null,
  options: AskOptions = {},
): Promise<Asked> => {
  const [asked] = await askAll(worker, [input], options);
  if (!asked) throw new Error('Nothing was asked.');
  return asked;
};
