/** With LOOPWRIGHT_SEED=<n> one schedule is run, and every step of it is shown. */
const { LOOPWRIGHT_SEED } = process.env;

export const chosenSeed = LOOPWRIGHT_SEED === undefined ? undefined : Number(LOOPWRIGHT_SEED);

/** In a schedule about safety, faults never stop: it is left in the middle after so many steps. */
export const SAFETY_STEPS = 500;

/** One schedule in five is about safety alone. In all others faults stop at some time, and then everything must come to an end. */
export const isForSafety = (seed: number): boolean => seed % 5 === 0;

type RunSeed<Report> = (seed: number, trace?: (line: string) => void) => Promise<Report>;

const TRACE_LINES_MAX = 60;

/**
 * Runs the schedules of seeds 1 to `count`, or the chosen one alone. The first that breaks a law ends it, with the seed, the
 * last steps before, and how to see it again.
 */
export const runSeeds = async <Report>(
  { file, count, run }: { file: string; count: number; run: RunSeed<Report> },
  each: (report: Report, seed: number) => void,
): Promise<void> => {
  if (chosenSeed !== undefined) {
    const lines: string[] = [];
    try {
      each(await run(chosenSeed, (line) => lines.push(line)), chosenSeed);
    } finally {
      console.log(lines.join('\n'));
    }
    return;
  }
  for (let seed = 1; seed <= count; seed += 1) {
    try {
      each(await withoutStacks(() => run(seed)), seed);
    } catch {
      throw await explained(seed, file, run);
    }
  }
};

/** Many a schedule has errors that are meant to be; to write down where each came from takes longer than all the rest. */
const withoutStacks = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
};

const explained = async <Report>(seed: number, file: string, run: RunSeed<Report>): Promise<Error> => {
  const lines: string[] = [];
  const cause: unknown = await run(seed, (line) => lines.push(line)).then(
    () => 'It did not fail when it was run again: the schedule depends on more than its seed.',
    (error: unknown) => error,
  );
  return new Error(
    `Seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}\n` +
      `The last steps before:\n  ${lines.slice(-TRACE_LINES_MAX).join('\n  ')}\n` +
      `Run it again, with all steps: LOOPWRIGHT_SEED=${seed} npx vitest run ${file}`,
    { cause },
  );
};
