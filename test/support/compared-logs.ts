import { resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Workflow } from '../../src/machines/workflow.ts';
import type { Runtime } from '../../src/runtime-api.ts';
import type { RuntimeOptions } from '../../src/runtime-options.ts';
import { logs, type NotedLog, wasCompared } from './noted-logs.ts';
import { isDeep } from './sample-sizes.ts';

type Create = (options: RuntimeOptions<Workflow, unknown>) => Promise<Runtime>;

/** Some contexts grow with every event, and are compared after each. */
const EVENTS_MAX = isDeep ? 10_000 : 1_000;

/** Of a test that makes many logs, as properties do: the first, and one of so many after them. */
const FIRST_LOGS = 10;
const ONE_OF_LOGS = isDeep ? 1 : 10;

const IN_MEMORY = ':memory:';

const keyOf = ({ name, version }: Pick<Workflow, 'name' | 'version'>): string => `${name}@${version}`;

const made = new Map<string, number>();
/** While a log is compared, whoever opens it does so for that. */
let isComparing = false;

/** Whether the next log of the test is one of those that are compared. */
const isChosen = (): boolean => {
  const { testPath = '', currentTestName = '' } = expect.getState();
  const test = `${testPath} ${currentTestName}`;
  const nth = made.get(test) ?? 0;
  made.set(test, nth + 1);
  return nth < FIRST_LOGS || nth % ONE_OF_LOGS === 0;
};

/**
 * Opens runtimes as `createRuntime` does, and lives every run of their logs once more when the test has finished: the machines that wrote
 * a log must make no difference to it, whatever the test was about.
 */
export const noting =
  (create: Create): Create =>
  async (options) => {
    const runtime = await create(options);
    // A log that a test gives is its own: it may outlive its runtimes, or fail on purpose, and is read back by the test.
    if (isComparing || options.log !== undefined) return runtime;
    return options.file === IN_MEMORY ? comparedAtClose(runtime) : noted(runtime, { options, create });
  };

/** A log in memory is gone with its runtime, which knows the machines. */
const comparedAtClose = (runtime: Runtime): Runtime => {
  if (!isChosen()) return runtime;
  const close = runtime.close.bind(runtime);
  let isDone = false;
  return Object.assign(runtime, {
    close: async () => {
      try {
        if (!isDone) await mustBeIdentical(runtime);
      } finally {
        isDone = true;
        await close();
      }
    },
  });
};

const noted = (
  runtime: Runtime,
  { options, create }: { readonly options: RuntimeOptions<Workflow, unknown>; readonly create: Create },
): Runtime => {
  const file = resolve(options.file);
  const known = logs.get(file);
  if (!known && !isChosen()) return runtime;
  const log: NotedLog = known ?? { workflows: new Map(), state: 'due' };
  if (!known && !isCalledAtEnd(() => compareFile(file, log, create))) return comparedAtClose(runtime);
  logs.set(file, log);
  if (log.state === 'compared') log.state = 'due';
  const note = (workflows: readonly Workflow[]): void => {
    for (const each of workflows) {
      if (!log.workflows.has(keyOf(each))) log.workflows.set(keyOf(each), each);
    }
  };
  note(options.workflows);
  const register = runtime.register.bind(runtime);
  return Object.assign(runtime, {
    register: (...workflows: readonly Workflow[]) => {
      register(...workflows);
      note(workflows);
    },
  });
};

/** What is called last comes first: the runtime is closed by then, and its folder is there. False outside of a test. */
const isCalledAtEnd = (check: () => Promise<void>): boolean => {
  try {
    onTestFinished(check);
    return true;
  } catch {
    return false;
  }
};

const compareFile = async (file: string, { workflows }: NotedLog, create: Create): Promise<void> => {
  await compareLog(file, () =>
    create({
      file,
      workflows: [...workflows.values()],
      agents: {},
      readOnly: true,
      printEscalations: false,
      onWarning: () => undefined,
    }),
  );
  logs.delete(file);
};

/**
 * Compares a log with the machines of a runtime that is opened on it, and those that tests have opened it with; unless that was done, or
 * a test has said that it cannot be.
 */
export const compareLog = async (file: string, openLog: () => Promise<Runtime>): Promise<void> => {
  const { state, workflows } = logs.get(resolve(file)) ?? { state: 'due', workflows: new Map() };
  if (state === 'compared') return;
  const compare = async (): Promise<void> => {
    isComparing = true;
    const runtime = await openLog().finally(() => {
      isComparing = false;
    });
    try {
      const known = new Set(runtime.replay().machines().map(keyOf));
      runtime.register(...[...workflows.values()].filter((each) => !known.has(keyOf(each))));
      await mustBeIdentical(runtime, state === 'due' ? EVENTS_MAX : Number.POSITIVE_INFINITY);
    } finally {
      await runtime.close();
    }
  };
  if (state === 'due') await compare();
  else await expect(compare(), 'a log that is said not to be comparable').rejects.toThrow();
  wasCompared(file);
};

const mustBeIdentical = async (runtime: Runtime, eventsMax = EVENTS_MAX): Promise<void> => {
  const [last] = await runtime.audit({ reverse: true, limit: 1 });
  if (!last || last.position > eventsMax) return;
  const compared = await runtime.compareMachines();
  expect(
    compared.filter(({ kind }) => kind !== 'identical'),
    'runs that the machines which made them live otherwise',
  ).toEqual([]);
};

/** Says of a log that it cannot be compared: a test has damaged it on purpose, or taken its machines away. */
export const notComparable = (file: string): void => {
  const path = resolve(file);
  logs.set(path, { workflows: new Map(), ...logs.get(path), state: 'not comparable' });
};
