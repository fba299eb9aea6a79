import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** What stands on the path of whoever runs the documentation's examples: programs with the names that it uses. */
const PROGRAMS: Readonly<Record<string, string>> = {
  // A linter that finds nothing, for `npx my-linter --json`.
  npx: 'echo \'{"passed":true,"issues":[]}\'',
  // Tests that fail at first, and pass when they are run again.
  npm: 'if [ -e tried ]; then echo "all tests passed"; else touch tried; echo "not ok 1 exports rows"; exit 1; fi',
};

/** What stands on the path of whoever follows the tour, beside the command line itself. */
const ON_TOUR: Readonly<Record<string, string>> = {
  loopwright: `exec ${process.execPath} ${resolve('dist/cli/main.js')} "$@"`,
  claude: `cat > /dev/null; case "$*" in *reviewer*) echo '{"passed": true, "issues": []}';; *) echo "Wrote it.";; esac`,
  npx: `echo '{"numFailedTests":0,"success":true,"testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"t","status":"passed"}]}]}' > .loopwright-results.json`,
};

/** A folder in which the tour is followed, and the environment for that: this checkout is linked as npm link in it does. */
export function prepareTour(folder: string): NodeJS.ProcessEnv {
  const bin = join(folder, 'bin');
  const linked = join(folder, 'prefix', 'lib', 'node_modules');
  for (const each of [bin, linked, join(folder, 'my-repository')]) mkdirSync(each, { recursive: true });
  for (const [name, script] of Object.entries(ON_TOUR)) writeProgram(join(bin, name), script);
  symlinkSync(resolve('.'), join(linked, 'loopwright'));
  return {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env['PATH']}`,
    LOOPWRIGHT: resolve('.'),
    NO_COLOR: '1',
    npm_config_prefix: join(folder, 'prefix'),
    npm_config_offline: 'true',
  };
}

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

function writeProgram(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}
