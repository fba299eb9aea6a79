import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'rolldown';
import { type Mutant, mutable } from './points.ts';
import type { Order, Told } from './program.ts';

const MACHINES = 'src/machines';
/** Of its own for each process: two may run at once. */
const PROGRAM = `build/mutation/program-${process.pid}.mjs`;
/** A mutant that takes so much longer than all its killers does not end. */
const TIMES_SLOWER = 10;
/** Long, since the machine may be busy with other things: nearly all that is endless is stopped by the bound of a scene before. */
const PATIENCE_MS = 60_000;

/** What came of one mutant. */
export interface Tried extends Mutant {
  /** Who found it; null for a survivor. */
  readonly by: string | null;
  readonly difference: string | null;
  readonly ms: number;
}

export interface MutateOptions {
  /** Machines, or parts of names, with commas between them. */
  readonly only?: string;
  /** So many of each machine, spread over all of them. */
  readonly sample?: number;
  readonly workers?: number;
  /** Only what has one of these in its name tries to find them; with commas between them. */
  readonly killers?: string;
  readonly progress?: (text: string) => void;
  /** For a test that the command can fail: nothing is switched on. */
  readonly isDry?: boolean;
}

/** All there are. */
export const allMutants = (): readonly Mutant[] =>
  readdirSync(MACHINES).flatMap((file) => sourceOf(`${MACHINES}/${file}`).mutants);

const sourceOf = (path: string) => mutable(path, readFileSync(path, 'utf8'));

/** One program with all mutants in it, of which one at a time can be switched on. */
const buildProgram = async (): Promise<void> => {
  await build({
    input: 'test/mutation/program.ts',
    platform: 'node',
    logLevel: 'warn',
    external: ['better-sqlite3', 'rolldown/parseAst'],
    resolve: { conditionNames: ['loopwright-source', 'module', 'node', 'import'] },
    plugins: [
      {
        name: 'mutants',
        load(id) {
          const [, file] = id.match(/\/(src\/machines\/[\w-]+\.ts)$/) ?? [];
          return file === undefined ? null : { code: sourceOf(file).code, moduleType: 'ts' };
        },
      },
    ],
    output: { file: PROGRAM, format: 'esm', codeSplitting: false },
  });
};

interface Measured {
  readonly killer: number;
  readonly ms: number;
  readonly places: ReadonlySet<string>;
}

/** Tries mutants, each with whatever passes its place, the quickest first. */
export const mutate = async (options: MutateOptions = {}): Promise<readonly Tried[]> => {
  const { progress = () => undefined } = options;
  const mutants = chosen(allMutants(), options);
  if (mutants.length === 0) return [];
  await buildProgram();
  try {
    progress(`${mutants.length} mutants; measuring without any`);
    const tried = await tryAll(mutants, await measure(options.killers ?? ''), options);
    return tried.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  } finally {
    rmSync(PROGRAM, { force: true });
  }
};

const tryAll = async (
  mutants: readonly Mutant[],
  measured: readonly Measured[],
  { progress = () => undefined, workers = 2, isDry = false }: MutateOptions,
): Promise<readonly Tried[]> => {
  const queue = [...mutants];
  const tried: Tried[] = [];
  const work = async (): Promise<void> => {
    const worker = createWorker();
    for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
      const { place, kind, name } = mutant;
      const passing = measured
        .filter(({ places }) => places.has(place))
        .toSorted((one, other) => one.ms - other.ms);
      const killers = passing.map(({ killer }) => killer);
      const allMs = passing.reduce((sum, { ms }) => sum + ms, 0);
      const from = performance.now();
      const { by, difference } = await worker.try(
        { do: 'try', place: isDry ? 'nowhere' : place, kind, killers },
        PATIENCE_MS + TIMES_SLOWER * allMs,
      );
      const ms = Math.round(performance.now() - from);
      tried.push({ ...mutant, by, difference, ms });
      const outcome = by === null ? 'SURVIVES' : `found (${difference})`;
      progress(`${tried.length}/${mutants.length} ${name}: ${outcome} ${ms} ms`);
    }
    worker.end();
  };
  await Promise.all(Array.from({ length: workers }, work));
  return tried;
};

const chosen = (all: readonly Mutant[], { only, sample }: MutateOptions): readonly Mutant[] => {
  const known = new Set(all.map(({ machine }) => machine));
  const named = all.filter(({ machine, name }) =>
    (only?.split(',') ?? ['']).some((part) => (known.has(part) ? machine === part : name.includes(part))),
  );
  if (sample === undefined) return named;
  const machines = [...new Set(named.map(({ machine }) => machine))];
  return machines.flatMap((machine) => {
    const own = named.filter((mutant) => mutant.machine === machine);
    const step = Math.max(1, Math.floor(own.length / sample));
    return own.filter((_, index) => index % step === 0).slice(0, sample);
  });
};

const start = (): ChildProcess => fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });

const measure = (among: string): Promise<readonly Measured[]> =>
  new Promise((resolve, reject) => {
    const child = start();
    const measured: Measured[] = [];
    child.on('message', (told: Told) => {
      if (told.told === 'measured' && told.difference !== null) {
        child.kill();
        reject(
          new Error(`Without a mutant, ${told.difference} of scene ${told.killer} differ: see test/graph.`),
        );
      }
      if (told.told === 'measured') measured.push({ ...told, places: new Set(told.places) });
      if (told.told === 'all measured') {
        child.kill();
        resolve(measured);
      }
    });
    child.on('exit', (code) => reject(new Error(`The program ended (${code}) before it had measured all.`)));
    child.send({ do: 'measure', among } satisfies Order);
  });

/** One program, started anew after a mutant that it did not come back from. */
const createWorker = () => {
  let child = start();
  const answer = (order: Order, patienceMs: number) =>
    new Promise<{ by: string | null; difference: string | null }>((resolve) => {
      const finish = (by: string | null, difference: string | null): void => {
        clearTimeout(timeout);
        child.removeAllListeners();
        resolve({ by, difference });
      };
      const timeout = setTimeout(() => {
        child.removeAllListeners();
        child.kill('SIGKILL');
        child = start();
        resolve({ by: 'the clock', difference: 'does not end' });
      }, patienceMs);
      child.on('message', (told: Told) => {
        if (told.told === 'tried') finish(told.by, told.difference);
      });
      child.on('exit', (code) => {
        finish('the process', `ended with ${code}`);
        child = start();
      });
      child.send(order);
    });
  return { try: answer, end: () => child.kill() };
};
