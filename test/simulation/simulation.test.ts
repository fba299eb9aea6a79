import { beforeAll, describe, expect, test } from 'vitest';
import { isDeep, rounds } from '../support/sample-sizes.ts';
import { Coverage } from './coverage.ts';
import { runSchedule } from './schedule.ts';
import { chosenSeed, runSeeds } from './seeds.ts';
import type { Variant } from './shell.ts';

const FILE = 'test/simulation/simulation.test.ts';
const SCHEDULES = rounds(20_000, 1_000_000, 4_000);
const TIMEOUT_MS = isDeep ? 2 * 60 * 60_000 : 5 * 60_000;

// Method: the real kernel in a shell that does one small thing at a time, on the log in memory. A seed decides what happens
// next: a stimulus is taken, a turn committed, published or acted upon, an agent acts, answers, answers late, twice or never,
// a timer fires, the host asks for something or repeats itself, a commit fails, the process is gone and a new one recovers.
// An observer who sees only what the log accepted and what reached the world outside holds each step against the laws in
// ledger.ts, and the whole against those in invariants.ts. In four schedules of five faults stop at some step, and then all must come
// to an end; in the fifth they never do, and it is left in the middle after 500 steps.
describe.sequential('a kernel that crashes between any two steps', () => {
  const seen = new Coverage();
  let failure: unknown;

  beforeAll(async () => {
    const before = process.cpuUsage();
    try {
      const run = (seed: number, trace?: (line: string) => void) =>
        runSchedule(seed, { ...(trace && { trace }) });
      await runSeeds({ file: FILE, count: SCHEDULES, run }, (report) => seen.add(report));
    } catch (error) {
      failure = error;
    }
    const { user, system } = process.cpuUsage(before);
    const perSecond = Math.round((1e6 * seen.of('schedules')) / (user + system));
    console.log(`${seen.of('schedules')} schedules, ${perSecond} for each second of processor time`);
  }, TIMEOUT_MS);

  /** What the schedules must have come across, or they prove nothing. */
  const expectSeen = (what: readonly string[]) => {
    if (failure !== undefined) throw failure;
    if (chosenSeed !== undefined) return;
    const rare = what.filter((each) => seen.of(each) < SCHEDULES / 2_000);
    expect(rare, `of ${JSON.stringify(seen)}`).toEqual([]);
  };

  test('G12: a message between actors is processed exactly once', () => {
    expectSeen([
      'message ASK',
      'message WORKED',
      'message WITHDRAW',
      'message REPORT',
      'undelivered: no such actor',
      'undelivered: the actor has ended (done)',
      'undelivered: not taken in this state',
      'crash while idle',
      'crash before a turn',
      'crash after a turn',
      'crash after a commit',
      'crash after publishing',
      'commit fails: DISK_FULL',
      'commit fails: DUPLICATE_TURN',
      'refused: RUN_EXISTS',
      'refused: STALE_VERSION',
      'loaded from a snapshot',
      'loaded from its stream',
      'not there',
      'faults never stop',
      'many crashes',
    ]);
  });

  test('G13: an agent acts at least once with a stable key, its result counts at most once, a late one never', () => {
    expectSeen([
      'message lw.call.begun',
      'message lw.call.done',
      'message lw.call.failed',
      'late lw.call.done',
      'late lw.call.failed',
      'effect repeated',
      'crash while a call is waiting',
      'crash while a call is announced',
      'crash while a call is running',
      'crash while a call is acted',
    ]);
  });

  test('G14: every run ends in a verdict or waits for a person, whatever agents answer', () => {
    expectSeen([
      'ended verified',
      'ended accepted',
      'ended exhausted',
      'ended cancelled',
      'ended failed',
      'waits for a person',
      'message DECIDE',
      'message lw.timer.fired',
      'failed lw.failed',
      'stopped lw.stopped',
      'undelivered: N turns are the cap of the run',
    ]);
  });
});

describe.skipIf(chosenSeed !== undefined)('the schedules themselves', () => {
  const seeds = Array.from({ length: 200 }, (_, index) => index + 1);

  test('the same seed gives the same log, step by step', async () => {
    for (const seed of seeds) {
      const [first, second]: [string[], string[]] = [[], []];
      const one = await runSchedule(seed, { trace: (line) => first.push(line) });
      const other = await runSchedule(seed, { trace: (line) => second.push(line) });
      expect(await other.log.head()).toEqual(await one.log.head());
      expect(second).toEqual(first);
    }
  });

  test('remembered steps change nothing', async () => {
    for (const seed of seeds) {
      const remembered = await runSchedule(seed);
      const computed = await runSchedule(seed, { isPlain: true });
      expect(await computed.log.head()).toEqual(await remembered.log.head());
    }
  });

  // Controls: a shell with one thing wrong must be found out, or the laws would hold whatever it did.
  test.each<[Variant, RegExp]>([
    [
      'acts before the commit',
      /a call is in the log before it acts|a timer never fires early|repeated by a crash only/,
    ],
    ['ignores generations', /an answer is its own call’s/],
    ['forgets open calls', /every run ends or waits for a person/],
    ['keeps its head', /memory equals the log|expected|does not hold/],
    ['loses answers', /every run ends or waits for a person/],
  ])('a shell that %s is found out within 2,000 schedules', async (variant, law) => {
    const run = (seed: number, trace?: (line: string) => void) =>
      runSchedule(seed, { variant, ...(trace && { trace }) });
    await expect(runSeeds({ file: FILE, count: 2_000, run }, () => undefined)).rejects.toThrow(law);
  });

  // Those that only let something hang are no breach of safety: that is what the other schedules are for.
  test.each<[Variant, RegExp | undefined]>([
    ['acts before the commit', /a call is in the log before it acts|a timer never fires early/],
    ['ignores generations', /an answer is its own call’s/],
    ['keeps its head', /memory equals the log|expected|does not hold/],
    ['forgets open calls', undefined],
    ['loses answers', undefined],
  ])(
    'a shell that %s is found out by schedules without an end to faults, if it is unsafe',
    async (variant, law) => {
      const run = (seed: number, trace?: (line: string) => void) =>
        runSchedule(seed, { variant, isForSafety: true, ...(trace && { trace }) });
      const found = runSeeds({ file: FILE, count: 300, run }, () => undefined);
      await (law ? expect(found).rejects.toThrow(law) : expect(found).resolves.toBeUndefined());
    },
  );
});
