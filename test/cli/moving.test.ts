import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callHere } from '../support/call-here.ts';
import { type CliFolder, cliFolder, jsonLines, passes, rejects, tight } from '../support/cli.ts';

const TOKEN = `ghp_${'a1B2'.repeat(10)}`;

let cli: CliFolder;
beforeAll(async () => {
  cli = cliFolder();
  cli.file('good.yaml', tight('ship', { review: [rejects('no'), passes, passes] }));
  const leak =
    "console.log(JSON.stringify({ passed: false, issues: [`ghp_${'a1B2'.repeat(10)} is in the code`] }))";
  cli.file('leak.yaml', {
    ...tight('leak', { review: [], maxIterations: 1 }),
    agents: {
      developer: { script: [{ summary: 'one' }] },
      reviewer: { command: [process.execPath, '-e', leak] },
      tester: { script: [passes] },
    },
  });
  cli.file('tree.yaml', {
    name: 'tree',
    loop: 'tree',
    input: { task: 'payments' },
    nodes: [{ id: 'plan' }, { id: 'model', parent: 'plan' }, { id: 'test', parent: 'model' }],
    agents: Object.fromEntries(
      ['plan', 'model', 'test'].map((id) => [id, { script: Array.from({ length: 9 }, () => passes) }]),
    ),
  });
  expect((await cli.run('run', 'leak.yaml', 'a name', '--no-ask')).code).toBe(4);
});
afterAll(() => cli.remove());

const pathOf = (name: string): string => join(cli.folder, name);
const LINE = {
  type: 'FEEDBACK',
  from_node: 'test',
  to_node: 'model',
  feedback_type: 'FIX_REQUEST',
  message: 'the email may be empty',
  suggested_fix: 'validate it',
  priority: 'high',
  timestamp: '2026-01-21T14:00:00Z',
  status: 'queued',
  round: 1,
};

interface Imported {
  readonly format: string;
  readonly accepted: readonly { readonly place: string }[];
  readonly refused: readonly { readonly place: string; readonly reason: string; readonly text: string }[];
  readonly run: string | null;
  readonly isNew: boolean | null;
}

describe('export, import and backup of a log', () => {
  it('S12: what is exported is imported again, equal, packed or not, and holds no secret', async () => {
    const head = ((await cli.json(['export', 'log.jsonl'])) as { head: unknown }).head;
    const text = readFileSync(pathOf('log.jsonl'), 'utf8');
    expect(text).not.toContain(TOKEN);
    expect(text).toContain('[redacted:github-token]');
    expect((await cli.run('export', '-')).stdout).toBe(text);
    writeFileSync(pathOf('log.jsonl.gz'), gzipSync(text));
    expect(await cli.json(['import', 'log.jsonl', '--db', 'one.db'])).toMatchObject({ format: 'log', head });
    expect(await cli.json(['import', 'log.jsonl.gz', '--db', 'two.db'])).toMatchObject({ head });
    expect(await cli.json(['verify', '--db', 'two.db'])).toMatchObject({ ok: true });
    expect((await cli.run('show', 'last', '--db', 'two.db')).code).toBe(0);
    const again = await cli.run('import', 'log.jsonl', '--db', 'one.db');
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('has events already')]);
  });

  it('nothing is left of an import that fails, and it says which line is wrong', async () => {
    await cli.run('export', 'whole.jsonl');
    const text = readFileSync(pathOf('whole.jsonl'), 'utf8');
    for (const [name, bad] of [
      ['cut', text.slice(0, -200)],
      ['other', text.replace('a name', 'b name')],
    ] as const) {
      cli.file(`${name}.jsonl`, bad);
      const { code, stderr } = await cli.run('import', `${name}.jsonl`, '--db', `${name}.db`);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/Line \d+ of/)]);
      expect(readdirSync(cli.folder).filter((file) => file.startsWith(`${name}.db`))).toEqual([]);
    }
  });

  it('S13: nothing is overwritten without leave, and no link is followed', async () => {
    cli.file('mine.txt', 'mine');
    symlinkSync('mine.txt', pathOf('link'));
    symlinkSync('nowhere', pathOf('dangling'));
    for (const command of ['export', 'backup']) {
      for (const [file, told] of [
        ['mine.txt', 'exists already'],
        ['link', 'is a link'],
        ['dangling', 'is a link'],
        ['no/where', 'folder'],
      ] as const) {
        const { code, stderr } = await callHere(cli.folder, [command, file]);
        expect([code, stderr]).toEqual([2, expect.stringContaining(told)]);
      }
      expect((await callHere(cli.folder, [command, 'link', '--force'])).code).toBe(2);
    }
    expect(readFileSync(pathOf('mine.txt'), 'utf8')).toBe('mine');
    expect(existsSync(pathOf('nowhere'))).toBe(false);
    expect((await cli.run('backup', 'mine.txt', '--force')).code).toBe(0);
    expect(await cli.json(['verify', '--db', 'mine.txt'])).toMatchObject({ ok: true });
    expect(readdirSync(cli.folder).filter((file) => file.includes('partial'))).toEqual([]);
  });

  it('S13: nothing takes the place of the log that is read, also with --force', async () => {
    await cli.run('backup', 'own.db');
    symlinkSync('own.db', pathOf('named.db'));
    for (const end of ['', '-wal', '-shm', '.lock', '.head'])
      writeFileSync(pathOf(`own.db${end}`), '', { flag: 'a' });
    for (const command of ['export', 'backup'])
      for (const db of ['own.db', 'named.db'])
        for (const end of ['', '-wal', '-shm', '.lock', '.head']) {
          const { code, stderr } = await callHere(cli.folder, [
            command,
            `own.db${end}`,
            '--force',
            '--db',
            db,
          ]);
          expect([code, stderr]).toEqual([2, expect.stringContaining('belongs to the log itself')]);
        }
    expect(await cli.json(['verify', '--db', 'own.db'])).toMatchObject({ ok: true });
  });
});

