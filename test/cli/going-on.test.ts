import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from 'loopwright';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder, jsonLines, passes, rejects, tight } from '../support/cli.ts';

let cli: CliFolder;
beforeEach(() => {
  cli = cliFolder();
});
afterEach(() => cli.remove());

/** A program that waits until a file is there, then answers. */
const waitsFor = (name: string, answer: string) => ({
  command: [
    process.execPath,
    '-e',
    `const wait = () => require('fs').existsSync(${JSON.stringify(name)}) ? console.log(${JSON.stringify(answer)}) : setTimeout(wait, 20); wait();`,
  ],
});

const HELD = {
  name: 'held',
  loop: 'tight',
  agents: {
    developer: waitsFor('go', '{"summary":"made"}'),
    reviewer: { script: [passes] },
    tester: { script: [passes] },
  },
};

describe('a run that is left goes on', () => {
  it('X7: Ctrl-C leaves a run with exit 130, and all that looks at it says so; resume ends it, from the log alone, wherever its file has gone', async () => {
    const file = cli.file('held.yaml', HELD);
    const started = cli.start('run', file, 'a task');
    await started.wrote('developer');
    const told = async (...args: string[]) => (await cli.run(...args)).stdout;
    for (const look of [['ps'], ['show', 'held'], ['why', 'held']])
      expect(await told(...look)).not.toContain('Nobody works');
    started.child.kill('SIGINT');
    const left = await started.ended;
    expect(left.code).toBe(130);
    expect(await told('ps')).toContain('Nobody works on this log now. Go on with: loopwright resume\n');
    expect(await told('show', 'held')).toContain('Go on with: loopwright resume held-1\n');
    expect(await told('why', 'held')).toContain('To go on: loopwright resume held-1\n');
    expect(left.stderr).toContain('go on with: loopwright resume held-1');
    expect(await cli.json(['ps'])).toMatchObject([{ id: 'held-1', status: 'working' }]);
    mkdirSync(join(cli.folder, 'moved'));
    renameSync(join(cli.folder, file), join(cli.folder, 'moved', file));
    writeFileSync(join(cli.folder, 'go'), '');
    const resumed = await cli.run('resume');
    expect(resumed.stdout).toContain('held-1: verified');
    expect(resumed.code).toBe(0);
    // The calls that were cut short are not counted twice, and a second reader agrees.
    expect(await cli.json(['show', 'held'])).toMatchObject({ status: 'verified', calls: 3 });
  });

  it('a second Ctrl-C ends the process at once, and the run goes on all the same', async () => {
    const file = cli.file('held.yaml', {
      ...HELD,
      agents: {
        ...HELD.agents,
        developer: {
          command: ['sh', '-c', 'trap "" TERM; while [ ! -e go ]; do sleep 0.05; done; echo "{}"'],
          graceMs: 60_000,
        },
      },
    });
    const started = cli.start('run', file, 'a task', '--json');
    await started.wrote('"agents":["developer"]');
    started.child.kill('SIGINT');
    await started.wrote('"interrupted"');
    started.child.kill('SIGINT');
    expect((await started.ended).code).toBe(130);
    writeFileSync(join(cli.folder, 'go'), '');
    expect((await cli.run('resume', 'last')).code).toBe(0);
  });

  it('nobody reads what is written any more: the run is interrupted and kept, and its agent is ended', async () => {
    const file = cli.file('held.yaml', {
      ...HELD,
      agents: { ...HELD.agents, reviewer: waitsFor('reviewed', '{"passed":true}') },
    });
    const started = cli.start('run', file, 'a task');
    await started.wrote('developer');
    started.child.stdout.destroy();
    writeFileSync(join(cli.folder, 'go'), '');
    const left = await started.ended;
    expect(left.stderr).toContain('go on with: loopwright resume held-1');
    expect(left.code).toBe(130);
    expect(await cli.json(['ps'])).toMatchObject([{ status: 'working', calls: 1 }]);
    writeFileSync(join(cli.folder, 'reviewed'), '');
    expect((await cli.run('resume')).code).toBe(0);
  });

  it('from another terminal a question is answered while the run is on', async () => {
    const file = cli.file(
      'asking.yaml',
      tight('asking', { onLimit: 'ask', maxIterations: 1, review: [rejects('a'), passes] }),
    );
    const started = cli.start('run', file, 'a task', '--wait');
    await started.wrote('Answer with:');
    expect(await cli.json(['questions'])).toMatchObject([{ id: 'asking-1/question', run: 'asking-1' }]);
    expect(await cli.json(['answer', 'asking-1', 'continue', '--by', 'ada'])).toMatchObject({
      hasOwner: true,
    });
    const { code, stdout } = await started.ended;
    expect(stdout).toContain('asking-1: verified (2 passes');
    expect(code).toBe(0);
  });

  it('a run is paused, resumed and cancelled from another terminal', async () => {
    const started = cli.start('run', cli.file('held.yaml', HELD), 'a task', '--wait', '--json');
    await started.wrote('"agents":["developer"]');
    expect((await cli.run('pause', 'held-1', '--by', 'ada')).stdout).toContain('held-1 is paused');
    writeFileSync(join(cli.folder, 'go'), '');
    expect(await cli.json(['ps'])).toMatchObject([{ status: 'paused' }]);
    expect((await cli.run('resume', 'held-1')).stdout).toContain('Another process works on this log');
    const { code, stdout } = await started.ended;
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: 'ended', verdict: 'verified' });
    expect(code).toBe(0);

    const second = cli.start(
      'run',
      cli.file('other.yaml', { ...HELD, name: 'other' }),
      'a task',
      '--db',
      'b.db',
    );
    const third = cli.file('stuck.yaml', {
      ...HELD,
      name: 'stuck',
      agents: { ...HELD.agents, developer: waitsFor('never', '{}') },
    });
    expect((await second.ended).code).toBe(0);
    const stuck = cli.start('run', third, 'a task');
    await stuck.wrote('developer');
    expect((await cli.run('cancel', 'stuck', '--reason', 'enough')).code).toBe(0);
    expect((await stuck.ended).code).toBe(4);
  });
});

