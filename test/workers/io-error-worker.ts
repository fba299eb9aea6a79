/**
 * Goes through points at which a call of the file system fails, one after the other, in one process that has faultfs preloaded.
 * On standard output one line of JSON for each point (see `PointReport`), then `END`.
 */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isRuntimeError } from 'loopwright';
import { sharedPlan } from '../support/faultfs.ts';
import { Gate } from '../support/gate.ts';
import { entry } from '../support/ledger.ts';
import { type LedgerRuntime, ledgerRun, openLedger } from '../support/open-ledger.ts';
import { silentFaults } from '../support/silent-faults.ts';
import { checkLedger } from '../support/verify-ledger.ts';

/** What happened when the call of that number failed. */
export interface PointReport {
  readonly point: number;
  readonly during: 'opening' | 'sending' | 'nothing';
  /** What was refused then: its code, or its text if it has none. */
  readonly refusal: string | null;
  readonly problems: readonly string[];
}

const { values } = parseArgs({
  options: {
    directory: { type: 'string', default: '' },
    plan: { type: 'string', default: '' },
    /**
     * What fails: writes while entries are sent, calls while a new log is opened, a sync from the opening on, or reads. Or a bit of a
     * write is another, or half of it is missing, and nothing fails.
     */
    scenario: { type: 'string', default: 'write' },
    operation: { type: 'string', default: 'write' },
    error: { type: 'string', default: '5' },
    /** Numbers of calls, with commas between them. */
    points: { type: 'string', default: '' },
  },
});

const plan = sharedPlan(values.plan);
const error = Number(values.error);
/** More entries than it takes to come to the last point. */
const ENTRIES_MAX = 400;
const PATIENCE_MS = 20_000;
const VERIFY_EVERY = 10;
/** A few times as much as a checkpoint waits for. */
const LARGE_ERRANDS_MAX = 500;

/** An error by its code, or by its text if it is none of ours. */
const nameOf = (refusal: unknown): string => (isRuntimeError(refusal) ? refusal.code : String(refusal));

const outcomeOf = (promise: Promise<unknown>): Promise<string> => {
  const late = sleep(PATIENCE_MS, 'nothing for a long time', { ref: false });
  return Promise.race([promise.then(() => 'success', nameOf), late]);
};

/** The one ledger of a file, through all the runtimes that are opened on it. */
class Book {
  readonly acknowledged = new Map<number, number>();

  /** Adds the next entry. Gives what it was refused with, if it was. */
  async add(runtime: LedgerRuntime): Promise<string | null> {
    try {
      const run = await ledgerRun(runtime);
      const n = this.acknowledged.size + 1;
      const { position } = await run.send(entry(n));
      this.acknowledged.set(n, position ?? 0);
      return null;
    } catch (refusal) {
      return nameOf(refusal);
    }
  }

  async addUntilRefused(runtime: LedgerRuntime): Promise<string | null> {
    let refusal = await this.add(runtime);
    for (let tries = 1; refusal === null && tries < ENTRIES_MAX; tries += 1)
      refusal = await this.add(runtime);
    return refusal;
  }

  /** What is in memory must be what is in the log, and the log can be read. */
  async problemsInMemory(runtime: LedgerRuntime): Promise<readonly string[]> {
    const { context } = await (await ledgerRun(runtime)).state();
    const [last] = await runtime.audit({ types: ['ADD'], limit: 1, reverse: true });
    const counts = [context.entries, this.acknowledged.size, last?.data['n'] ?? 0];
    return new Set(counts).size === 1
      ? []
      : [`in memory, acknowledged and in the log are ${JSON.stringify(counts)} entries`];
  }
}

/** An errand must have ended well, and its call and its timer be in the log exactly once. */
async function problemsOfErrand(runtime: LedgerRuntime, id: string): Promise<readonly string[]> {
  const run = await runtime.run(id, 'errand');
  const outcome = await outcomeOf(run.result());
  const rows = (await runtime.audit({ run: id })).map(({ kind, type }) => `${kind} ${type}`);
  const count = (row: string) => rows.filter((each) => each === row).length;
  const isWhole =
    count('message lw.call.done') === 1 && count('message lw.timer.fired') === 1 && rows.length === 4;
  return outcome === 'success' && isWhole ? [] : [`the errand ${id} came to ${outcome}: ${rows.join(', ')}`];
}

