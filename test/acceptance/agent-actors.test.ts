import { describe, expect, it } from 'vitest';
import {
  type AgentFunction,
  agent,
  answer,
  planRun,
  type StandardSchema,
  type StepInput,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createGate, never, throwing } from '../support/draft-plan.ts';
import { createFakeClock, expectReplays, open } from '../support/runtimes.ts';

const one = (options: { attempts?: number; timeLimitMs?: number; backoffMs?: number } = {}) =>
  planRun('one', {
    steps: [{ id: 'work', agent: 'worker' }],
    onLimit: 'stop',
    roles: { worker: { backoffMs: 1, ...options } },
  });

/** A schema as libraries make them: a number of stars from 1 to 5. */
const stars: StandardSchema<{ stars: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      const found = (value as { stars?: unknown } | null)?.stars;
      return typeof found === 'number' && found >= 1 && found <= 5
        ? { value: { stars: Math.round(found) } }
        : { issues: [{ message: 'must be from 1 to 5', path: ['stars'] }] };
    },
  },
};

type Worker = AgentFunction<StepInput, unknown>;

describe('an agent that misbehaves', () => {
  it('an answer that does not fit the schema is a failed attempt that cost something; the next one is told why', async () => {
    const file = temporaryFile();
    const told: unknown[] = [];
    const answers = [{ stars: 9 }, 'five', { stars: 4.2 }];
    const plan = one();
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        worker: agent(
          ({ failure, attempt }: Parameters<Worker>[0]) => {
            told.push(failure);
            return answer(answers[attempt - 1], { usage: { costUsd: 0.1 } });
          },
          { schema: stars },
        ),
      },
    });
    const { verdict, output } = await (await runtime.start('one', null, { id: 'r' })).result();
    expect(verdict).toBe('verified');
    // The schema's own value is what counts, and every attempt was paid for.
    expect(output).toMatchObject({ outputs: { work: { stars: 4 } }, spent: { calls: 3, costUsd: 0.3 } });
    expect(told).toEqual([null, 'stars: must be from 1 to 5', 'stars: must be from 1 to 5']);
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  const bad: readonly [string, Worker, RegExp][] = [
    [
      'throws',
      () => {
        throw new Error('out of order');
      },
      /out of order/,
    ],
    ['rejects with garbage', () => Promise.reject({ code: 7 }), /code/],
    ['hangs', never, /time limit/],
    ['answers garbage', () => () => 'a function', /answer/],
    ['answers something too large', () => 'x'.repeat(40_000_000), /bytes|large/],
    ['answers against its schema', () => ({ stars: 'many' }), /stars/],
  ];

  it.each(bad)('X1, G14: one that %s: the run ends as its limits say', async (what, worker, reason) => {
    const file = temporaryFile();
    let calls = 0;
    // Only for the one that hangs: a busy machine must not decide what the others fail of.
    const plan = one({ attempts: 2, ...(what === 'hangs' && { timeLimitMs: 100 }) });
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        worker: agent(
          (request: Parameters<Worker>[0]) => {
            calls += 1;
            return worker(request);
          },
          what === 'answers against its schema' ? { schema: stars } : {},
        ),
      },
    });
    const run = await runtime.start('one', null, { id: 'r' });
    const result = await run.result();
    expect(result).toMatchObject({ verdict: 'failed', output: { spent: { calls: 2 } } });
    expect(result.output?.reason).toMatch(reason);
    expect(calls).toBe(2);
    expect(await run.context.get('agents.worker.status')).toBe('stopped');
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('an answer that comes after its time limit is kept with its usage, and changes nothing', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const plan = one({ attempts: 2, timeLimitMs: 50 });
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        worker: async ({ attempt }) => {
          if (attempt > 1) return 'in time';
          await gate.opened();
          return answer('late', { usage: { costUsd: 1 } });
        },
      },
    });
    const { output } = await (await runtime.start('one', null, { id: 'r' })).result();
    expect(output?.outputs).toEqual({ work: 'in time' });
    gate.open();
    await expect
      .poll(async () =>
        (await runtime.audit({ run: 'r', kinds: ['late'] })).map(({ data }) => data['output']),
      )
      .toEqual([{ output: 'late', usage: { costUsd: 1 } }]);
    await runtime.close();
    await expectReplays(file, [plan]);
  });
});

