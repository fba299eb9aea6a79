import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { agentCall, createRuntime, storyLoop, type Workflow, workflow } from '../../src/index.ts';
import { type EndlessReplay, replayEndless } from '../../src/testing/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { never } from '../support/draft-plan.ts';

const found = async (endless: Workflow, input: unknown, options = {}) => {
  const runtime = await createRuntime({ file: ':memory:', workflows: [endless], agents: {}, idle: true });
  try {
    return await runtime.worstCase(endless.name, input, options);
  } finally {
    await runtime.close();
  }
};

/** What another runtime reads of it, which verifies it and has all of it replayed. */
const readBack = async (file: string, endless: Workflow, agents: Record<string, typeof never>) => {
  const runtime = await createRuntime({ file, workflows: [endless], agents, idle: true });
  try {
    const { log, replay } = await runtime.verify();
    expect(log).toMatchObject({ ok: true });
    expect(replay).toMatchObject({ ok: true });
    const [record] = await runtime.runs({ status: 'open' });
    return { record, events: await runtime.audit({ run: record?.id ?? '', limit: 10_000 }) };
  } finally {
    await runtime.close();
  }
};

/** The actors are where they were, and each time around adds as many events as the one before. */
const expectCycle = ({ states, events }: EndlessReplay): void => {
  for (const each of states.slice(1)) expect(each).toEqual(states[1]);
  const added = events.slice(1).map((count, index) => count - (events[index] ?? 0));
  expect(new Set(added).size).toBe(1);
  expect(added[0]).toBeGreaterThan(0);
};

describe('a way that need not end, as a log', () => {
  it('X8, K5: the refinement loop without its breaker goes around in the runtime as the proof says', async () => {
    const refinement = { enableCircuitBreaker: false };
    expect(() => storyLoop('s', { mode: 'auto', refinement })).toThrow(/unbounded/);
    const endless = storyLoop('s', {
      mode: 'auto',
      refinement,
      limits: { unbounded: 'a person watches it' },
    }) as Workflow;
    const input = { stories: [{ id: 'a' }] };
    const proof = await found(endless, input);
    expect(proof.result).toBe('not proved');
    expect(proof.text).toMatch(/it need not end .*, but for its limit on calls, which is not counted down/);
    const file = temporaryFile();
    const replay = await replayEndless(endless, proof, { file, input, times: 3 });
    expectCycle(replay);
    const names = ['research', 'plan', 'implement', 'review', 'create-pr'];
    const agents = Object.fromEntries(names.map((name) => [name, never]));
    const { record, events } = await readBack(file, endless, agents);
    expect(record).toMatchObject({ id: replay.run, verdict: null });
    expect(events).toHaveLength(replay.events.at(-1) ?? 0);
    expect(events.filter(({ type }) => type === 'story.reworked').length).toBeGreaterThanOrEqual(3);
    expect(JSON.stringify(events)).toContain('a person watches it');
  });

  it("X8, K5: a user's own machine, with what it waits for", async () => {
    const polling = workflow(
      'polling',
      setup({
        types: { context: {} as { times: number } },
        actors: { looker: agentCall<null, boolean>() },
        guards: { isThere: (_, there: boolean) => there },
      }).createMachine({
        context: { times: 0 },
        initial: 'looking',
        states: {
          looking: {
            entry: assign({ times: ({ context }) => context.times + 1 }),
            invoke: {
              src: 'looker',
              input: null,
              onDone: [
                { guard: { type: 'isThere', params: ({ event }) => event.output }, target: 'done' },
                { target: 'resting' },
              ],
              onError: 'resting',
            },
          },
          resting: { after: { 60_000: 'looking' } },
          done: { type: 'final' },
        },
      }),
    ) as Workflow;
    const outcomes = () => [
      { name: 'is there', output: true },
      { name: 'is not there', output: false },
      { name: 'fails', fails: true },
    ];
    const proof = await found(polling, null, { outcomes, reduce: { polling: () => null } });
    expect(proof).toMatchObject({ result: 'not proved', endless: { prefix: [] } });
    const file = temporaryFile();
    const replay = await replayEndless(polling, proof, { file, times: 4 });
    expectCycle(replay);
    const { events } = await readBack(file, polling, { looker: never });
    expect(events.filter(({ type }) => type === 'lw.timer.fired')).toHaveLength(4);
  });

  it('there is nothing to play of a loop that ends', async () => {
    const ends = storyLoop('s', { mode: 'auto' }) as Workflow;
    const proof = await found(ends, { stories: [{ id: 'a' }] });
    const file = temporaryFile();
    await expect(replayEndless(ends, proof, { file })).rejects.toThrow('Nothing was found that repeats');
  });
});
