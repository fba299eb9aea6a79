import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Plugin } from 'vitest/config';
import { importsOf, sourceFilesIn } from './source-files.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = `${ROOT}/src/`;
const BUILT = `${ROOT}/dist/`;

/** Which files Node loads by itself. */
export const LOADED_BY_NODE = [new RegExp(`^${BUILT.replaceAll(/[^\w/-]/g, String.raw`\$&`)}`)];

/**
 * Gives tests the built file in place of each source file: it is what users get, and Node runs it faster than what Vite makes of the
 * source, in which each use of an import is a call. What one of the files mocks stays source, and all that leads to it, since nothing can be
 * put in the place of a module (`vi.mock`) that Node has loaded.
 *
 * Nothing is given to those who watch for changes, or ask which tests a change concerns, nor if the build was skipped: what is in `dist` may be old.
 */
export const builtSource = (files: readonly string[]): Plugin => {
  let kept: ReadonlySet<string> | undefined;
  return {
    name: 'built-source',
    enforce: 'pre',
    configureVitest({ vitest: { config } }) {
      const isFresh = process.env['LOOPWRIGHT_SKIP_BUILD'] !== '1' && !config.watch;
      if (isFresh && !config.changed && config.related === undefined)
        kept = leadingTo(files.flatMap((file) => mocksIn(resolve(ROOT, file))));
    },
    async resolveId(source, importer, options) {
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      if (!kept || !found?.id.startsWith(SOURCE) || !found.id.endsWith('.ts') || kept.has(found.id))
        return found;
      return `${BUILT}${found.id.slice(SOURCE.length, -'.ts'.length)}.js`;
    },
  };
};

const MOCK = /\bvi\.(?:do)?mock\(\s*(?:import\()?['"]([^'"]+)/gi;

/** The modules that something is put in the place of. */
const mocksIn = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(MOCK)].map(([, path = '']) => resolve(dirname(file), path));

/** These files, and all that import them, by way of others too. */
const leadingTo = (files: readonly string[]): ReadonlySet<string> => {
  const importers = new Map<string, string[]>();
  for (const file of sourceFilesIn('src')) {
    const path = resolve(ROOT, file.path);
    for (const { specifier, isTypeOnly } of importsOf(file)) {
      if (isTypeOnly || !specifier.startsWith('.')) continue;
      const imported = resolve(dirname(path), specifier);
      importers.set(imported, [...(importers.get(imported) ?? []), path]);
    }
  }
  const leading = new Set(files);
  // A walk over a set comes to what is added on the way.
  for (const file of leading) for (const importer of importers.get(file) ?? []) leading.add(importer);
  return leading;
};