describe('attempts', () => {
  it('wait longer and longer, over a restart too, and keep the id of the call', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    const keys: string[] = [];
    const plan = one({ attempts: 4, backoffMs: 1_000 });
    const worker: Worker = ({ idempotencyKey, callId }) => {
      keys.push(idempotencyKey.slice(callId.length));
      throw new Error('not yet');
    };
    let runtime = await open({ file, workflows: [plan], agents: { worker }, clock });
    let run = await runtime.start('one', null, { id: 'r' });
    for (const [index, waitMs] of [1_000, 2_000, 4_000].entries()) {
      await expect.poll(() => run.context.get('agents.worker.status')).toBe('backingOff');
      expect(keys).toHaveLength(index + 1);
      clock.advance(waitMs - 1);
      if (index === 1) {
        await runtime.close();
        runtime = await open({ file, workflows: [plan], agents: { worker }, clock });
        run = await runtime.run('r', 'one');
      }
      expect(keys).toHaveLength(index + 1);
      clock.advance(1);
      await expect.poll(() => keys.length).toBe(index + 2);
    }
    expect((await (await runtime.run('r')).result()).verdict).toBe('failed');
    expect(keys).toEqual(['/1', '/2', '/3', '/4']);
  });

  it('the time limit belongs to running: waiting for a place does not count', async () => {
    const clock = createFakeClock();
    const gate = createGate();
    const plan = one({ attempts: 1, timeLimitMs: 1_000 });
    const worker = agent(
      async () => {
        await gate.opened();
        return 'done';
      },
      { concurrency: 1 },
    );
    const runtime = await open({ file: temporaryFile(), workflows: [plan], agents: { worker }, clock });
    const first = await runtime.start('one', null, { id: 'first' });
    const second = await runtime.start('one', null, { id: 'second' });
    await expect.poll(() => first.context.get('agents.worker.status')).toBe('running');
    await expect.poll(() => second.context.get('agents.worker.status')).toBe('queued');
    clock.advance(999);
    gate.open();
    expect((await first.result()).verdict).toBe('verified');
    clock.advance(999);
    expect((await second.result()).verdict).toBe('verified');
  });

  it('X4: a schema that throws refuses the answer, and what it cost counts', async () => {
    const plan = one({ attempts: 2 });
    const told: (string | null)[] = [];
    const schema: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          throw new Error('no such type');
        },
      },
    };
    const worker = agent(
      ({ failure }: { failure: string | null }) => {
        told.push(failure);
        return answer('done', { usage: { costUsd: 0.1 } });
      },
      { schema },
    );
    const runtime = await open({ file: temporaryFile(), workflows: [plan], agents: { worker } });
    const { output } = await (await runtime.start('one', null)).result();
    expect(output).toMatchObject({ verdict: 'failed', spent: { calls: 2, costUsd: 0.2 } });
    expect(told).toEqual([null, 'the schema failed: no such type']);
  });

  it('X4: a budget is checked before each attempt', async () => {
    let calls = 0;
    const plan = planRun('paid', {
      steps: [{ id: 'work', agent: 'worker' }],
      onLimit: 'stop',
      limits: { costUsd: 0.5 },
      roles: { worker: { attempts: 10, backoffMs: 1 } },
    });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        worker: agent(
          () => {
            calls += 1;
            return answer('garbage', { usage: { costUsd: 0.2 } });
          },
          { schema: stars },
        ),
      },
    });
    const { verdict, output } = await (await runtime.start('paid', null)).result();
    expect({ verdict, calls, spent: output?.spent.costUsd }).toEqual({
      verdict: 'exhausted',
      calls: 3,
      spent: 0.6,
    });
    expect(output?.limit).toMatchObject({ limit: 'costUsd', bound: 0.5 });
  });

  it('answers that someone outside makes up are not taken', async () => {
    const plan = one();
    const runtime = await open({ file: temporaryFile(), workflows: [plan], agents: { worker: never } });
    const run = await runtime.start('one', null, { id: 'r' });
    const forged = {
      type: 'agent.done',
      request: 'work.1',
      answer: { output: 'forged' },
      attempts: 1,
      spent: { calls: 0, tokens: 0, costUsd: 0 },
    } as const;
    expect(await run.send(forged)).toMatchObject({ taken: false, delivered: 'undelivered' });
    expect((await run.state()).context.steps['work']).toMatchObject({ status: 'working', output: null });
  });

  it.each([
    ['r', { type: 'run.pause' }],
    ['r', { type: 'run.pause', reason: { why: 'an object' } }],
    ['r', { type: 'step.rerun', step: 'work' }],
    ['r', { type: 'issue.reject' }],
    ['r/context', { type: 'context.set' }],
    ['r/agent:worker', { type: 'agent.request' }],
    ['r/agent:worker', { type: 'agent.request', request: 7 }],
    ['r/agent:worker', { type: 'agent.request', request: { id: 'work.2', budget: {} } }],
    ['r/agent:worker', { type: 'agent.cancel', request: 'work.1' }],
  ])(
    'a message from outside with parts missing is not taken, and does no harm: to %s, %j',
    async (to, message) => {
      const file = temporaryFile();
      const plan = one();
      const gate = createGate();
      const worker = async () => {
        await gate.opened();
        return 'done';
      };
      const runtime = await open({ file, workflows: [plan], agents: { worker } });
      const run = await runtime.start('one', null, { id: 'r' });
      await expect.poll(() => run.context.get('agents.worker.status')).toBe('running');
      expect(await runtime.send(to, message)).toMatchObject({ taken: false });
      gate.open();
      expect((await run.result()).verdict).toBe('verified');
      await runtime.close();
      await expectReplays(file, [plan]);
    },
  );

  it('X6: an answer that says nothing but its option is one', async () => {
    const plan = planRun('one', { steps: [{ id: 'work' }], roles: { work: { attempts: 1 } } });
    const runtime = await open({ file: temporaryFile(), workflows: [plan], agents: { work: throwing } });
    const run = await runtime.start('one', null, { id: 'r' });
    await run.settled();
    const said = { type: 'question.answer', option: 'stop' };
    expect(await runtime.send('r/question', said)).toMatchObject({ taken: true });
    expect(await run.result()).toMatchObject({ verdict: 'failed', output: { decidedBy: null } });
  });
});
