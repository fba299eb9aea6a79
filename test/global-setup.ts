import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { build } from 'rolldown';

const COMPILED_WORKERS = 'build/test/workers';

/**
 * Builds the package and the programs that tests start as child processes, once for all test files.
 *
 * With LOOPWRIGHT_SKIP_BUILD=1 the last build is used as it is: for two test runs at once in one checkout,
 * and for work on one folder while another does not compile.
 */
export async function setup(): Promise<void> {
  if (process.env['LOOPWRIGHT_SKIP_BUILD'] === '1') return;
  for (const script of ['build', 'build:tools']) {
    execFileSync('npm', ['run', '--silent', script], { stdio: 'inherit' });
  }
  await bundleWorkers();
  await bundleCommandLine();
}

/** The same for the command line: half of the time that a call takes goes into its modules. One test calls it as it is published. */
async function bundleCommandLine(): Promise<void> {
  await build({
    input: ['dist/cli/main.js'],
    platform: 'node',
    external: ['better-sqlite3'],
    output: { dir: 'build/cli', format: 'esm', cleanDir: true },
  });
}

/** The tests start hundreds of workers, and each would spend more than half of its time on opening the files of its modules. */
async function bundleWorkers(): Promise<void> {
  const programs = readdirSync(COMPILED_WORKERS).filter((file) => file.endsWith('.js'));
  await build({
    input: programs.map((file) => `${COMPILED_WORKERS}/${file}`),
    platform: 'node',
    external: ['better-sqlite3'],
    output: { dir: 'build/workers', format: 'esm', cleanDir: true },
  });
}
