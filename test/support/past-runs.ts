import fc from 'fast-check';
import {
  type AgentFunction,
  type CheckerInput,
  createRuntime,
  type DeveloperInput,
  type RecordedEvent,
  type Runtime,
  type StateValue,
  tightLoop,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import type { FakeClock } from './runtimes.ts';

type Input = DeveloperInput & CheckerInput;

/** What review and tests say in each pass: 0 is good, any other number a fault of that name. */
export interface Script {
  readonly reviews: readonly number[];
  readonly tests: readonly number[];
}

export const someScript: fc.Arbitrary<Script> = fc.record({
  reviews: fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }),
  tests: fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }),
});

const FAULTS = ['', 'alpha', 'beta', 'gamma'];
const WORDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

export const verdictOf = (fault: number, pass: number) =>
  fault === 0
    ? { passed: true, issues: [] }
    : {
        passed: false,
        // The third fault is another one in each pass.
        issues: [
          {
            severity: 'high',
            category: 'logic',
            description: `${fault === 3 ? WORDS[pass] : FAULTS[fault]} is missing`,
          },
        ],
      };

export const tight = tightLoop({ maxIterations: 5 });

/** The agents of a tight loop, and every call that they were given. */
export const scripted = ({ reviews, tests }: Script) => {
  const calls: {
    readonly agent: string;
    readonly callId: string;
    readonly run: string;
    readonly pass: number;
  }[] = [];
  const noted =
    (agent: string, work: (input: Input) => unknown): AgentFunction<Input, unknown> =>
    ({ callId, run, input }) => {
      calls.push({ agent, callId, run, pass: input.pass });
      return work(input);
    };
  const agents = {
    developer: noted('developer', ({ pass }) => ({ summary: `change ${pass}` })),
    reviewer: noted('reviewer', ({ pass }) => verdictOf(reviews[pass % 8] ?? 0, pass)),
    tester: noted('tester', ({ pass }) => verdictOf(tests[pass % 8] ?? 0, pass)),
  };
  return { agents, calls };
};

/** Runs a tight loop until it ends or asks, and gives the open runtime. */
export const playTight = async (script: Script, clock?: FakeClock) => {
  const file = temporaryFile();
  const { agents, calls } = scripted(script);
  const runtime = await createRuntime({ file, workflows: [tight], agents, ...(clock && { clock }) });
  const run = await runtime.start('tight-loop', 'Add CSV export', { id: 'r' });
  await run.settled();
  return { file, runtime, run, calls };
};

/** Everything that a log says of a run, apart from where and under which ids. */
export const rowsOf = async (runtime: Pick<Runtime, 'audit'>, run: string) =>
  (await runtime.audit({ run, limit: Number.POSITIVE_INFINITY })).map(
    ({ actor, kind, type, data, from, state, atMs, version }: RecordedEvent) => ({
      actor,
      kind,
      type,
      data,
      from,
      state,
      atMs,
      version,
    }),
  );

/** The way that a run takes, whatever is said on it. */
export const pathsOf = async (
  runtime: Pick<Runtime, 'audit'>,
  run: string,
): Promise<readonly (readonly [string, string, string, StateValue])[]> =>
  (await rowsOf(runtime, run)).map(({ actor, kind, type, state }) => [actor, kind, type, state] as const);
