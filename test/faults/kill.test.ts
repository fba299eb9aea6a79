import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { faultEnvironment, type Plan, sharedPlan } from '../support/faultfs.ts';
import { isDeep, rounds } from '../support/sample-sizes.ts';
import { verifyLedger } from '../support/verify-ledger.ts';
import { startWorker, type WorkerProcess } from '../support/worker-process.ts';

// Far more than it takes, for a machine that is busy with other things.
if (!isDeep) vi.setConfig({ testTimeout: 300_000 });

/** Two cores: one more worker than that keeps both of them busy while a log is being verified. */
const LANES = 3;
const KILLS = rounds(150, 1_000, 30);
const KILL_WITHIN_MS = 25;
/** A log is verified from its beginning after each kill, so it must not grow for ever. */
const KILLS_FOR_EACH_LOG = 10;

/** About twenty commits of one entry to seven. */
const ENTRIES = 50;

/** The calls of the file system at which a process may die, and at which of them it is stopped. */
const CALLS: readonly (readonly [name: string, call: Pick<Plan, 'operation' | 'torn'>, every: number])[] = [
  ['write', { operation: 'write' }, isDeep ? 1 : 7],
  ['half-done write', { operation: 'write', torn: true }, isDeep ? 1 : 7],
  ['sync', { operation: 'sync' }, 1],
];
const KILLS_FOR_EACH_CALL = isDeep ? Number.POSITIVE_INFINITY : 4;

/** An image is only read back, so that it needs no disk. */
const IMAGES = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const WELL = { code: 0, signal: null, errors: '' };
const DEAD = { code: null, signal: 'SIGKILL', errors: '' };

