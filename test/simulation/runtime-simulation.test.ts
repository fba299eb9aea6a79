import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isDeep, rounds } from '../support/sample-sizes.ts';
import { Coverage } from './coverage.ts';
import { LOOPS } from './loops.ts';
import { type RuntimeScheduleOptions, runRuntimeSchedule } from './runtime-schedule.ts';
import { createRuntimeLoopWorld } from './runtime-world.ts';
import { chosenSeed, runSeeds } from './seeds.ts';

// What has no id of the host's is named by the runtime: here with numbers, so that a log depends on its seed alone.
const ids = vi.hoisted(() => ({ count: 0 }));
vi.mock('../../src/actors/ids.ts', () => ({
  createIds: () => () => {
    ids.count += 1;
    return `u${ids.count}`;
  },
}));

// A process that is let go of is followed by one that has the same machines ready. They are pure: a test compares that with machines of its own.
const machines = vi.hoisted(() => ({ areKept: true }));
vi.mock('../../src/actors/xstate-adapter.ts', async (original) => {
  const real = await original<typeof import('../../src/actors/xstate-adapter.ts')>();
  const behaviorOf: typeof real.behaviorOf = (machine) =>
    machines.areKept ? real.behaviorOf(machine) : real.adaptMachine(machine);
  return { ...real, behaviorOf };
});

const FILE = 'test/simulation/runtime-simulation.test.ts';
const SCHEDULES = rounds(500, 20_000, 150);
/** Over all shipped loops: see `LOOPS`. */
const LOOP_SCHEDULES = rounds(1_000, 50_000, 300);
const TIMEOUT_MS = isDeep ? 2 * 60 * 60_000 : 5 * 60_000;

const runWith =
  (options: Pick<RuntimeScheduleOptions, 'hasUpgrades' | 'isLying' | 'isForSafety' | 'world'>) =>
  (seed: number, trace?: (line: string) => void) => {
    ids.count = 0;
    return runRuntimeSchedule(seed, {
      ...options,
      ...(trace && { trace }),
      passTimers: (ms) => vi.advanceTimersByTime(ms),
      // One is the sweep, which recurs.
      timers: () => vi.getTimerCount() - 1,
      dropTimers: () => vi.clearAllTimers(),
    });
  };

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});

afterAll(() => {
  vi.useRealTimers();
});

// Method: a real runtime on a log in memory, which a seed drives from outside: its commits wait until they are carried out
// or fail, its agents until they are told to act or answer, its clock stands still until time is made to pass. A crash is
// that the runtime is let go of, with all that it was about to do, and another is made on the same log. The laws are those
// of the simulation of the kernel.
describe('a runtime that is let go of at any time', () => {
  const seen = new Coverage();
  let failure: unknown;

  beforeAll(async () => {
    try {
      await runSeeds({ file: FILE, count: SCHEDULES, run: runWith({}) }, (report) => seen.add(report));
    } catch (error) {
      failure = error;
    }
  }, TIMEOUT_MS);

  /** What the schedules must have come across, or they prove nothing. */
  const expectSeen = (what: readonly string[]) => {
    if (failure !== undefined) throw failure;
    if (chosenSeed !== undefined) return;
    const rare = what.filter((each) => seen.of(each) < SCHEDULES / 100);
    expect(rare, `of ${JSON.stringify(seen)}`).toEqual([]);
  };

  test('G12: a message between actors is processed exactly once', () => {
    expectSeen(['message ASK', 'message WORKED']);
    expectSeen(['faults never stop', 'many crashes']);
    expectSeen(['crash', 'close', 'fault', 'commit fails', 'load fails', 'duplicate']);
  });

  test('G13: an agent acts at least once with a stable key, its result counts at most once, a late one never', () => {
    expectSeen(['message lw.call.begun', 'message lw.call.done', 'message lw.call.failed']);
    expectSeen(['late lw.call.done', 'late lw.call.failed', 'effect repeated']);
  });

  test('G14: every run ends in a verdict or waits for a person, whatever agents answer', () => {
    expectSeen(['ended verified', 'ended accepted', 'ended exhausted', 'ended cancelled', 'ended failed']);
    expectSeen(['waits for a person']);
  });
});

