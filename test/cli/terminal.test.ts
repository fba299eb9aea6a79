import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BINARY, type CliFolder, cliFolder, passes, rejects, startProgram, tight } from '../support/cli.ts';

/** `script` of util-linux gives a program a terminal; elsewhere it has other options, or is not there. */
const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

let cli: CliFolder;
beforeEach(() => {
  cli = cliFolder();
});
afterEach(() => cli.remove());

const onTerminal = (args: string, env: Readonly<Record<string, string>> = {}) =>
  startProgram('script', ['-qec', `'${process.execPath}' '${BINARY}' ${args}`, '/dev/null'], {
    folder: cli.folder,
    env: { TERM: 'xterm', ...env },
  });

const ASKING = tight('asking', {
  onLimit: 'ask',
  maxIterations: 1,
  review: [rejects('bad\u001b[2J'), passes],
});

// Skipped without `script`: Node has no pseudo-terminals of its own.
describe.skipIf(!hasTerminals)('on a terminal', () => {
  it('a question is asked, a wrong answer is refused, and the run goes on with the right one', async () => {
    cli.file('asking.yaml', ASKING);
    const started = onTerminal('run asking.yaml x');
    await started.wrote('Your answer (1-3): ');
    started.child.stdin.write('9\r');
    await started.wrote('That is none of its options');
    started.child.stdin.write('1\r');
    const { code, stdout } = await started.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('verified');
    expect(stdout).toContain('pass 2 of 4');
    expect(stdout).not.toContain('bad\u001b');
    expect(await cli.json(['show', 'last'])).toMatchObject({ status: 'verified' });
  });

  it('a prompt goes away when the question is answered from another terminal', async () => {
    cli.file('asking.yaml', ASKING);
    const started = onTerminal('run asking.yaml x');
    await started.wrote('Your answer (1-3): ');
    expect((await cli.run('answer', 'asking-1', 'accept')).code).toBe(0);
    const { code, stdout } = await started.ended;
    expect(stdout).toContain('This was answered elsewhere');
    expect(stdout).toContain('accepted');
    expect(code).toBe(0);
  });

  it('progress is redrawn in place, and Ctrl-C typed there leaves the run', async () => {
    cli.file('held.yaml', {
      name: 'held',
      loop: 'tight',
      limits: { costUsd: 2 },
      agents: {
        developer: { command: ['sh', '-c', 'while [ ! -e go ]; do sleep 0.05; done; echo "{}"'] },
        reviewer: { script: [passes] },
        tester: { script: [passes] },
      },
    });
    const started = onTerminal('run held.yaml x');
    await started.wrote('developer 1.');
    started.child.stdin.write('\u0003');
    const { code, stdout } = await started.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/held-1 {2}implementing {2}pass 1 of 5 {2}developer \d/);
    expect(stdout).toContain('$0.00 of $2.00');
    expect(stdout).toContain('\u001b[1A\r\u001b[0J');
    expect(stdout).toContain('loopwright resume held-1');
    writeFileSync(join(cli.folder, 'go'), '');
    expect((await cli.run('resume')).code).toBe(0);
  });

  it('--step asks before each step, and leaves the run where it is told to', async () => {
    cli.file('steps.yaml', tight('steps', { review: [passes] }));
    const started = onTerminal('run steps.yaml x --step');
    await started.wrote('steps-1: next step?');
    started.child.stdin.write('q\r');
    expect((await started.ended).code).toBe(130);
    expect(await cli.json(['show', 'last'])).toMatchObject({ status: 'paused', calls: 1 });
    const resumed = await cli.run('resume', 'last');
    expect(resumed.stdout).toContain('verified');
  });

  it('prove shows that it is at work, and takes that away', async () => {
    cli.file('good.yaml', tight('good', { review: [passes] }));
    const { code, stdout } = await onTerminal('prove good.yaml x').ended;
    expect(stdout).toContain('\rtrying all that agents may do, ');
    expect(stdout).toContain('\r\u001b[2Kgood: at most');
    expect(code).toBe(0);
  });

  it('NO_COLOR and --no-color leave colours out', async () => {
    cli.file('good.yaml', tight('good', { review: [passes] }));
    const colored = await onTerminal('run good.yaml x').ended;
    expect(colored.stdout).toContain('\u001b[32mverified');
    for (const started of [
      onTerminal('run good.yaml x --db b.db', { NO_COLOR: '1' }),
      onTerminal('run good.yaml x --no-color --db c.db'),
    ])
      expect((await started.ended).stdout).not.toContain('\u001b[32m');
  });

  it('a pipe gets no colours, also where CI is set', async () => {
    cli.file('good.yaml', tight('good', { review: [passes] }));
    const { stdout } = await cli.runWith({ CI: 'true', FORCE_COLOR: '1' }, 'run', 'good.yaml', 'x');
    expect(stdout).toContain('good-1: verified');
  });
});
