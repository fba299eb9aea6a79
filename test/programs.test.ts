import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('examples, benchmarks and workers compile against the declarations of the built package', () => {
  const { status, stdout } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.tools.json', '--noEmit'], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});
