import fc from 'fast-check';
import {
  agentCall,
  createRuntime,
  isRuntimeError,
  type RecordedEvent,
  type Verdict,
  workflow,
} from 'loopwright';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { assign, createMachine, setup } from 'xstate';
import type { EventLog } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { flakyLog, type LogTrouble } from '../support/flaky-log.ts';
import { entry, ledger, tallies } from '../support/ledger.ts';
import { isDeep, rounds } from '../support/sample-sizes.ts';

// Far more than it takes, for a machine that is busy with other things.
if (!isDeep) vi.setConfig({ testTimeout: 300_000 });
const CASES = rounds(250, 5_000, 60);

const ATTEMPTS_MAX = 3;
const BACKOFF_MS = 40;

/** Asks its agent until it succeeds, with a pause after each failure, three times at most. */
const mend = workflow(
  'mend',
  setup({
    types: {
      context: {} as { name: string; attempts: number },
      input: {} as { name: string },
      output: {} as { verdict: Verdict },
      events: {} as { type: 'call.begun' },
    },
    actors: { work: agentCall<{ name: string; attempt: number }, { body: string }>({ announce: true }) },
    delays: { backoff: BACKOFF_MS },
    guards: { hasAttemptsLeft: ({ context }) => context.attempts < ATTEMPTS_MAX },
  }).createMachine({
    context: ({ input }) => ({ name: input.name, attempts: 0 }),
    initial: 'queued',
    states: {
      queued: {
        entry: assign({ attempts: ({ context }) => context.attempts + 1 }),
        invoke: {
          id: 'work',
          src: 'work',
          input: ({ context }) => ({ name: context.name, attempt: context.attempts }),
          onDone: 'verified',
          onError: [{ guard: 'hasAttemptsLeft', target: 'waiting' }, { target: 'exhausted' }],
        },
        initial: 'waits',
        states: { waits: { on: { 'call.begun': 'works' } }, works: {} },
      },
      waiting: { after: { backoff: 'queued' } },
      verified: { type: 'final', output: 'verified' },
      exhausted: { type: 'final', output: 'exhausted' },
    },
    output: ({ event }) => ({ verdict: event.output as Verdict }),
  }),
);

/** What the agent does at each attempt of a run. */
type Script = readonly ('fails' | 'answers' | 'answers at length')[];

/** How a run with this script ends, and after how many attempts, if nothing is lost. */
const endOf = (script: Script): { readonly verdict: Verdict; readonly attempts: number } => {
  const first = script.slice(0, ATTEMPTS_MAX).findIndex((act) => act !== 'fails');
  return first === -1
    ? { verdict: 'exhausted', attempts: ATTEMPTS_MAX }
    : { verdict: 'verified', attempts: first + 1 };
};

interface World {
  readonly scripts: readonly Script[];
  /** How many entries are sent to the ledger, and how many at once. */
  readonly entries: number;
  readonly atOnce: number;
  /** What goes wrong with the first writes, one after the other; then all is well. */
  readonly troubles: readonly (LogTrouble | undefined)[];
  /** Which of the first loads fail. */
  readonly loads: readonly boolean[];
  /** How many actors stay in memory. */
  readonly loaded: number;
}

const anyScript: fc.Arbitrary<Script> = fc.array(
  fc.constantFrom('fails' as const, 'answers' as const, 'answers at length' as const),
  { minLength: ATTEMPTS_MAX, maxLength: ATTEMPTS_MAX },
);
const anyWorld: fc.Arbitrary<World> = fc.record({
  scripts: fc.array(anyScript, { maxLength: 5 }),
  entries: fc.nat(12),
  atOnce: fc.integer({ min: 1, max: 4 }),
  troubles: fc.array(
    fc.option(fc.constantFrom('DISK_FULL' as const, 'DISK_LOW' as const, 'LOG_WRITE_FAILED' as const), {
      nil: undefined,
    }),
    { maxLength: 60 },
  ),
  loads: fc.array(fc.boolean(), { maxLength: 20 }),
  loaded: fc.constantFrom(1, 3, 50_000),
});

// Time is ours, so that waiting costs nothing; only what a commit waits for comes from the real event loop.
beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const STEP_MS = 50;
const STEPS_MAX = 5_000;

