import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { DeveloperInput } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';

const runExample = (name: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, [`build/examples/${name}.js`, ...args], { encoding: 'utf8' });

it('X1, X4: one plan ends in all six verdicts, each within the worst case that was told before', () => {
  const shown = runExample('six-verdicts');
  const verdicts = ['verified', 'accepted', 'exhausted', 'stalled', 'cancelled', 'failed'];
  const ends = [...shown.matchAll(/^ {2}(\w+): .* (\d+) calls, \$/gm)].map(([, verdict, calls]) => [
    verdict,
    Number(calls),
  ]);
  expect(ends.map(([verdict]) => verdict)).toEqual(verdicts);
  const most = [...shown.matchAll(/at most \d+ calls of agents \((\d+) with retries/g)].map(([, calls]) =>
    Number(calls),
  );
  expect(most).toHaveLength(verdicts.length);
  for (const [index, [, calls]] of ends.entries()) expect(calls).toBeLessThanOrEqual(most[index] ?? 0);
});

it('T2, T4, T5: with a real implementer, linter and test runner a broken project ends verified', () => {
  const folder = dirname(temporaryFile());
  const shown = runExample('tight-loop', folder);
  expect(shown).toContain('at most 15 calls of agents (45 with retries)');
  expect(shown).toContain('pass 1: wrote csv.mjs; review FAIL, tests not run');
  expect(shown).toContain('pass 3: wrote csv.mjs without var, with quotes; review PASS, tests PASS');
  expect(shown).toContain('verified IMPLEMENTATION_VERIFIED after 3 passes, 8 calls');
  const scratchpad = join(folder, 'work.db.runs', 'csv', 'feedback-scratchpad.md');
  // What the implementer had on its standard input in each pass.
  const received = [1, 2, 3].map(
    (pass) =>
      JSON.parse(readFileSync(join(folder, `received-${pass}.json`), 'utf8')) as { input: DeveloperInput },
  );
  expect(received.map(({ input }) => input)).toMatchObject([
    { pass: 1, reviewIssues: [], testFailures: [], scratchpad, prompt: 'Export rows as CSV' },
    {
      pass: 2,
      reviewIssues: [{ file: 'csv.mjs', line: 2, description: 'use const in place of var' }],
      testFailures: [],
      prompt: expect.stringContaining('- csv.mjs:2: use const in place of var (style)'),
    },
    {
      pass: 3,
      reviewIssues: [],
      testFailures: [{ description: expect.stringContaining('quotes what needs quotes') }],
    },
  ]);
  for (const { input } of received.slice(1)) expect(input.prompt).toContain(`read ${scratchpad}`);
  expect(readFileSync(scratchpad, 'utf8').match(/^## Pass \d$/gm)).toEqual([
    '## Pass 1',
    '## Pass 2',
    '## Pass 3',
  ]);
});

/** Targets are asked side by side: which of them answers first is not ours to say. */
const linesOf = (shown: string): readonly string[] => {
  const lines = shown.trimEnd().split('\n');
  const isAnswer = (line: string | undefined) => line?.includes(': feedback.answered ') === true;
  for (let at = 0; at + 1 < lines.length; at += 1) {
    const [one = '', other = ''] = [lines[at], lines[at + 1]];
    if (isAnswer(one) && isAnswer(other) && other < one) [lines[at], lines[at + 1]] = [other, one];
  }
  // Whoever answered last has set the rest in motion.
  return lines.map((line) =>
    /feedback\.(decided|disagreed)/.test(line) ? line.replace(/ from [\w-]+\)$/, ')') : line,
  );
};

