import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseWorkflowFile } from '../../src/index.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { type Block, blocksIn } from './blocks.ts';
import { prepareFolder, writeProgram } from './programs.ts';

const run = promisify(execFile);

const PAGES = ['README.md', ...readdirSync('docs').map((page) => `docs/${page}`)].filter((page) =>
  page.endsWith('.md'),
);
const BLOCKS = PAGES.flatMap(blocksIn);
const of = (language: string) => BLOCKS.filter((block) => block.language === language);

/** Inside of the checkout, so that the package is found by its name. */
const BUILT = 'build/documentation';

/** What blocks that show a part of a program need before them. */
const BEFORE: Readonly<Record<string, string>> = {
  'README.md Looking back, and what would have been': `
    import { createRuntime, openLog, replay, tightLoop } from 'loopwright';
    const changed = tightLoop({ maxIterations: 2 });
    const workflows = [changed];
    const runtime = await createRuntime({
      file: 'work.db', workflows: [changed],
      agents: {
        developer: async () => ({ summary: 'something' }),
        reviewer: async () => ({ passed: true, issues: [] }),
        tester: async ({ input }) => ({ passed: false, issues: [{ description: 'wrong in pass ' + input.pass }] }),
      },
    });
    const run = await runtime.start('tight-loop', 'a task', { id: 'run-1' });
    await run.settled();
    const log = await openLog('work.db');
  `,
};

/** Whatever a block has opened is closed after it, so that its process ends. */
const AFTER = `
  if (typeof runtime !== 'undefined') await runtime.close();
  process.exit(0);
`;

const nameOf = (block: Block): string => `${block.file} ${block.heading}`;
const fileOf = (index: number): string => `${BUILT}/block-${index}`;

describe('the code in the documentation', () => {
  const programs = of('ts');

  beforeAll(async () => {
    rmSync(BUILT, { recursive: true, force: true });
    mkdirSync(BUILT, { recursive: true });
    for (const [index, block] of programs.entries())
      writeFileSync(`${fileOf(index)}.ts`, `${BEFORE[nameOf(block)] ?? ''}\n${block.code}\n${AFTER}`);
    await build({
      input: programs.map((_, index) => `${fileOf(index)}.ts`),
      platform: 'node',
      logLevel: 'silent',
      external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('build'),
      output: { dir: BUILT, format: 'esm', entryFileNames: '[name].js' },
    });
  });

  it('is there', () => {
    expect(programs.length).toBeGreaterThan(8);
    expect(of('yaml').length).toBeGreaterThan(1);
  });

  it.each(programs.map((block, index) => [nameOf(block), index] as const))('runs: %s', async (_, index) => {
    const folder = temporaryDirectory();
    const env = prepareFolder(folder);
    const { stderr } = await run(process.execPath, [resolve(`${fileOf(index)}.js`)], { cwd: folder, env });
    expect(stderr).not.toMatch(/Error/);
  });

  it.each(of('yaml').map((block) => [nameOf(block), block] as const))(
    'is a workflow file: %s',
    (_, block) => {
      expect(parseWorkflowFile(block.code, { path: resolve('workflow.yaml') }).name).not.toBe('');
    },
  );

  it.each(
    of('sh')
      .filter(({ mark }) => mark === 'tour')
      .map((block, index) => [`${nameOf(block)} ${index + 1}`, block] as const),
  )('works as a tour: %s', async (_, block) => {
    const folder = temporaryDirectory();
    writeProgram(join(folder, 'loopwright'), `exec ${process.execPath} ${resolve('dist/cli/main.js')} "$@"`);
    const env = {
      ...process.env,
      PATH: `${folder}:${process.env['PATH']}`,
      LOOPWRIGHT: resolve('.'),
      NO_COLOR: '1',
    };
    const { stdout } = await run('sh', ['-ec', block.code], { cwd: folder, env });
    expect(stdout).toMatch(/verified/);
  });
});
