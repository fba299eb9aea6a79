import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
/** A place that no tool of the project looks at. */
const BUILDS = join(ROOT, 'node_modules/.cache/loopwright-workers');
const KEPT_MS = 60 * 60 * 1_000;

let built: string | undefined;

/**
 * The program in `test/workers/<name>.ts`, compiled with the sources as they are now, to be started with `node`.
 *
 * Each state of the sources has a folder of its own, which gets its name when it is whole: test files that run at the same time
 * may build it twice, but never see half of it, and a change of the sources does not touch programs that are running.
 */
export function workerPath(name: string): string {
  built ??= build();
  return join(built, 'test/workers', `${name}.js`);
}

function build(): string {
  const target = join(BUILDS, stateOfSources());
  if (existsSync(target)) return target;
  const draft = `${target}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(draft, 'tsconfig.json'), JSON.stringify(configFor(draft)));
  execFileSync(
    process.execPath,
    [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', join(draft, 'tsconfig.json')],
    {
      stdio: 'inherit',
    },
  );
  try {
    renameSync(draft, target);
  } catch {
    // Someone else was first with the same sources.
    rmSync(draft, { recursive: true, force: true });
  }
  forgetOldBuilds(target);
  return target;
}

/** Types are checked elsewhere: a worker must start even while another folder does not compile. */
function configFor(outDir: string): unknown {
  return {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      outDir,
      rootDir: ROOT,
      noEmit: false,
      noCheck: true,
      rewriteRelativeImportExtensions: true,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: [join(ROOT, 'src'), join(ROOT, 'test/workers')],
  };
}

function stateOfSources(): string {
  const state = createHash('sha256');
  for (const folder of ['src', 'test/workers']) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).toSorted()) {
      const found = statSync(join(ROOT, folder, file), { throwIfNoEntry: false });
      if (found?.isFile()) state.update(`${folder}/${file} ${found.size} ${found.mtimeMs}\n`);
    }
  }
  return state.digest('hex').slice(0, 16);
}

function forgetOldBuilds(current: string): void {
  for (const name of readdirSync(BUILDS)) {
    const path = join(BUILDS, name);
    const madeAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (path !== current && Date.now() - madeAtMs > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}
