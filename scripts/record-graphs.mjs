// Writes test/graph/expected.json anew, after a machine has changed on purpose: node scripts/record-graphs.mjs [<part of the names of scenes>]

import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const file = 'build/mutation/record-graphs.mjs';
await build({
  input: 'test/graph/record.ts',
  platform: 'node',
  logLevel: 'warn',
  external: ['better-sqlite3', 'vitest'],
  resolve: { conditionNames: ['loopwright-source', 'module', 'node', 'import'] },
  output: { file, format: 'esm', codeSplitting: false },
});
await import(new URL(`../${file}`, import.meta.url).href);
