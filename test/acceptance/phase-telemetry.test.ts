import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  answer,
  type Correction,
  type GivenPhase,
  type PhaseTelemetry,
  PIPELINE,
  phaseRun,
  type RecordedEvent,
  type Workflow,
} from '../../src/index.ts';
import { fail, failing, play, readBack, WORDS, type Work } from '../support/phases.ts';
import { createFakeClock, type FakeClock, rounds } from '../support/runtimes.ts';

/** Takes some seconds and costs some dollars. */
const taking =
  (clock: FakeClock, seconds: number, costUsd: number, make: Work): Work =>
  (request, nth) => {
    clock.advance(seconds * 1_000);
    return answer(make(request, nth), { usage: { costUsd } });
  };

describe('telemetry of phase runs', () => {
  it('P10, P13: a missing authentication is planned, designed and paid for once more', async () => {
    const clock = createFakeClock();
    const units = ['CreateUser', 'UpdateUser', 'DeleteUser', 'ListUsers'];
    const declared = phaseRun('delivery', {
      reviewers: { 'design-review': ['security', 'performance', 'data'] },
    }) as Workflow;
    const played = await play(
      declared,
      {
        planning: taking(clock, 10, 0.02, ({ feedback }) => ({
          units: feedback.length > 0 ? [...units, 'Authentication'] : units,
        })),
        design: taking(clock, 15, 0.03, ({ input }) => ({
          apis: (input.inputs['planning'] as { units: string[] }).units.map((unit) => `/${unit}`),
        })),
        security: ({ input }) =>
          JSON.stringify(input.inputs['design']).includes('Authentication')
            ? { assessment: 'PASS', issues: [] }
            : {
                assessment: 'FAIL',
                issues: [
                  {
                    id: 'AUTH-1',
                    severity: 'critical',
                    category: 'security',
                    description: 'Missing authentication requirement',
                    evidence: 'no unit of the plan is about it',
                    impact: 'anybody can delete users',
                    affected_phase: 'Planning',
                  },
                ],
              },
      },
      { clock, task: 'Build a user management system' },
    );
    const { result, telemetry } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(telemetry.defects).toEqual([
      {
        fingerprint: expect.any(String),
        id: 'AUTH-1',
        description: 'Missing authentication requirement',
        category: 'security',
        severity: 'critical',
        injected: 'planning',
        phases: ['planning'],
        detected: 'design-review',
        reason: null,
        times: 1,
      },
    ]);
    expect(telemetry.corrections).toEqual([
      {
        id: 'c1',
        detected: 'design-review',
        pass: 1,
        finding: 'review',
        openedAtMs: Date.UTC(2026, 0, 1) + 25_000,
        defects: [telemetry.defects[0]?.fingerprint],
        injected: ['planning'],
        attempts: { planning: 1, design: 1 },
        costUsd: 0.05,
        latencyMs: 25_000,
        reviews: { runs: 1, costUsd: 0, latencyMs: 0 },
        outcome: 'verified',
      },
    ]);
    expect(telemetry.metrics).toMatchObject({
      corrections: 2,
      correctionsByPhase: { planning: 1, design: 1 },
      reworkCostUsd: 0.05,
      reworkLatencyMs: 25_000,
      correctionRate: 2 / 7,
      review: { caughtInReview: 1, caughtInTest: 0, yield: 1 },
    });
    expect(telemetry.isAlerted).toBe(false);
  });

  it('P11: yields by phase, the yield of reviews against tests, defects by phase and category', async () => {
    const played = await play(phaseRun('delivery') as Workflow, {
      'design-review': (_, nth) => (nth === 1 ? fail(['a', 'planning', { category: 'scope' }]) : 'PASS'),
      'code-review': (_, nth) => (nth === 1 ? fail(['b', 'design'], ['c', 'code']) : 'PASS'),
      test: (_, nth) =>
        nth === 1 ? fail(['d', 'code'], ['e', 'planning', { category: '__proto__' }]) : 'PASS',
    });
    const { telemetry } = await readBack(played);
    const { metrics } = telemetry;
    expect(metrics.yieldByPhase).toEqual({
      planning: { present: 2, caught: 0, yield: 0 },
      design: { present: 3, caught: 0, yield: 0 },
      'design-review': { present: 3, caught: 1, yield: 1 / 3 },
      code: { present: 4, caught: 0, yield: 0 },
      'code-review': { present: 4, caught: 2, yield: 0.5 },
      test: { present: 2, caught: 2, yield: 1 },
      postmortem: { present: 0, caught: 0, yield: null },
    });
    expect(metrics.review).toEqual({ caughtInReview: 3, caughtInTest: 2, yield: 0.6 });
    expect(metrics.defectsByPhase).toEqual({ planning: 2, design: 1, code: 2 });
    expect(metrics.defectsByCategory).toEqual({ scope: 1, logic: 3, '(__proto__)': 1 });
  });

  it.each([
    [undefined, 1, false],
    [undefined, 2, true],
    [0.2, 1, true],
    [null, 3, false],
  ])(
    'P11: with an alert above %s, %i rounds of planning and design again alert: %s',
    async (alertAbove, times, expected) => {
      const phases = PIPELINE.map((phase): GivenPhase => ({ ...phase, passes: 9 }));
      const declared = phaseRun('delivery', {
        phases,
        ...(alertAbove !== undefined && { alertAbove }),
      }) as Workflow;
      const played = await play(declared, {
        'design-review': failing(times, 'planning'),
      });
      const { telemetry, facts } = await readBack(played);
      expect([telemetry.isAlerted, facts('correction.alert').length]).toEqual([expected, expected ? 1 : 0]);
    },
  );
});

