import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}
type Lock = Readonly<Record<string, Locked>>;

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const { packages } = read('package-lock.json') as { readonly packages: Lock };
const manifest = read('package.json') as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
};

/**
 * Programs of the tools of this project for systems that the lock file was not made on: npm took no hash of what it did not download.
 * They are optional, for development only, and none is installed on the systems that this project is built on.
 */
const WITHOUT_HASH: Readonly<Record<string, string>> = {
  '@biomejs/cli-':
    'android-arm64 android-x64 darwin-arm64 darwin-x64 linux-arm64-musl linux-x64-musl win32-arm64 win32-x64',
  '@oxc-parser/binding-':
    'android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-arm64-musl linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu linux-x64-musl openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc',
  '@oxlint-tsgolint/': 'darwin-arm64 darwin-x64 win32-arm64 win32-x64',
  '@oxlint/binding-':
    'android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-arm64-musl linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu linux-x64-musl openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc',
  '@rolldown/binding-':
    'android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm64-gnu linux-arm64-musl linux-ppc64-gnu linux-s390x-gnu linux-x64-musl openharmony-arm64 wasm32-wasi win32-arm64-msvc win32-x64-msvc',
};
const known = new Set(
  Object.entries(WITHOUT_HASH).flatMap(([family, names]) =>
    names.split(' ').map((name) => `${family}${name}`),
  ),
);

const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const isException = (path: string, { optional, dev, integrity }: Locked): boolean =>
  integrity === undefined && optional === true && dev === true && known.has(nameOf(path));

/** What speaks against a lock file. */
const problemsOf = (lock: Lock): readonly string[] =>
  Object.entries(lock).flatMap(([path, locked]) => {
    if (path === '') return [];
    const { integrity, resolved, version, link, hasInstallScript } = locked;
    const name = nameOf(path);
    return [
      ...(/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '') || isException(path, locked)
        ? []
        : [`${path}: no hash`]),
      ...(resolved === undefined ? [] : [`${path}: names where it comes from`]),
      ...(link === true || !/^\d+\.\d+\.\d+/.test(version ?? '')
        ? [`${path}: is no package of a registry`]
        : []),
      ...(hasInstallScript === true && manifest.allowScripts[name] !== true
        ? [`${path}: runs a script`]
        : []),
    ];
  });

describe('S20: what is installed', () => {
  it('S20: has a hash, comes from no named host, and runs no script that is not allowed', () => {
    expect(Object.keys(packages).length).toBeGreaterThan(100);
    expect(problemsOf(packages)).toEqual([]);
  });

  it('S20: of what users install, every package has a hash', () => {
    const used = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  });

  it('S20: every exception is needed', () => {
    const used = Object.entries(packages).filter(([path, locked]) => isException(path, locked));
    expect(used.map(([path]) => nameOf(path)).sort()).toEqual([...known].sort());
  });

  it('S20: is what package.json says, which names exact versions', () => {
    const wanted = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    for (const [name, version] of wanted) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
      expect(packages[`node_modules/${name}`]?.version, name).toBe(version);
    }
    expect(Object.keys(manifest.allowScripts)).toEqual(['better-sqlite3']);
  });

  it('S20: no file of the project names the host of a registry', () => {
    for (const file of ['package.json', 'package-lock.json', '.ci/run'])
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/registry\.|_authToken|https?:\/\/[^"\s]*\.tgz/);
  });

  it('S20, control: each of these is found', () => {
    const good = { version: '1.0.0', integrity: `sha512-${'a'.repeat(86)}==` };
    expect(problemsOf({ 'node_modules/a': good })).toEqual([]);
    for (const bad of [
      { version: '1.0.0' },
      { ...good, integrity: 'sha1-abc' },
      { ...good, resolved: 'https://example.com/a.tgz' },
      { ...good, hasInstallScript: true },
      { ...good, link: true },
      { ...good, version: 'github:a/b' },
      { version: '1.0.0', optional: true, dev: true },
    ])
      expect(problemsOf({ 'node_modules/a': bad }), JSON.stringify(bad)).toHaveLength(1);
  });
});