/** Lets time pass until the promise is settled. */
async function inTime<Result>(promise: Promise<Result>): Promise<Result> {
  const progress = { isSettled: false };
  const settled = promise.finally(() => {
    progress.isSettled = true;
  });
  settled.catch(() => undefined);
  for (let step = 0; !progress.isSettled; step += 1) {
    if (step > STEPS_MAX) throw new Error('Something is waited for that never comes.');
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return settled;
}

/** The agent of all runs. Notes each call by its key: a call that is made twice was paid for twice. */
class Agent {
  readonly calls: string[] = [];
  readonly #scripts: readonly Script[];

  constructor(scripts: readonly Script[]) {
    this.#scripts = scripts;
  }

  readonly work = ({
    input,
    idempotencyKey,
  }: {
    input: { name: string; attempt: number };
    idempotencyKey: string;
  }) => {
    this.calls.push(idempotencyKey);
    const act = this.#scripts[Number(input.name)]?.[input.attempt - 1];
    if (act === 'fails') throw new Error('as its script says');
    return { body: act === 'answers' ? 'done' : `${idempotencyKey} `.repeat(2_000) };
  };
}

const open = (log: EventLog, agent: Agent, options: { loaded?: number; idle?: boolean } = {}) =>
  createRuntime({
    file: 'not used',
    log,
    workflows: [mend, ledger, tallies],
    agents: { work: agent.work },
    limits: { loaded: options.loaded ?? 50_000 },
    idle: options.idle ?? false,
  });
type OpenRuntime = Awaited<ReturnType<typeof open>>;

/** What each actor in the log is, according to this runtime. */
async function statesIn(runtime: OpenRuntime, log: EventLog): Promise<unknown> {
  const addresses = new Set((await log.events({ kinds: ['started'] })).map(({ actor }) => actor));
  return Promise.all([...addresses].map((address) => runtime.actor(address)));
}

/** Repeats what the disk had no room for, as a host would. Anything else is not expected. */
async function insist<Result>(work: () => Promise<Result>, refusals: string[]): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isRuntimeError(error, 'DISK_FULL', 'DISK_LOW', 'LOG_WRITE_FAILED', 'LOG_READ_FAILED')) throw error;
      refusals.push(error.code);
    }
  }
}

/** The host's part of a case: starts the runs and sends the entries, and waits until all has ended. */
async function hostWork(runtime: OpenRuntime, { scripts, entries, atOnce }: World, refusals: string[]) {
  const run = await insist(() => runtime.start('ledger', undefined, { id: 'ledger' }), refusals);
  const started = scripts.map((_, name) =>
    insist(() => runtime.start('mend', { name: String(name) }, { id: `mend-${name}` }), refusals),
  );
  const positions: (number | undefined)[] = [];
  for (let next = 1; next <= entries; next += atOnce) {
    const batch = Array.from({ length: Math.min(atOnce, entries - next + 1) }, (_, index) =>
      entry(next + index),
    );
    const receipts = await Promise.all(batch.map((message) => insist(() => run.send(message), refusals)));
    positions.push(...receipts.map(({ position }) => position));
  }
  const results = await Promise.all((await Promise.all(started)).map((each) => each.result()));
  return { positions, verdicts: results.map(({ verdict }) => verdict) };
}

/** Each attempt is one call of the agent and one answer in the log, each pause one timer, each acknowledged entry one row. */
function expectNothingLost(
  rows: readonly RecordedEvent[],
  { world, agent, positions }: { world: World; agent: Agent; positions: readonly (number | undefined)[] },
): void {
  const attempts = world.scripts.reduce((sum, script) => sum + endOf(script).attempts, 0);
  const ofType = (...types: readonly string[]) => rows.filter(({ type }) => types.includes(type));
  expect(agent.calls).toHaveLength(attempts);
  expect(new Set(agent.calls).size).toBe(attempts);
  expect(ofType('lw.call.begun')).toHaveLength(attempts);
  expect(ofType('lw.call.done', 'lw.call.failed')).toHaveLength(attempts);
  expect(ofType('lw.timer.fired')).toHaveLength(attempts - world.scripts.length);
  expect(ofType('ADD')).toHaveLength(world.entries);
  expect(new Set(ofType('ADD').map(({ position }) => position))).toEqual(new Set(positions));
  expect(rows.filter(({ kind }) => kind === 'late' || kind === 'undelivered')).toEqual([]);
}

describe('commits that fail before anything is written', () => {
  // Method: any runs and entries, and any writes (and loads of actors) that fail. After each, what the runtime
  // has in memory must be what a second runtime makes of the log; in the end all must be as if nothing had ever failed.
  test(`G4: lose no answer and no timer, and leave memory equal to the log (${CASES} cases)`, async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const agent = new Agent(world.scripts);
        const log = createMemoryLog();
        const mirror = await open(flakyLog(log, { onWrite: () => undefined }), agent, { idle: true });
        let runtime: OpenRuntime | undefined;
        let writes = 0;
        let loads = 0;
        let isLooking = false;
        const look = async (): Promise<void> => {
          isLooking = true;
          if (runtime) expect(await statesIn(runtime, log)).toEqual(await statesIn(mirror, log));
          isLooking = false;
        };
        const flaky = flakyLog(log, {
          async onWrite() {
            if (world.troubles[writes - 1] !== undefined) await look();
            writes += 1;
            return world.troubles[writes - 1];
          },
          onLoad() {
            if (isLooking) return false;
            loads += 1;
            return world.loads[loads - 1] ?? false;
          },
        });
        runtime = await open(flaky, agent, { loaded: world.loaded });
        const refusals: string[] = [];

        const { positions, verdicts } = await inTime(hostWork(runtime, world, refusals));

        expect(verdicts).toEqual(world.scripts.map((script) => endOf(script).verdict));
        expectNothingLost(await log.events({ limit: 10_000 }), { world, agent, positions });
        expect(await log.openWork()).toEqual({ calls: [], timers: [] });
        isLooking = true;
        expect(await runtime.verify()).toMatchObject({ log: { ok: true }, replay: { ok: true } });
        for (const code of refusals) expect([...world.troubles, 'LOG_READ_FAILED']).toContain(code);
        await look();
        await inTime(runtime.close());
        await inTime(mirror.close());
      }),
      { numRuns: CASES },
    );
  });
});

