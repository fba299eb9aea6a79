/**
 * A tight loop on a small project that is broken: an implementer, a linter and a test runner, each a program of its own. The
 * implementer mends only what it is told of, so that it takes three passes.
 *
 *   npm run examples && node build/examples/tight-loop.js [folder]
 */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agent, createRuntime, tightLoop, tightProgress } from 'loopwright';

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'loopwright-'));

/** Stands for a coding agent: reads its request from standard input, and changes files. */
const IMPLEMENTER = `
import { readFileSync, writeFileSync } from 'node:fs';
const request = JSON.parse(readFileSync(0, 'utf8'));
const { pass, reviewIssues, testFailures } = request.input;
writeFileSync('received-' + pass + '.json', JSON.stringify(request, undefined, 2));
const before = pass === 1 ? {} : JSON.parse(readFileSync('done.json', 'utf8'));
const done = {
  tidy: before.tidy || reviewIssues.some(({ description }) => description.includes('var')),
  quoted: before.quoted || testFailures.some(({ description }) => description.includes('quotes')),
};
writeFileSync('done.json', JSON.stringify(done));
const field = done.quoted ? "/[\\",\\\\n]/.test(value) ? '\\"' + value.replaceAll('\\"', '\\"\\"') + '\\"' : value" : 'value';
writeFileSync('csv.mjs', [
  'export function toCsv(rows) {',
  '  ' + (done.tidy ? 'const' : 'var') + ' field = (value) => ' + field + ';',
  "  return rows.map((row) => row.map(field).join(',')).join('\\\\n');",
  '}',
  '',
].join('\\n'));
const did = [done.tidy && 'without var', done.quoted && 'with quotes'].filter(Boolean).join(', ');
console.log(JSON.stringify({ summary: 'wrote csv.mjs' + (did && ' ' + did) }));
`;

const LINTER = `
import { readFileSync } from 'node:fs';
readFileSync(0);
const lines = readFileSync('csv.mjs', 'utf8').split('\\n');
const issues = lines.flatMap((text, index) =>
  /\\bvar\\b/.test(text)
    ? [{ severity: 'high', category: 'style', file: 'csv.mjs', line: index + 1, description: 'use const in place of var' }]
    : []);
console.log(JSON.stringify({ passed: issues.length === 0, issues }));
`;

const TESTS = `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsv } from './csv.mjs';
test('joins fields', () => assert.equal(toCsv([['a', 'b'], ['c', 'd']]), 'a,b\\nc,d'));
test('quotes what needs quotes', () => assert.equal(toCsv([['a,b', 'c']]), '"a,b",c'));
`;

mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries({
  'implementer.mjs': IMPLEMENTER,
  'linter.mjs': LINTER,
  'csv.test.mjs': TESTS,
})) {
  writeFileSync(join(folder, name), text);
}

const node = process.execPath;
const runtime = await createRuntime({
  file: join(folder, 'work.db'),
  workflows: [tightLoop({ onLimit: 'stop' })],
  agents: {
    developer: agent.command(node, ['implementer.mjs'], { cwd: folder }),
    reviewer: agent.command(node, ['linter.mjs'], { cwd: folder }),
    tester: agent.command(node, ['--test', 'csv.test.mjs'], { cwd: folder, output: 'text' }),
  },
});

console.log((await runtime.worstCase('tight-loop', 'Export rows as CSV')).text);
let shown = 0;
const run = await runtime.start('tight-loop', 'Export rows as CSV', { id: 'csv' });
runtime.view$(tightProgress, run.id).subscribe(({ passes }) => {
  const last = passes.at(-1);
  if (!last || last.number <= shown) return;
  shown = last.number;
  const { number, implementation, review, test } = last;
  console.log(`pass ${number}: ${implementation}; review ${review ?? 'not run'}, tests ${test ?? 'not run'}`);
});
const { verdict, output } = await run.result();
console.log(
  `${verdict} ${output?.promise ?? ''} after ${output?.iterations} passes, ${output?.spent.calls} calls`,
);
console.log(`scratchpad: ${join(folder, 'work.db.runs', 'csv', 'feedback-scratchpad.md')}`);
await runtime.close();
