import { isDeepStrictEqual } from 'node:util';
import { type Agent, type AgentFunction, createRuntime, type Runtime, type Workflow } from '../index.ts';
import { createMemoryLog } from '../store/memory/memory-log.ts';
import { mortalLog } from './mortal-log.ts';

/** A story that can be told again from wherever it was cut off. */
export interface CrashScenario<Result> {
  readonly workflows: readonly Workflow[];
  /** Called for each process: a crash takes the agents' memory with it. */
  readonly agents: () => Readonly<Record<string, Agent | AgentFunction<never, unknown>>>;
  /**
   * Starts what is not there yet, or takes it up, and gives what must be the same after every crash. Start runs under ids of
   * your own, so that they are started once: `runtime.start('ship', task, { id: 'r' })` and then `runtime.run('r')`.
   */
  readonly play: (runtime: Runtime) => Promise<Result>;
  /** Crash at each nth commit only; at each one unless set. */
  readonly every?: number;
}

export interface CrashReport<Result> {
  /** What came of it when nothing crashed. */
  readonly result: Result;
  /** How often it was crashed. */
  readonly crashes: number;
}

/**
 * Plays a scenario once to its end, then again with a crash at every commit there is, each time taken up by another process on the
 * same log.
 *
 * @throws if it comes out differently after one of the crashes, with the number of the commit
 */
export const crashAtEveryStep = async <Result>(
  scenario: CrashScenario<Result>,
): Promise<CrashReport<Result>> => {
  const whole = await playOnce(scenario, Number.POSITIVE_INFINITY);
  const every = scenario.every ?? 1;
  let crashes = 0;
  for (let commit = 1; commit <= whole.commits; commit += every) {
    const { result, hasCrashed } = await playOnce(scenario, commit);
    if (hasCrashed) crashes += 1;
    if (!isDeepStrictEqual(result, whole.result))
      throw new Error(
        `After a crash at commit ${commit} of ${whole.commits} it came out as ${JSON.stringify(result)}, without one as ${JSON.stringify(whole.result)}.`,
      );
  }
  return { result: whole.result, crashes };
};

const playOnce = async <Result>(scenario: CrashScenario<Result>, diesAtCommit: number) => {
  const log = createMemoryLog();
  const first = mortalLog(log, diesAtCommit);
  const open = (its: typeof first) =>
    createRuntime({
      file: ':memory:',
      workflows: scenario.workflows,
      agents: scenario.agents(),
      log: its.log,
      printEscalations: false,
    });
  const live = async () => {
    const runtime = await open(first);
    const result = await scenario.play(runtime);
    await runtime.close();
    return { result };
  };
  const living = live();
  // A process that is dead fails nobody.
  living.catch(() => undefined);
  const ended = await Promise.race([living, first.death.then(() => undefined)]);
  if (ended) return { ...ended, commits: first.commits, hasCrashed: false };
  const second = mortalLog(log, Number.POSITIVE_INFINITY);
  const runtime = await open(second);
  const result = await scenario.play(runtime);
  await runtime.close();
  return { result, commits: second.commits, hasCrashed: true };
};