it.each([
  [
    'a constraint is decided',
    'websocket-constraint',
    [
      'run: step.done prd (because of agent.done from pm)',
      'run: step.done architecture (because of agent.done from architect)',
      'developer: feedback.sent round 1 (because of agent.done from developer)',
      'developer: feedback.opened round 1 (because of feedback.triggered)',
      'architect: feedback.answered use_polling, round 1 (because of agent.done from architect)',
      'pm: feedback.answered switch_hosting, round 1 (because of agent.done from pm)',
      'loop: feedback.disagreed round 1 (because of agent.done)',
      'architect: feedback.answered use_polling, round 1 (because of agent.done from architect)',
      'pm: feedback.answered use_polling, round 1 (because of agent.done from pm)',
      'loop: feedback.decided use_polling, round 1 (because of agent.done)',
      'loop: feedback.validated round 1 (because of validation.passed)',
      'loop: feedback.resolved use_polling, round 1 (because of validation.passed)',
      'run: step.done code (because of agent.done from developer)',
      'verified: {"realtime":"use_polling"}',
    ],
  ],
  [
    'a requirement that cannot be met is revised',
    'infeasible-load-time',
    [
      'run: step.done prd (because of agent.done from pm)',
      'architect: feedback.sent round 1 (because of agent.done from architect)',
      'architect: feedback.opened round 1 (because of feedback.triggered)',
      'run: step.corrected prd, round 1 (because of loop.apply)',
      'pm: feedback.acknowledged round 1 (because of response.received)',
      'run: step.done prd (because of agent.done from pm)',
      'pm: feedback.fixed round 1 (because of fix.done)',
      'architect: feedback.sent round 2 (because of agent.done from architect)',
      'loop: feedback.validated round 1 (because of validation.failed)',
      'architect: feedback.opened round 2 (because of validation.failed)',
      'run: step.corrected prd, round 2 (because of loop.apply)',
      'pm: feedback.acknowledged round 2 (because of response.received)',
      'run: step.done prd (because of agent.done from pm)',
      'pm: feedback.fixed round 2 (because of fix.done)',
      'run: step.done architecture (because of agent.done from architect)',
      'loop: feedback.validated round 2 (because of validation.passed)',
      'loop: feedback.resolved round 2 (because of validation.passed)',
      'verified: {"loadTimeMs":3500}',
    ],
  ],
  [
    'a gap is closed',
    'missing-export',
    [
      'run: step.done prd (because of agent.done from pm)',
      'run: step.done code (because of agent.done from developer)',
      'qa: feedback.sent round 1 (because of agent.done from qa)',
      'qa: feedback.opened round 1 (because of feedback.triggered)',
      'developer: feedback.answered fix_implementation, round 1 (because of agent.done from developer)',
      'pm: feedback.answered fix_implementation, round 1 (because of agent.done from pm)',
      'loop: feedback.decided fix_implementation, round 1 (because of agent.done)',
      'run: step.corrected code, round 1 (because of loop.apply)',
      'run: step.done code (because of agent.done from developer)',
      'developer: feedback.fixed round 1 (because of fix.done)',
      'run: step.done report (because of agent.done from qa)',
      'loop: feedback.validated round 1 (because of validation.passed)',
      'loop: feedback.resolved fix_implementation, round 1 (because of validation.passed)',
      'verified: {"exports":["JSON","CSV"]}',
    ],
  ],
])('B14, B15: %s (%s): who did what, and because of what', (_, example, expected) => {
  expect(linesOf(runExample(example))).toEqual(expected);
});

it('X7, X10, K6, B15: a run that meets a limit is looked at from all sides, and goes on', () => {
  const shown = runExample('looking-back');
  expect(shown).toContain('waiting: the limit "passes" of 2 counted 2 events');
  expect(shown).toContain('with 4 passes: verified, 4 answers used again, 4 calls made');
  expect(shown).toContain('went on: verified');
  expect(shown).toContain('bob answered "continue"');
  expect(shown).toContain('under a machine that is never complete: other verdict');
});

it('R1, R4, R6, R8, R12, R14: three stories on one board, and their files', () => {
  const folder = dirname(temporaryFile());
  const shown = runExample('stories', folder);
  expect(shown).toMatch(/at most 75 calls of agents \(153 with retries\).* set no limit of their own/);
  expect(shown).toContain('⟳ slug: refinement 1 of 3, back to implement');
  expect(shown).toContain('⟳ roman: refinement 1 of 3, back to research');
  expect(shown).toContain('■ oracle: 1 of 1 refinements used\n  a person is needed');
  expect(shown).toContain('cancelled: oracle cancelled, roman verified, slug verified; 22 calls');
  expect(shown).toContain('at fault: implement 2, research 1');
  const slug = readFileSync(join(folder, 'slug.md'), 'utf8');
  expect(slug).toContain('owner: ada # ask her\n');
  expect(slug).toContain('status: done\n');
  expect(slug).toContain('### Refinement 1 of 3');
  expect(readFileSync(join(folder, 'oracle.md'), 'utf8')).toContain('status: cancelled\n');
});

it('P13: a missing authentication is planned and designed once more, and nothing else runs again', () => {
  expect(runExample('missing-authentication').trimEnd().split('\n')).toEqual([
    'verified: planning, design, design-review, planning, design, design-review, code, code-review, test, postmortem',
    'Missing authentication requirement: injected in planning, detected in design-review',
    'corrected by 1 planning + 1 design, +$0.05, +25 s',
    '2 corrections in 7 phases',
  ]);
});
