import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import {
  type AgentRequest,
  answer,
  type Json,
  planRun,
  runSummary,
  tightLoop,
  type Workflow,
  workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { contented, FAR, KINDS, type LoopKind, neverContent, outer } from '../support/nested-loops.ts';
import { expectReplays, open } from '../support/runtimes.ts';

/** A loop of a kind in a plan, on a file of its own. */
const nestOf = (kind: LoopKind, options: Parameters<typeof outer>[1] = {}) => {
  const inner = kind.declare(options);
  const workflows: readonly Workflow[] = [inner, outer(inner, options)];
  return { file: temporaryFile(), workflows };
};

const REJECTS = { passed: false, issues: [{ severity: 'critical', category: 'x', description: 'too long' }] };
const APPROVES = { passed: true, issues: [] };

const each = KINDS.map((kind) => [kind.name, kind] as const);

describe('a loop as a step of a plan', () => {
  it.each(each)(
    "T10: %s is given what the step is given, is sent back by a gate, and what it made is the step's",
    async (_, kind) => {
      const { file, workflows } = nestOf(kind);
      const tasks: Json[] = [];
      const reviewed: Json[] = [];
      const good = contented(kind);
      const first = await open({
        file,
        workflows,
        agents: {
          ...good,
          [kind.first]: (request: AgentRequest<never>) => {
            tasks.push((request.input as { readonly task: Json }).task);
            return good[kind.first]?.(request);
          },
          editor: ({ input }: AgentRequest<{ readonly inputs: { readonly loop: Json } }>) => {
            reviewed.push(input.inputs.loop);
            return reviewed.length === 1 ? REJECTS : APPROVES;
          },
        },
      });
      const run = await first.start('outer', 'a letter', { id: 'r' });
      const { verdict, output } = await run.result();
      expect(verdict).toBe('verified');
      expect(tasks).toMatchObject([
        {
          input: { task: 'a letter', inputs: { outline: 'an outline' } },
          feedback: [],
          history: [],
        },
        {
          feedback: [{ from: 'approve', pass: 1, issues: [{ description: 'too long' }] }],
          history: [{ output: reviewed[0] }],
        },
      ]);
      // What was made goes on to whoever needs it: of each run something else.
      expect(reviewed).toMatchObject([{ verdict: 'verified' }, { verdict: 'verified' }]);
      expect(reviewed[1]).not.toEqual(reviewed[0]);
      expect(JSON.stringify(reviewed[1])).toContain(`${kind.first} `);
      // An outline, two runs of the loop, two reviews of it.
      const calls = 1 + 2 * kind.roles.length + 2;
      expect(output).toMatchObject({ spent: { calls }, outputs: { loop: reviewed[1] } });
      expect(await run.context.get('loops.loop')).toEqual(reviewed[1]);
      await first.close();

      const second = await open({ file, workflows, agents: {}, idle: true });
      expect(await (await second.run('r')).result()).toMatchObject({ verdict, output: { spent: { calls } } });
      expect(await second.read(runSummary, 'r')).toMatchObject({
        actors: { 'r/run:loop': { status: 'done' }, 'r/run:loop~2': { status: 'done' } },
      });
      const ends = await second.audit({ run: 'r', types: ['run.ended'], limit: 10 });
      expect(ends).toMatchObject([
        { actor: 'r', from: 'r/run:loop', data: { output: { verdict: 'verified' } } },
        { actor: 'r', from: 'r/run:loop~2', data: { output: { verdict: 'verified' } } },
      ]);
      await second.close();
      await expectReplays(file, workflows);
    },
  );

  it.each(each)('T10: what %s failed at is what its step failed at', async (_, kind) => {
    const { file, workflows } = nestOf(kind, { onLimit: 'stop' });
    const runtime = await open({ file, workflows, agents: contented(kind, { [kind.first]: breaks }) });
    const run = await runtime.start('outer', 'a letter', { id: 'r' });
    expect(await run.result()).toMatchObject({
      verdict: 'failed',
      output: {
        reason: expect.stringMatching(/"loop" failed: Its run ended failed\..*out of order/),
        spent: { calls: 2 },
      },
    });
  });

  it('T10: loops can be steps of plans that are steps', async () => {
    const build = tightLoop({ name: 'build' });
    const part = planRun('part', { steps: [{ id: 'make', run: build }] });
    const whole = planRun('whole', { steps: [{ id: 'parts', run: part }] });
    const file = temporaryFile();
    const runtime = await open({
      file,
      workflows: [build, part, whole],
      agents: { developer: () => 'made', reviewer: () => APPROVES, tester: () => APPROVES },
    });
    const { output } = await (await runtime.start('whole', null, { id: 'r' })).result();
    expect(output).toMatchObject({
      spent: { calls: 3 },
      outputs: {
        parts: { outputs: { make: { outputs: { implementation: 'made', iterations: 1 }, run: 1 } } },
      },
    });
  });

  it('T10: a workflow that cannot be a step is refused, with those that can', () => {
    const stranger = workflow('stranger', createMachine({}));
    expect(() => planRun('p', { steps: [{ id: 'a', run: stranger }] })).toThrow(
      /step "a" runs "stranger", which cannot be a step: planRun, tightLoop, repeatLoop, storyLoop, phaseRun and treeRun/,
    );
  });
});

const breaks = (): never => {
  throw new Error('out of order');
};

describe('what a loop as a step may use', () => {
  it.each(each)(
    'X4: %s makes no more calls than its parent has left, whatever its own limits are',
    async (_, kind) => {
      const { file, workflows } = nestOf(kind, { limits: { ...FAR, calls: 12 }, onLimit: 'stop' });
      let calls = 0;
      const agents = contented(kind, neverContent(kind));
      const counted = Object.fromEntries(
        Object.entries(agents).map(([role, agent]) => [
          role,
          (request: AgentRequest<never>) => {
            calls += 1;
            return agent(request);
          },
        ]),
      );
      const runtime = await open({ file, workflows, agents: counted });
      const run = await runtime.start('outer', 'a letter', { id: 'r' });
      expect(await run.result()).toMatchObject({
        verdict: 'exhausted',
        output: { spent: { calls: 12 }, reason: expect.stringContaining('exhausted') },
      });
      expect(calls).toBe(12);
    },
  );

  it.each(each)(
    'X4: %s spends no more than its parent has left, and no person can change that',
    async (_, kind) => {
      const { file, workflows } = nestOf(kind, { limits: { ...FAR, costUsd: 1 } });
      const usage = { costUsd: 0.25 };
      const agents = contented(kind, neverContent(kind));
      const dear = Object.fromEntries(
        Object.entries(agents).map(([role, agent]) => [
          role,
          (request: AgentRequest<never>) => priced(agent(request)),
        ]),
      );
      const priced = (said: unknown) => {
        const { output = said, feedback = [] } = said as { readonly output?: Json; readonly feedback?: [] };
        return answer(output as Json, { usage, feedback });
      };
      const runtime = await open({ file, workflows, agents: dear });
      const run = await runtime.start('outer', 'a letter', { id: 'r' });
      await run.settled();
      for (let times = 0; times < 2; times += 1) {
        const [question] = await runtime.questions({ run: 'r' });
        expect(question?.id).toContain('r/run:loop/');
        await runtime.answer(question?.id ?? '', 'continue', { value: 50 });
        await expect
          .poll(async () => (await runtime.questions({ run: 'r' }))[0]?.id ?? question?.id)
          .not.toBe(question?.id);
      }
      const made = await runtime.audit({ run: 'r', types: ['lw.call.done'], limit: 100 });
      // The outline, and three calls of the loop.
      expect(made.filter(({ machine }) => machine === 'lw.agent')).toHaveLength(4);
    },
  );

  it.each(each)('X4: %s ends with the time of its parent, and what it spent is spent', async (_, kind) => {
    const inner = kind.declare();
    const whole = outer(inner, { limits: { timeMs: 200, calls: 2 + kind.roles.length } });
    let isHeld = true;
    const [, second = kind.first] = kind.roles;
    const file = temporaryFile();
    const runtime = await open({
      file,
      workflows: [inner, whole],
      agents: contented(kind, {
        [second]: () => (isHeld ? new Promise(() => undefined) : kind.good(second, 1)),
      }),
    });
    const run = await runtime.start('outer', 'a letter', { id: 'r' });
    const calls = kind.roles.length > 1 ? 2 : 1;
    expect(await run.settled()).toMatchObject({
      value: 'asking',
      context: { halt: { met: { limit: 'timeMs' } }, spent: { calls } },
    });
    expect((await runtime.actor('r/run:loop')).status).toBe('done');
    // Once more from the beginning, with what is left.
    isHeld = false;
    await runtime.answer('r/question', 'continue');
    expect((await run.settled()).context).toMatchObject(
      calls === 1
        ? { halt: null }
        : { halt: { met: { limit: 'calls' } }, spent: { calls: 2 + kind.roles.length } },
    );
    const nested = await runtime.actor('r/run:loop~2');
    expect(nested.status).toBe('done');
    expect(nested.context).toMatchObject({ cap: { calls: 2 + kind.roles.length - calls } });
  });
});

describe('a loop as a step goes with its plan', () => {
  it.each(each)('X1: %s is paused, goes on and is cancelled with its parent', async (_, kind) => {
    const { file, workflows } = nestOf(kind);
    const aborted: string[] = [];
    let begun = 0;
    let finish: () => void = () => undefined;
    const runtime = await open({
      file,
      workflows,
      agents: contented(kind, {
        // Finishes once when it is told to, and is then not content with itself if it works alone.
        [kind.first]: ({ signal }: AgentRequest<never>) => {
          begun += 1;
          return new Promise((resolve, fail) => {
            if (begun === 1)
              finish = () => resolve(kind.roles.length > 1 ? kind.good(kind.first, 1) : kind.bad(1));
            signal.addEventListener('abort', () => {
              aborted.push(kind.first);
              fail(new Error('aborted'));
            });
          });
        },
        editor: () => REJECTS,
      }),
    });
    const run = await runtime.start('outer', 'a letter', { id: 'r' });
    await expect.poll(() => begun).toBe(1);
    await run.pause();
    const told = async (type: string) =>
      (await runtime.audit({ run: 'r', types: [type], limit: 50 })).filter(({ actor }) =>
        actor.startsWith('r/run:loop'),
      ).length;
    expect(await told('agent.pause')).toBe(1);
    finish();
    await expect.poll(() => told('lw.call.done')).toBe(1);
    // What has come in is taken, and nothing new begins.
    expect(await told('lw.call.begun')).toBe(1);
    expect(await told('agent.resume')).toBe(0);
    await run.resume();
    expect(await told('agent.resume')).toBeGreaterThan(0);
    await expect.poll(() => begun).toBe(2);
    await run.cancel();
    await expect.poll(() => aborted).toEqual([kind.first]);
    const stopped = await runtime.audit({ run: 'r', types: ['lw.stopped'], limit: 50 });
    expect(stopped.some(({ machine }) => machine === 'inner')).toBe(true);
  });

  it.each(each)('X1: %s has its plan wait for a person, also in another process', async (_, kind) => {
    const { file, workflows } = nestOf(kind);
    let isMended = false;
    const agents = () =>
      contented(kind, { [kind.first]: () => (isMended ? kind.good(kind.first, 1) : breaks()) });
    const first = await open({ file, workflows, agents: agents() });
    const run = await first.start('outer', 'a letter', { id: 'r' });
    expect(await run.settled()).toMatchObject({ value: 'waiting', tags: ['waiting'] });
    expect((await first.why('r')).text).toContain('out of order');
    await first.close();

    const second = await open({ file, workflows, agents: agents() });
    const again = await second.run('r');
    expect(await again.settled()).toMatchObject({ value: 'waiting' });
    const [question] = await second.questions({ run: 'r' });
    isMended = true;
    await second.answer(question?.id ?? '', 'retry', { by: 'ann' });
    expect(await again.result()).toMatchObject({ verdict: 'verified' });
    const waits = await second.audit({ run: 'r', types: ['run.waits'], limit: 10 });
    expect(waits.map(({ data }) => data['waits'])).toEqual([true, false]);
  });
});
