import fc from 'fast-check';
import {
  answer,
  createRuntime,
  isFeedbackRequest,
  openLog,
  planRun,
  type StepInput,
  storyLoop,
  tightLoop,
  type Workflow,
} from 'loopwright';
import { anyAnswers, recordedAgent, recordedAgents, scriptedAgent } from 'loopwright/testing';
import { describe, expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { draftPlan } from '../support/draft-plan.ts';
import { rounds } from '../support/runtimes.ts';

type Given = Parameters<typeof createRuntime<Workflow>>[0]['agents'];

/** A task, and stories for those who work on them. */
const TASK = { stories: [{ id: 'a', title: 'A' }] };

/** Runs a workflow to its end or to a question, and gives what it made of it. */
const play = async (file: string, workflow: Workflow, agents: unknown) => {
  const workflows = [workflow];
  const runtime = await createRuntime({ file, workflows, agents: agents as Given, runsFolder: null });
  try {
    const run = await runtime.start(workflow.name, TASK, { id: 'r' });
    const { status, value } = await run.settled();
    const record = (await runtime.runs()).at(0);
    const questions = (await runtime.questions()).map(({ text }) => text);
    const events = await runtime.audit({ run: 'r', limit: Number.POSITIVE_INFINITY });
    const way = events
      .filter(({ kind, type }) => kind !== 'fact' || type.includes('.'))
      .map(({ actor, kind, type, state }) => [actor, kind, type, state]);
    return { status, value, verdict: record?.verdict, result: record?.result, questions, way };
  } finally {
    await runtime.close();
  }
};

/** Retries wait for no time at all, so that a run need not. */
const QUICK = { attempts: 2, backoffMs: 0 };
const draft = () => draftPlan({ limits: { passes: 3 } }) as Workflow;
const tight = () =>
  tightLoop({ roles: { developer: QUICK, reviewer: QUICK, tester: QUICK }, maxIterations: 3 }) as Workflow;

describe('recorded agents', () => {
  it('a run with recorded agents in place of real ones comes to the same, row by row', async () => {
    const file = temporaryFile();
    let drafts = 0;
    const first = await play(file, draft(), {
      writer: () => {
        drafts += 1;
        if (drafts === 2) throw new TypeError('out of ink');
        return answer({ text: `draft ${Math.random()}` }, { usage: { costUsd: 0.25 } });
      },
      critic: scriptedAgent<StepInput>(
        { passed: false, issues: [{ severity: 'high', description: 'too short' }] },
        { passed: true, issues: [] },
      ),
    });
    expect(first).toMatchObject({ verdict: 'verified' });
    const agents = await recordedAgents(file, { run: 'r', workflows: [draft()] });
    expect(Object.keys(agents).sort()).toEqual(['critic', 'writer']);
    expect(await play(temporaryFile(), draft(), agents)).toEqual(first);

    const log = await openLog(file);
    const [writer, critic] = await Promise.all(
      ['writer', 'critic'].map((agent) => recordedAgent(log, { run: 'r', workflows: [draft()], agent })),
    );
    await log.close();
    expect(await play(temporaryFile(), draft(), { writer, critic })).toEqual(first);
  });

  it('whatever agents answered, they answer it again', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyAnswers(fc).agents('developer', 'reviewer', 'tester', 'writer', 'critic'),
        fc.boolean(),
        async (agents, isTight) => {
          const workflow = isTight ? tight() : draft();
          const file = temporaryFile();
          const first = await play(file, workflow, agents);
          const recorded = await recordedAgents(file, { run: 'r', workflows: [workflow] });
          expect(await play(temporaryFile(), workflow, recorded)).toEqual(first);
        },
      ),
      { numRuns: rounds(10, 500) },
    );
  });

  it('agents of stories answer again, also where stories may be sent back more often', async () => {
    const stories = (maxIterations: number) =>
      storyLoop('stories', { mode: 'auto', refinement: { maxIterations } }) as Workflow;
    const file = temporaryFile();
    const work = () => ({ made: Math.random() });
    const first = await play(file, stories(3), {
      research: work,
      plan: work,
      implement: work,
      'create-pr': work,
      review: scriptedAgent(
        { decision: 'rejected', issues: [{ severity: 'major', category: 'logic', description: 'no' }] },
        { decision: 'approved', issues: [] },
      ),
    });
    expect(first).toMatchObject({ verdict: 'verified', result: expect.stringContaining('"refinements":1') });
    const recorded = () => recordedAgents(file, { run: 'r', workflows: [stories(3)] });
    expect(await play(temporaryFile(), stories(3), await recorded())).toEqual(first);
    const { verdict, result, way } = await play(temporaryFile(), stories(5), await recorded());
    expect({ verdict, result, way }).toEqual({
      verdict: first.verdict,
      result: first.result,
      way: first.way,
    });
  });

  it('large answers, feedback and decisions come back whole', async () => {
    const plan = planRun('pair', {
      steps: [
        { id: 'prd', agent: 'pm' },
        { id: 'design', agent: 'architect', needs: ['prd'] },
      ],
    }) as Workflow;
    const feedback = [
      { type: 'constraint_violation', targets: ['pm'], severity: 'high', description: 'too much' },
    ] as const;
    const file = temporaryFile();
    const first = await play(file, plan, {
      pm: ({ input }: { input: unknown }) =>
        isFeedbackRequest(input) ? { option: 'accept_limitation' } : { text: 'x'.repeat(200_000) },
      architect: ({ input }: { input: StepInput }) =>
        input.decisions ? 'design' : answer(null, { feedback }),
    });
    expect(first).toMatchObject({ verdict: 'accepted' });
    const agents = await recordedAgents(file, { run: 'r', workflows: [plan] });
    const again = await play(temporaryFile(), plan, agents);
    expect([again.verdict, again.result]).toEqual([first.verdict, first.result]);
  });

  it('says what is different for an input that it has no answer to', async () => {
    const file = temporaryFile();
    await play(file, draft(), { writer: () => 'a draft', critic: () => ({ passed: true, issues: [] }) });
    const { critic } = await recordedAgents(file, { run: 'r', workflows: [draft()] });
    const asked = { writer: () => 'another draft', critic };
    const { questions } = await play(temporaryFile(), draft(), asked);
    expect(questions[0]).toMatch(/"critic" is asked .*, which it was not in the run "r": input.* not as in/);

    const never = await recordedAgent(file, { run: 'r', workflows: [draft()], agent: 'stranger' });
    const request = { input: 1, feedback: [], history: [], context: null, failure: null };
    expect(() => never({ ...request, idempotencyKey: 'k' } as never)).toThrow(
      '"stranger" is asked 1, and was never called in the run "r".',
    );
  });

  it('the same call made again gets the same answer, and one call too many none', async () => {
    const file = temporaryFile();
    await play(file, draft(), { writer: () => 'a draft', critic: () => ({ passed: true, issues: [] }) });
    const { writer } = await recordedAgents(file, { run: 'r', workflows: [draft()] });
    const requests: unknown[] = [];
    const noting = (request: unknown) => {
      requests.push(request);
      return 'a draft';
    };
    await play(temporaryFile(), draft(), { writer: noting, critic: () => ({ passed: true, issues: [] }) });
    const [request] = requests as [Parameters<NonNullable<typeof writer>>[0]];
    const first = writer?.(request);
    expect(writer?.(request)).toEqual(first);
    expect(() => writer?.({ ...request, idempotencyKey: 'another/1' })).toThrow(
      /once more than in the run "r", in which it was asked this 1 times/,
    );
  });

  it('a run that there is not, or other workflows, are refused', async () => {
    const file = temporaryFile();
    await play(file, draft(), { writer: () => 'a draft', critic: () => ({ passed: true, issues: [] }) });
    await expect(recordedAgents(file, { run: 'x', workflows: [draft()] })).rejects.toMatchObject({
      code: 'UNKNOWN_RUN',
    });
    await expect(recordedAgents(file, { run: 'r', workflows: [tight()] })).rejects.toMatchObject({
      code: 'MACHINE_MISSING',
    });
  });
});
