import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openRuntime } from '../../src/cli/open.ts';
import { tightProgress } from '../../src/index.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';

// Method: the example is copied and run by the built command line: no agent of it is scripted. What is asserted is what another runtime
// reads from its log, and what is in its files.

const copy = (): string => {
  const folder = join(temporaryDirectory(), 'repair');
  cpSync('examples/repair', folder, { recursive: true });
  return folder;
};

const node = (cwd: string, args: readonly string[], input = '') =>
  spawnSync(process.execPath, args, { cwd, input, encoding: 'utf8' });

const sourceIn = (folder: string): string => readFileSync(join(folder, 'project/src/cart.mjs'), 'utf8');

it('T2, T5: a broken project is mended by a program that knows only what linter and tests say, and ends verified', async () => {
  const folder = copy();
  expect(node(join(folder, 'project'), ['--test', 'test/cart.test.mjs']).status).toBe(1);
  const log = join(folder, 'log.db');
  const main = resolve('dist/cli/main.js');
  const ran = node(folder, [main, 'run', 'workflow.yaml', '--id', 'r', '--no-ask', '--db', log]);
  expect(ran.stderr + ran.stdout).toContain('verified');
  expect(ran.status).toBe(0);
  expect(node(join(folder, 'project'), ['--test', 'test/cart.test.mjs']).status).toBe(0);
  expect(sourceIn(folder)).not.toContain('console.log');

  const runtime = await openRuntime(log, { mode: 'look' });
  const { verdict, output } = await (await runtime.run('r')).result();
  expect(verdict).toBe('verified');
  expect(output).toMatchObject({ iterations: 4, promise: 'IMPLEMENTATION_VERIFIED' });
  const { passes } = await runtime.read(tightProgress, 'r');
  expect(passes.map(({ review, test }) => [review, test])).toEqual([
    ['FAIL', null],
    ['PASS', 'FAIL'],
    ['PASS', 'FAIL'],
    ['PASS', 'PASS'],
  ]);
  expect(passes.map(({ testFailures }) => testFailures.length)).toEqual([0, 3, 1, 0]);
  expect(passes[1]?.testFailures).toContain('total > adds up all items (test)');
  expect((await runtime.verify()).replay.ok).toBe(true);
  await runtime.close();
});

describe('the developer of the example', () => {
  const work = (folder: string, input: object): string => {
    const request = JSON.stringify({ input: { reviewIssues: [], testFailures: [], ...input } });
    return node(join(folder, 'project'), ['../agents/developer.mjs'], request).stdout;
  };

  it('changes nothing if it is told of nothing', () => {
    const folder = copy();
    const before = sourceIn(folder);
    expect(work(folder, {})).toContain('nothing to mend');
    expect(sourceIn(folder)).toBe(before);
  });

  it('mends just what it is told of', () => {
    const folder = copy();
    const before = sourceIn(folder);
    work(folder, { testFailures: [{ description: 'discounted > takes the discount off' }] });
    expect(sourceIn(folder)).toBe(before.replace('(100 + percent)', '(100 - percent)'));
  });

  it('leaves what it cannot mend as it was', () => {
    const folder = copy();
    const before = sourceIn(folder);
    expect(work(folder, { testFailures: [{ description: 'unheard-of > fails' }] })).toContain('no way');
    expect(sourceIn(folder)).toBe(before);
  });
});
