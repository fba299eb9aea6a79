// Takes guards, counters and limits out of the machines, one at a time, and sees whether it is noticed: npm run mutate -- [--only <machine>]
// [--sample <n>] [--json]. How it is done is in test/mutation; the figures and what they mean in docs/MUTATION.md.

import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const file = 'build/mutation/command.mjs';
await build({
  input: 'test/mutation/command.ts',
  platform: 'node',
  logLevel: 'warn',
  external: ['rolldown', 'rolldown/parseAst'],
  output: { file, format: 'esm', codeSplitting: false },
});
await import(new URL(`../${file}`, import.meta.url).href);
