import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { callHere } from '../support/call-here.ts';
import {
  BINARY,
  type CliFolder,
  type CommandRan,
  cliFolder,
  passes,
  type Started,
  startProgram,
} from '../support/cli.ts';
import { breaksOff, says, startModelServer } from '../support/model-server.ts';
import { createPlanter, filesIn, leaksIn } from '../support/planted.ts';

// Method: as for all other inputs, on ways that need a process of their own, a terminal, a pipe or a server. Every file that was written,
// and all that was printed, is searched for what was planted, and for halves of it.

const plant = createPlanter();
const CONTROL = 'an-undeclared-word-of-no-shape';
const secrets = { values: plant.values, names: [plant.name] };

let cli: CliFolder;
const printed = new Map<string, string>();
const noted = (name: string, { stdout, stderr }: Pick<CommandRan, 'stdout' | 'stderr'>): void =>
  void printed.set(`${printed.size}: ${name.slice(0, 60)}`, `${stdout}\n${stderr}`);
const call = async (...args: readonly string[]): Promise<CommandRan> => {
  const ran = await callHere(cli.folder, args);
  noted(args.slice(0, 2).join(' '), ran);
  return ran;
};
const ended = async (name: string, started: Started): Promise<CommandRan> => {
  const ran = await started.ended;
  noted(name, ran);
  return ran;
};
const leaks = (): readonly string[] =>
  leaksIn(new Map([...filesIn(join(cli.folder, '.loopwright')), ...printed]), plant.planted());

const asking = (name: string, rest: object = {}) =>
  cli.file(`${name}.yaml`, {
    name,
    loop: 'plan',
    secrets,
    input: CONTROL,
    steps: [{ id: 'decide', agent: 'boss' }],
    agents: { boss: { person: { text: 'How?' } } },
    ...rest,
  });
const tight = (name: string, agents: object, rest: object = {}) =>
  cli.file(`${name}.yaml`, {
    name,
    loop: 'tight',
    onLimit: 'stop',
    maxIterations: 1,
    secrets,
    input: 'x',
    ...rest,
    agents: {
      developer: { script: [{ summary: 'done' }, { summary: 'more' }] },
      reviewer: { script: [passes, passes] },
      tester: { script: [passes, passes] },
      ...agents,
    },
  });

beforeAll(() => {
  cli = cliFolder();
});
afterAll(() => cli.remove());

/** `script` of util-linux gives a program a terminal; elsewhere it has other options, or is not there. */
const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

