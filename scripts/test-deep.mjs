// The long form of the tests, for a person before a release: npm run test:deep -- [--only <name>]
// <name> is a part of the path of test files; if no file has it, a part of the names of tests.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} only */
function filterFor(only) {
  const isTestFile = readdirSync(`${root}/test`, { recursive: true, encoding: 'utf8' }).some(
    (path) => path.endsWith('.test.ts') && `test/${path}`.includes(only),
  );
  return isTestFile ? [only] : ['--testNamePattern', only];
}

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const filter = values.only === undefined ? [] : filterFor(values.only);
// With the whole of it, as before a release: what is installed is what the registry has signed.
const signed =
  values.only === undefined
    ? spawnSync(process.execPath, [`${root}/scripts/check-signatures.mjs`], { cwd: root, stdio: 'inherit' })
        .status
    : 0;
const { status } = spawnSync(
  process.execPath,
  [`${root}/node_modules/vitest/vitest.mjs`, 'run', '--mode', 'deep', ...filter],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
process.exitCode = signed === 0 ? (status ?? 1) : 1;
