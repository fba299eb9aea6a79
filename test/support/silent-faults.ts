/** Faults of the disk that SQLite is not told of, or only when it reads: one at a time, while a ledger is written and read. */
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PointReport } from '../workers/io-error-worker.ts';
import type { Plan, SharedPlan } from './faultfs.ts';
import { entry } from './ledger.ts';
import { type LedgerRuntime, ledgerRun, openLedger } from './open-ledger.ts';
import { checkLedger } from './verify-ledger.ts';

const ENTRIES = 12;

export interface SilentFaults {
  readonly directory: string;
  readonly plan: SharedPlan;
  /** What a promise came to: `success`, or the code of its error. */
  readonly outcomeOf: (promise: Promise<unknown>) => Promise<string>;
}

type Fault = Pick<Plan, 'operation' | 'action' | 'error'>;

/**
 * Each point has a log of its own, which a process writes and closes, and the next one looks at: once as it was left, and once as it
 * would have been left by a process that is killed before it closes the log.
 */
export async function* silentFaults(
  { directory, plan, outcomeOf }: SilentFaults,
  fault: Fault,
  points: readonly number[],
): AsyncGenerator<PointReport> {
  for (const point of points) {
    const folder = join(directory, String(point));
    mkdirSync(folder);
    const file = join(folder, 'log.db');
    const acknowledged = new Map<number, number>();
    // What cannot be read is there already; what cannot be written is written now.
    if (fault.operation === 'read') await outcomeOf(addAll(file, acknowledged));
    plan.set({ ...fault, first: point, count: fault.operation === 'read' && point % 2 === 0 ? -1 : 1 });
    const refusal = await outcomeOf(fault.operation === 'read' ? readAll(file) : addAll(file, acknowledged));
    const reached = plan.read().acted > 0 ? [] : ['the point was not reached'];
    plan.clear();
    const killed = existsSync(killedIn(folder)) ? [killedIn(folder)] : [];
    const all = [];
    for (const left of [...killed, folder]) all.push(await examine(join(left, 'log.db'), acknowledged));
    const [found = null] = all.flatMap((each) => each.found ?? []);
    const problems = all.flatMap((each) => each.problems);
    const noticed = refusal === 'success' ? found : refusal;
    const during = noticed === null ? 'nothing' : refusal === 'success' ? 'opening' : 'sending';
    yield { point, during, refusal: noticed, problems: [...reached, ...problems] };
  }

  /** How the next process finds out that something is wrong, if it does; if not, all must be there. */
  async function examine(file: string, acknowledged: ReadonlyMap<number, number>) {
    let runtime: LedgerRuntime | undefined;
    const opened = await outcomeOf(
      openLedger(file, { idle: true }).then((it) => {
        runtime = it;
      }),
    );
    if (!runtime) return { found: opened, problems: [] };
    const { log } = await runtime.verify();
    const { problems } = log.ok ? await checkLedger(runtime, acknowledged) : { problems: [] };
    await runtime.close();
    return { found: log.ok ? null : 'verify', problems };
  }
}

/** Where a copy of a folder is, as it was before the log in it was closed. */
const killedIn = (folder: string): string => `${folder}-killed`;

async function addAll(file: string, acknowledged: Map<number, number>): Promise<void> {
  const runtime = await openLedger(file);
  try {
    const run = await ledgerRun(runtime);
    for (let n = 1; n <= ENTRIES; n += 1) {
      const { position } = await run.send(entry(n));
      acknowledged.set(n, position ?? 0);
    }
    cpSync(dirname(file), killedIn(dirname(file)), { recursive: true });
  } finally {
    await runtime.close();
  }
}

class Damaged extends Error {
  /** As `examine` tells of it. */
  override toString = (): string => 'verify';
}

async function readAll(file: string): Promise<void> {
  const runtime = await openLedger(file, { idle: true });
  try {
    await runtime.audit({ limit: Number.POSITIVE_INFINITY });
    if (!(await runtime.verify()).log.ok) throw new Damaged('It is said to be damaged.');
  } finally {
    await runtime.close();
  }
}
