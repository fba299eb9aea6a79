import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { build, type Plugin } from 'rolldown';

const COMPILED_WORKERS = 'build/test/workers';
const CODE_CACHE = resolve(import.meta.dirname, 'support/code-cache.cjs');

/**
 * Bundles what tests start hundreds of times, each program in few files, with what V8 has compiled of them kept beside: most of the time of
 * a start goes into opening and compiling modules. One test calls the command line as it is published.
 */
export async function bundlePrograms(): Promise<void> {
  const workers = readdirSync(COMPILED_WORKERS).filter((file) => file.endsWith('.js'));
  await bundle(
    workers.map((file) => `${COMPILED_WORKERS}/${file}`),
    'build/workers',
  );
  await bundle(['dist/cli/main.js'], 'build/cli');
  const folder = mkdtempSync(join(tmpdir(), 'loopwright-warm-'));
  try {
    const warmUp = (program: string, ...args: readonly string[]): void => {
      const env = { ...process.env, LOOPWRIGHT_CODE_CACHE: 'write' };
      execFileSync(process.execPath, [resolve(program), ...args], {
        cwd: folder,
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    };
    warmUp('build/workers/append-worker.cjs', '--file', 'log.db', '--entries', '20');
    warmUp('build/cli/main.cjs', 'demo', '--db', 'demo.db');
    warmUp('build/cli/main.cjs', 'ps', '--db', 'demo.db');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Each program as `<dir>/<name>.cjs`, to be started with `node`. */
export async function bundle(programs: readonly string[], dir: string): Promise<void> {
  await build({
    input: [...programs],
    platform: 'node',
    external: ['better-sqlite3'],
    plugins: [withoutAwait(new Set(programs.map((program) => resolve(program))))],
    output: {
      dir,
      // Only scripts can be given what was compiled before.
      format: 'cjs',
      cleanDir: true,
      entryFileNames: '[name].program.cjs',
      chunkFileNames: '[name]-[hash].cjs',
      // As modules are by themselves.
      banner: "'use strict';",
    },
  });
  for (const name of programs.map((program) => basename(program, '.js')))
    writeFileSync(
      `${dir}/${name}.cjs`,
      `require(${JSON.stringify(CODE_CACHE)});\nrequire('./${name}.program.cjs');\n`,
    );
}

/** A module that waits for ever ends with 13, unless it has said otherwise. */
const IF_IT_HANGS = `
let isOver = false;
process.on('exit', () => {
  if (!isOver) process.exitCode ??= 13;
});
`;

/** Scripts have no `await` of their own: what a program does besides importing is put into a function. */
function withoutAwait(programs: ReadonlySet<string>): Plugin {
  return {
    name: 'without-await',
    transform(code, id) {
      if (!programs.has(id)) return null;
      const lines = code.split('\n').filter((line) => !line.startsWith('#!'));
      const first = lines.findLastIndex((line) => line.startsWith('import ')) + 1;
      const inFunction = [IF_IT_HANGS, '(async () => {', ...lines.slice(first), 'isOver = true;', '})();'];
      return { code: [...lines.slice(0, first), ...inFunction].join('\n'), map: null };
    },
  };
}
