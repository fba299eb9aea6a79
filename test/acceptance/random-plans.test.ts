import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Agent,
  type AgentRequest,
  agent,
  type GivenLimits,
  type GivenStep,
  planRun,
  type RunOutput,
  type RunResult,
  type StepInput,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import {
  type Call,
  calledInVain,
  calledTooEarly,
  hasPassed,
  isSame,
  leftStale,
  type Review,
  roundsOf,
} from '../support/plan-model.ts';
import { somePlan } from '../support/random-plan.ts';
import { open, rounds } from '../support/runtimes.ts';

/** A plan and what its agents do: each looks up what to do next in a table of numbers. */
interface Case {
  readonly steps: readonly GivenStep[];
  readonly table: readonly number[];
  readonly limits: GivenLimits;
}

const someCase: fc.Arbitrary<Case> = fc.record({
  steps: somePlan({ stepsMax: 7 }),
  table: fc.array(fc.nat(99), { minLength: 23, maxLength: 23, size: 'max' }),
  limits: fc.record(
    {
      passes: fc.integer({ min: 1, max: 5 }),
      calls: fc.integer({ min: 5, max: 60 }),
      unchanged: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: [] },
  ),
});

/** Few enough ways that all of them can be tried. */
const smallCase: fc.Arbitrary<Case> = fc.record({
  steps: somePlan({ stepsMax: 4 }),
  table: fc.array(fc.nat(99), { minLength: 23, maxLength: 23, size: 'max' }),
  limits: fc.record({ passes: fc.integer({ min: 1, max: 3 }) }),
});

/** What an agent does by itself is one step of a proof, so that so many states stand for four times as many. */
const STATES_MAX = 150;

const rolesOf = (steps: readonly GivenStep[]): readonly string[] =>
  steps.flatMap(({ id, gate }) => gate?.reviewers ?? [id]);

const ATTEMPTS = 3;

/** How many attempts of a request fail: none, mostly; all of them, rarely. */
const failuresOf = (number: number): number => Math.max(0, number - 96) || (number % 11 === 0 ? 1 : 0);

const THROWN: readonly unknown[] = [new Error('no'), 'a text', undefined, null, new TypeError('bad')];

/** What a step makes: of all that it is given, or of its feedback alone, or always the same. */
const made = (role: string, kind: number, { input, feedback }: AgentRequest<StepInput>): unknown => {
  if (kind % 10 === 0) return { by: role };
  if (kind % 3 === 0) return { by: role, feedback: feedback.length };
  return {
    by: role,
    feedback: feedback.length,
    inputs: JSON.stringify(input.inputs).length,
    of: input.inputs,
  };
};

const reviewed = (number: number, nth: number): Review => {
  const remark = { severity: 'low', description: `remark ${String.fromCharCode(96 + nth)}` };
  if (number % 5 > 1 || nth > 3) return { passed: true, issues: number % 3 === 0 ? [remark] : [] };
  const severity = number % 4 === 0 ? 'low' : 'critical';
  const description = number % 7 === 0 ? 'always the same' : `finding ${String.fromCharCode(96 + nth)}`;
  return { passed: false, issues: [{ severity, category: 'c', description } as { severity: string }] };
};

/** Agents that write down every call, and do what the table says. */
const createAgents = ({ steps, table }: Case, calls: Call[]): Record<string, Agent<StepInput>> => {
  let now = 0;
  const lookUp = (index: number): number => table[index % table.length] ?? 0;
  const entries = rolesOf(steps).map((role, index) => {
    const run = async (request: AgentRequest<StepInput>): Promise<unknown> => {
      const { callId, attempt, input, feedback } = request;
      const name = callId.slice(callId.indexOf('#') + 1);
      const nth = Number(name.slice(name.lastIndexOf('.') + 1));
      const number = lookUp(index * 5 + nth);
      const call: Call = {
        role,
        request: name,
        attempt,
        inputs: input.inputs,
        feedback,
        beganAt: (now += 1),
        endedAt: 0,
        outcome: 'working',
        output: null,
      };
      calls.push(call);
      for (let tick = number % 4; tick > 0; tick -= 1) await nextTick();
      call.endedAt = now += 1;
      call.outcome = attempt <= failuresOf(number) ? 'threw' : 'done';
      if (call.outcome === 'threw') throw THROWN[number % THROWN.length];
      call.output = role.startsWith('r') ? reviewed(number, nth) : made(role, lookUp(index), request);
      return call.output;
    };
    return [role, agent(run, { quarantine: { failures: 1_000, forMs: 0 } })] as const;
  });
  return Object.fromEntries(entries);
};

