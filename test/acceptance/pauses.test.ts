import { describe, expect, it } from 'vitest';
import { agent, contextView, planRun, type Runtime } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, createGate, draftPlan, never, reject, throwing, writeNew } from '../support/draft-plan.ts';
import { tally } from '../support/machines.ts';
import { expectReplays, open, refusal } from '../support/runtimes.ts';

const plan = draftPlan();

describe('pausing a run', () => {
  it('no new call starts, what runs finishes, and the last reason lets it go on', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const calls: string[] = [];
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        writer: async (request) => {
          calls.push('writer');
          await gate.opened();
          return writeNew(request);
        },
        critic: () => {
          calls.push('critic');
          return approve();
        },
      },
    });
    const run = await runtime.start('draft', 'a letter', { id: 'r' });
    await expect.poll(() => calls).toEqual(['writer']);
    await run.pause('lunch', { by: 'ann' });
    await run.pause('budget');
    expect(await run.context.get('run')).toEqual({ paused: true, pauseReasons: ['lunch', 'budget'] });
    gate.open();
    // The answer is recorded, and nothing follows from it.
    await expect.poll(() => run.context.get('agents.writer.outputs.write')).toEqual({ text: 'draft 1' });
    await run.resume('lunch');
    expect((await run.state()).value).toBe('paused');
    await runtime.close();

    const second = await open({ file, workflows: [plan], agents: { writer: never, critic: approve } });
    const again = await second.run('r', 'draft');
    expect((await again.state()).context.pauseReasons).toEqual(['budget']);
    expect(calls).toEqual(['writer']);
    await again.resume('budget');
    expect((await again.result()).verdict).toBe('verified');
    expect(await second.read(contextView, 'r')).toMatchObject({ run: { paused: false, pauseReasons: [] } });
    await second.close();
    await expectReplays(file, [plan]);
  });

  it('a reason that is given twice is one reason; one that was not given is refused', async () => {
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan, tally],
      agents: { writer: never, critic: never },
    });
    const run = await runtime.start('draft', null);
    await run.pause('lunch');
    await run.pause('lunch');
    await refusal(run.resume('dinner'), 'NOT_PAUSABLE');
    await run.resume('lunch');
    expect((await run.state()).value).toBe('working');
    const other = await runtime.start('tally', null);
    await refusal(other.pause(), 'UNKNOWN_EVENT');
  });

  it('calls that wait for a place are taken back, and made after the pause with the same key', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const keys: string[] = [];
    const writer = agent(
      async (request: Parameters<typeof writeNew>[0]) => {
        keys.push(request.idempotencyKey);
        await gate.opened();
        return writeNew(request);
      },
      { concurrency: 1 },
    );
    const runtime = await open({ file, workflows: [plan], agents: { writer, critic: approve } });
    const first = await runtime.start('draft', null, { id: 'first' });
    await expect.poll(() => keys.length).toBe(1);
    const queued = await runtime.start('draft', null, { id: 'queued' });
    await expect.poll(() => queued.context.get('agents.writer.status')).toBe('queued');
    await queued.pause();
    await expect.poll(() => queued.context.get('agents.writer.status')).toBe('paused');
    gate.open();
    expect((await first.result()).verdict).toBe('verified');
    expect(keys).toHaveLength(1);
    await queued.resume();
    expect((await queued.result()).verdict).toBe('verified');
    expect(keys[1]).toContain('queued');
    expect(keys[1]).toMatch(/\/1$/);
  });
});

describe('cancelling a run', () => {
  const slow = planRun('slow', {
    steps: [
      { id: 'write', agent: 'writer' },
      { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
    ],
    limits: { passes: 1 },
    roles: { writer: { attempts: 2, backoffMs: 60_000 } },
  });
  const asPerson = planRun('person', {
    steps: [{ id: 'title', agent: 'editor' }],
    persons: { editor: { text: 'What title?' } },
  });
  const cases = [
    ['working', 'slow', { writer: never, critic: never }, 'running'],
    ['backing off', 'slow', { writer: throwing, critic: never }, 'backingOff'],
    ['reviewing', 'slow', { writer: writeNew, critic: never }, 'idle'],
    ['asking', 'slow', { writer: writeNew, critic: reject }, 'idle'],
    ['paused', 'slow', { writer: never, critic: never }, 'running'],
    ['waiting for a person', 'person', { writer: never, critic: never }, undefined],
  ] as const;

  it.each(cases)(
    'X1: reaches agents at work, and closes what is open: %s',
    async (state, name, agents, status) => {
      const file = temporaryFile();
      const aborted: string[] = [];
      const runtime: Runtime = await open({
        file,
        workflows: [slow, asPerson],
        agents: {
          writer: (request: Parameters<typeof writeNew>[0]) => {
            request.signal.addEventListener('abort', () => aborted.push('writer'));
            return agents.writer === writeNew
              ? writeNew(request)
              : agents.writer === throwing
                ? throwing()
                : never();
          },
          critic: (request: Parameters<typeof reject>[0]) => {
            request.signal.addEventListener('abort', () => aborted.push('critic'));
            return agents.critic === reject ? reject(request) : never();
          },
        },
      });
      const run = await runtime.start(name, null, { id: 'r' });
      if (status) await expect.poll(() => run.context.get('agents.writer.status')).toBe(status);
      if (state === 'reviewing')
        await expect.poll(() => run.context.get('agents.critic.status')).toBe('running');
      if (state === 'asking' || state === 'waiting for a person') await run.settled();
      if (state === 'paused') await run.pause();
      await run.cancel({ by: 'ann', reason: 'no longer needed' });
      expect(await run.result()).toMatchObject({ verdict: 'cancelled', reason: 'no longer needed' });
      if (state === 'working' || state === 'paused') await expect.poll(() => aborted).toEqual(['writer']);
      if (state === 'reviewing') await expect.poll(() => aborted).toEqual(['critic']);
      expect(await runtime.questions()).toEqual([]);
      await refusal(run.pause(), 'RUN_ENDED');
      await runtime.close();

      const started: string[] = [];
      const note = () => {
        started.push('again');
        return never();
      };
      const second: Runtime = await open({
        file,
        workflows: [slow, asPerson],
        agents: { writer: note, critic: note },
      });
      expect(await (await second.run('r')).result()).toMatchObject({ verdict: 'cancelled' });
      expect(await second.questions()).toEqual([]);
      expect(started).toEqual([]);
      await second.close();
      await expectReplays(file, [slow, asPerson]);
    },
  );
});