// Method: the same with every shipped loop. Those that touch files by themselves are left out, since time stands still for them only:
// processes that are killed have them (test/faults/story-kill.test.ts).
describe('a runtime with a shipped loop that is let go of at any time', () => {
  const all = new Coverage();

  test.each(LOOPS.filter(({ name }) => name !== 'stories').map((loop) => [loop.name, loop] as const))(
    'G12, G13, G14: %s keeps every law, and ends or waits for a person once faults stop',
    async (name, loop) => {
      const before = process.cpuUsage();
      const count = Math.ceil((LOOP_SCHEDULES * loop.share) / 100);
      const run = runWith({ world: createRuntimeLoopWorld(loop) });
      const seen = new Coverage();
      await runSeeds({ file: `${FILE} -t "${name} keeps"`, count, run }, (report) => {
        seen.add(report);
        all.add(report);
      });
      const { user, system } = process.cpuUsage(before);
      console.log(`${name}: ${count} schedules, ${Math.round((1e6 * count) / (user + system))} a second`);
      if (chosenSeed === undefined) expect(seen.of('ended verified')).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test.skipIf(chosenSeed !== undefined)('the schedules came across all that may happen', () => {
    const needed = [
      'crash',
      'close',
      'fault',
      'commit fails',
      'load fails',
      'many crashes',
      'effect repeated',
      'late lw.call.done',
      'late lw.call.failed',
      'message lw.timer.fired',
      'message question.answer',
      'ended accepted',
      'ended exhausted',
      'ended failed',
      'ended cancelled',
      'waits for a person',
      'fact gate.rejected',
      'fact feedback.resolved',
      'fact feedback.escalated',
      'fact correction.opened',
    ];
    expect(needed.filter((each) => all.of(each) < LOOP_SCHEDULES / 1_000)).toEqual([]);
  });
});

describe('a runtime that is upgraded at a restart', () => {
  test(
    'G12, G13, G14: actors that go on under another version keep every law',
    async () => {
      const seen = new Coverage();
      const count = SCHEDULES / 5;
      await runSeeds({ file: FILE, count, run: runWith({ hasUpgrades: true }) }, (report) =>
        seen.add(report),
      );
      if (chosenSeed === undefined) expect(seen.of('migrated lw.migrated')).toBeGreaterThan(count / 100);
    },
    TIMEOUT_MS,
  );
});

describe.skipIf(chosenSeed !== undefined)('the schedules themselves', () => {
  test('the same seed gives the same log, step by step, also where each process has machines of its own', async () => {
    const run = runWith({ hasUpgrades: true });
    for (let seed = 1; seed <= 30; seed += 1) {
      const [first, second]: [string[], string[]] = [[], []];
      const one = await run(seed, (line) => first.push(line));
      machines.areKept = false;
      const other = await run(seed, (line) => second.push(line)).finally(() => {
        machines.areKept = true;
      });
      expect(second).toEqual(first);
      expect(await other.log.head()).toEqual(await one.log.head());
    }
  });

  test('nor does the pace of the machine make a difference to them', async () => {
    const run = runWith({});
    for (let seed = 1; seed <= 10; seed += 1) {
      const [first, second]: [string[], string[]] = [[], []];
      await run(seed, (line) => first.push(line));
      const startMs = performance.now();
      let looks = 0;
      const slow = vi.spyOn(performance, 'now').mockImplementation(() => startMs + (looks += 1) * 100);
      await run(seed, (line) => second.push(line)).finally(() => slow.mockRestore());
      expect(second).toEqual(first);
    }
  });

  test('a log that lies is found out', async () => {
    const lying = runSeeds({ file: FILE, count: 20, run: runWith({ isLying: true }) }, () => undefined);
    await expect(lying).rejects.toThrow('what is published is in the log');
  });

  test('a log that lies is found out with faults that never stop, and with a shipped loop', async () => {
    const gate = LOOPS.find(({ name }) => name === 'gate');
    if (!gate) throw new Error('There is no such loop.');
    for (const run of [
      runWith({ isLying: true, isForSafety: true }),
      runWith({ isLying: true, world: createRuntimeLoopWorld(gate) }),
    ])
      await expect(runSeeds({ file: FILE, count: 20, run }, () => undefined)).rejects.toThrow(
        'what is published is in the log',
      );
  });

  test('a loop that makes more calls than its bound is found out', async () => {
    const gate = LOOPS.find(({ name }) => name === 'gate');
    if (!gate) throw new Error('There is no such loop.');
    const run = runWith({ world: createRuntimeLoopWorld({ ...gate, callsMax: 3 }) });
    await expect(runSeeds({ file: FILE, count: 100, run }, () => undefined)).rejects.toThrow(
      'calls stay within the bound of the loop',
    );
  });
});