describe('a run that is paused', () => {
  /** A run of which one agent has worked before it was paused. */
  const pausedRun = async (...options: readonly string[]) => {
    const started = cli.start('run', cli.file('held.yaml', HELD), 'a task', ...options);
    await started.wrote('developer');
    expect((await cli.run('pause', 'held-1', '--reason', 'lunch')).code).toBe(0);
    writeFileSync(join(cli.folder, 'go'), '');
    return started;
  };

  it('is said to be paused and left with exit 3 where it is worked on, and resume without a name goes on with it', async () => {
    const { code, stdout } = await (await pausedRun()).ended;
    expect(stdout.split('\n').at(-2)).toBe('held-1: paused (lunch). Then: loopwright resume held-1');
    expect(code).toBe(3);
    expect(await cli.json(['ps'])).toMatchObject([{ status: 'paused', calls: 1 }]);
    expect((await cli.run('ps')).stdout).toContain('Go on with: loopwright resume\n');
    const resumed = await cli.run('resume', '--no-ask');
    expect(resumed.stdout).toContain('held-1: verified');
    expect(resumed.code).toBe(0);
  });

  it('is told to programs, and is stayed with where somebody waits', async () => {
    const started = await pausedRun('--wait', '--json');
    await started.wrote('"type":"paused"');
    expect((await cli.run('resume', 'held-1')).code).toBe(0);
    const { code, stdout } = await started.ended;
    expect(jsonLines(stdout).filter(({ type }) => type === 'paused')).toEqual([
      { type: 'paused', run: 'held-1', reasons: ['lunch'] },
    ]);
    expect(code).toBe(0);
  });
});

