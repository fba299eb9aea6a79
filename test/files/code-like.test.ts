import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { agentsOf, isRuntimeError, type Json, readWorkflowFile, workflowOf } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';
import { exampleText } from './examples.ts';

/** Texts that some program would run, each of which would leave a file. */
const traps = (mark: string): readonly string[] => [
  `$(touch ${mark})`,
  `\`touch ${mark}\``,
  `; touch ${mark} #`,
  `| touch ${mark}`,
  `\${process.getBuiltinModule('fs').writeFileSync('${mark}','')}`,
  `{{ constructor.constructor("require('fs').writeFileSync('${mark}','')")() }}`,
  `<%= require('fs').writeFileSync('${mark}','') %>`,
  `require('fs').writeFileSync('${mark}','')`,
  `import('node:fs').then(fs => fs.writeFileSync('${mark}',''))`,
  `function () { require('fs').writeFileSync('${mark}','') }`,
  `() => require('fs').writeFileSync('${mark}','')`,
  `javascript:require('fs').writeFileSync('${mark}','')`,
  '$HOME',
  '%PATH%',
  '~',
];

const place = () => {
  const folder = mkdtempSync(join(tmpdir(), 'loopwright-code-'));
  return { folder, mark: join(folder, 'mark') };
};

it('S18: tags and includes that other readers evaluate are refused, and leave nothing', async () => {
  const { folder, mark } = place();
  const code = `require('fs').writeFileSync('${mark}','')`;
  const tagged = [
    '!!js/function',
    '!!js/regexp',
    '!js',
    '!!python/object/apply:os.system',
    '!include',
    '!ENV',
    '!<tag:yaml.org,2002:js/function>',
  ];
  for (const [index, tag] of tagged.entries()) {
    const path = join(folder, `w${index}.yaml`);
    writeFileSync(
      path,
      exampleText('tight').replace('input: Export rows as CSV.', `input: ${tag} "${code}"`),
    );
    const error: unknown = await readWorkflowFile(path).catch((reason: unknown) => reason);
    expect(isRuntimeError(error, 'BAD_WORKFLOW_FILE'), tag).toBe(true);
  }
  expect(existsSync(mark)).toBe(false);
});

// Method: every text of a file that is free is code. A program gets it as its argument, in its environment and on its standard input,
// and says what it got: the same letters. The control: a shell, asked for, would have left the mark.
it('S18: a file with code in every field executes none of it: programs get the letters', async () => {
  const { folder, mark } = place();
  mkdirSync(join(folder, 'work'));
  const texts = traps(mark);
  writeFileSync(
    join(folder, 'echo.mjs'),
    `let text = '';
for await (const piece of process.stdin) text += piece;
const { input } = JSON.parse(text);
process.stdout.write(JSON.stringify({ args: process.argv.slice(2), trap: process.env.TRAP, task: input.task, passed: true, issues: [] }));
`,
  );
  const command = [process.execPath, '../echo.mjs', ...texts];
  const echo = { command, cwd: 'work', env: { TRAP: texts.join('\n') } };
  const document = {
    loop: 'tight',
    name: 'traps',
    description: texts.join('\n'),
    maxIterations: 1,
    onLimit: 'stop',
    limits: { unbounded: texts.join('\n') },
    ask: [{ to: texts[0] ?? null, expiresMs: null }],
    input: texts as Json,
    secrets: { names: texts },
    agents: { developer: echo, reviewer: echo, tester: { script: [{ passed: true, said: texts as Json }] } },
  };
  const path = join(folder, 'traps.yaml');
  writeFileSync(path, stringify(document));
  const workflow = await readWorkflowFile(path);
  expect(workflow.input).toEqual(texts);
  const runtime = await open({
    file: temporaryFile(),
    workflows: [workflowOf(workflow.definition, 1)],
    agents: agentsOf(workflow.agents, { directory: folder }),
  });
  const run = await runtime.start('traps', workflow.input, { id: 'run' });
  await expect(run.result()).resolves.toMatchObject({ verdict: 'verified' });
  const answers = (await runtime.audit({ run: 'run', limit: 1_000 })).filter(
    ({ type }) => type === 'lw.call.done',
  );
  expect(JSON.stringify(answers[0])).toContain(JSON.stringify(texts).slice(1, -1));
  expect(existsSync(mark)).toBe(false);
  execFileSync('/bin/sh', ['-c', `echo ${texts[0]}`]);
  expect(existsSync(mark)).toBe(true);
});
