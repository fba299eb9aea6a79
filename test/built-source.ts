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
 * source, in which each use of an import is a call. What leads to one of `mocked` stays source, since nothing can be put in the place of a
 * module (`vi.mock`) that Node has loaded.
 */
export const builtSource = (mocked: readonly string[]): Plugin => {
  const kept = leadingTo(mocked.map((file) => `${SOURCE}${file}`));
  return {
    name: 'built-source',
    enforce: 'pre',
    async resolveId(source, importer, options) {
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      if (!found?.id.startsWith(SOURCE) || !found.id.endsWith('.ts') || kept.has(found.id)) return found;
      return `${BUILT}${found.id.slice(SOURCE.length, -'.ts'.length)}.js`;
    },
  };
};

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