/** While writing fails, an answer and a timer come; entries are refused; then there is room again. */
async function failWrites(
  runtime: LedgerRuntime,
  book: Book,
  gate: Gate,
  point: number,
): Promise<PointReport> {
  const early = `early-${point}`;
  const late = `late-and-large-${point}`;
  for (const name of [early, late]) await runtime.start('errand', { name }, { id: name });
  // Every third time it is one write only that fails: then it may be one of an answer's, and nobody else is refused.
  const isOnce = point % 3 === 0;
  plan.set({
    operation: 'write',
    action: 'fail',
    torn: point % 2 === 0,
    error,
    first: point,
    ...(isOnce && { count: 1 }),
  });
  gate.open(early);
  const refusal = await book.addUntilRefused(runtime);
  gate.open(late);
  const problems = [...(await book.problemsInMemory(runtime))];
  if (!isOnce && (await book.add(runtime)) === null) problems.push('an entry was taken while writing fails');
  if (plan.read().acted === 0) problems.push('the point was not reached');
  plan.clear();
  problems.push(...(await problemsOfErrand(runtime, early)), ...(await problemsOfErrand(runtime, late)));
  const after = await book.add(runtime);
  if (after !== null) problems.push(`an entry was refused with ${after} when all was well again`);
  return { point, during: refusal === null ? 'nothing' : 'sending', refusal, problems };
}

async function* writeScenario(points: readonly number[]): AsyncGenerator<PointReport> {
  const gate = new Gate();
  const book = new Book();
  const runtime = await openLedger(join(values.directory, 'log.db'), { fetch: gate.fetch });
  await book.add(runtime);
  for (const [index, point] of points.entries()) {
    const report = await failWrites(runtime, book, gate, point);
    const isDue = index % VERIFY_EVERY === VERIFY_EVERY - 1 || index === points.length - 1;
    const { problems } = isDue ? await checkLedger(runtime, book.acknowledged) : { problems: [] };
    yield { ...report, problems: [...report.problems, ...problems] };
  }
  await runtime.close();
}

/** A new log that cannot be made is made when all is well again. */
async function* openScenario(points: readonly number[]): AsyncGenerator<PointReport> {
  const operation = values.operation === 'sync' ? 'sync' : 'write';
  for (const point of points) {
    const file = join(values.directory, `log-${point}.db`);
    const book = new Book();
    plan.set({ operation, action: 'fail', torn: point % 2 === 0, error, first: point });
    const opened = await outcomeOf(openLedger(file).then((runtime) => runtime.close()));
    plan.clear();
    const runtime = await openLedger(file);
    await book.add(runtime);
    const { problems } = await checkLedger(runtime, book.acknowledged);
    await runtime.close();
    const refusal = opened === 'success' ? null : opened;
    yield { point, during: refusal === null ? 'nothing' : 'opening', refusal, problems };
  }
}

interface Desk {
  readonly file: string;
  readonly book: Book;
  readonly gate: Gate;
  /** The run that waits for its agent all the time. */
  readonly errand: string;
}

/** Works until it is refused. */
type Work = (runtime: LedgerRuntime) => Promise<string | null>;

/** A sync fails once: whoever waits is told, nothing more is taken, but what is there can be read. */
async function failSync(runtime: LedgerRuntime, { errand, book }: Desk, work: Work) {
  const problems: string[] = [];
  const expect = (what: string, found: string | null) => {
    if (found !== 'LOG_FAULT') problems.push(`${what} got ${found}`);
  };
  const faults: string[] = [];
  runtime.fault$.subscribe((fault) => faults.push(fault.code));
  const started = await outcomeOf(runtime.start('errand', { name: errand }, { id: errand }));
  const run = started === 'success' ? await runtime.run(errand, 'errand') : undefined;
  const waiting = run ? [run.result(), run.settled()].map(outcomeOf) : [];
  const refusal = run ? await work(runtime) : started;
  for (const outcome of await Promise.all(waiting)) expect('whoever waits for a run', outcome);
  expect('the next entry', await book.add(runtime));
  expect('the next run', await outcomeOf(runtime.start('errand', { name: errand })));
  expect('the host', faults.join());
  if (run && (await runtime.audit({ limit: 1, reverse: true })).length === 0)
    problems.push('the log cannot be read');
  const closed = await outcomeOf(runtime.close());
  if (closed !== 'success') problems.push(`closing came to ${closed}`);
  return { during: 'sending', refusal, problems } as const;
}

