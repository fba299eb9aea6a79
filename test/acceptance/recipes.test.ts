import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { agentsOf, readWorkflowFile, workflowOf } from '../../src/index.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';

// Method: programs of the test's own stand in for the coding agents, test runners and linters, under their names and first in PATH. They
// note what they were given, and answer in the form that the documentation of each says. So the wiring of a recipe is tried, and not
// what the real programs do.

const FORMS: Readonly<Record<string, string>> = {
  // A model's answer, in the fence that models like.
  review: 'printf \'```json\\n{"passed": true, "issues": []}\\n```\\n\'',
  schema: `printf '{"passed": true, "issues": []}'`,
  text: 'echo "Wrote the export."',
  junit: `printf '<testsuites><testsuite name="s"><testcase name="t"/></testsuite></testsuites>'`,
  jest: `printf '{"numFailedTests":0,"success":true,"testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"t","status":"passed"}]}]}'`,
};

/** Each program chooses its answer by its arguments, as the real one would. */
const PROGRAMS: Readonly<Record<string, string>> = {
  claude: `case "$*" in *reviewer*) ${FORMS['review']};; *) ${FORMS['text']};; esac`,
  codex: `case "$*" in *--output-schema*) test -f review.schema.json && ${FORMS['schema']};; *) ${FORMS['text']};; esac`,
  gemini: `case "$*" in *reviewer*) ${FORMS['review']};; *) ${FORMS['text']};; esac`,
  aider: `grep -q "Add CSV export" .loopwright-task.md && ${FORMS['text']}`,
  ruff: 'true',
  npx: `${FORMS['jest']} > .loopwright-results.json`,
  python: `${FORMS['junit']} > .loopwright-results.xml`,
  node: FORMS['junit'] ?? '',
};

const standIns = (): string => {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'bin'));
  for (const [name, line] of Object.entries(PROGRAMS)) {
    const file = join(folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n{ echo "$0 $*"; cat; } >> "${folder}/given"\n${line}\n`);
    chmodSync(file, 0o755);
  }
  const before = process.env['PATH'] ?? '';
  process.env['PATH'] = `${join(folder, 'bin')}${delimiter}${before}`;
  onTestFinished(() => {
    process.env['PATH'] = before;
  });
  return join(folder, 'given');
};

const RECIPES = readdirSync('examples/recipes').filter((name) => name.endsWith('.yaml'));

it('there is a recipe for each of these', () => {
  expect(RECIPES).toEqual([
    'aider.yaml',
    'claude-code.yaml',
    'codex.yaml',
    'gemini.yaml',
    'two-vendors.yaml',
  ]);
});

it.each(RECIPES)(
  'T2: the recipe %s is wired: its programs are given the task, and their answers are understood',
  async (recipe) => {
    const given = standIns();
    const folder = temporaryDirectory();
    cpSync('examples/recipes', folder, { recursive: true });
    const { definition, agents, name } = await readWorkflowFile(join(folder, recipe));
    const runtime = await open({
      file: join(folder, 'log.db'),
      workflows: [workflowOf(definition, 1)],
      agents: agentsOf(agents, { directory: folder }),
    });
    const run = await runtime.start(name, 'Add CSV export', { id: 'r' });
    await run.settled();
    for (const { id } of await runtime.questions()) await runtime.answer(id, 'approve', { by: 'ada' });
    const { verdict, output } = await run.result();
    expect({ verdict, output }).toMatchObject({ verdict: 'verified' });
    const { spent } = output as { readonly spent: { readonly calls: number } };
    expect(spent.calls).toBe(3);
    const told = readFileSync(given, 'utf8');
    expect(told).toContain('Add CSV export');
    // Nothing of a run is ever an argument.
    expect(
      told.split('\n').filter((line) => line.startsWith('/') && line.includes('Add CSV export')),
    ).toEqual([]);
  },
);

it('the schema that a reviewer is given is that of a review', () => {
  const schema: unknown = JSON.parse(readFileSync('examples/recipes/review.schema.json', 'utf8'));
  expect(schema).toMatchObject({ required: ['passed', 'issues'], additionalProperties: false });
});
