import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { openLog, parseWorkflowFile } from '../../src/index.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { type Block, blocksIn } from './blocks.ts';
import { prepareFolder, prepareTour } from './programs.ts';

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

/** Blocks that are not run, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'README.md Loopwright mermaid': 'a picture',
  'README.md Two commands sh':
    'they install and test this package; npm start is run by test/cli/demo.test.ts',
  'docs/ARCHITECTURE.md Architecture text': 'a picture',
  'docs/MUTATION.md Would anyone notice? sh': 'hours of work; test/mutation runs a part of it',
};

/** What blocks write: every one that writes has its row, with what its comments say of it. */
const WRITTEN: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'README.md In your application': [/^verified\n$/],
  'README.md Feedback between agents': [/^verified /, "status: 'resolved'", 'use_polling'],
  // There are lines only for what is sent back.
  'README.md Stories': [/^verified,0\n$/],
  'README.md Phases': [/^verified /, 'planning'],
  'README.md Feedback in a tree': ['FIX_REQUEST'],
  'README.md Loops in a plan': [/^15\n$/],
  'README.md Machines of your own': ["verdict: 'verified'", "text: 'Hello!!'"],
  'README.md Plans, gates and limits': [
    /^at most \d+ calls of agents.* in \d+ turns, then it ends or asks a person.*\n/,
    'Shall this be merged?',
    /\nverified\n$/,
  ],
  'README.md Looking back, and what would have been': ['run-1', 'developer'],
};

/** What the log of a block must have in it, beside what it writes. */
const LOGGED: Readonly<Record<string, readonly string[]>> = {
  'README.md In your application': ['0 failed tests mended', '1 failed tests mended'],
};

/** What is looked at after a block, for comments on values that it does not write. */
const LOOKED_AT: Readonly<Record<string, string>> = {
  'README.md Stories': `console.log(String([output.verdict, output.stories['csv-export'].refinements]));`,
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
      writeFileSync(
        `${fileOf(index)}.ts`,
        `${BEFORE[nameOf(block)] ?? ''}\n${block.code}\n${LOOKED_AT[nameOf(block)] ?? ''}\n${AFTER}`,
      );
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

  it.each(programs.map((block, index) => [nameOf(block), index] as const))(
    'runs: %s',
    async (name, index) => {
      const folder = temporaryDirectory();
      const env = prepareFolder(folder);
      const { stdout, stderr } = await run(process.execPath, [resolve(`${fileOf(index)}.js`)], {
        cwd: folder,
        env,
      });
      expect(stderr).not.toMatch(/Error/);
      const written = programs[index]?.code.includes('console.log') ? WRITTEN[name] : [/^$/];
      expect(written, 'has no row in the table of what is written').toBeDefined();
      for (const each of written ?? []) expect(stdout).toMatch(each);
      for (const each of LOGGED[name] ?? [])
        expect(await everythingIn(join(folder, 'work.db'))).toContain(each);
    },
  );

  it('is run, every block of it, or has a reason not to be', () => {
    const isRun = ({ language, mark }: Block) => ['ts', 'yaml'].includes(language) || mark === 'tour';
    const left = BLOCKS.filter((block) => !isRun(block)).map((block) => `${nameOf(block)} ${block.language}`);
    expect(left.sort()).toEqual(Object.keys(NOT_RUN).sort());
  });

  it('COMMANDS.md names every command', () => {
    const page = readFileSync('docs/COMMANDS.md', 'utf8');
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) =>
      [...(row.split(' | ')[0] ?? '').matchAll(/`([a-z]+)/g)].map(([, name]) => name),
    );
    const known = COMMANDS.map(({ name }) => name);
    expect(named).toHaveLength(known.length);
    expect(named).toEqual(expect.arrayContaining(known));
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
    const { stdout } = await run('sh', ['-ec', block.code], { cwd: folder, env: prepareTour(folder) });
    expect(stdout).toMatch(/verified/);
    if (block.code.includes('node --test')) expect(stdout).toMatch(/(?:#|ℹ) pass 2/);
  });
});

const everythingIn = async (file: string): Promise<string> => {
  const log = await openLog(file);
  try {
    return JSON.stringify(await log.events({ limit: Number.POSITIVE_INFINITY }));
  } finally {
    await log.close();
  }
};
