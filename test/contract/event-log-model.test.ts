import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import type { EventKind } from '../../src/events/event.ts';
import type { Turn } from '../../src/events/turn.ts';
import type { Batch, EventLog, EventQuery, RunFilter } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { readEverything } from '../store/read-everything.ts';
import { sampleCall, sampleRun, sampleTimer, sampleTurn } from '../store/sample-turns.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/sample-sizes.ts';

const CASES = rounds(60, 2_000);

const ACTORS = ['run-1', 'run-1/a', 'run-1/a/b', 'run-2', 'run-2/a', 'run-10', 'run-10/a'];
const KINDS: readonly EventKind[] = [
  'started',
  'message',
  'fact',
  'undelivered',
  'late',
  'failed',
  'stopped',
  'migrated',
];

/** What a turn shall do. Versions and generations are filled in from what the log has by then, mostly rightly. */
const anyPlan = fc.record({
  /** Mostly a new id; now and then one that was used before. */
  repeats: fc.option(fc.nat(), { freq: 30 }),
  laterMs: fc.nat(3),
  by: fc.option(fc.constantFrom('ann', 'bob')),
  cause: fc.option(fc.nat()),
  events: fc.array(
    fc.record({
      actor: fc.constantFrom(...ACTORS),
      skew: fc.constantFrom(...Array<number>(40).fill(0), 1, -1),
      kind: fc.constantFrom(...KINDS),
      type: fc.constantFrom('WORK', 'DONE', 'odd\ntype'),
      data: fc.dictionary(
        fc.string().filter((key) => key !== '__proto__'),
        fc.string({ unit: 'grapheme' }),
        { maxKeys: 3 },
      ),
      from: fc.option(fc.constantFrom(...ACTORS, 'run-3/sender')),
      isCaused: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  opens: fc.array(fc.tuple(fc.constantFrom(...ACTORS), fc.constantFrom('x', 'y'), fc.nat(3)), {
    maxLength: 2,
  }),
  closes: fc.array(fc.tuple(fc.constantFrom(...ACTORS), fc.constantFrom('x', 'y'), fc.nat(3)), {
    maxLength: 3,
  }),
  runs: fc.array(fc.tuple(fc.constantFrom('run-1', 'run-2', 'run-10'), fc.boolean()), { maxLength: 1 }),
});
type Plan = typeof anyPlan extends fc.Arbitrary<infer Value> ? Value : never;

const anyBatch = fc.record({
  plans: fc.array(anyPlan, { maxLength: 5 }),
  snapshots: fc.array(fc.tuple(fc.constantFrom(...ACTORS), fc.nat(3)), { maxLength: 2 }),
  reopens: fc.boolean(),
});

const position = fc.nat(40);
const anyQuery: fc.Arbitrary<EventQuery> = fc
  .record(
    {
      run: fc.constantFrom('run-1', 'run-2', 'run-10', 'run-4'),
      actor: fc.constantFrom(...ACTORS, 'run-4/none'),
      types: fc.subarray(['WORK', 'DONE', 'odd\ntype']),
      kinds: fc.subarray([...KINDS]),
      cause: position,
      turn: fc.nat(12),
      after: position,
      before: position,
      fromMs: fc.integer({ min: 998, max: 1_030 }),
      toMs: fc.integer({ min: 998, max: 1_030 }),
      limit: fc.constantFrom(0, 1, 3, 1_000, Number.POSITIVE_INFINITY),
      reverse: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  // Most queries name few things: with all of them at once hardly anything would ever fit.
  .chain((query) => fc.subarray(Object.keys(query)).map((keys) => pick(query, keys)));
const anyFilter: fc.Arbitrary<RunFilter> = fc.record(
  {
    status: fc.constantFrom<'open' | 'ended'>('open', 'ended'),
    workflow: fc.constantFrom('tight-loop', 'other'),
    limit: fc.nat(2),
    reverse: fc.boolean(),
  },
  { requiredKeys: [] },
);

function pick(query: EventQuery, keys: readonly string[]): EventQuery {
  return Object.fromEntries(Object.entries(query).filter(([key]) => keys.includes(key)));
}

/** Turns plans into batches, knowing what the log has. */
class Scribe {
  readonly #versions = new Map<string, number>();
  readonly #ids: string[] = [];
  #atMs = 1_000;
  #position = 0;

  batch({
    plans,
    snapshots,
  }: {
    plans: readonly Plan[];
    snapshots: readonly (readonly [string, number])[];
  }): Batch {
    const versions = new Map(this.#versions);
    let atMs = this.#atMs;
    const turns = plans.map((plan, index) => {
      atMs += plan.laterMs;
      const id =
        plan.repeats === null
          ? `t${this.#ids.length + index}`
          : (this.#ids[plan.repeats % this.#ids.length] ?? 't0');
      return this.#turn(plan, { id, atMs, versions });
    });
    return {
      turns,
      snapshots: snapshots.flatMap(([actor, back]) => {
        const version = (versions.get(actor) ?? 0) - back;
        return version < 1
          ? []
          : [{ actor, version, machineVersion: 1, structure: 's', state: `{"v":${version}}`, hash: 'h' }];
      }),
    };
  }

  /** The batch was committed. */
  accept({ turns }: Batch): void {
    for (const { id, atMs, events } of turns) {
      this.#ids.push(id);
      this.#atMs = atMs;
      this.#position += events.length;
      for (const { actor, version } of events) this.#versions.set(actor, version);
    }
  }

  #turn(
    plan: Plan,
    { id, atMs, versions }: { id: string; atMs: number; versions: Map<string, number> },
  ): Turn {
    const events = plan.events.map(({ actor, skew, kind, type, data, from, isCaused }, index) => {
      const version = (versions.get(actor) ?? 0) + 1;
      versions.set(actor, version);
      return {
        actor,
        version: version + skew,
        kind,
        type,
        data,
        from,
        causedBy: isCaused && index > 0 ? index - 1 : null,
      };
    });
    const hasEvents = events.length > 0;
    return sampleTurn(id, events, {
      atMs,
      by: plan.by,
      cause: plan.cause === null || this.#position === 0 ? null : 1 + (plan.cause % this.#position),
      openedCalls: hasEvents ? plan.opens.map((open) => sampleCall(...open)) : [],
      openedTimers: hasEvents ? plan.opens.map((open) => sampleTimer(...open)) : [],
      closedCalls: plan.closes.map(([actor, call, generation]) => ({ actor, call, generation })),
      closedTimers: plan.closes.map(([actor, timer, generation]) => ({ actor, timer, generation })),
      runs: plan.runs.map(([run, isEnd]) =>
        sampleRun(run, isEnd ? { verdict: 'failed', endedAtMs: atMs, result: '{}' } : {}),
      ),
    });
  }
}

/** What came of a commit, in a form that two logs can be compared by. */
async function outcomeOf(log: EventLog, batch: Batch): Promise<unknown> {
  try {
    return { recorded: await log.commit(batch) };
  } catch (error) {
    if (!isRuntimeError(error)) throw error;
    return { code: error.code, fields: error.fields };
  }
}

// Method: give any batches, some of which do not fit, to the log in memory and to the one in SQLite, which is closed and opened
// again now and then. Whatever came before, both must say the same to every question, and have the same head.
test('the log in SQLite does what the log in memory does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBatch, { maxLength: 8 }),
      fc.array(anyQuery, { minLength: 5, maxLength: 12 }),
      fc.array(anyFilter, { maxLength: 3 }),
      async (batches, queries, filters) => {
        const file = temporaryFile();
        const model = createMemoryLog();
        let log = await openSqliteLog({ file });
        const scribe = new Scribe();
        try {
          for (const planned of batches) {
            const batch = scribe.batch(planned);
            const expected = await outcomeOf(model, batch);
            expect(await outcomeOf(log, batch)).toEqual(expected);
            if (typeof expected === 'object' && expected !== null && 'recorded' in expected)
              scribe.accept(batch);
            expect(await log.head()).toEqual(await model.head());
            if (!planned.reopens) continue;
            await log.close();
            log = await openSqliteLog({ file });
          }
          for (const query of queries)
            expect(await log.events(query), JSON.stringify(query)).toEqual(await model.events(query));
          // Whole numbers up to a bit beyond the end, for what only few of the queries above hit.
          for (let number = 0; number <= (await model.head()).position + 1; number += 1) {
            for (const query of [
              { cause: number },
              { cause: number, reverse: true, limit: 1 },
              { turn: number },
            ]) {
              expect(await log.events(query), JSON.stringify(query)).toEqual(await model.events(query));
            }
          }
          for (const filter of filters) expect(await log.runs(filter)).toEqual(await model.runs(filter));
          expect(await readEverything(log)).toEqual(await readEverything(model));
          expect((await log.verify()).problem).toBeUndefined();
        } finally {
          await log.close();
        }
      },
    ),
    { numRuns: CASES },
  );
});