const workflowOf = ({ steps, limits }: Case) =>
  planRun('random', {
    steps,
    limits: { sameIssue: 3, oscillations: 3, ...limits },
    onLimit: 'stop',
    roles: Object.fromEntries(rolesOf(steps).map((role) => [role, { backoffMs: 0, attempts: ATTEMPTS }])),
  });

interface Played {
  readonly calls: readonly Call[];
  readonly result: RunResult<RunOutput>;
  readonly output: RunOutput;
}

/** Runs a plan to its end, and reads the end again in another runtime. */
const play = async (given: Case): Promise<Played> => {
  const file = temporaryFile();
  const calls: Call[] = [];
  const workflows = [workflowOf(given)];
  const first = await open({ file, durability: 'normal', workflows, agents: createAgents(given, calls) });
  const result = await (await first.start('random', 'a task', { id: 'r' })).result();
  const actor = await first.actor('r');
  await first.close();

  const second = await open({
    file,
    workflows: workflows as readonly Workflow[],
    agents: {},
    idle: true,
  });
  expect(await (await second.run('r')).result()).toEqual(result);
  expect(await second.actor('r')).toEqual(actor);
  const { log, replay } = await second.verify();
  expect([log.problem, replay.problem]).toEqual([undefined, undefined]);
  expect(await second.deadLetters()).toEqual([]);
  await second.close();
  if (!result.output) throw new Error('A plan run ends with an output.');
  return { calls, result, output: result.output };
};

const hasFailedForGood = (calls: readonly Call[]): boolean =>
  calls.some(({ outcome, attempt }) => outcome === 'threw' && attempt === ATTEMPTS);

/** A verdict follows from what agents did: none is given for nothing. */
const expectVerdict = ({ steps, limits }: Case, { calls, output }: Played): void => {
  const { verdict, limit, outputs } = output;
  if (verdict === 'verified') {
    expect(limit).toBeNull();
    expect(leftStale(steps, calls, outputs)).toEqual([]);
    return;
  }
  if (verdict === 'failed') {
    expect(hasFailedForGood(calls)).toBe(true);
    return;
  }
  expect(['exhausted', 'stalled']).toContain(verdict);
  expect(limit?.used).toBeGreaterThanOrEqual(limit?.bound ?? Number.NaN);
  if (limit?.limit === 'unchanged') {
    // Who was corrected: given more feedback than the time before, it made the same.
    const step = steps.find(({ id }) => id === limit.evidence[0]);
    const [before, last] = step ? roundsOf(calls, step).slice(-2) : [];
    expect(last?.feedback.length).toBeGreaterThan(before?.feedback.length ?? Number.NaN);
    expect(isSame(last?.calls.at(-1)?.output, before?.calls.at(-1)?.output)).toBe(true);
  }
  if (limit?.limit === 'passes') {
    const gate = steps.find(({ id }) => id === limit.evidence[0]);
    const rejected = gate ? roundsOf(calls, gate).filter((round) => !hasPassed(round)) : [];
    expect(rejected).toHaveLength(limits.passes ?? 5);
  }
};