describe('S12: secrets on ways of their own', () => {
  it('S12: in the note and the name with which a story is reset', async () => {
    const script = [{ summary: 'done' }];
    const rejected = {
      decision: 'rejected',
      passed: false,
      issues: [{ severity: 'high', description: 'x' }],
    };
    cli.file('board.yaml', {
      name: 'board',
      loop: 'stories',
      mode: 'auto',
      secrets,
      refinement: { maxIterations: 0 },
      input: { stories: [{ id: 'S-1', title: 'One', body: 'x' }] },
      agents: {
        ...Object.fromEntries(
          ['research', 'plan', 'implement', 'create-pr'].map((each) => [each, { script }]),
        ),
        review: { script: [rejected, rejected] },
      },
    });
    expect((await call('run', 'board.yaml', '--no-ask')).code).toBe(3);
    for (const json of [[], ['--json']]) {
      const args = ['--note', plant.text('--note of reset', 4), '--by', plant.text('--by of reset')];
      expect((await call('reset', 'S-1', ...args, ...json)).code).toBe(0);
    }
    expect(leaks()).toEqual([]);
  });

  it('S12: as the id of a run', async () => {
    asking('named');
    // A token whose letters an id may have, beside any that come next.
    const token = `ghp_${'Ab3dE6gH1jK4mN7pQ0sT'.repeat(2).slice(0, 36)}`;
    for (const id of [token, plant.text('--id', 1), plant.value('--id')]) {
      for (const json of [[], ['--json']]) {
        const { code } = await call('run', 'named.yaml', '--no-ask', '--id', id, ...json);
        expect(code).toBe(2);
      }
    }
    expect(leaks()).toEqual([]);
    expect(leaksIn(filesIn(join(cli.folder, '.loopwright')), [{ where: '--id', needles: [token] }])).toEqual(
      [],
    );
  });

  it.skipIf(!hasTerminals)('S12: in answers that are typed on a terminal', async () => {
    asking('typed');
    const started = startProgram(
      'script',
      ['-qec', `'${process.execPath}' '${BINARY}' run typed.yaml`, '/dev/null'],
      { folder: cli.folder, env: { TERM: 'xterm' } },
    );
    await started.wrote('Your answer');
    // The terminal itself shows what is typed: that alone is not searched.
    started.child.stdin.write(`${plant.text('typed', 4).replaceAll('\n', ' ')}\r`);
    expect((await started.ended).code).toBe(0);
    expect(leaks()).toEqual([]);
  });

  it('S12: in what is imported from the standard input', async () => {
    tight('tight', {});
    const progress = {
      feedback_loop: {
        current_iteration: 2,
        max_iterations: 5,
        status: 'in_progress',
        iterations: [
          {
            number: 1,
            review_result: 'FAIL',
            review_issues: [plant.text('import -', 4)],
            test_result: 'FAIL',
            test_failures: [plant.text('import -', 2)],
          },
          { number: plant.text('refused row of import -', 2) },
        ],
      },
    };
    const args = ['import', '-', '--workflow', 'tight.yaml', '--task', plant.text('--task of import -')];
    const started = cli.start(...args);
    started.child.stdin.end(JSON.stringify(progress));
    expect((await ended('import -', started)).stdout).toContain('Imported as the run');
    expect(leaks()).toEqual([]);
  });

  it('S12: in a branch under another file, whose agents are called', async () => {
    cli.file('said.json', JSON.stringify({ summary: plant.text('agent of a branch', 4) }));
    tight('first', { developer: { command: ['cat', 'said.json'] } });
    expect((await call('run', 'first.yaml')).code).toBe(0);
    cli.file('other.yaml', {
      name: 'other',
      loop: 'tight',
      description: 'another',
      maxIterations: 3,
      secrets,
      agents: {
        developer: { command: ['cat', 'said.json'] },
        reviewer: { script: [passes] },
        tester: { script: [passes] },
      },
    });
    for (const more of [[], ['--json'], ['--into', '.loopwright/branch.db', '--make-calls']])
      expect([0, 3]).toContain((await call('fork', 'first-1', '--with', 'other.yaml', ...more)).code);
    expect(leaks()).toEqual([]);
  });

  it('S12: in answers of models that come piece by piece', async () => {
    const review = {
      passed: true,
      issues: [{ severity: 'low', category: 'x', description: plant.text('stream', 4) }],
    };
    const { baseUrl } = await startModelServer(
      says(JSON.stringify(review)),
      says(plant.text('stream that is no answer', 2)),
      breaksOff('torn'),
    );
    tight('streamed', {
      reviewer: { model: 'm', baseUrl, output: 'review', stream: true, attempts: 1 },
    });
    for (let times = 0; times < 3; times += 1)
      expect([0, 1, 4]).toContain(
        (await call('run', 'streamed.yaml', ...(times === 0 ? [] : ['--json']))).code,
      );
    expect(leaks()).toEqual([]);
  });

  it('S12: in commands that are sent while another process is at work', async () => {
    asking('owned', {
      steps: [
        { id: 'decide', agent: 'boss' },
        { id: 'again', agent: 'boss', needs: ['decide'] },
      ],
    });
    const owner = cli.start('run', 'owned.yaml', '--wait');
    await owner.wrote('Answer with:');
    const follower = cli.start('events', 'owned-1', '--follow');
    await follower.wrote('question.opened');
    const by = () => ['--by', plant.text('--by to an owner', 1)];
    expect((await call('pause', 'owned-1', '--reason', plant.text('reason to an owner'), ...by())).code).toBe(
      0,
    );
    expect((await call('resume', 'owned-1', ...by())).code).toBe(0);
    const value = JSON.stringify({ said: plant.object('--value to an owner') });
    expect(
      (await call('answer', 'owned-1', '--value', value, '--note', plant.text('--note to an owner'), ...by()))
        .stdout,
    ).not.toContain('Go on with');
    await expect
      .poll(async () => (await callHere(cli.folder, ['questions', 'owned-1'])).stdout, { timeout: 20_000 })
      .toContain('question~2');
    expect((await call('cancel', 'owned-1', '--reason', plant.text('reason to cancel'), ...by())).code).toBe(
      0,
    );
    expect((await ended('run --wait', owner)).code).toBe(4);
    follower.child.kill('SIGINT');
    const followed = await ended('events --follow', follower);
    expect(followed.stdout).toContain('question.answer');
    expect(readFileSync(join(cli.folder, '.loopwright/log.db.inbox'), 'latin1')).toContain('owned-1');
    expect(leaks()).toEqual([]);
  });
});

describe('S12: ways of looking that go on', () => {
  it('S12: what two runs differ by, and what an inspector is sent', async () => {
    cli.file('one.json', JSON.stringify({ summary: plant.text('one of two', 4), control: CONTROL }));
    tight('two', { developer: { command: ['cat', 'one.json'] } });
    expect((await call('run', 'two.yaml')).code).toBe(0);
    cli.file('one.json', JSON.stringify({ summary: plant.text('other of two', 4), control: CONTROL }));
    expect((await call('run', 'two.yaml', 'y')).code).toBe(0);
    for (const json of [[], ['--json']]) {
      await call('diff', 'two-1', 'two-2', ...json);
      await call('diff', 'two-1', 'tight.yaml', ...json);
    }
    const started = cli.start('inspect', 'two-1', '--json');
    const [line] = await once(started.child.stdout, 'data');
    const { url } = JSON.parse(String(line)) as { readonly url: string };
    const socket = new WebSocket(url);
    let sent = '';
    socket.on('message', (message: Buffer) => {
      sent += message.toString('utf8');
    });
    await expect.poll(() => sent, { timeout: 20_000 }).toContain('lw.run.ended');
    socket.close();
    expect(sent).toContain(CONTROL);
    printed.set('inspect', sent);
    started.child.kill('SIGINT');
    await ended('inspect', started);
    expect(leaks()).toEqual([]);
  });

  it('S12, control: what is no secret by any rule is found, and so is a secret that is written', () => {
    const control = [{ where: 'the control', needles: [CONTROL] }];
    expect(leaksIn(filesIn(join(cli.folder, '.loopwright')), control).join()).toContain('log.db');
    expect(leaksIn(printed, control).length).toBeGreaterThan(1);
    writeFileSync(join(cli.folder, '.loopwright/control'), plant.values[0] ?? '');
    expect(leaks()).toHaveLength(1);
    expect(plant.planted().length).toBeGreaterThan(50);
  });
});
