import { beforeAll, describe, expect, test } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { isDeep, rounds } from '../support/sample-sizes.ts';
import { Coverage } from './coverage.ts';
import { createLoopWorld, type SimulatedLoop } from './loop-world.ts';
import { LOOPS } from './loops.ts';
import { runSchedule, type ScheduleOptions } from './schedule.ts';
import { chosenSeed, runSeeds } from './seeds.ts';
import type { Variant } from './shell.ts';

const FILE = 'test/simulation/loops.test.ts';
const SCHEDULES = rounds(20_000, 1_000_000, 4_000);
const TIMEOUT_MS = isDeep ? 2 * 60 * 60_000 : 5 * 60_000;

const runIn =
  (options: ScheduleOptions) =>
  (seed: number, trace?: (line: string) => void): ReturnType<typeof runSchedule> =>
    runSchedule(seed, { ...options, ...(trace && { trace }) });

const named = (name: string): SimulatedLoop => {
  const loop = LOOPS.find((each) => each.name === name);
  if (!loop) throw new Error(`There is no loop ${name}.`);
  return loop;
};

/** Where to see a failure again. */
const fileOf = ({ name }: SimulatedLoop): string => `${FILE} -t "${name} "`;

// Method: as for the kernel (simulation.test.ts), with every loop that is shipped in place of one that was made for it. Agents do
// their work, find fault, complain, talk nonsense, fail, fall silent, answer late, twice or in floods; hosts pause, forge, cancel;
// people answer. No machine here numbers its messages: they are counted by who folds the log.
describe.sequential('loops that crash between any two steps', () => {
  const all = new Coverage();

  test('every schedule has a loop', () => {
    expect(LOOPS.reduce((sum, { share }) => sum + share, 0)).toBe(100);
  });

  test.each(LOOPS.flatMap((loop) => (loop.callsMax === undefined ? [] : [[loop.name, loop] as const])))(
    'K5: %s is held to the bound that the explorer gives',
    async (_name, { workflows, workflow, input, callsMax, turnsMax }) => {
      const runtime = await createRuntime({ file: ':memory:', workflows, agents: {}, idle: true });
      const { result, calls, turns } = await runtime.worstCase(workflow, input);
      await runtime.close();
      expect([result, calls, turns]).toEqual(['proved', callsMax, turnsMax]);
    },
  );

  describe.each(LOOPS.map((loop) => [loop.name, loop] as const))('%s ', (_name, loop) => {
    const count = (SCHEDULES * loop.share) / 100;
    const seen = new Coverage();
    let failure: unknown;

    beforeAll(async () => {
      const before = process.cpuUsage();
      try {
        const run = runIn({ world: createLoopWorld(loop) });
        await runSeeds({ file: fileOf(loop), count, run }, (report) => {
          seen.add(report);
          all.add(report);
        });
      } catch (error) {
        failure = error;
      }
      const { user, system } = process.cpuUsage(before);
      const perSecond = Math.round((1e6 * seen.of('schedules')) / (user + system));
      console.log(`${loop.name}: ${seen.of('schedules')} schedules, ${perSecond} a second`);
    }, TIMEOUT_MS);

    test('G12, G13, G14: keeps every law, and ends or waits for a person once faults stop', () => {
      if (failure !== undefined) throw failure;
      if (chosenSeed !== undefined) return;
      expect(seen.of('schedules')).toBe(count);
      const rare = ['ended verified', 'ended cancelled', 'waits for a person', 'late lw.call.done'].filter(
        (each) => seen.of(each) < count / 500 && !(each.startsWith('waits') && loop.name === 'panel'),
      );
      expect(rare, `of ${JSON.stringify(seen)}`).toEqual([]);
    });
  });

  test.skipIf(chosenSeed !== undefined)('the schedules came across all that may happen', () => {
    const needed = [
      'crash while idle',
      'crash before a turn',
      'crash after a turn',
      'crash after a commit',
      'crash after publishing',
      'commit fails: DISK_FULL',
      'commit fails: DUPLICATE_TURN',

      'crash while a call is waiting',
      'crash while a call is announced',
      'crash while a call is running',
      'crash while a call is acted',
      'effect repeated',
      'late lw.call.failed',
      'message lw.timer.fired',
      'ended accepted',
      'ended exhausted',
      'ended failed',
      'ended stalled',
      'message question.answer',
      'fact run.paused',
      'fact run.resumed',
      'fact gate.rejected',
      'fact feedback.resolved',
      'fact feedback.escalated',
      'fact check.failed',
      'fact correction.opened',
      'fact loop.halted',
      'fact story.reworked',
      'fact tree.planned',
      'undelivered: N turns are the cap of the run',
      'loaded from a snapshot',
      'loaded from its stream',
      'refused: UNKNOWN_EVENT',
    ];
    expect(needed.filter((each) => all.of(each) < SCHEDULES / 5_000)).toEqual([]);
  });
});

