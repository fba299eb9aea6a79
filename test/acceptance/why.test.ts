import { describe, expect, it } from 'vitest';
import {
  type AgentFunction,
  agent,
  answer,
  createRuntime,
  planRun,
  type Runtime,
  repeatLoop,
  sendCommand,
  tightLoop,
  type Why,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, draftPlan, never, reject, throwing, writeNew, writeSame } from '../support/draft-plan.ts';
import { callOnce, decision } from '../support/machines.ts';
import { verdictOf } from '../support/past-runs.ts';
import { createFakeClock, open, refusal } from '../support/runtimes.ts';

/** Carries out what `why` says, and gives how many events came of it. */
const goOn = async (runtime: Runtime, why: Why): Promise<number> => {
  const before = (await runtime.audit({ run: why.run, limit: 10_000 })).length;
  for (const command of why.commands)
    expect((await runtime.execute(command, { by: 'ada' })).taken).toBe(true);
  await (await runtime.run(why.run)).settled();
  return (await runtime.audit({ run: why.run, limit: 10_000 })).length - before;
};

const tester =
  (fault: number) =>
  ({ input }: { input: { pass: number } }) =>
    verdictOf(fault, input.pass);
const developer = ({ input }: { input: { pass: number } }) =>
  answer({ summary: `change ${input.pass}` }, { usage: { costUsd: 1, inputTokens: 10 } });
const good = () => ({ passed: true, issues: [] });

type Agents = Readonly<Record<string, AgentFunction<never, unknown>>>;

/** Each limit, a loop that meets it, and what the limit counts. */
const cases: readonly (readonly [
  string,
  Workflow,
  Agents,
  { limit: string; bound: number; used: number },
  string,
])[] = [
  [
    'passes of a gate',
    draftPlan({ limits: { passes: 2 } }),
    { writer: writeNew, critic: reject },
    { limit: 'passes', bound: 2, used: 2 },
    'gate.rejected',
  ],
  [
    'the same issue',
    draftPlan({ limits: { sameIssue: 2 } }),
    { writer: writeNew, critic: () => verdictOf(1, 1) },
    { limit: 'sameIssue', bound: 2, used: 2 },
    'gate.rejected',
  ],
  [
    'an artifact that does not change',
    draftPlan(),
    { writer: writeSame, critic: reject },
    { limit: 'unchanged', bound: 1, used: 1 },
    'step.done',
  ],
  [
    'feedbacks',
    draftPlan({ limits: { feedbacks: 2 } }),
    { writer: writeNew, critic: reject },
    { limit: 'feedbacks', bound: 2, used: 2 },
    'feedback.sent',
  ],
  [
    'calls',
    draftPlan({ limits: { calls: 3 } }),
    { writer: writeNew, critic: reject },
    { limit: 'calls', bound: 3, used: 3 },
    'lw.call.done',
  ],
  [
    'passes of a tight loop',
    tightLoop({ maxIterations: 2 }),
    { developer, reviewer: good, tester: tester(3) },
    { limit: 'passes', bound: 2, used: 2 },
    'loop.pass',
  ],
  [
    'the same failure',
    tightLoop(),
    { developer, reviewer: good, tester: tester(1) },
    { limit: 'sameFailure', bound: 3, used: 3 },
    'loop.pass',
  ],
  [
    'failures in a row',
    tightLoop({ strict: true }),
    { developer, reviewer: good, tester: tester(3) },
    { limit: 'failuresInRow', bound: 3, used: 3 },
    'loop.pass',
  ],
  [
    'cost',
    tightLoop({ limits: { costUsd: 2 } }),
    { developer, reviewer: good, tester: tester(3) },
    { limit: 'costUsd', bound: 2, used: 2 },
    'lw.call.done',
  ],
  [
    'repeats',
    repeatLoop('again', { agent: 'worker', maxRepeats: 2 }),
    { worker: () => ({ done: false }) },
    { limit: 'repeats', bound: 2, used: 2 },
    'agent.done',
  ],
];