describe('any plan', () => {
  // Method: agents write down every call with what it was given; rules about plans are checked on these notes alone, which
  // know nothing of keys and hashes.
  it('X1: runs each step after all that it needs, again only with a reason, and ends with a verdict', async () => {
    const verdicts = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(someCase, async (given) => {
        const played = await play(given);
        const { calls, output } = played;
        verdicts.set(output.verdict, (verdicts.get(output.verdict) ?? 0) + 1);
        expect(calledTooEarly(given.steps, calls)).toEqual([]);
        expect(calledInVain(given.steps, calls)).toEqual([]);
        expect(calls.every(({ outcome }) => outcome !== 'working')).toBe(true);
        expect(output.spent.calls).toBe(calls.length);
        expectVerdict(given, played);
      }),
      { numRuns: rounds(60, 2_000, 20), interruptAfterTimeLimit: 3_600_000 },
    );
    // Control: the cases are not all of one kind.
    expect(verdicts.get('verified')).toBeGreaterThan(10);
    expect(verdicts.size).toBeGreaterThan(2);
  });

  it('X4: no run takes more calls than the worst case says, of all agents and of each', async () => {
    let proved = 0;
    await fc.assert(
      fc.asyncProperty(smallCase, async (given) => {
        const runtime = await open({
          file: ':memory:',
          workflows: [workflowOf(given)],
          agents: createAgents(given, []),
        });
        const worst = await runtime.worstCase('random', 'a task', { statesMax: STATES_MAX });
        await runtime.close();
        if (worst.result !== 'proved') {
          expect(worst.problem).toContain(`more than ${STATES_MAX} states`);
          return;
        }
        proved += 1;
        const { calls } = await play(given);
        expect(calls.length).toBeLessThanOrEqual(worst.calls ?? 0);
        for (const role of rolesOf(given.steps)) {
          const own = calls.filter((call) => call.role === role).length;
          expect([role, own <= (worst.callsByAgent[role] ?? 0)]).toEqual([role, true]);
        }
      }),
      { numRuns: rounds(12, 500), interruptAfterTimeLimit: 3_600_000 },
    );
    // Control: not all of them are too large.
    expect(proved).toBeGreaterThan(2);
  });

  const DRAFT: Case = {
    steps: [
      { id: 's0' },
      { id: 's1', needs: ['s0'] },
      { id: 'g2', needs: ['s1'], gate: { reviewers: ['r2.0'], corrects: 's0' } },
    ],
    // All make something of all that they are given; the first review rejects, the second one does not.
    table: Array.from({ length: 23 }, (_, index) => (index === 11 ? 1 : 4)),
    limits: {},
  };

  it('control: a call that is too early, one without a reason and one that is missing are found', async () => {
    const { calls, output } = await play(DRAFT);
    const { steps } = DRAFT;
    expect(calls.map(({ request }) => request)).toEqual(['s0.1', 's1.1', 'g2.1', 's0.2', 's1.2', 'g2.2']);
    expect(output.verdict).toBe('verified');
    expect(calledTooEarly(steps, calls)).toEqual([]);
    expect(leftStale(steps, calls, output.outputs)).toEqual([]);

    const early = calls.map((call) => (call.request === 's1.2' ? { ...call, beganAt: 0 } : call));
    expect(calledTooEarly(steps, early).map(({ request }) => request)).toEqual(['s1.2']);

    const again = calls.flatMap((call) =>
      call.request === 's1.2' ? [call, { ...call, request: 's1.3' }] : [call],
    );
    expect(calledInVain(steps, again).map(({ step }) => step.id)).toEqual(['s1']);

    const missing = calls.filter(({ request }) => request !== 's1.2');
    expect(leftStale(steps, missing, output.outputs)).toEqual(['s1']);
  });

  it('an agent that failed and has no budget for another attempt ends its run exhausted', async () => {
    const failing = DRAFT.table.map(() => 98);
    const { calls, output } = await play({ ...DRAFT, table: failing, limits: { calls: 1 } });
    expect(calls).toHaveLength(1);
    expect(output).toMatchObject({ verdict: 'exhausted', limit: { limit: 'calls', bound: 1, used: 1 } });
    // Control: with a budget it is tried as often as it may be, and what it made then counts.
    const { calls: all } = await play({ ...DRAFT, table: failing, limits: { calls: 3, passes: 1 } });
    expect(all.map(({ outcome }) => outcome)).toEqual(['threw', 'threw', 'done']);
  });

  it('X8: the reason for which a run has no bound is in the log, with its limits', async () => {
    const reason = 'a person watches it';
    const endless = planRun('endless', {
      steps: [{ id: 's0' }],
      limits: { passes: null, unbounded: reason },
    });
    const runtime = await open({ file: temporaryFile(), workflows: [endless], agents: { s0: () => 1 } });
    await (await runtime.start('endless', null, { id: 'r' })).result();
    const [told] = await runtime.audit({ run: 'r', types: ['run.limits'] });
    expect(told?.data).toMatchObject({ limits: { passes: null }, unbounded: reason });
  });
});
