import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callHere } from '../support/call-here.ts';
import { type CliFolder, cliFolder } from '../support/cli.ts';
import { filesIn, leaksIn } from '../support/planted.ts';

// Method: a run waits whose file declares a secret. Then something happens to the file, and each command that writes what a person says is
// given the secret: either it is still taken out, or the command is refused and nothing is written.

const SECRET = 'correct horse of no shape';
const OTHER = 'another battery of no shape';
const NEEDLES = [{ where: 'the secret', needles: [SECRET, 'correct horse', 'of no shape'] }];

let cli: CliFolder;
beforeEach(() => {
  cli = cliFolder();
  cli.file('said.json', JSON.stringify({ said: `so ${SECRET} it is` }));
});
afterEach(() => cli.remove());

const call = (...args: readonly string[]) => callHere(cli.folder, args);
const leaks = () => leaksIn(filesIn(join(cli.folder, '.loopwright')), NEEDLES);

const asking = (values: readonly string[], rest: object = {}) => ({
  name: 'asking',
  loop: 'plan',
  input: 'x',
  steps: [
    { id: 'decide', agent: 'boss' },
    { id: 'work', agent: 'worker', needs: ['decide'] },
  ],
  agents: { boss: { person: { text: 'How?' } }, worker: { command: ['cat', 'said.json'] } },
  ...(values.length > 0 && { secrets: { values } }),
  ...rest,
});

const board = (values: readonly string[]) => {
  const script = [{ summary: 'done' }];
  const rejected = { decision: 'rejected', passed: false, issues: [{ severity: 'high', description: 'x' }] };
  return {
    name: 'board',
    loop: 'stories',
    mode: 'auto',
    refinement: { maxIterations: 0 },
    input: { stories: [{ id: 'S-1', title: 'One', body: 'x' }] },
    secrets: { values },
    agents: {
      ...Object.fromEntries(['research', 'plan', 'implement', 'create-pr'].map((name) => [name, { script }])),
      review: { script: [rejected, rejected] },
    },
  };
};

const path = () => join(cli.folder, 'asking.yaml');
const write = (content: unknown) => void cli.file('asking.yaml', content);

/** What may happen to a file, and what is then said against it. */
const CHANGES: readonly (readonly [what: string, change: () => void, problem: string])[] = [
  ['moved', () => renameSync(path(), join(cli.folder, 'elsewhere.yaml')), 'there is no such file'],
  ['broken', () => writeFileSync(path(), 'name: [asking'), 'it is no valid workflow file'],
  ['without the values', () => write(asking([])), 'it declares 0 values'],
  ['with another value', () => write(asking([OTHER])), 'it declares other values'],
  ['with another value before', () => write(asking([OTHER, SECRET])), 'it declares other values'],
  [
    'replaced by a folder',
    () => {
      renameSync(path(), join(cli.folder, 'elsewhere.yaml'));
      mkdirSync(path());
    },
    'it is a directory',
  ],
];

const COMMANDS: readonly (readonly string[])[] = [
  ['answer', 'last', '--value', SECRET],
  ['answer', 'last', '--value', 'x', '--note', SECRET],
  ['pause', 'last', '--reason', SECRET],
  ['cancel', 'last', '--by', SECRET],
  ['resume', 'last', '--no-ask', '--by', SECRET],
  ['resume', '--no-ask'],
  ['fork', 'last', '--set', 'limits.calls=3', '--into', 'branch.db'],
];

describe('S12: a declared secret whose file can no longer be read', () => {
  it.each(CHANGES)(
    'S12: %s: what people say is refused, and nothing is written',
    async (_what, change, problem) => {
      write(asking([SECRET]));
      expect((await call('run', 'asking.yaml', '--no-ask')).code).toBe(3);
      change();
      for (const args of COMMANDS) {
        const { code, stdout, stderr } = await call(...args);
        expect([args[0], code, stderr]).toEqual([args[0], 2, expect.stringContaining(problem)]);
        expect(stderr).toContain(path());
        expect(stdout + stderr).not.toContain(SECRET);
      }
      expect(leaks()).toEqual([]);
      const shown = await call('show', 'last');
      expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('waiting')]);
    },
  );

  it('S12: one that is put back, or has more after them, or another name, is good again', async () => {
    write(asking([SECRET]));
    for (const next of [asking([SECRET, OTHER]), asking([SECRET], { name: 'renamed' }), asking([SECRET])]) {
      write(asking([SECRET]));
      expect((await call('run', 'asking.yaml', '--no-ask')).code).toBe(3);
      write(next);
      expect((await call('answer', 'last', '--value', SECRET, '--note', SECRET)).code).toBe(0);
      expect((await call('resume', 'last', '--no-ask')).code).toBe(0);
    }
    expect(leaks()).toEqual([]);
  });

  it('S12: a story is not reset with a note that nobody can look through', async () => {
    cli.file('board.yaml', board([SECRET]));
    expect((await call('run', 'board.yaml', '--no-ask')).code).toBe(3);
    const reset = () => call('reset', 'S-1', '--note', SECRET);
    expect((await reset()).code).toBe(0);
    renameSync(join(cli.folder, 'board.yaml'), join(cli.folder, 'elsewhere.yaml'));
    expect((await reset()).code).toBe(2);
    expect(leaks()).toEqual([]);
  });

  it('S12: nor is anything imported for a workflow that only the log has', async () => {
    cli.file('tight.yaml', {
      name: 'tight',
      loop: 'tight',
      secrets: { values: [SECRET] },
      agents: { developer: { script: [] }, reviewer: { script: [] }, tester: { script: [] } },
    });
    cli.file('progress.json', JSON.stringify({ feedback_loop: { current_iteration: 1, iterations: [] } }));
    const imported = (workflow: string, task: string) =>
      call('import', 'progress.json', '--workflow', workflow, '--task', task);
    expect((await imported('tight.yaml', 'x')).code).toBe(0);
    renameSync(join(cli.folder, 'tight.yaml'), join(cli.folder, 'elsewhere.yaml'));
    const late = await imported('tight', SECRET);
    expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('there is no such file')]);
    expect(leaks()).toEqual([]);
  });

  it('S12: runs of other files go on, and the log keeps no value that could be looked up', async () => {
    write(asking([SECRET]));
    expect((await call('run', 'asking.yaml', '--no-ask')).code).toBe(3);
    renameSync(path(), join(cli.folder, 'elsewhere.yaml'));
    cli.file('other.yaml', asking([], { name: 'other' }));
    expect((await call('run', 'other.yaml', '--no-ask')).code).toBe(3);
    expect((await call('answer', 'last', '--value', 'x')).code).toBe(0);
    expect((await call('resume', 'last', '--no-ask')).code).toBe(0);
    expect((await call('answer', 'asking-1', '--value', 'x')).code).toBe(2);
  });

  it('the same file is described once, however often it is run', async () => {
    write(asking([SECRET]));
    for (let times = 0; times < 2; times += 1) await call('run', 'asking.yaml', '--no-ask');
    write(asking([SECRET, OTHER]));
    for (let times = 0; times < 2; times += 1) await call('run', 'asking.yaml', '--no-ask');
    const lines = (await call('export', '-')).stdout
      .split('\n')
      .filter((line) => line.includes('lw.started'));
    const described = lines.filter((line) => line.includes('"secretNames"'));
    expect(described).toHaveLength(2);
  });
});
