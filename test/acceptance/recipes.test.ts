import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { agent, agentsOf, readWorkflowFile, tightLoop, workflowOf } from '../../src/index.ts';
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
    // A developer of a tight loop is given its task in words, and nothing else.
    if (definition['loop'] === 'tight') expect(taskGiven(told, folder)).toBe('Add CSV export\n');
    // Nothing of a run is ever an argument.
    expect(
      told.split('\n').filter((line) => line.startsWith('/') && line.includes('Add CSV export')),
    ).toEqual([]);
  },
);

/** What the first program was given on its standard input: it was noted below its call, or left in a file by the recipe. */
const taskGiven = (told: string, folder: string): string => {
  const left = join(folder, '.loopwright-task.md');
  if (existsSync(left)) return readFileSync(left, 'utf8');
  const [, ...lines] = told.split('\n');
  const next = lines.findIndex((line) => line.startsWith('/'));
  return lines
    .slice(0, next)
    .map((line) => `${line}\n`)
    .join('');
};

it('T5: a program that takes a text is given what was wrong with its last pass in words, and a task of any length', async () => {
  const folder = temporaryDirectory();
  const long = `Do this:\n${'and that, '.repeat(3_000)}`;
  const seen = (text: string) => `cat > "${folder}/pass-$(ls "${folder}" | grep -c pass-)"; echo ${text}`;
  const runtime = await open({
    file: join(folder, 'log.db'),
    workflows: [tightLoop({ maxIterations: 2 })],
    runsFolder: null,
    agents: {
      developer: agent.command('sh', ['-c', seen('made')], { input: 'text', output: 'text' }),
      reviewer: async ({ input }) =>
        input.pass === 1 ? { passed: false, issues: [{ description: 'no header row' }] } : { passed: true },
      tester: async () => ({ passed: true }),
    },
  });
  for (const [id, task] of Object.entries({ short: 'Add CSV export', long }))
    expect((await (await runtime.start('tight-loop', task, { id })).result()).verdict).toBe('verified');
  const given = [0, 1, 2, 3].map((pass) => readFileSync(join(folder, `pass-${pass}`), 'utf8'));
  expect(given.slice(0, 2)).toEqual([
    'Add CSV export\n',
    [
      'Add CSV export',
      '',
      'This is not the first try. Pass 1 was not good enough; what it left open comes first.',
      '',
      'The review found:',
      '- no header row',
      '',
      'Mend exactly these before you do anything else.\n',
    ].join('\n'),
  ]);
  for (const text of given.slice(2)) expect(text).toContain(`"task" of your input:\n\n${long}`);
});

it('the schema that a reviewer is given is that of a review', () => {
  const schema: unknown = JSON.parse(readFileSync('examples/recipes/review.schema.json', 'utf8'));
  expect(schema).toMatchObject({ required: ['passed', 'issues'], additionalProperties: false });
});
