import { execFileSync } from 'node:child_process';
import { bundlePrograms } from './bundle-programs.ts';

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
  await bundlePrograms();
}