describe('X7: why', () => {
  it.each(cases)(
    'X7: %s: limit, value, counted events, and the command that lets it go on, which does',
    async (_, loop, agents, met, type) => {
      const file = temporaryFile();
      const first = await createRuntime({ file, workflows: [loop], agents });
      await (await first.start(loop.name, 'x', { id: 'r' })).settled();
      await first.close();

      const runtime = await open({ file, workflows: [loop], agents });
      const why = await runtime.why('r');
      expect(why).toMatchObject({ standing: 'waiting', limit: met });
      const counted = await Promise.all(
        why.counted.map(
          async ({ position }) => (await runtime.audit({ after: position - 1, before: position + 1 }))[0],
        ),
      );
      expect(new Set(counted.map((event) => event?.type))).toEqual(new Set([type]));
      expect(counted).toHaveLength(met.used);
      expect(why.text).toContain(`"${met.limit}"`);
      expect(why.text).toContain(`is ${met.bound}, and ${met.used} was used`);
      expect(why.commands).toMatchObject([{ kind: 'answer', option: 'continue' }]);
      expect(why.branch).toBeNull();
      // The chain goes back to the start of the run, or to the answer of an agent that was called from there.
      expect(why.causes[0]?.what).toContain('asked: The limit');
      expect(why.causes.at(-1)?.what).toContain('(a run)');
      expect(await goOn(runtime, why)).toBeGreaterThan(5);
    },
  );

  it('X7: another process sends the command, and the run goes on', async () => {
    const file = temporaryFile();
    const loop = draftPlan({ limits: { passes: 1 } });
    const runtime = await open({ file, workflows: [loop], agents: { writer: writeNew, critic: reject } });
    const run = await runtime.start('draft', 'x', { id: 'r' });
    await run.settled();
    const { commands } = await runtime.why('r');
    const [command] = commands;
    if (!command) throw new Error('There is no command.');
    expect(await sendCommand(file, command, { by: 'ada' })).toMatchObject({ ok: true, taken: true });
    await run.settled();
    expect((await runtime.audit({ types: ['run.decided'] }))[0]?.data).toMatchObject({
      by: 'ada',
      option: 'continue',
    });
  });

  const ended: readonly (readonly [string, Workflow, Agents, string, string | null])[] = [
    [
      'at a limit',
      draftPlan({ limits: { passes: 2 }, onLimit: 'stop' }),
      { writer: writeNew, critic: reject },
      'exhausted',
      'passes',
    ],
    [
      'at a budget',
      draftPlan({ limits: { calls: 3 }, onLimit: 'stop' }),
      { writer: writeNew, critic: reject },
      'exhausted',
      'calls',
    ],
    [
      'stalled',
      draftPlan({ onLimit: 'stop' }),
      { writer: writeSame, critic: reject },
      'stalled',
      'unchanged',
    ],
    [
      'by an agent that failed',
      draftPlan({ onLimit: 'stop', attempts: 1 }),
      { writer: throwing, critic: approve },
      'failed',
      null,
    ],
    [
      'in a tight loop',
      tightLoop({ maxIterations: 1, onLimit: 'stop' }),
      { developer, reviewer: good, tester: tester(3) },
      'exhausted',
      'passes',
    ],
  ];

  it.each(ended)(
    'X7: a run that ended %s says why, and goes on in a branch',
    async (_, loop, agents, verdict, limit) => {
      const file = temporaryFile();
      const runtime = await open({ file, workflows: [loop], agents });
      await (await runtime.start(loop.name, 'x', { id: 'r' })).result();
      const why = await runtime.why('r');
      expect(why).toMatchObject({ standing: 'ended', commands: [] });
      expect(why.limit?.limit ?? null).toBe(limit);
      expect(why.text).toContain(`ended ${verdict}`);
      if (!why.branch) throw new Error('There is no branch.');
      const branch = await runtime.whatIf('r', why.branch);
      await branch.run.settled();
      expect(branch.made().length).toBeGreaterThan(0);
      await branch.close();
    },
  );

  it('X7: a run that was cancelled, by an answer or from outside, goes on in a branch as if it had not been', async () => {
    const loop = draftPlan({ limits: { passes: 1 } });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [loop],
      agents: { writer: writeNew, critic: reject },
    });
    for (const id of ['answered', 'outside']) {
      const run = await runtime.start('draft', 'x', { id });
      await run.settled();
      const [question] = await runtime.questions({ run: id });
      if (id === 'answered') await runtime.answer(question?.id ?? '', 'cancel', { by: 'ada' });
      else await run.cancel({ by: 'ada', reason: 'too expensive' });
      const why = await runtime.why(id);
      expect(why.text).toContain('ended cancelled');
      expect(JSON.stringify(why.causes)).toContain('ada');
      const branch = await runtime.whatIf(id, why.branch ?? {});
      await branch.run.settled();
      expect((await branch.runtime.runs())[0]?.verdict).toBeNull();
      await branch.close();
    }
    expect((await runtime.why('outside')).causes.some(({ why }) => why === 'too expensive')).toBe(true);
  });

  it('X7: a pause with several reasons, a person, a message that a machine waits for: each with what lets it go on', async () => {
    const asked = planRun('asked', {
      steps: [{ id: 'a' }, { id: 'ok', agent: 'lead', needs: ['a'] }],
      persons: { lead: { text: 'Well?' } },
    });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [asked, decision],
      agents: { a: agent(() => 1) },
    });
    const run = await runtime.start('asked', 'x', { id: 'a' });
    await run.pause('lunch', { by: 'ada' });
    await run.pause('review');
    const paused = await runtime.why('a');
    expect(paused.standing).toBe('paused');
    expect(paused.commands).toHaveLength(2);
    for (const command of paused.commands) await runtime.execute(command);
    await run.settled();
    const waiting = await runtime.why('a');
    expect(waiting).toMatchObject({
      standing: 'waiting',
      limit: null,
      commands: [{ kind: 'answer', option: null }],
    });
    expect(await goOn(runtime as Runtime, waiting)).toBeGreaterThan(0);
    expect((await run.result()).verdict).toBe('verified');
    expect(await runtime.why('a')).toMatchObject({ standing: 'ended', commands: [], branch: null });

    await runtime.start('decision', undefined, { id: 'd' });
    const machine = await runtime.why('d');
    expect(machine.commands).toMatchObject([{ kind: 'send', to: 'd', message: { type: 'APPROVE' } }]);
    for (const command of machine.commands) await runtime.execute(command);
    expect((await runtime.actor('d')).value).toBe('approved');
  });

  it('X7: what goes on by itself says what it waits for: an agent, or a time', async () => {
    const clock = createFakeClock();
    const loop = draftPlan({ attempts: 3 });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [loop, callOnce],
      clock,
      agents: { writer: throwing, critic: approve, worker: never },
    });
    await runtime.start('call-once', { task: 'x' }, { id: 'c' });
    expect(await runtime.why('c')).toMatchObject({ standing: 'working', commands: [], limit: null });
    expect((await runtime.why('c')).text).toContain('waits for the agent "worker"');
    await runtime.start('draft', 'x', { id: 'r' });
    await expect.poll(async () => (await runtime.why('r')).text).toContain('is due');
  });

  it('X7: an event, by position or id, and an actor, by its address', async () => {
    const loop = draftPlan({ limits: { passes: 2 } });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [loop],
      agents: { writer: writeNew, critic: reject },
    });
    await (await runtime.start('draft', 'x', { id: 'r', by: 'owner' })).settled();
    const events = await runtime.audit({ run: 'r', limit: 10_000 });
    for (const event of events) {
      const why = await runtime.why(event.position);
      expect(why).toEqual(await runtime.why(event.id));
      expect(why.position).toBe(event.position);
      // Each cause is the cause of the one before it, back to whoever started the run.
      expect(why.causes.map(({ position }) => position)).toEqual(chain(events, event.position));
      expect(why.causes.at(-1)).toMatchObject({ position: 1, who: 'owner' });
    }
    const halted = events.find(({ type }) => type === 'run.halted');
    expect((await runtime.why(halted?.position ?? 0)).limit).toMatchObject({ limit: 'passes' });
    expect((await runtime.why(events[0]?.position ?? 0)).limit).toBeNull();
    expect((await runtime.why('r/agent:writer')).position).toBe(
      events.findLast(({ actor }) => actor === 'r/agent:writer')?.position,
    );
    await refusal(runtime.why(99_999), 'BAD_OPTION');
    await refusal(runtime.why('nobody'), 'UNKNOWN_RUN');
    await refusal(runtime.why('r/nobody'), 'UNKNOWN_ACTOR');
  });
});

const chain = (
  events: readonly { position: number; cause: number | null }[],
  from: number,
): readonly number[] => {
  const event = events.find(({ position }) => position === from);
  return event ? [from, ...(event.cause === null ? [] : chain(events, event.cause))] : [];
};
