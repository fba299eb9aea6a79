import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder, jsonLines, passes, rejects, tight } from '../support/cli.ts';

let cli: CliFolder;
beforeEach(() => {
  cli = cliFolder();
});
afterEach(() => cli.remove());

const LOG = ['--db', 'a log.db'];

/** A command line that is shown: to the end of the line, or to the next one beside it. */
const shownIn = (text: string): readonly string[] =>
  text
    .split('\n')
    .flatMap((line) => line.split(/(?=loopwright [a-z])/))
    .filter((part) => part.startsWith('loopwright '));

const ASKING = tight('asking', { onLimit: 'ask', maxIterations: 1, review: [rejects('a'), passes] });

const HELD = {
  ...tight('held', { review: [passes] }),
  agents: {
    developer: { command: ['sh', '-c', 'while [ ! -e go ]; do sleep 0.05; done; echo "{}"'] },
    reviewer: { script: [passes] },
    tester: { script: [passes] },
  },
};

describe('what is shown to be typed next', () => {
  it('names the log that was named, wherever it is shown', async () => {
    cli.file('asking.yaml', ASKING);
    cli.file('held.yaml', HELD);
    const told: string[] = [];
    const run = async (...args: readonly string[]) => {
      const { stdout, stderr } = await cli.run(...args, ...LOG);
      const shown = shownIn(`${stdout}${stderr}`);
      expect([args, shown.length > 0]).toEqual([args, true]);
      told.push(...shown);
    };
    await run('run', 'asking.yaml', 'x', '--no-ask');
    await run('questions');
    await run('show', 'asking-1');
    await run('why', 'asking-1');
    await run('answer', 'asking-1', 'maybe');
    await run('answer', 'asking-1', 'continue');
    await run('ps');
    await run('pause', 'asking-1');
    await run('resume');
    const held = cli.start('run', 'held.yaml', 'x', ...LOG);
    await held.wrote('developer');
    await run('pause', 'held-1');
    writeFileSync(join(cli.folder, 'go'), '');
    const { stdout } = await held.ended;
    expect(stdout).toContain('paused');
    told.push(...shownIn(stdout));
    expect(told.filter((line) => !line.includes(` --db 'a log.db'`))).toEqual([]);
  });

  it('says what can be done from here while another process works on the log, and names it when it is left', async () => {
    cli.file('held.yaml', HELD);
    const held = cli.start('run', 'held.yaml', 'x', ...LOG);
    await held.wrote('developer');
    for (const args of [['run', 'held.yaml', 'x'], ['resume']]) {
      const { code, stderr } = await cli.run(...args, ...LOG);
      expect(stderr).toContain('answer, pause, resume RUN, cancel');
      expect(stderr).toContain('another log with --db');
      expect(stderr).not.toMatch(/inbox|one writer/);
      expect(code).toBe(1);
    }
    held.child.kill('SIGINT');
    expect((await held.ended).stderr).toContain(`loopwright resume held-1 --db 'a log.db'`);
  });

  it('has the fingerprint of a question for programs, as "questions" has', async () => {
    cli.file('asking.yaml', ASKING);
    const { stdout } = await cli.run('run', 'asking.yaml', 'x', '--json', '--no-ask');
    const waiting = jsonLines(stdout).at(-1) as { readonly questions: readonly unknown[] };
    expect(waiting.questions).toEqual(await cli.json(['questions']));
    expect(waiting.questions).toMatchObject([{ fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/) }]);
  });

  it('is in the help: every command in a group, and no group besides', async () => {
    const { stdout } = await cli.run('--help');
    expect(stdout).toContain('Run workflows:');
    expect(stdout).not.toContain('\nCommands:');
    expect((await cli.run('help', 'ps')).stdout).toContain('Usage: loopwright ps');
  });
});
