import { describe, expect, it } from 'vitest';
import { type Change, contextView, planRun } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createGate, never } from '../support/draft-plan.ts';
import { expectReplays, open, refusal } from '../support/runtimes.ts';

const plan = planRun('two', {
  steps: [
    { id: 'plan', agent: 'architect' },
    {
      id: 'build',
      agent: 'developer',
      needs: ['plan'],
      reads: ['project.language', 'agents.architect.outputs'],
    },
  ],
});

describe('the context of a run', () => {
  it('B8: get, set, update and push by path; a second runtime reads the same', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [plan], agents: { architect: never, developer: never } });
    const { context } = await runtime.start('two', null, { id: 'r' });
    await context.set('project.language', 'TypeScript', { by: 'ann' });
    await context.update('project', { licence: 'MIT' });
    await context.push('project.risks', { id: 'r1', text: 'time' });
    await context.push('project.risks', { id: 'r2', text: 'money' });
    await context.update('project.risks.r2', { text: 'less money' });
    await context.set(['files', 'src/index.ts'], { lines: 3 });
    const project = {
      language: 'TypeScript',
      licence: 'MIT',
      risks: [
        { id: 'r1', text: 'time' },
        { id: 'r2', text: 'less money' },
      ],
    };
    expect(await context.get('project')).toEqual(project);
    expect(await context.get('project.risks.r1.text')).toBe('time');
    expect(await context.get(['files', 'src/index.ts', 'lines'])).toBe(3);
    expect(await context.get('no.such.path')).toBeUndefined();
    await runtime.close();

    const second = await open({ file, workflows: [plan], agents: { architect: never, developer: never } });
    const again = (await second.run('r')).context;
    expect(await again.get('project')).toEqual(project);
    // The actor, which rules read, and its read model agree.
    const { context: actor } = await second.actor('r/context');
    const view = await second.read(contextView, 'r');
    expect(view).toMatchObject((actor as { data: object }).data);
    await second.close();
    await expectReplays(file, [plan]);
  });

  it('B8: a pattern with a wildcard at any place tells new value, old value and path', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        architect: async () => {
          await gate.opened();
          return { modules: ['a'] };
        },
        developer: () => 'built',
      },
    });
    const run = await runtime.start('two', null, { id: 'r' });
    await expect.poll(() => run.context.get('agents.architect.status')).toBe('running');
    const changes: Pick<Change, 'path' | 'value' | 'old'>[] = [];
    run.context
      .watch('agents.*.status')
      .subscribe(({ path, value, old }) => changes.push({ path, value, old }));
    gate.open();
    await run.result();
    await expect.poll(() => changes.at(-1)?.value).toBe('stopped');
    const of = (role: string) => changes.filter(({ path }) => path === `agents.${role}.status`);
    expect(of('architect').slice(0, 1)).toEqual([
      { path: 'agents.architect.status', value: 'idle', old: 'running' },
    ]);
    expect(of('developer').map(({ value }) => value)).toEqual(
      expect.arrayContaining(['queued', 'running', 'idle']),
    );
  });

  it('B8: what a step reads of the context is given to its agent, and its output is in the context', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const given: unknown[] = [];
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        architect: async () => {
          await gate.opened();
          return { modules: ['a'] };
        },
        developer: ({ context }) => {
          given.push(context);
          return 'built';
        },
      },
    });
    const run = await runtime.start('two', null, { id: 'r' });
    await run.context.set('project.language', 'TypeScript');
    gate.open();
    expect((await run.result()).verdict).toBe('verified');
    expect(given).toEqual([
      { 'project.language': 'TypeScript', 'agents.architect.outputs': { plan: { modules: ['a'] } } },
    ]);
    expect(await run.context.get('agents.developer.outputs.build')).toBe('built');
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('B8, S16: keys that every object has are refused, and nothing is written', async () => {
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: { architect: never, developer: never },
    });
    const { context } = await runtime.start('two', null, { id: 'r' });
    for (const path of ['__proto__.polluted', 'a.constructor', 'a.prototype.b', 'a..b', '', 'toString'])
      await refusal(context.set(path, true), 'BAD_PATH');
    await refusal(context.set([], true), 'BAD_PATH');
    for (const path of [['__proto__', 'polluted'], [], 'a.b', null, [7]]) {
      const message = { type: 'context.set', path, value: true };
      expect(await runtime.send('r/context', message)).toMatchObject({ taken: false });
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.keys(await runtime.read(contextView, 'r'))).toEqual(['agents']);
    expect(() => context.watch('a.__proto__.b').subscribe()).toThrow();
  });
});

it('B8: a context of another system is brought in under our names; what is not taken is told', async () => {
  const file = temporaryFile();
  const runtime = await open({ file, workflows: [plan], agents: { architect: never, developer: never } });
  const { context } = await runtime.start('two', null, { id: 'r' });
  const feedback = { from_agent: 'developer', message: 'no WebSockets', resolved: false, loop_id: 'loop-1' };
  const outcome = await context.import({
    agent_contexts: { architect: { status: 'completed', feedback_received: [feedback], outputs: { a: 1 } } },
    feedback_loops: [{ id: 'loop-1', status: 'pending', state: 'NOTIFYING' }],
    workflow_state: { paused: true, pause_reason: 'lunch' },
    notes: ['first'],
    ['__proto__' as string]: 1,
  });
  expect(outcome.accepted.map((path) => path.join('.'))).toEqual([
    'agents.architect.feedback',
    'agents.architect.outputs',
    'loops.loop-1',
    'notes',
  ]);
  expect(outcome.refused).toEqual([
    { path: 'agent_contexts.architect.status', problem: 'it follows from the run itself' },
    { path: 'workflow_state', problem: 'it follows from the run itself' },
    { path: '__proto__', problem: '"__proto__" cannot be a key' },
  ]);
  expect(await context.import('nothing')).toEqual({
    accepted: [],
    refused: [{ path: '', problem: 'it is not an object' }],
  });
  await runtime.close();
  const second = await open({ file, workflows: [plan], agents: { architect: never, developer: never } });
  expect(await (await second.run('r')).context.get()).toMatchObject({
    agents: { architect: { feedback: [feedback], outputs: { a: 1 } } },
    loops: { 'loop-1': { state: 'NOTIFYING' } },
    notes: ['first'],
  });
});

it('B8: no history is cut: 1,200 changes are all there, in order', async () => {
  const file = temporaryFile();
  const runtime = await open({ file, workflows: [plan], agents: { architect: never, developer: never } });
  const { context } = await runtime.start('two', null, { id: 'r' });
  const numbers = Array.from({ length: 1_200 }, (_, n) => n);
  await Promise.all(numbers.map((n) => context.push('log', n)));
  await runtime.close();
  const second = await open({ file, workflows: [plan], agents: { architect: never, developer: never } });
  expect(await (await second.run('r')).context.get('log')).toEqual(numbers);
  const rows = await second.audit({ run: 'r', types: ['context.push'], limit: 2_000 });
  expect(rows.map(({ data }) => data['value'])).toEqual(numbers);
});
