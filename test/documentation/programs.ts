import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What stands on the path of whoever runs the documentation's examples: programs with the names that it uses. */
const PROGRAMS: Readonly<Record<string, string>> = {
  // A linter that finds nothing, for `npx my-linter --json`.
  npx: 'echo \'{"passed":true,"issues":[]}\'',
  npm: 'echo "all tests passed"',
};

/** A folder with what the examples speak of, and the environment in which they run. */
export function prepareFolder(folder: string): NodeJS.ProcessEnv {
  const bin = join(folder, 'bin');
  for (const each of [bin, join(folder, 'project'), join(folder, 'stories')])
    mkdirSync(each, { recursive: true });
  for (const [name, script] of Object.entries(PROGRAMS)) writeProgram(join(bin, name), script);
  for (const id of ['csv-export', 'login'])
    writeFileSync(
      join(folder, 'stories', `${id}.md`),
      `---\nid: ${id}\ntitle: ${id}\n---\n\nPeople want it.\n`,
    );
  return { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` };
}

export function writeProgram(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}
