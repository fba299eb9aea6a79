import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createRuntime, tightLoop, type Workflow, type WorstCase, type WorstCaseOptions } from 'loopwright';
import { median } from './measure.ts';
import { type ShippedLoop, shippedLoops } from './shipped-loops.ts';

export interface ProofFigures {
  /** States of the tight loop with three agents, every step taken by itself. */
  readonly states_per_s: number;
  readonly states_per_cpu_s: number;
  /** The same proof as it is made unless one asks for that. */
  readonly tight_ms: number;
  /** All loops with the limits that they have unless others are set, by the clock: so many at a time as there are threads. */
  readonly all_loops_s: number;
  readonly threads: number;
  readonly all_loops_cpu_s: number;
  readonly loops: readonly ProvedLoop[];
}

/** One row of the table. */
export interface ProvedLoop {
  readonly name: string;
  readonly result: string;
  readonly states: number;
  readonly transitions: number;
  readonly seconds: number;
  readonly turns: number | null;
  readonly calls: number | null;
  readonly requests: number | null;
  readonly callsByAgent: Readonly<Record<string, number>>;
  readonly verdicts: readonly string[];
  readonly mayAsk: boolean;
  readonly text: string;
}

export const measureProof = async ({
  times,
  nodesMax,
  tell,
}: {
  readonly times: number;
  readonly nodesMax: number;
  readonly tell: (line: string) => void;
}): Promise<ProofFigures> => {
  const tight = { name: 'tight', workflow: tightLoop() as Workflow, input: 'a task' };
  const stepwise = await repeated(tight, times, { summaries: false });
  const short = await repeated(tight, times, {});
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const loops = await provedByAll(nodesMax, (row) => tell(inWords(row)));
  return {
    states_per_s: median(stepwise.map(({ states, seconds }) => states / seconds)),
    states_per_cpu_s: median(stepwise.map(({ states, cpuSeconds }) => states / cpuSeconds)),
    tight_ms: median(short.map(({ seconds }) => seconds * 1_000)),
    all_loops_s: (performance.now() - startMs) / 1_000,
    threads: THREADS,
    all_loops_cpu_s: secondsOf(process.cpuUsage(cpu)),
    loops,
  };
};

/** One for each core that there is at least. */
const THREADS = 2;
/** What a state is made of is short-lived. */
const YOUNG_MB = 128;

/** Each loop is a proof of its own, and whichever thread is free takes the next one, the longest first: those that are declared last. */
const provedByAll = async (
  nodesMax: number,
  onProved: (row: ProvedLoop) => void,
): Promise<readonly ProvedLoop[]> => {
  const rows: ProvedLoop[] = [];
  const left = [...shippedLoops(nodesMax).keys()];
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('./proof-thread.js', import.meta.url), {
      workerData: { nodesMax },
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    try {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        worker.postMessage(next, []);
        // `once` rejects if the thread fails.
        const [row] = (await once(worker, 'message')) as [ProvedLoop];
        rows[next] = row;
        onProved(row);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: THREADS }, work));
  return rows;
};

const secondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1e6;

/** The first time does not count: its code is not compiled yet. */
const repeated = async (loop: ShippedLoop, times: number, options: WorstCaseOptions) => {
  const all: { readonly states: number; readonly seconds: number; readonly cpuSeconds: number }[] = [];
  for (let time = 0; time <= times; time += 1) {
    const cpu = process.cpuUsage();
    const { states, seconds } = await proved({ ...loop, options: { ...loop.options, ...options } });
    all.push({ states, seconds, cpuSeconds: secondsOf(process.cpuUsage(cpu)) });
  }
  return all.slice(1);
};

export const proved = async ({
  name,
  workflow,
  workflows = [],
  input,
  options = {},
}: ShippedLoop): Promise<ProvedLoop> => {
  const all: readonly Workflow[] = [workflow, ...workflows];
  const runtime = await createRuntime({ file: ':memory:', workflows: all, agents: {}, idle: true });
  try {
    const startMs = performance.now();
    const proof: WorstCase = await runtime.worstCase(workflow.name, input, options);
    const { result, states, transitions, turns, calls, requests, callsByAgent, verdicts, mayAsk, text } =
      proof;
    const seconds = (performance.now() - startMs) / 1_000;
    const bounds = { turns, calls, requests, callsByAgent, verdicts, mayAsk };
    return { name, result, states, transitions, seconds, ...bounds, text };
  } finally {
    await runtime.close();
  }
};

const inWords = ({ name, result, states, seconds, text }: ProvedLoop): string =>
  `  ${name.padEnd(34)} ${result}  ${String(states).padStart(7)} states  ${seconds.toFixed(2).padStart(7)} s  ${text}`;