/** The log as the next runtime finds it. The entry that was refused may be there: nobody could know. */
async function problemsAfterwards({ file, book, gate, errand }: Desk): Promise<readonly string[]> {
  const runtime = await openLedger(file, { fetch: gate.fetch });
  const { problems, entries } = await checkLedger(runtime, book.acknowledged);
  const all = [...problems];
  const [last] = await runtime.audit({ types: ['ADD'], limit: 1, reverse: true });
  if (last && entries === book.acknowledged.size + 1) book.acknowledged.set(entries, last.position);
  if (entries !== book.acknowledged.size)
    all.push(`${entries} entries are there, ${book.acknowledged.size} are known of`);
  if ((await runtime.runs()).some(({ id }) => id === errand)) {
    gate.open(errand);
    all.push(...(await problemsOfErrand(runtime, errand)));
  }
  const added = await book.add(runtime);
  if (added !== null) all.push(`the next entry is refused with ${added}`);
  await runtime.close();
  return all;
}

async function* syncScenario(points: readonly number[]): AsyncGenerator<PointReport> {
  const desk = { file: join(values.directory, 'log.db'), book: new Book(), gate: new Gate() };
  for (const point of points) {
    const errand = `errand-${point}`;
    plan.set({ operation: 'sync', action: 'fail', error, first: point, count: 1 });
    const report = await openLedger(desk.file, { fetch: desk.gate.fetch }).then(
      (runtime) => failSync(runtime, { ...desk, errand }, () => desk.book.addUntilRefused(runtime)),
      (refusal: unknown) => ({ during: 'opening', refusal: nameOf(refusal), problems: [] }) as const,
    );
    const reached = plan.read().acted === 1 ? [] : ['the point was not reached'];
    plan.clear();
    const after = await problemsAfterwards({ ...desk, errand });
    yield { point, ...report, problems: [...report.problems, ...reached, ...after] };
  }
}

/** The sync that fails is the one that ends a checkpoint: what is in the log by then is there all the same. */
async function* checkpointScenario(points: readonly number[]): AsyncGenerator<PointReport> {
  const desk = { file: join(values.directory, 'log.db'), book: new Book(), gate: new Gate() };
  for (const point of points) {
    const errand = `errand-${point}`;
    const runtime = await openLedger(desk.file, { fetch: desk.gate.fetch });
    await desk.book.add(runtime);
    plan.set({ operation: 'sync', action: 'fail', error, first: point, count: 1 });
    const report = await failSync(runtime, { ...desk, errand }, async () => {
      for (let count = 0; count < LARGE_ERRANDS_MAX; count += 1) {
        const name = `large-${point}-${count}`;
        desk.gate.open(name);
        const outcome = await outcomeOf(runtime.start('errand', { name }).then((run) => run.result()));
        if (outcome !== 'success') return outcome;
      }
      return null;
    });
    plan.clear();
    const after = await problemsAfterwards({ ...desk, errand });
    yield { point, ...report, problems: [...report.problems, ...after] };
  }
}

const silent = { directory: values.directory, plan, outcomeOf };

const SCENARIOS: Readonly<Record<string, typeof writeScenario>> = {
  write: writeScenario,
  open: openScenario,
  sync: syncScenario,
  checkpoint: checkpointScenario,
  read: (points) => silentFaults(silent, { operation: 'read', action: 'fail', error }, points),
  flip: (points) => silentFaults(silent, { operation: 'write', action: 'flip' }, points),
  short: (points) => silentFaults(silent, { operation: 'write', action: 'short' }, points),
};
const scenario = SCENARIOS[values.scenario];
if (!scenario) throw new Error(`There is no scenario "${values.scenario}".`);
for await (const report of scenario(values.points.split(',').map(Number))) {
  writeSync(1, `${JSON.stringify(report)}\n`);
}
writeSync(1, 'END\n');
