import { describe, expect, it } from 'vitest';
import {
  type AgentFunction,
  agent,
  answer,
  contextView,
  planRun,
  type Runtime,
  runSummary,
  type StepInput,
  type Verdict,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import {
  approve,
  approveNth,
  createGate,
  draftPlan,
  never,
  reject,
  throwing,
  writeNew,
  writeSame,
} from '../support/draft-plan.ts';
import { expectReplays, open } from '../support/runtimes.ts';

type Work = AgentFunction<StepInput, unknown>;

/** How a run comes to each verdict: what its agents do, and what a person says if one is asked. */
const WAYS: readonly {
  readonly verdict: Verdict;
  readonly how: string;
  readonly writer: Work;
  readonly critic: Work;
  readonly plan: ReturnType<typeof draftPlan>;
  readonly says?: string;
  readonly cancels?: boolean;
  readonly limit?: string;
}[] = [
  { verdict: 'verified', how: 'the gate passes', writer: writeNew, critic: approve, plan: draftPlan() },
  {
    verdict: 'verified',
    how: 'the gate passes at the third pass',
    writer: writeNew,
    critic: approveNth(3),
    plan: draftPlan(),
  },
  {
    verdict: 'accepted',
    how: 'a person takes it at a limit',
    writer: writeNew,
    critic: reject,
    plan: draftPlan({ limits: { passes: 2 } }),
    says: 'accept',
    limit: 'passes',
  },
  {
    verdict: 'exhausted',
    how: 'a count is used up',
    writer: writeNew,
    critic: reject,
    plan: draftPlan({ limits: { passes: 3 }, onLimit: 'stop' }),
    limit: 'passes',
  },
  {
    verdict: 'exhausted',
    how: 'the money is used up',
    writer: (request) => answer(writeNew(request), { usage: { costUsd: 0.4 } }),
    critic: reject,
    plan: draftPlan({ limits: { costUsd: 1 }, onLimit: 'stop' }),
    limit: 'costUsd',
  },
  {
    verdict: 'exhausted',
    how: 'the time is used up',
    writer: never,
    critic: approve,
    plan: draftPlan({ limits: { timeMs: 50 }, onLimit: 'stop' }),
    limit: 'timeMs',
  },
  {
    verdict: 'stalled',
    how: 'the artifact does not change',
    writer: writeSame,
    critic: reject,
    plan: draftPlan({ onLimit: 'stop' }),
    limit: 'unchanged',
  },
  {
    verdict: 'stalled',
    how: 'the same issue comes back',
    writer: writeNew,
    critic: () => ({ passed: false, issues: [{ category: 'style', description: 'dull, at line 3' }] }),
    plan: draftPlan({ onLimit: 'stop' }),
    limit: 'sameIssue',
  },
  {
    verdict: 'stalled',
    how: 'an earlier artifact comes back',
    writer: ({ feedback }) => ({ text: feedback.length % 2 }),
    critic: ({ input, feedback, history }) =>
      reject({
        input: { ...input, inputs: { write: [input.inputs['write'] ?? null, history.length] } },
        feedback,
      } as never),
    plan: draftPlan({ onLimit: 'stop' }),
    limit: 'oscillations',
  },
  {
    verdict: 'cancelled',
    how: 'a person cancels the run',
    writer: never,
    critic: approve,
    plan: draftPlan(),
    cancels: true,
  },
  {
    verdict: 'cancelled',
    how: 'a person cancels at a limit',
    writer: writeNew,
    critic: reject,
    plan: draftPlan({ limits: { passes: 1 } }),
    says: 'cancel',
    limit: 'passes',
  },
  {
    verdict: 'failed',
    how: 'an agent fails for good',
    writer: throwing,
    critic: approve,
    plan: draftPlan({ onLimit: 'stop' }),
  },
  {
    verdict: 'failed',
    how: 'a reviewer fails for good, and a person ends it',
    writer: writeNew,
    critic: throwing,
    plan: draftPlan(),
    says: 'stop',
  },
];

/** Everything that can be read of how a run ended. */
const readEnd = async (runtime: Runtime, id: string) => {
  const run = await runtime.run(id);
  const [record] = (await runtime.runs({ status: 'ended' })).filter((each) => each.id === id);
  return {
    result: await run.result(),
    state: await run.state(),
    summary: await runtime.read(runSummary, id),
    context: await runtime.read(contextView, id),
    verdict: record?.verdict,
    questions: await runtime.questions(),
  };
};

describe('the verdicts of a plan run', () => {
  it.each(WAYS)(
    'X1: $verdict, in each output: $how',
    async ({ verdict, writer, critic, plan, says, cancels, limit }) => {
      const file = temporaryFile();
      const runtime = await open({ file, workflows: [plan], agents: { writer, critic } });
      const run = await runtime.start('draft', 'a letter', { id: 'r' });
      if (says !== undefined) {
        await run.settled();
        const [question] = await runtime.questions({ run: 'r' });
        expect(question?.options.map(({ id }) => id)).toContain(says);
        await runtime.answer(question?.id ?? '', says, { by: 'ann', note: 'my reasons' });
      }
      if (cancels) await run.cancel({ by: 'ann' });
      expect((await run.result()).verdict).toBe(verdict);
      const before = await readEnd(runtime, 'r');
      await runtime.close();

      const second = await open({ file, workflows: [plan], agents: { writer: never, critic: never } });
      const after = await readEnd(second, 'r');
      expect(after).toEqual(before);
      expect(after.verdict).toBe(verdict);
      expect(after.summary.verdict).toBe(verdict);
      expect(after.questions).toEqual([]);
      // A run that was cancelled from outside has not reached a state of its own.
      if (!cancels) {
        expect(after.state.value).toBe(verdict);
        expect(after.result.output).toMatchObject({ verdict, ...(limit && { limit: { limit } }) });
      }
      await second.close();
      await expectReplays(file, [plan]);
    },
  );

  it('X1: a limit is never shown as success', () => {
    const limited = WAYS.filter(({ limit, says }) => limit !== undefined && says === undefined);
    expect(limited.length).toBeGreaterThan(4);
    for (const { verdict } of limited) expect(['exhausted', 'stalled']).toContain(verdict);
  });
});

describe('a plan run', () => {
  it('feedback and every earlier result reach the step that is corrected; what was used is added up', async () => {
    const file = temporaryFile();
    const plan = draftPlan();
    const seen: unknown[] = [];
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        writer: (request) => {
          const { input, feedback, history } = request;
          seen.push({ task: input.task, feedback, history });
          return writeNew(request);
        },
        critic: agent((request: Parameters<typeof reject>[0]) =>
          answer(approveNth(3)(request), { usage: { costUsd: 0.01, inputTokens: 10, outputTokens: 5 } }),
        ),
      },
    });
    const { output } = await (await runtime.start('draft', 'a letter', { id: 'r' })).result();
    expect(output?.spent).toEqual({ calls: 6, costUsd: 0.03, tokens: 45 });
    const issue = (draft: number) => ({
      from: 'review',
      pass: draft,
      issues: [
        {
          severity: 'critical',
          category: 'style',
          description: `not good: {"text":"draft ${draft}"}`,
          reviewer: 'critic',
        },
      ],
    });
    expect(seen).toEqual([
      { task: 'a letter', feedback: [], history: [] },
      { task: 'a letter', feedback: [issue(1)], history: [{ output: { text: 'draft 1' }, feedback: [] }] },
      {
        task: 'a letter',
        feedback: [issue(1), issue(2)],
        history: [
          { output: { text: 'draft 1' }, feedback: [] },
          { output: { text: 'draft 2' }, feedback: [issue(1)] },
        ],
      },
    ]);
  });

  it('feedback reaches the step that is corrected whole, however long its texts are', async () => {
    const long = (letter: string) => letter.repeat(100_000);
    const told: unknown[] = [];
    const runtime = await open({
      file: temporaryFile(),
      workflows: [draftPlan()],
      agents: {
        writer: (request) => {
          told.push(...request.feedback);
          return writeNew(request);
        },
        critic: ({ input }) =>
          JSON.stringify(input.inputs).includes('draft 1')
            ? { passed: false, feedback: long('f'), issues: [{ description: long('d') }, long('i')] }
            : approve(),
      },
    });
    await (await runtime.start('draft', null)).result();
    const rest = { severity: 'high', category: '', reviewer: 'critic' };
    expect(told).toEqual([
      {
        from: 'review',
        pass: 1,
        issues: [
          { ...rest, description: long('d') },
          { ...rest, description: long('i') },
          { reviewer: 'critic', text: long('f') },
        ],
      },
    ]);
  });

  it('X3: an issue that a person rejected does not come back as new', async () => {
    const file = temporaryFile();
    const plan = draftPlan();
    const dull = { severity: 'critical', category: 'style', description: 'dull, at line 7' };
    const runtime = await open({
      file,
      workflows: [plan],
      agents: { writer: writeNew, critic: () => ({ passed: false, issues: [dull] }) },
    });
    const run = await runtime.start('draft', null, { id: 'r' });
    await run.settled();
    const issues = Object.values((await run.state()).context.issues);
    expect(issues).toMatchObject([{ status: 'open', firstPass: 1, lastPass: 3, inRow: 3, gate: 'review' }]);
    await run.send({
      type: 'issue.reject',
      fingerprint: issues[0]?.fingerprint ?? '',
      note: 'it is meant to be',
    });
    const [question] = await runtime.questions();
    await runtime.answer(question?.id ?? '', 'continue', { by: 'ann' });
    expect(await run.result()).toMatchObject({ verdict: 'verified', output: { debt: [] } });
    await runtime.close();
    const second = await open({ file, workflows: [plan], agents: { writer: never, critic: never } });
    expect(Object.values((await (await second.run('r', 'draft')).state()).context.issues)).toMatchObject([
      { status: 'rejected', note: 'it is meant to be' },
    ]);
  });

  it('X3: what a second gate says of a result that is being corrected already does not stall the run', async () => {
    const gate = createGate();
    const plan = planRun('two', {
      steps: [
        { id: 'write' },
        { id: 'style', needs: ['write'], gate: { reviewers: ['quick'], corrects: 'write' } },
        { id: 'facts', needs: ['write'], gate: { reviewers: ['slow'], corrects: 'write' } },
      ],
      onLimit: 'stop',
    });
    const judged = ({ input }: { input: StepInput }) =>
      input.inputs['write'] === 'good' ? approve() : { passed: false, issues: ['bad'] };
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        write: async ({ feedback }) => {
          // The slow one says what it thinks of the first result while this corrects it.
          if (feedback.length === 1) gate.open();
          if (feedback.length === 1) await new Promise((resolve) => setTimeout(resolve, 100));
          return feedback.length === 0 ? 'bad' : 'good';
        },
        quick: judged,
        slow: async (request) => {
          await gate.opened();
          return judged(request);
        },
      },
    });
    const { output } = await (await runtime.start('two', null)).result();
    expect(output).toMatchObject({ verdict: 'verified', reason: null });
  });

  it('X4: the worst case is known before the start, and no run of agents that do anything is worse', async () => {
    const plan = draftPlan({ limits: { passes: 3 }, onLimit: 'stop', attempts: 2 });
    const file = temporaryFile();
    const calls: string[] = [];
    let failures = 0;
    const worst: Work = (request) => {
      calls.push(request.idempotencyKey);
      failures += 1;
      if (failures % 2 === 1) throw new Error('not yet');
      return writeNew(request);
    };
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        writer: worst,
        critic: (request) => {
          calls.push(request.idempotencyKey);
          if (request.attempt === 1) throw new Error('not yet');
          return reject(request);
        },
      },
    });
    const { result, calls: most, text } = await runtime.worstCase('draft', 'a letter');
    expect({ result, most, text }).toEqual({
      result: 'proved',
      most: 12,
      text: 'at most 6 calls of agents (12 with retries) in 30 turns (as long as no agent sends feedback)',
    });
    const { output } = await (await runtime.start('draft', 'a letter')).result();
    expect(output).toMatchObject({ verdict: 'exhausted', spent: { calls: 12 } });
    expect(new Set(calls).size).toBe(12);
  });

  it('X4: the worst case counts what runs again since a gate passed with other remarks than before', async () => {
    const roles = { s1: { attempts: 1 }, s2: { attempts: 1 }, c1: { attempts: 1 }, c2: { attempts: 1 } };
    const plan = planRun('remarks', {
      steps: [
        { id: 's1' },
        { id: 'g1', needs: ['s1'], gate: { reviewers: ['c1'], corrects: 's1' } },
        { id: 's2', needs: ['g1'] },
        { id: 'g2', needs: ['s2'], gate: { reviewers: ['c2'], corrects: 's1' } },
      ],
      limits: { passes: 2 },
      onLimit: 'stop',
      roles,
    });
    const calls: string[] = [];
    const letter = () => 'abcdefghijkl'[calls.length];
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        s1: ({ feedback }) => feedback.length,
        c1: () => {
          calls.push('c1');
          return { passed: true, issues: [{ severity: 'low', description: `remark ${letter()}` }] };
        },
        s2: () => {
          calls.push('s2');
          return calls.length;
        },
        c2: () => ({ passed: false, issues: [{ severity: 'critical', description: `fault ${letter()}` }] }),
      },
    });
    const { callsByAgent } = await runtime.worstCase('remarks', null);
    expect((await (await runtime.start('remarks', null)).result()).verdict).toBe('exhausted');
    expect(calls.filter((name) => name === 's2')).toHaveLength(2);
    expect(callsByAgent['s2']).toBe(2);
  });

  it('X8: a loop without a bound is refused unless its author says why, and then the endless way is shown', async () => {
    expect(() => draftPlan({ limits: { passes: null } })).toThrow(/unbounded/);
    const plan = draftPlan({
      limits: { passes: null, feedbacks: null, calls: null, unbounded: 'it runs until someone cancels it' },
    });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: { writer: writeNew, critic: reject },
    });
    const { result, endless, text } = await runtime.worstCase('draft', null);
    expect(result).toBe('not proved');
    expect([...(endless?.cycle ?? [])].sort()).toEqual([
      'critic: finds a new issue',
      'writer: makes something new',
    ]);
    expect(text).toMatch(/^not proved, at most 10000 turns by the cap/);
  });

  it('a step can be run again with feedback, then only what depends on it and whose input has changed', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const calls: string[] = [];
    const plan = planRun('build', {
      steps: [
        { id: 'design', agent: 'architect' },
        { id: 'logo', agent: 'artist' },
        { id: 'code', agent: 'developer', needs: ['design'] },
        { id: 'page', agent: 'writer', needs: ['code', 'logo'] },
        { id: 'wait', agent: 'tester', needs: ['page'] },
      ],
    });
    const note =
      (name: string, work: (feedback: number) => unknown): Work =>
      ({ feedback }) => {
        calls.push(name);
        return work(feedback.length);
      };
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        architect: note('design', (feedback) => `design ${feedback}`),
        artist: note('logo', () => 'logo'),
        // What it makes does not depend on the design: whoever depends on it alone need not run again.
        developer: note('code', () => 'code'),
        writer: note('page', () => 'page'),
        tester: async ({ signal }) => {
          calls.push('wait');
          signal.throwIfAborted();
          await gate.opened();
          return 'tested';
        },
      },
    });
    const run = await runtime.start('build', null, { id: 'r' });
    await expect.poll(() => calls.at(-1)).toBe('wait');
    calls.length = 0;
    expect(await run.send({ type: 'step.rerun', step: 'design', issues: ['too plain'] })).toMatchObject({
      taken: true,
    });
    await expect.poll(() => calls).toEqual(['design', 'code']);
    expect(await run.send({ type: 'step.rerun', step: 'nothing', issues: [] })).toMatchObject({
      taken: false,
    });
    gate.open();
    // The developer gave what it gave before, which no gate asked for: the run is not stalled by it.
    expect((await run.result()).verdict).toBe('verified');
    expect(calls).toEqual(['design', 'code']);
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('a step, and its agent, may have a name that begins like that of a nested run', async () => {
    const plan = planRun('named', { steps: [{ id: 'run:tests' }, { id: 'tests', agent: 'run:tests' }] });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: { 'run:tests': () => 'green' },
    });
    const { output } = await (await runtime.start('named', null)).result();
    expect(output).toMatchObject({ verdict: 'verified', outputs: { 'run:tests': 'green', tests: 'green' } });
  });

  it('B13: of steps side by side one that fails lets the others finish; then a person is asked', async () => {
    const file = temporaryFile();
    const gate = createGate();
    let isMended = false;
    const plan = planRun('group', {
      steps: [
        { id: 'one', group: 'both' },
        { id: 'two', group: 'both' },
        { id: 'join', needs: ['both'] },
      ],
      roles: { one: { attempts: 1 } },
    });
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        one: () => (isMended ? 'one' : throwing()),
        two: async () => {
          await gate.opened();
          return 'two';
        },
        join: ({ input }) => input.inputs,
      },
    });
    const run = await runtime.start('group', null, { id: 'r' });
    await expect.poll(() => run.context.get('agents.one.status')).toBe('failed');
    expect((await run.state()).value).toBe('working');
    gate.open();
    await run.settled();
    const [question] = await runtime.questions();
    expect(question?.text).toBe('The step "one" failed: out of order');
    expect(question?.options.map(({ id }) => id)).toEqual(['retry', 'stop', 'cancel']);
    isMended = true;
    await runtime.answer(question?.id ?? '', 'retry');
    expect((await run.result()).output?.outputs['join']).toEqual({ one: 'one', two: 'two' });
    await runtime.close();
    await expectReplays(file, [plan]);
  });
});