describe('import of files of other systems', () => {
  it('X11, X7: feedback goes to its nodes; rows are named; the same is not imported twice; the run goes on', async () => {
    const lines = [
      LINE,
      { ...LINE, to_node: 'nobody' },
      'no json',
      { ...LINE, message: TOKEN, priority: 'now' },
    ];
    cli.file(
      'feedback.jsonl',
      lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    );
    const args = [
      'import',
      'feedback.jsonl',
      '--workflow',
      'tree.yaml',
      '--task',
      'payments',
      '--db',
      'tree.db',
    ];
    expect(await cli.json([...args, '--strict'], 1)).toMatchObject({ run: null, isNew: null });
    expect(existsSync(pathOf('tree.db'))).toBe(false);
    const first = (await cli.json(args, 1)) as Imported;
    expect(first.accepted.map(({ place }) => place)).toEqual(['line 1']);
    expect(first.refused.map(({ place }) => place)).toEqual(['line 2', 'line 3', 'line 4']);
    expect(JSON.stringify(first)).not.toContain(TOKEN);
    expect(first.isNew).toBe(true);
    expect(await cli.json(args, 1)).toMatchObject({ run: first.run, isNew: false });
    expect((await cli.run('resume', 'last', '--db', 'tree.db', '--no-ask')).code).toBe(0);
    const exported = (await cli.run('export', '--format', 'feedback', '--run', 'last', '--db', 'tree.db'))
      .stdout;
    expect(jsonLines(exported)[0]).toMatchObject({ from_node: 'test', to_node: 'model', status: 'resolved' });
  });

  it('X11: progress goes on in the pass that was recorded, and is exported as it was', async () => {
    cli.file(
      'progress.json',
      JSON.stringify({
        feedback_loop: {
          current_iteration: 2,
          max_iterations: 5,
          status: 'in_progress',
          iterations: [
            { number: 1, review_result: 'PASS', test_result: 'FAIL', test_failures: ['a mock is missing'] },
          ],
        },
      }),
    );
    const args = ['import', 'progress.json', '--workflow', 'good.yaml', '--db', 'progress.db'];
    const without = await cli.run(...args);
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--task')]);
    const { run } = (await cli.json([...args, '--task', 'go on'])) as Imported;
    const ended = await cli.run('resume', run ?? '', '--db', 'progress.db', '--no-ask');
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining('3 passes')]);
    const told = JSON.parse(
      (await cli.run('export', '--format', 'progress', '--run', 'last', '--db', 'progress.db')).stdout,
    ) as {
      feedback_loop: { iterations: readonly unknown[] };
    };
    expect(told.feedback_loop.iterations).toHaveLength(3);
    expect(told.feedback_loop.iterations[0]).toMatchObject({ test_failures: ['a mock is missing'] });
  });

  it('X11: settings become a workflow file that can be run, and stories go on with it', async () => {
    cli.file(
      'settings.json',
      JSON.stringify({ refinement: { maxIterations: 2 }, max_feedback_iterations: 4, other: 1 }),
    );
    const { code, stdout, stderr } = await cli.run('import', 'settings.json', '--loop', 'tight');
    expect([code, stderr]).toEqual([1, expect.stringContaining('refused other')]);
    expect(stdout).toContain('maxIterations: 4');
    const two = await cli.run('import', 'settings.json', '--out', 'x.yaml');
    expect([two.code, two.stderr]).toEqual([2, expect.stringContaining('--loop')]);
    await cli.json(['import', 'settings.json', '--loop', 'stories', '--out', 'stories.yaml'], 1);
    expect(readFileSync(pathOf('stories.yaml'), 'utf8')).toContain('maxIterations: 2');
    mkdirSync(pathOf('stories'));
    cli.file(
      'stories/a.md',
      '---\nid: a\ntitle: A\nresearch_complete: true\nrefinement_count: 1\n---\n# A\n',
    );
    cli.file('stories/b.md', 'no frontmatter');
    symlinkSync('../good.yaml', pathOf('stories/c.md'));
    const args = ['import', 'stories', '--workflow', 'stories.yaml', '--db', 'stories.db'];
    const first = (await cli.json(args, 1)) as Imported;
    expect(first.accepted).toHaveLength(1);
    expect(first.refused.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('no frontmatter'),
      'it is a symbolic link',
    ]);
    expect(await cli.json(args, 1)).toMatchObject({ run: first.run, isNew: false });
    // The run is at work on the file: what is in it now is no reason to begin another one.
    cli.file('stories/a.md', '---\nid: a\ntitle: B\n---\n# B\n');
    const taken = (await cli.json(args, 1)) as Imported;
    expect(taken).toMatchObject({ run: null, accepted: [] });
    expect(taken.refused.at(-1)?.reason).toContain('is at work on it');
  });

  it('S14: a bomb is stopped, and control characters are not printed', async () => {
    writeFileSync(pathOf('bomb.gz'), gzipSync(Buffer.alloc(100 * 1024 * 1024)));
    const bomb = await cli.run('import', 'bomb.gz', '--check');
    expect([bomb.code, bomb.stderr]).toEqual([2, expect.stringContaining('has more than')]);
    cli.file('esc.jsonl', `${JSON.stringify(LINE)}\n{"from_node":"\u001b[2J\u202E"\n`);
    const { code, stdout } = await cli.run('import', 'esc.jsonl', '--check');
    expect(code).toBe(1);
    expect(stdout).toContain('refused line 2');
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('\u202E');
  });

  it.each([
    [['import'], "missing required argument 'file'"],
    [['import', 'nothing'], 'no file "nothing"'],
    [['import', 'good.yaml'], 'like no file that can be imported'],
    [['import', 'good.yaml', '--format', 'pdf'], 'no format "pdf"'],
    [['export', '--format', 'feedback'], 'of which run'],
    [['export', '--format', 'pdf'], 'no format "pdf"'],
    [['export', '--format', 'feedback', '--run', 'last'], 'no feedback of a tree'],
    [['export', '--run', 'last'], 'as a whole'],
    [['backup'], "missing required argument 'file'"],
    [['backup', 'x.db', '--db', 'nothing.db'], 'no log at'],
  ] as const)('%j exits with 2, and says what is right', async (args, told) => {
    const { code, stdout, stderr } = await callHere(cli.folder, args);
    expect(stderr).toContain(told);
    expect([code, stdout]).toEqual([2, '']);
  });
});
