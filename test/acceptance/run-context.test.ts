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