test('G4: a timer outlives that the migration of its actor cannot be committed', async () => {
  const machine = (target: string) =>
    createMachine({
      initial: 'waiting',
      states: { waiting: { after: { 1_000: target } }, [target]: { type: 'final' } },
    });
  const log = createMemoryLog();
  const options = { file: 'not used', agents: {} };
  const first = await createRuntime({
    ...options,
    log: flakyLog(log, { onWrite: () => undefined }),
    workflows: [workflow('sleeper', machine('old'))],
  });
  await inTime(first.start('sleeper', undefined, { id: 'sleeper' }));
  await inTime(first.close());
  const troubles: LogTrouble[] = ['DISK_FULL', 'LOG_WRITE_FAILED', 'DISK_LOW'];
  const migrations = { 1: { migrate: () => ({ value: 'waiting', context: {} }) } };
  const second = await createRuntime({
    ...options,
    log: flakyLog(log, { onWrite: () => troubles.shift() }),
    workflows: [workflow('sleeper', machine('new'), { version: 2, migrations })],
  });

  const { verdict } = await inTime(second.run('sleeper').then((run) => run.result()));

  expect([verdict, troubles]).toEqual(['verified', []]);
  expect((await log.events({})).map(({ type, state }) => [type, state])).toEqual([
    ['lw.started', 'waiting'],
    ['lw.migrated', 'waiting'],
    ['lw.timer.fired', 'new'],
    ['lw.run.ended', 'new'],
  ]);
  await inTime(second.close());
});

/** Settles everything that may never come: whoever waits must be told, with this code. */
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'success',
    (error: unknown) => (isRuntimeError(error) ? error.code : String(error)),
  );

describe('a sync that fails', () => {
  // Method: the same worlds, in which the Nth write is the last one that this runtime makes. A second runtime takes up the log.
  const cases = CASES / 5;
  test(`G5: ends the runtime for all who wait, and the next one brings all to its end (${cases} cases)`, async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, fc.integer({ min: 2, max: 40 }), async (world, last) => {
        const agent = new Agent(world.scripts);
        const log = createMemoryLog();
        let writes = 0;
        const onWrite = () => {
          writes += 1;
          return writes >= last ? ('LOG_FAULT' as const) : undefined;
        };
        const runtime = await open(flakyLog(log, { onWrite }), agent, { loaded: world.loaded });
        const faults: string[] = [];
        runtime.fault$.subscribe(({ code }) => faults.push(code));
        const ledgerRun = await inTime(runtime.start('ledger', undefined, { id: 'ledger' }));
        const started = world.scripts.map(async (_, name) => {
          const run = runtime.start('mend', { name: String(name) }, { id: `mend-${name}` });
          return Promise.all([
            codeOf(run.then((each) => each.result())),
            codeOf(run.then((each) => each.settled())),
          ]);
        });

        const sent: string[] = [];
        while (faults.length === 0) sent.push(await inTime(codeOf(ledgerRun.send(entry(sent.length + 1)))));
        const ended = await inTime(Promise.all(started));
        const end = (await log.head()).position;
        const after = await inTime(
          Promise.all([codeOf(ledgerRun.send(entry(99))), codeOf(runtime.start('mend', { name: '0' }))]),
        );

        expect(faults).toEqual(['LOG_FAULT']);
        for (const code of ended.flat()) expect(code).toBeOneOf(['success', 'LOG_FAULT']);
        expect(new Set(sent.slice(0, -1))).toEqual(new Set(sent.length > 1 ? ['success'] : []));
        expect(after).toEqual(['LOG_FAULT', 'LOG_FAULT']);
        expect((await runtime.audit({ reverse: true, limit: 1 }))[0]?.position).toBe(end);
        await inTime(runtime.close());
        expect((await log.head()).position).toBe(end);

        const next = await open(flakyLog(log, { onWrite: () => undefined }), agent);
        const runs = await next.runs({ workflow: 'mend' });
        const results = await inTime(Promise.all(runs.map(async ({ id }) => (await next.run(id)).result())));
        const expected = runs.map(
          ({ id }) => endOf(world.scripts[Number(id.slice('mend-'.length))] ?? []).verdict,
        );
        expect(results.map(({ verdict }) => verdict)).toEqual(expected);
        expect(await next.verify()).toMatchObject({ log: { ok: true }, replay: { ok: true } });
        await inTime(next.close());
      }),
      { numRuns: cases },
    );
  });
});
