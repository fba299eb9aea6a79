import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder, passes } from '../support/cli.ts';

let cli: CliFolder;
beforeEach(() => {
  cli = cliFolder();
});
afterEach(() => cli.remove());

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });

const LOOP = (secrets: unknown) => ({
  name: 'leaky',
  loop: 'tight',
  onLimit: 'stop',
  ...(secrets === undefined ? {} : { secrets }),
  agents: {
    developer: {
      command: ['sh', '-c', 'printf \'{"summary":"%s %s"}\' "$SERVICE_TOKEN" hunter2hunter2'],
      passEnv: ['SERVICE_TOKEN'],
    },
    reviewer: { script: [passes] },
    tester: { script: [passes] },
  },
});

describe('secrets', () => {
  it('what an agent is passed by a variable, and what the file declares, is in no file and on no terminal', async () => {
    const SERVICE_TOKEN = 'correct-horse-battery';
    cli.file('leaky.yaml', LOOP({ values: ['plain-secret-of-the-task'] }));
    const input = `deploy with plain-secret-of-the-task and ${SERVICE_TOKEN}`;
    const ran = await cli.runWith({ SERVICE_TOKEN }, 'run', 'leaky.yaml', input, '--json');
    expect(ran.code).toBe(0);
    const printed = [ran.stdout];
    for (const args of [
      ['show', 'last', '--json'],
      ['events', 'last', '--json'],
      ['ps', '--all', '--json'],
    ])
      printed.push((await cli.runWith({ SERVICE_TOKEN }, ...args)).stdout);
    // A control: what is no secret came through.
    expect(printed.join('')).toContain('hunter2hunter2');
    const files = filesIn(join(cli.folder, '.loopwright'));
    expect(files.length).toBeGreaterThan(2);
    for (const text of [...printed, ...files.map((path) => readFileSync(path, 'latin1'))]) {
      expect(text).not.toContain(SERVICE_TOKEN);
      expect(text).not.toContain('plain-secret-of-the-task');
    }
  });

  it('a declared secret that stands in the description itself is refused, with its place', async () => {
    cli.file('leaky.yaml', LOOP({ values: ['hunter2hunter2'] }));
    const { code, stderr } = await cli.run('run', 'leaky.yaml', 'x');
    expect([code, stderr]).toEqual([2, expect.stringContaining('agents.developer.command.2')]);
    expect(stderr).not.toContain('hunter2');
  });
});
