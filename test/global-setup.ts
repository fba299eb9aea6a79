import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { bundlePrograms } from './bundle-programs.ts';

/**
 * Builds the package and the programs that tests start as child processes, once for all test files. Types are not checked here, but at the
 * same time as tests run: by vitest (`--typecheck`), and by a test that holds the programs against the declarations of the package.
 *
 * With LOOPWRIGHT_SKIP_BUILD=1 tests run on the source, and programs are those of the last build: for two test runs at once in one checkout.
 */
export async function setup(): Promise<void> {
  if (process.env['LOOPWRIGHT_SKIP_BUILD'] === '1') return;
  compile('tsconfig.build.json', 'dist');
  chmodSync('dist/cli/main.js', 0o755);
  // They read the declarations of the package.
  compile('tsconfig.tools.json', 'build');
  await bundlePrograms();
}

function compile(project: string, directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  execFileSync('node_modules/.bin/tsc', ['-p', project, '--noCheck'], { stdio: 'inherit' });
}