/** Does all the jobs, a few at a time. */
async function inLanes<Job>(jobs: readonly Job[], work: (job: Job) => Promise<void>): Promise<void> {
  const left = jobs.values();
  const lane = async (): Promise<void> => {
    for (const job of left) await work(job);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Lets one after the other do something. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

// Method: a worker appends through the public API and prints what was acknowledged. It is killed at a random moment of its work,
// the log is verified as a second process would find it, and the next worker goes on with the same log. Workers start side by
// side, but only one works at a time, while nothing is verified: so the kill comes when it is meant to.
test(`G1, G3: a log survives kill -9 at any moment, whole and with all that was acknowledged (${KILLS} kills)`, async () => {
  const directory = temporaryDirectory();
  const logs = Array.from({ length: KILLS / KILLS_FOR_EACH_LOG }, (_, index) =>
    join(directory, `${index}.db`),
  );
  const inTurn = createTurns();
  const problems: string[] = [];
  let acknowledged = 0;
  let inFlight = 0;

  const killAndVerify = async (file: string, worker: WorkerProcess): Promise<number> => {
    worker.say('.');
    await worker.line('START');
    await sleep(Math.random() * KILL_WITHIN_MS);
    worker.kill();
    expect(await worker.ended).toEqual(DEAD);
    const report = await verifyLedger(file, worker.acknowledged);
    problems.push(...report.problems.map((problem) => `${file}: ${problem}`));
    acknowledged += worker.lines.slice(worker.lines.indexOf('START') + 1).length;
    return report.entries;
  };
  await inLanes(logs, async (file) => {
    let before = 0;
    for (let kill = 0; kill < KILLS_FOR_EACH_LOG; kill += 1) {
      const worker = startWorker('append-worker', {
        arguments: ['--file', file, '--wait'],
      });
      await worker.line('READY');
      const entries = await inTurn(() => killAndVerify(file, worker));
      if (entries > before + worker.acknowledged.size) inFlight += 1;
      // The verifier has added one.
      before = entries + 1;
    }
  });

  expect(problems).toEqual([]);
  // Kills that hit no work would prove nothing.
  expect(acknowledged).toBeGreaterThan(KILLS);
  expect(inFlight).toBeGreaterThan(0);
});

/** Starts a worker whose calls of the file system go by the plan. Everything it does is in a directory of its own. */
function startPlanned(plan: Plan, ...more: readonly string[]) {
  const directory = temporaryDirectory();
  const place = join(directory, 'log');
  mkdirSync(place);
  const shared = sharedPlan(join(directory, 'plan'));
  shared.set(plan);
  const file = join(place, 'log.db');
  const worker = startWorker('append-worker', {
    arguments: ['--file', file, '--entries', String(ENTRIES), ...more],
    environment: faultEnvironment(join(directory, 'plan'), place),
  });
  return { directory, place, file, worker, shared };
}

async function countCalls(call: Pick<Plan, 'operation' | 'torn'>): Promise<number> {
  const { worker, shared } = startPlanned({ ...call, action: 'none', count: 0 });
  expect(await worker.ended).toEqual(WELL);
  return shared.read().seen;
}

/** So many points, evenly spread over the calls of a whole life of the worker. */
const spread = (calls: number, points: number): readonly number[] => {
  const step = Math.max(1, calls / points);
  return Array.from({ length: Math.floor(calls / step) }, (_, index) => Math.ceil((index + 0.5) * step));
};

describe.each(CALLS)('at a %s', (name, call, every) => {
  // Method: the library stops the worker inside the call. What is on disk then is exactly what a kill at that call leaves: it is
  // copied, the worker goes on, and the copy is verified. One worker gives all the points, from the making of the file to its end.
  test(`G1, G3: a log is whole wherever its process stops (${every === 1 ? 'each' : `one in ${every}`})`, async () => {
    const { place, worker, shared } = startPlanned({ ...call, action: 'freeze', step: every });
    const images = mkdtempSync(join(IMAGES, 'loopwright-'));
    onTestFinished(() => rmSync(images, { recursive: true, force: true }));
    const problems: string[] = [];
    let points = 0;

    for (let read = 0; ; read += 1) {
      const line = await worker.next(read);
      if (line === undefined) break;
      if (!line.startsWith('POINT ')) continue;
      const image = join(images, String(read));
      cpSync(place, image, { recursive: true });
      const { acknowledged } = worker;
      worker.say('.');
      points += 1;
      const report = await verifyLedger(join(image, 'log.db'), acknowledged);
      problems.push(...report.problems.map((problem) => `${line}: ${problem}`));
      rmSync(image, { recursive: true });
    }

    expect(problems).toEqual([]);
    expect(await worker.ended).toEqual(WELL);
    expect(worker.acknowledged.size).toBe(ENTRIES);
    expect(points).toBe(shared.read().acted);
    expect(points).toBeGreaterThan(ENTRIES / 2 / every);
  });

  test(`G1, G3: a log is whole after a kill exactly there (${isDeep ? 'each' : `${KILLS_FOR_EACH_CALL} of them`})`, async () => {
    const points = spread(await countCalls(call), KILLS_FOR_EACH_CALL);
    const problems: string[] = [];
    let kills = 0;

    await inLanes(points, async (first) => {
      const { file, worker, shared } = startPlanned({ ...call, action: 'kill', first });
      const end = await worker.ended;
      const { acted } = shared.read();
      // Not each life of the worker has as many calls as another: the last point of all may not be reached.
      expect(end).toEqual(acted === 1 ? DEAD : WELL);
      kills += acted;
      const report = await verifyLedger(file, worker.acknowledged);
      problems.push(...report.problems.map((problem) => `${name} ${first}: ${problem}`));
    });

    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThan(points.length * 0.9);
  });
});

const WITHOUT_LAST_TURN =
  'delete from events where turn = (select max(turn) from turns); delete from turns where turn = (select max(turn) from turns)';

// Method: what the tests above must notice, made on purpose. A verifier that lets these pass would let anything pass.
describe('the verifier itself', () => {
  test('G1: finds that a program acknowledges before the commit, but only once it is killed', async () => {
    const unharmed = startPlanned({ operation: 'write', action: 'none', count: 0 }, '--early');
    expect(await unharmed.worker.ended).toEqual(WELL);
    const first = Math.floor(unharmed.shared.read().seen / 2);
    const killed = startPlanned({ operation: 'write', action: 'kill', first }, '--early');
    expect(await killed.worker.ended).toEqual(DEAD);

    const unharmedReport = await verifyLedger(unharmed.file, unharmed.worker.acknowledged);
    const killedReport = await verifyLedger(killed.file, killed.worker.acknowledged);

    expect(unharmedReport).toEqual({ problems: [], entries: ENTRIES });
    expect(killedReport.problems.join('\n')).toMatch(/was acknowledged at \d+, and is not there/);
  });

  test.each([
    [
      'the last turn is gone',
      WITHOUT_LAST_TURN,
      /cannot be used: .* is not as it was left: it ends with turn \d+/,
    ],
    [
      'half of the last turn is gone',
      'delete from events where position = (select max(position) from events)',
      /cannot be used: .* is damaged/,
    ],
    [
      'a turn in the middle is gone',
      'delete from events where turn = 4; delete from turns where turn = 4',
      /cannot be used: .* is damaged/,
    ],
    [
      'a row is altered',
      `update events set data = '{"n":3,"parts":3,"text":""}' where type = 'ADD' and turn = 4`,
      /cannot be used: .* is damaged/,
    ],
  ])('G1, G3: finds that %s', async (_what, sql, problem) => {
    const { file, worker } = startPlanned({ operation: 'nothing', action: 'none' });
    expect(await worker.ended).toEqual(WELL);
    const db = new Database(file);
    db.exec(sql);
    db.close();

    expect((await verifyLedger(file, worker.acknowledged)).problems.join('\n')).toMatch(problem);
  });

  test('G1: finds that the last turn is gone where no head was kept', async () => {
    const { file, worker } = startPlanned({ operation: 'nothing', action: 'none' });
    expect(await worker.ended).toEqual(WELL);
    const db = new Database(file);
    db.exec(WITHOUT_LAST_TURN);
    db.close();
    rmSync(`${file}.head`);

    expect((await verifyLedger(file, worker.acknowledged)).problems.join('\n')).toMatch(
      /was acknowledged at \d+, and is not there/,
    );
  });
});