describe.skipIf(chosenSeed !== undefined)('the schedules of loops themselves', () => {
  const SEEDS = Array.from({ length: 10 }, (_, index) => index + 1);

  test.each(LOOPS.map((loop) => [loop.name, loop] as const))(
    'of %s: the same seed gives the same log, and remembered steps change nothing',
    async (_name, loop) => {
      const world = createLoopWorld(loop);
      for (const seed of SEEDS) {
        const [first, second]: [string[], string[]] = [[], []];
        const one = await runSchedule(seed, { world, trace: (line) => first.push(line) });
        const other = await runSchedule(seed, { world, isPlain: true, trace: (line) => second.push(line) });
        expect(second).toEqual(first);
        expect(await other.log.head()).toEqual(await one.log.head());
      }
    },
  );

  // Controls: a shell with one thing wrong, and a loop that does not keep its bound, must be found out.
  test.each<[Variant, string, RegExp]>([
    ['acts before the commit', 'gate', /a call is in the log before it acts|a timer never fires early/],
    ['ignores generations', 'tight', /an answer is its own call’s/],
    ['forgets open calls', 'phases', /every run ends or waits for a person/],
    ['keeps its head', 'repeat', /memory equals the log|expected|does not hold/],
    ['loses answers', 'tree', /every run ends or waits for a person/],
  ])('a shell that %s is found out with the loop %s', async (variant, name, law) => {
    const run = runIn({ variant, world: createLoopWorld(named(name)) });
    const found = runSeeds({ file: FILE, count: 500, run }, () => undefined);
    await expect(found).rejects.toThrow(law);
  });

  test('a loop that takes more turns than its bound is found out', async () => {
    const run = runIn({ world: createLoopWorld({ ...named('gate'), turnsMax: 8 }) });
    await expect(runSeeds({ file: FILE, count: 500, run }, () => undefined)).rejects.toThrow(
      'turns stay within the bound of the loop',
    );
  });

  test('a bug that is planted is found, and its seed finds it again', async () => {
    // The loop makes a pass more than the law allows it.
    const world = createLoopWorld({ ...named('gate'), callsMax: 5 });
    const run = runIn({ world });
    const found: unknown = await runSeeds(
      { file: fileOf(named('gate')), count: 2_000, run },
      () => undefined,
    ).catch((error: unknown) => error);
    const message = found instanceof Error ? found.message : '';
    const [, seed, law] = /^Seed (\d+): (calls stay within the bound of the loop: .*)$/m.exec(message) ?? [];
    expect(message).toContain(
      `LOOPWRIGHT_SEED=${seed} npx vitest run test/simulation/loops.test.ts -t "gate "`,
    );
    for (let times = 0; times < 2; times += 1)
      await expect(runSchedule(Number(seed), { world })).rejects.toThrow(law);
    // Without the bug it does not.
    await runSchedule(Number(seed), { world: createLoopWorld(named('gate')) });
  });
});