/** What the agents of a random run do: numbers that each call looks up by its turn. */
interface Case {
  readonly table: readonly number[];
  readonly costs: readonly number[];
}

const someCase: fc.Arbitrary<Case> = fc.record({
  table: fc.array(fc.nat(999), { minLength: 60, maxLength: 60 }),
  costs: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 20, maxLength: 20 }),
});

const WORK = ['planning', 'design', 'code'];

/** A report of random issues in phases before it, or a pass. */
const reportOf = (earlier: readonly string[], dice: number, nth: number): unknown => {
  if (dice % 3 > 0) return 'PASS';
  const issues = Array.from({ length: (dice % 4) + 1 }, (_, at) => {
    const phases = earlier.filter((__, place) => ((dice >> (place + at)) & 1) === 1);
    const word = `${WORDS[(dice + at) % WORDS.length]} ${WORDS[nth % WORDS.length]} is wrong`;
    return [word, dice % 5 === 0 ? 'unknown' : phases, { category: `kind ${dice % 2}` }] as const;
  });
  return fail(...issues);
};

describe('P10, P11: the figures of a run', () => {
  it('agree with a computation from the raw rows, whatever the reports are', async () => {
    await fc.assert(
      fc.asyncProperty(someCase, async ({ table, costs }) => {
        const clock = createFakeClock();
        let turn = 0;
        const next = () => table[turn++ % table.length] ?? 0;
        const script = Object.fromEntries(
          PIPELINE.map(({ id }): [string, Work] => {
            const earlier = WORK.slice(0, id === 'design-review' ? 2 : 3);
            const isReview = id.endsWith('review') || id === 'test';
            return [
              id,
              (_, nth) => {
                const dice = next();
                clock.advance(1_000 * (dice % 7));
                const usage = { costUsd: (costs[dice % costs.length] ?? 0) / 100 };
                if (isReview) return answer(reportOf(earlier, dice, nth), { usage });
                if (id === 'code' && dice % 11 === 0)
                  return answer(null, {
                    usage,
                    issues: [{ description: `${WORDS[nth]} size`, phases: 'design' }],
                  });
                return answer({ made: id, nth: dice % 13 === 0 ? 1 : nth }, { usage });
              },
            ];
          }),
        );
        const declared = phaseRun('delivery', { onLimit: 'stop' }) as Workflow;
        const played = await play(declared, script, { clock });
        const { telemetry, events, result } = await readBack(played);
        expect(result.verdict).toMatch(/^(verified|exhausted|stalled)$/);
        expect(telemetry).toMatchObject(recomputed(events, result.output?.corrections ?? []));
        expect(played.calls.length).toBe(result.output?.spent.calls);
      }),
      { numRuns: rounds(12, 300) },
    );
  }, 120_000);
});

