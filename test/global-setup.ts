import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { bundlePrograms } from './bundle-programs.ts';

/**
 * Builds the package and the programs that tests start as child processes, once for all test files. Types are not checked here, but at the
 * same time as tests run: by vitest (`--typecheck`), and by a test that holds the programs against the declarations of the package.
 *
 * With LOOPWRIGHT_SKIP_BUILD=1 tests run on the source, and programs are those of the last build: for two test runs at once in one checkout.
 */
export async function setup(): Promise<void> {
  if (process.env['LOOPWRIGHT_SKIP_BUILD'] === '1') return;
  await compile('tsconfig.build.json', 'dist');
  await compile('tsconfig.tools.json', 'build');
  chmodSync('dist/cli/main.js', 0o755);
  await bundlePrograms();
}

async function compile(project: string, directory: string): Promise<void> {
  rmSync(directory, { recursive: true, force: true });
  const { status, output } = await run('node_modules/.bin/tsc', ['-p', project, '--noCheck']);
  if (status !== 0) throw new Error(`${project} does not compile:\n${output}`);
}

const run = async (
  command: string,
  args: readonly string[],
): Promise<{ status: unknown; output: string }> => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { status, output };
};
