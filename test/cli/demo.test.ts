import { cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { runDemo } from '../../src/cli/demo/run-demo.ts';
import { openRuntime } from '../../src/cli/open.ts';
import { runSummary } from '../../src/index.ts';
import { temporaryDirectory, temporaryFile } from '../store/temporary-directory.ts';
import { startProgram } from '../support/cli.ts';

const EXPECTED = [
  { loop: 'tight', verdict: 'verified', iterations: 3, agentCalls: 8 },
  { loop: 'feedback', verdict: 'verified', iterations: 2, agentCalls: 8 },
  { loop: 'refinement', verdict: 'verified', iterations: 3, agentCalls: 11 },
  { loop: 'phases', verdict: 'verified', iterations: 2, agentCalls: 8 },
  { loop: 'tree', verdict: 'verified', iterations: 2, agentCalls: 4 },
];

it('K4, K6: the demo runs all five loops, tells them from the log, and leaves a log that can be checked, explained and replayed', async () => {
  const file = temporaryFile('demo.db');
  let told = '';
  const startMs = performance.now();
  expect(await runDemo({ file, write: (text) => (told += text) })).toEqual(EXPECTED);
  expect(performance.now() - startMs).toBeLessThan(20_000);
  for (const words of [
    'pass 1: the developer wrote csv.mjs\n     review: FAIL: csv.mjs:2 use const in place of var',
    'tests: FAIL: csv.test.mjs:6 quotes what needs quotes',
    'developer cannot go on, and tells architect and pm',
    'they do not agree, and are asked again',
    'decided: use_polling',
    'the fault lies in "research": back to it',
    'FAIL: Missing authentication requirement (made in planning)',
    'payment-test to payment-model: "A payment without an e-mail address was let through."',
    '=> verified: run "demo-tree", 2 iterations, 4 calls of agents',
  ])
    expect(told).toContain(words);

  // A second process, which has nothing but the log.
  const runtime = await openRuntime(file, { mode: 'look' });
  const { log, replay } = await runtime.verify();
  expect([log.ok, replay.ok]).toEqual([true, true]);
  for (const { loop } of EXPECTED) {
    const run = `demo-${loop}`;
    expect((await runtime.read(runSummary, run)).verdict).toBe('verified');
    expect((await runtime.why(run)).text).toContain('verified');
    const { entries } = await runtime.auditOf({ run });
    expect(entries.length).toBeGreaterThan(20);
    // People are told what happened in words, whichever loop it was.
    expect(entries.filter(({ what, type }) => what === type)).toEqual([]);
  }
  await runtime.close();

  // Once more on the same log, for programs.
  const lines: string[] = [];
  await runDemo({ file, json: true, write: (text) => lines.push(text) });
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual(EXPECTED);
  const second = await openRuntime(file, { mode: 'look' });
  expect((await second.runs()).map(({ id }) => id)).toEqual(
    expect.arrayContaining(['demo-tree', 'demo-tree-2']),
  );
  await second.close();
});

// Method: a checkout as npm ci leaves it, in which nothing is built yet, so that other tests keep the build that they use.
it('K4: npm start builds the package and tells five loops, and its binary reads the log that it leaves', async () => {
  const folder = temporaryDirectory();
  for (const each of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'src'])
    cpSync(each, join(folder, each), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const started = await startProgram('npm', ['start'], { folder }).ended;
  for (const { loop } of EXPECTED) expect(started.stdout).toContain(`run "demo-${loop}"`);
  expect(started.code).toBe(0);
  for (const [command, ...told] of [
    [['verify'], 'each in the state that was recorded'],
    [['show', 'demo-tree'], 'demo-tree', 'verified'],
    [['why', 'demo-phases'], 'verified'],
    [['replay', 'demo-tight'], 'demo-tight'],
  ] as const) {
    const binary = join(folder, 'dist', 'cli', 'main.js');
    const ran = await startProgram(process.execPath, [binary, ...command, '--db', '.loopwright/demo.db'], {
      folder,
    }).ended;
    for (const each of told) expect(ran.stdout).toContain(each);
    expect(ran.code).toBe(0);
  }
});