/** The same figures from requests, replies and reports alone: not from what the run says about its corrections. */
const recomputed = (events: readonly RecordedEvent[], corrections: readonly Correction[]): object => {
  const order: readonly string[] = PIPELINE.map(({ id }) => id);
  const place = (id: string) => order.indexOf(id);
  const first = new Map<string, { injected: string; detected: string; category: string }>();
  const open: { detected: string; id: string }[] = [];
  const cost: Record<string, number> = {};
  const latency: Record<string, number> = {};
  const attempts: Record<string, Record<string, number>> = {};
  const runs: Record<string, number> = {};
  const begunAt: Record<string, number> = {};
  for (const { type, kind, data, atMs, actor } of events) {
    if (kind === 'message' && type === 'agent.request') {
      const { id } = data['request'] as { id: string };
      begunAt[id] = atMs;
      const phase = id.slice(0, id.lastIndexOf('.'));
      runs[phase] = (runs[phase] ?? 0) + 1;
    }
    if (kind === 'fact' && type === 'correction.opened') {
      // A finder that finds something again ends what it had found before.
      const detected = data['detected'] as string;
      for (let at = open.length - 1; at >= 0; at -= 1)
        if (open[at]?.detected === detected) open.splice(at, 1);
      open.push({ detected, id: data['id'] as string });
      for (const { fingerprint, phases, category } of data['defects'] as unknown as Correction['defects'])
        first.set(fingerprint, {
          injected: phases.toSorted((one, other) => place(one) - place(other))[0] ?? '',
          detected: first.get(fingerprint)?.detected ?? detected,
          category,
        });
    }
    if (kind === 'message' && type === 'agent.done' && actor === 'r') {
      const request = data['request'] as string;
      const phase = request.slice(0, request.lastIndexOf('.'));
      const nth = Number(request.slice(request.lastIndexOf('.') + 1));
      const mine = nth > 1 ? open.findLast(({ detected }) => place(detected) >= place(phase)) : undefined;
      if (mine && !isReviewing(phase)) {
        const { costUsd } = data['spent'] as { costUsd: number };
        cost[mine.id] = (cost[mine.id] ?? 0) + costUsd;
        latency[mine.id] = (latency[mine.id] ?? 0) + atMs - (begunAt[request] ?? 0);
        const own = (attempts[mine.id] ??= {});
        own[phase] = (own[phase] ?? 0) + 1;
      }
    }
    if (kind === 'fact' && type === 'phase.done')
      for (let at = open.length - 1; at >= 0; at -= 1)
        if (open[at]?.detected === data['phase']) open.splice(at, 1);
  }
  const defects = [...first.values()];
  const yields = order.map((id) => {
    const present = defects.filter(
      ({ injected, detected }) => place(injected) <= place(id) && place(detected) >= place(id),
    );
    const caught = present.filter(({ detected }) => detected === id).length;
    return [
      id,
      { present: present.length, caught, yield: present.length === 0 ? null : caught / present.length },
    ];
  });
  const inReview = defects.filter(({ detected }) => detected.endsWith('review')).length;
  const inTest = defects.filter(({ detected }) => detected === 'test').length;
  const all = Object.values(attempts).flatMap((each) => Object.entries(each));
  const tally = (entries: readonly (readonly [string, number])[]) => {
    const counts: Record<string, number> = {};
    for (const [name, count] of entries) counts[name] = (counts[name] ?? 0) + count;
    return counts;
  };
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  const firstRuns = Object.keys(runs).length;
  return {
    runs,
    corrections: corrections.map(({ id }) => ({
      id,
      attempts: attempts[id] ?? {},
      costUsd: expect.closeTo(cost[id] ?? 0, 6),
      latencyMs: latency[id] ?? 0,
    })),
    metrics: {
      yieldByPhase: Object.fromEntries(yields),
      review: {
        caughtInReview: inReview,
        caughtInTest: inTest,
        yield: inReview + inTest === 0 ? null : inReview / (inReview + inTest),
      },
      defectsByPhase: tally(defects.map(({ injected }) => [injected, 1])),
      defectsByCategory: tally(defects.map(({ category }) => [category, 1])),
      correctionsByPhase: tally(all),
      firstRuns,
      correctionRate: total / firstRuns,
      reworkCostUsd: expect.closeTo(
        Object.values(cost).reduce((sum, each) => sum + each, 0),
        6,
      ),
      reworkLatencyMs: Object.values(latency).reduce((sum, each) => sum + each, 0),
    } satisfies Partial<Record<keyof PhaseTelemetry['metrics'], unknown>>,
  };
};

const isReviewing = (phase: string): boolean => phase.endsWith('review') || phase === 'test';
