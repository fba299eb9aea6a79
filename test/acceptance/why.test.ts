import { describe, expect, it } from 'vitest';
import { agent, planRun, type Runtime, sendCommand, type Why } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, draftPlan, never, reject, throwing, writeNew } from '../support/draft-plan.ts';
import { callOnce, decision } from '../support/machines.ts';
import { createFakeClock, open, refusal } from '../support/runtimes.ts';

/** Carries out what `why` says, and gives how many events came of it. */
const goOn = async (runtime: Runtime, why: Why): Promise<number> => {
  const before = (await runtime.audit({ run: why.run, limit: 10_000 })).length;
  for (const command of why.commands)
    expect((await runtime.execute(command, { by: 'ada' })).taken).toBe(true);
  await (await runtime.run(why.run)).settled();
  return (await runtime.audit({ run: why.run, limit: 10_000 })).length - before;
};

describe('X7: why', () => {
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

  it('X7: a run that ended by an agent that failed says why, and goes on in a branch in which it is asked again', async () => {
    const loop = draftPlan({ onLimit: 'stop', attempts: 1 });
    let calls = 0;
    const writer = () => {
      calls += 1;
      return calls === 1 ? throwing() : { text: 'a draft' };
    };
    const agents = { writer, critic: approve };
    const runtime = await open({ file: temporaryFile(), workflows: [loop], agents });
    await (await runtime.start('draft', 'x', { id: 'r' })).result();
    const why = await runtime.why('r');
    expect(why).toMatchObject({ standing: 'ended', commands: [], limit: null, counted: [] });
    expect(why.text).toContain('ended failed');
    const branch = await runtime.whatIf('r', why.branch ?? {});
    expect((await branch.run.result()).verdict).toBe('verified');
    expect(branch.made()).toMatchObject([{ agent: 'writer' }, { agent: 'critic' }]);
    await branch.close();
  });

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
