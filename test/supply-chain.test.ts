import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  readonly publishConfig: { readonly provenance: boolean };
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

/** The script with another `npm`, which says what the real one has said in such a case. */
const checkedWith = (output: string, code: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'loopwright-npm-'));
  writeFileSync(join(folder, 'output'), output);
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\ncat '${folder}/output'\nexit ${code}\n`, { mode: 0o755 });
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/check-signatures.mjs'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` },
  });
  return [status, `${stdout}${stderr}`];
};
const failure = (code: string, summary: string) => JSON.stringify({ error: { code, summary, detail: '' } });
const entry = {
  name: 'left-pad',
  version: '1.3.0',
  location: 'node_modules/left-pad',
  registry: 'https://x/',
};

describe('S20: signatures and provenance', () => {
  it.each([
    [JSON.stringify({ invalid: [], missing: [] }), 0, 0, 'all that is installed'],
    [JSON.stringify({ invalid: [entry], missing: [] }), 1, 1, 'left-pad@1.3.0 has a wrong one'],
    [JSON.stringify({ invalid: [], missing: [entry] }), 1, 1, 'left-pad@1.3.0 has none'],
    [failure('ENOTFOUND', 'request to https://tuf-repo-cdn.sigstore.dev/ failed'), 1, 0, 'skipped'],
    [
      failure('EAUDIT', 'found no dependencies to audit that were installed from a supported registry'),
      1,
      0,
      'skipped',
    ],
    [failure('EEXPIREDSIGNATUREKEY', 'left-pad has a key that has expired'), 1, 1, 'EEXPIREDSIGNATUREKEY'],
    ['no JSON at all', 1, 1, 'no JSON at all'],
  ])('S20: what npm says of signatures is taken for what it is: %j', (output, code, status, told) => {
    expect(checkedWith(output, code)).toEqual([status, expect.stringContaining(told)]);
  });

  it('S20: the package is published with its provenance, and names what models need as optional', () => {
    expect(manifest.publishConfig.provenance).toBe(true);
    expect(Object.keys(manifest.peerDependencies)).toEqual(['@ai-sdk/openai-compatible', 'ai', 'fast-check']);
    for (const name of Object.keys(manifest.peerDependencies))
      expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
    const { peerDependencies, peerDependenciesMeta } = packages[''] as unknown as typeof manifest; // The root's own entry.
    expect({ peerDependencies, peerDependenciesMeta }).toEqual({
      peerDependencies: manifest.peerDependencies,
      peerDependenciesMeta: manifest.peerDependenciesMeta,
    });
  });
});
