import { mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import {
  type CliFolder,
  cliFolder,
  jsonLines,
  PUBLISHED,
  passes,
  rejects,
  startProgram,
  tight,
} from '../support/cli.ts';

const HOSTILE = 'red\u001b[31m\u202e\u200b\rgone';

let cli: CliFolder;
beforeAll(async () => {
  cli = cliFolder();
  cli.file('loop.yaml', tight('loop', { review: [rejects(HOSTILE), passes] }));
  cli.file('open.yaml', tight('open', { onLimit: 'ask', maxIterations: 1, review: [rejects(HOSTILE)] }));
  expect((await cli.run('run', 'loop.yaml', 'a task')).code).toBe(0);
  expect((await cli.run('run', 'open.yaml', 'a task')).code).toBe(3);
});
afterAll(() => cli.remove());

describe('help', () => {
  it('every command has help with examples, and the published binary lists and runs them', async () => {
    const published = async (...args: readonly string[]) =>
      startProgram(process.execPath, [PUBLISHED, ...args], { folder: cli.folder }).ended;
    const { code, stdout } = await published('--help');
    expect(code).toBe(0);
    for (const { name, summary } of COMMANDS) expect(stdout).toMatch(new RegExp(`${name}.* ${summary}`));
    expect((await published('ps', '--json')).stdout).toContain('"loop-1"');
    const [{ version }] = [JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }];
    expect((await published('--version')).stdout.trim()).toBe(version);
  });

  it.concurrent.each(COMMANDS.map(({ name }) => name))('%s --help', async (name) => {
    const { code, stdout } = await cli.run(name, '--help');
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: loopwright ${name}`)]);
    expect(stdout).toContain('Examples:');
    expect(stdout).toContain('--json');
  });
});

describe('looking at runs', () => {
  it('events gives every event of the run in order, by type, and as they come', async () => {
    const { stdout } = await cli.run('events', 'loop-1', '--json');
    const events = jsonLines(stdout);
    expect(events.at(0)).toMatchObject({ run: 'loop-1', type: 'lw.started' });
    expect(events.map(({ position }) => position)).toEqual(
      events.map(({ position }) => position).toSorted((a, b) => Number(a) - Number(b)),
    );
    const calls = await cli.run('events', 'loop-1', '--type', 'lw.call.done', '--json');
    expect(jsonLines(calls.stdout)).toHaveLength(5);
    const followed = await cli.run('events', 'loop-1', '--follow');
    expect(followed.code).toBe(0);
    expect(followed.stdout).toContain('lw.run.ended');
  });

  it('stats adds up runs by workflow, without the descriptions', async () => {
    expect(await cli.json(['stats'])).toMatchObject({
      workflows: [
        { workflow: 'loop', runs: 1, verdicts: { verified: 1 }, calls: 5 },
        { workflow: 'open', runs: 1, open: 1, verdicts: {} },
      ],
    });
    expect((await cli.run('stats')).stdout).toContain('1 verified');
  });

  it('issues lists what is open, and with --all what was', async () => {
    expect(await cli.json(['issues'])).toMatchObject([
      { run: 'open-1', status: 'open', description: HOSTILE },
    ]);
    expect(await cli.json(['issues', '--all'])).toHaveLength(2);
    expect((await cli.run('issues', 'loop-1')).stdout).toContain('No issue is open');
  });

  it('graph draws the machine of a file, that of a run, and its messages', async () => {
    const ofFile = await cli.run('graph', 'loop.yaml');
    expect(ofFile.stdout).toMatch(/^stateDiagram-v2\n/);
    expect((await cli.run('graph', 'loop-1')).stdout).toBe(ofFile.stdout);
    expect((await cli.run('graph', 'loop-1', '--sequence')).stdout).toMatch(/^sequenceDiagram\n/);
  });

  it('S7, S8: what agents say is escaped and quoted for people, and as it is for programs', async () => {
    const unsafe = /(?!\n)\p{Cc}|\p{Cf}/u;
    for (const args of [
      ['issues'],
      ['show', 'open-1'],
      ['questions'],
      ['events', 'open-1'],
      ['ps'],
      ['stats'],
    ]) {
      const { stdout, stderr } = await cli.run(...args);
      expect(`${stdout}${stderr}`).not.toMatch(unsafe);
      for (const line of stdout.split('\n').filter((each) => each.includes('gone')))
        expect(line).toMatch(/^ {2}│ |"[^"]*red.*gone/);
    }
    const [question] = (await cli.json(['questions'])) as readonly { readonly details: unknown }[];
    expect(JSON.stringify(question?.details)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  });

  it('any beginning of an id that fits one run is enough', async () => {
    expect(await cli.json(['show', 'lo'])).toMatchObject({ id: 'loop-1' });
    expect(await cli.json(['show', 'last'])).toMatchObject({ id: 'open-1' });
    expect(await cli.json(['show', '-'])).toMatchObject({ id: 'open-1' });
  });
});

describe('checks', () => {
  it('prove exits with 0 if proved, 1 if not and 4 if inconclusive, and dry-run starts nothing', async () => {
    const proved = await cli.run('prove', 'loop.yaml', '--json');
    expect([proved.code, JSON.parse(proved.stdout)]).toEqual([
      0,
      expect.objectContaining({ result: 'proved' }),
    ]);
    const thorough = await cli.run('prove', 'loop.yaml', '--thorough', '--json');
    expect(JSON.parse(thorough.stdout)).toEqual(JSON.parse(proved.stdout));
    const given = await cli.run('prove', 'loop.yaml', '--states', '10');
    expect(given.code).toBe(4);
    const limits = { passes: null, sameIssue: null, sameFailure: null, unbounded: 'somebody watches it' };
    cli.file('endless.yaml', { ...tight('endless', { review: [passes] }), limits });
    const refuted = await cli.run('prove', 'endless.yaml', 'x');
    expect(refuted.stdout).toContain('it need not end: developer');
    expect(refuted.code).toBe(1);
    const dry = await cli.run('run', 'loop.yaml', 'x', '--dry-run', '--db', 'dry.db');
    expect(dry.stdout).toContain('at most 15 calls of agents (45 with retries)');
    expect(dry.stdout).toContain('developer: at most 15 calls with retries');
    expect(dry.code).toBe(0);
    expect(statSync(join(cli.folder, 'dry.db'), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('prove --far-requests lets a node of a large tree ask any node above it', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    cli.file('chain.yaml', {
      name: 'chain',
      loop: 'tree',
      input: { task: 'x' },
      nodes: ids.map((id, index) => (index === 0 ? { id } : { id, parent: ids[index - 1] })),
      limits: { pairRounds: 1, feedbacks: 1 },
      agents: Object.fromEntries(ids.map((id) => [id, { script: [passes] }])),
    });
    const near = await cli.run('prove', 'chain.yaml');
    expect([near.code, near.stdout]).toEqual([0, expect.stringContaining('to the node above')]);
    const far = await cli.run('prove', 'chain.yaml', '--far-requests');
    expect([far.code, far.stdout]).toEqual([0, expect.not.stringContaining('to the node above')]);
  });

  it('doctor is content with a good log, and says what to do about rights and missing programs', async () => {
    const good = (await cli.json(['doctor'])) as readonly {
      readonly what: string;
      readonly result: string;
    }[];
    expect(good.filter(({ result }) => result === 'bad')).toEqual([]);
    expect(good.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['node', 'sqlite', 'disk', 'log', 'owner', 'rights', 'open runs']),
    );
    const other = cliFolder();
    try {
      other.file('w.yaml', {
        ...tight('w', { review: [passes] }),
        agents: {
          developer: { command: ['no-such-program'], passEnv: ['LOOPWRIGHT_UNSET_KEY'] },
          reviewer: { model: 'm', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'LOOPWRIGHT_UNSET_TOKEN' },
          tester: { script: [passes] },
        },
      });
      const before = await other.run('doctor', 'w.yaml');
      expect(before.stdout).toContain('agent w: developer: "no-such-program" is not there');
      expect(before.stdout).toContain('agent developer: LOOPWRIGHT_UNSET_KEY is not set');
      expect(before.stdout).toContain('BAD  agent reviewer: LOOPWRIGHT_UNSET_TOKEN is not set');
      expect(before.code).toBe(1);
      // A program that is not there is not looked for again.
      const ran = await other.run('run', 'w.yaml', 'x', '--db', 'w.db');
      expect(ran.stdout).toContain('w-1: failed (1 pass, 1 call,');
      expect(ran.code).toBe(1);
      await startProgram('chmod', ['644', 'w.db'], { folder: other.folder }).ended;
      const { code, stdout } = await other.run('doctor', '--db', 'w.db');
      expect(code).toBe(1);
      expect(stdout).toContain('"no-such-program" is not there');
      expect(stdout).toContain('chmod -R go= w.db');
    } finally {
      await other.remove();
    }
  });
});

describe('init', () => {
  it('writes a workflow that runs and a test that passes', async () => {
    const other = cliFolder();
    try {
      expect((await other.run('init')).stdout).toMatch(/^Wrote to this folder: workflow.yaml, .*\n/);
      const { code, stdout } = await other.run('init', 'mine');
      expect(stdout).toContain('Its test needs the package: npm link loopwright');
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^Wrote to mine: workflow.yaml, .*\n/)]);
      const folder = join(other.folder, 'mine');
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(resolve('.'), join(folder, 'node_modules', 'loopwright'));
      const tested = await startProgram(process.execPath, ['--test'], { folder }).ended;
      expect(tested.stdout).toContain('# pass 2');
      expect(tested.code).toBe(0);
      expect((await other.run('run', 'mine/workflow.yaml')).stdout).toContain('first-loop-1: verified');
      const [editor = ''] = readFileSync(join(folder, 'workflow.yaml'), 'utf8').split('\n');
      const [, schema = ''] = editor.split('# yaml-language-server: $schema=');
      expect(JSON.parse(readFileSync(join(folder, schema), 'utf8'))).toHaveProperty('$schema');
      expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toContain('.loopwright/');
      expect(statSync(join(other.folder, '.loopwright')).mode & 0o777).toBe(0o700);
    } finally {
      await other.remove();
    }
  });
});

describe('demo', () => {
  it('runs all five loops, and leaves a log that other commands read', async () => {
    const { code, stdout } = await cli.run('demo', '--json');
    expect(code).toBe(0);
    const loops = jsonLines(stdout);
    expect(loops.map(({ loop }) => loop)).toEqual(['tight', 'feedback', 'refinement', 'phases', 'tree']);
    for (const loop of loops)
      expect(loop).toMatchObject({ verdict: 'verified', agentCalls: expect.any(Number) });
    const shown = await cli.json(['show', 'demo-tree', '--db', '.loopwright/demo.db']);
    expect(shown).toMatchObject({ status: 'verified' });
  });
});

describe('the output', () => {
  it('goes to the log that was named, by --db before LOOPWRIGHT_DB before the folder', async () => {
    const env = { LOOPWRIGHT_DB: 'env.db' };
    expect((await cli.runWith(env, 'run', 'loop.yaml', 'x')).code).toBe(0);
    expect(JSON.parse((await cli.runWith(env, 'ps', '--json')).stdout)).toHaveLength(1);
    expect(
      JSON.parse((await cli.runWith(env, 'ps', '--json', '--db', '.loopwright/log.db')).stdout),
    ).toHaveLength(2);
  });

  it('ends quietly when its reader has gone', async () => {
    const program = `"${process.execPath}" "${PUBLISHED}" events loop-1 --json | head -n 1`;
    const { stdout, stderr } = await startProgram('sh', ['-c', program], { folder: cli.folder }).ended;
    expect(jsonLines(stdout)).toHaveLength(1);
    expect(stderr).toBe('');
  });
});
