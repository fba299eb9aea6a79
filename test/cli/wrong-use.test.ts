import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder, passes, rejects, tight } from '../support/cli.ts';

let cli: CliFolder;
beforeAll(async () => {
  cli = cliFolder();
  cli.file('good.yaml', tight('good', { onLimit: 'ask', maxIterations: 1, review: [rejects('a'), passes] }));
  cli.file('bad.yaml', 'name: bad\nloop: thight\nagents: {}\n');
  cli.file('secret.yaml', {
    ...tight('secret', { review: [passes] }),
    agents: {
      developer: { command: ['true'], env: { KEY: `ghp_${'a1B2'.repeat(9)}` } },
      reviewer: { script: [passes] },
      tester: { script: [passes] },
    },
  });
  cli.file('note.txt', 'this is no log');
  for (const _ of [1, 2]) expect((await cli.run('run', 'good.yaml', 'x', '--no-ask')).code).toBe(3);
  expect((await cli.run('cancel', 'good-2')).code).toBe(0);
});
afterAll(() => cli.remove());

type Row = readonly [args: readonly string[], ...told: readonly string[]];

/** Each wrong use, and what must be in what is said about it: what is wrong, and what is right. */
const WRONG: readonly Row[] = [
  [[], 'Usage: loopwright'],
  [['shwo'], "unknown command 'shwo'", 'Did you mean show?'],
  [['ps', '--wating'], "unknown option '--wating'", 'Did you mean --waiting?'],
  [['ps', 'x'], 'too many arguments', 'ps --help'],
  [['ps', '--db'], "'--db <file>' argument missing"],
  [['ps', '--db', ''], '--db is empty', 'path of a log'],
  [['ps', '--db', 'nothing.db'], 'There is no log at "nothing.db"', 'loopwright run FILE'],
  [['ps', '--db', 'note.txt'], '"note.txt" is not a Loopwright log'],
  [['run'], "missing required argument 'file'", 'run --help'],
  [['run', 'nothing.yaml'], 'nothing.yaml', 'there is no such file'],
  [['run', 'bad.yaml'], 'bad.yaml', 'thight', 'tight'],
  [['run', 'secret.yaml', 'x'], 'agents.developer.env.KEY', 'passEnv'],
  [['run', 'good.yaml', 'x', '--input', '1'], 'two inputs', 'Give one of them'],
  [['run', 'good.yaml', '--input', '{x'], '--input cannot be read as JSON', '@'],
  [['run', 'good.yaml', '--input', '@nothing.json'], '"nothing.json"', 'JSON'],
  [['run', 'good.yaml'], 'There is no task', '"Add CSV export"'],
  [['run', 'good.yaml', ' '], 'There is no task', 'input:'],
  [['doctor', 'nothing.yaml'], 'nothing.yaml', 'there is no such file'],
  [['run', 'good.yaml', '--auto', '--step'], '--auto and --step', 'Give one'],
  [['run', 'good.yaml', '--step', '--no-ask'], '--step asks', 'Give one'],
  [['run', 'good.yaml', '--wait', '--no-ask'], '--wait stays', 'Give one'],
  [['run', 'good.yaml', '--step'], '--step needs a terminal'],
  [['run', 'good.yaml', 'x', '--id', 'good-1'], 'There is a run "good-1" already'],
  // In a log of its own: these rows are tried at once, and a log has one writer.
  [['run', 'good.yaml', 'x', '--id', 'a/b', '--db', 'ids.db'], '"a/b" cannot be an id'],
  [['resume', 'nothing'], 'begins with "nothing"', 'loopwright ps'],
  [['resume', 'good-2'], '"good-2" has ended (cancelled)'],
  [['show'], "missing required argument 'id'"],
  [['show', 'good-'], 'more than one id', 'good-1'],
  [['show', 'nothing'], 'begins with "nothing"', 'loopwright ps'],
  [['events', 'nothing'], 'begins with "nothing"'],
  [['events', 'good-1', '--type', ''], '--type is empty'],
  [['issues', 'nothing'], 'begins with "nothing"'],
  [['stats', 'x'], 'too many arguments'],
  [['questions', 'nothing'], 'begins with "nothing"'],
  [['answer', 'good-1'], 'needs an answer', 'OPTION: continue, accept, cancel)'],
  [['answer', 'good-1', 'maybe'], '"maybe" is none of the options', 'OPTION: continue, accept, cancel)'],
  [['answer', 'good-1', '--value', '3'], 'needs an answer', 'OPTION: continue, accept, cancel)'],
  [['answer', 'good-2', 'accept'], 'No question is open at "good-2"', 'loopwright questions'],
  [['pause', 'good-2'], 'has ended'],
  [['cancel', 'good-2'], 'has ended'],
  [['cancel'], "missing required argument 'run'"],
  [['reset', 'S-1'], 'has a story "S-1"', 'loopwright show'],
  [['reset', 'S-1', '--max', 'many'], '--max is "many"', 'whole number'],
  [['prove'], "missing required argument 'file'"],
  [['prove', 'bad.yaml'], 'thight'],
  [['prove', 'good.yaml', '--states', '0'], '--states is "0"', 'whole number'],
  [['graph', 'nothing'], 'begins with "nothing"'],
  [['graph', 'good.yaml', '--sequence'], '--sequence shows a run', 'id of a run'],
  [['graph', 'bad.yaml'], 'thight'],
  [['init', '.', 'x'], 'too many arguments'],
  [['doctor', 'good.yaml', 'x'], 'too many arguments'],
  [['demo', 'x'], 'too many arguments'],
];

describe('wrong use', () => {
  it.concurrent.each(WRONG)('%j exits with 2, and names what is wrong and what is right', async (...row) => {
    const [args, ...told] = row as unknown as Row; // A row of the table.
    const { code, stdout, stderr } = await cli.run(...args);
    expect(stderr).toContain(told[0] ?? '');
    for (const each of told) expect(stderr).toContain(each);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('with --json the error is JSON too, and the output stays empty', async () => {
    for (const args of [['show', 'nothing'], ['shwo'], ['ps', '--wating']]) {
      const { code, stdout, stderr } = await cli.run(...args, '--json');
      expect([code, stdout]).toEqual([2, '']);
      const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
      expect(error.code).toBe('WRONG_USE');
      expect(error.message).not.toBe('');
    }
  });

  it('init overwrites nothing', async () => {
    const other = cliFolder();
    try {
      other.file('workflow.test.mjs', 'mine');
      const { code, stderr } = await other.run('init');
      expect([code, stderr]).toEqual([2, expect.stringContaining('exists already')]);
      expect(existsSync(join(other.folder, 'workflow.yaml'))).toBe(false);
    } finally {
      await other.remove();
    }
  });

  it('a wrong use starts and changes nothing', async () => {
    expect(await cli.json(['ps', '--all'])).toHaveLength(3);
  });
});