describe('workflows are kept in the log', () => {
  it('a run goes on under the version that it began with after its file was edited; new ones have the new version', async () => {
    const asking = tight('ship', {
      onLimit: 'ask',
      maxIterations: 1,
      review: [rejects('a'), passes, passes],
    });
    const file = cli.file('ship.yaml', asking);
    expect((await cli.run('run', file, 'x')).code).toBe(3);
    cli.file('ship.yaml', { ...asking, maxIterations: 4 });
    expect((await cli.run('run', file, 'x')).code).toBe(0);
    cli.file('ship.yaml', asking);
    expect((await cli.run('run', file, 'x')).code).toBe(3);
    expect(await cli.json(['ps'])).toMatchObject([
      { id: 'ship-1', version: 1, status: 'waiting' },
      { id: 'ship-2', version: 2, status: 'verified' },
      { id: 'ship-3', version: 3, status: 'waiting' },
    ]);
    // The same description again is not stored again.
    expect((await cli.run('run', file, 'x')).code).toBe(3);
    const all = (await cli.json(['ps', '--all'])) as readonly { readonly workflow: string }[];
    expect(all.filter(({ workflow }) => workflow === 'lw.definition')).toHaveLength(3);
    expect((await cli.run('answer', 'ship-1', 'continue')).code).toBe(0);
    expect((await cli.run('resume', 'ship-1')).stdout).toContain('ship-1: verified');
  });

  it('a mended command is used on resume, and two workflows with agents of one name are not mixed up', async () => {
    const one = (developer: string, name: string) => ({
      name,
      loop: 'plan',
      limits: { passes: 3 },
      steps: [
        { id: 'make', agent: 'developer' },
        { id: 'sign', needs: ['make'], gate: { reviewers: ['lead'], corrects: 'make' } },
      ],
      agents: {
        developer: { command: ['sh', '-c', `echo '{"by":"${developer}"}'`] },
        lead: {
          person: {
            text: 'Good?',
            options: [
              { id: 'approve', label: 'Yes' },
              { id: 'reject', label: 'No' },
            ],
          },
        },
      },
    });
    const first = cli.file('first.yaml', one('first', 'first'));
    const second = cli.file('second.yaml', one('second', 'second'));
    expect((await cli.run('run', first, 'x')).code).toBe(3);
    expect((await cli.run('run', second, 'x')).code).toBe(3);
    cli.file('first.yaml', one('mended', 'first'));
    expect((await cli.run('run', first, 'y')).code).toBe(3);
    const made = async (run: string) => {
      const { stdout } = await cli.run('events', run, '--type', 'lw.call.done', '--json');
      return jsonLines(stdout).map(({ data }) => JSON.stringify(data));
    };
    expect((await made('first-1')).join()).toContain('"first"');
    expect((await made('second-1')).join()).toContain('"second"');
    // Sent back after the command was mended: it is the mended one that is called.
    expect((await cli.run('answer', 'first-1', 'reject')).code).toBe(0);
    expect((await cli.run('answer', 'second-1', 'reject')).code).toBe(0);
    await cli.run('resume', '--no-ask');
    expect((await made('first-1')).at(-1)).toContain('"mended"');
    expect((await made('second-1')).at(-1)).toContain('"second"');
  });

  it('a run of one workflow leaves the open runs of others alone', async () => {
    const held = cli.start('run', cli.file('held.yaml', HELD), 'x');
    await held.wrote('developer');
    held.child.kill('SIGINT');
    await held.ended;
    writeFileSync(join(cli.folder, 'go'), '');
    const good = cli.file('good.yaml', tight('good', { review: [passes] }));
    expect((await cli.run('run', good, 'x')).code).toBe(0);
    expect(await cli.json(['show', 'held-1'])).toMatchObject({ status: 'working', calls: 0 });
  });

  it('runs of a program in the same log are shown, and doctor says who goes on with them', async () => {
    const { workflow } = await import('loopwright');
    const { setup } = await import('xstate');
    const machine = setup({}).createMachine({ initial: 'idle', states: { idle: {} } });
    const runtime = await createRuntime({
      file: join(cli.folder, 'log.db'),
      workflows: [workflow('mine', machine)],
      agents: {},
    });
    await runtime.start('mine', null, { id: 'mine-1' });
    await runtime.close();
    expect(await cli.json(['ps', '--db', 'log.db'])).toMatchObject([{ id: 'mine-1', status: 'working' }]);
    expect((await cli.run('show', 'mine-1', '--db', 'log.db')).stdout).toContain('mine version 1  working');
    expect((await cli.run('doctor', '--db', 'log.db')).stdout).toContain('mine-1: started by a program');
    expect((await cli.run('graph', 'mine-1', '--db', 'log.db')).stderr).toContain('started by a program');
  });
});
