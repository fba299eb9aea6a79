import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bundle } from './bundle-programs.ts';
import { temporaryDirectory } from './store/temporary-directory.ts';

// What tests start is bundled as scripts, and must do what the modules would do that it is made from.
it.each([
  ['ends well', "import { join } from 'node:path';\nawait null;\nconsole.log(join('a', 'b'));", 0, 'a/b\n'],
  ['waits for ever', 'console.log(1);\nawait new Promise(() => {});', 13, '1\n'],
  ['says how it ends, and waits', 'process.exitCode = 4;\nawait new Promise(() => {});', 4, ''],
  ['leaves at once', 'process.exit(0);\nawait null;', 0, ''],
  ['writes to what is frozen', 'Object.freeze({ a: 1 }).a = 2;\nawait null;', 1, ''],
  ['throws', 'await null;\nthrow new Error();', 1, ''],
])('a program that %s does so as a bundle, too', async (_what, text, code, stdout) => {
  const directory = temporaryDirectory();
  const program = join(directory, 'program.js');
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(program, text);
  await bundle([program], join(directory, 'bundle'));
  const ran = [program, join(directory, 'bundle', 'program.cjs')].map((file) =>
    spawnSync(process.execPath, [file], { encoding: 'utf8' }),
  );
  expect(ran.map(({ status }) => status)).toEqual([code, code]);
  expect(ran.map((each) => each.stdout)).toEqual([stdout, stdout]);
});
