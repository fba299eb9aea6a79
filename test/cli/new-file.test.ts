import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createNewFile, newFileAt } from '../../src/cli/new-file.ts';

/** A folder with everything in it that a path can be led astray by, and one beside it that nothing may get into. */
const makePlace = (): { readonly root: string; readonly cwd: string } => {
  const root = mkdtempSync(join(tmpdir(), 'loopwright-paths-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, 'inside');
  for (const folder of ['inside/sub', 'outside/deep']) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'outside/secret'), 'theirs');
  writeFileSync(join(cwd, 'there'), 'mine');
  symlinkSync('../outside', join(cwd, 'link'));
  symlinkSync(join(root, 'outside/deep'), join(cwd, 'absolute'));
  symlinkSync('../outside/secret', join(cwd, 'file'));
  symlinkSync('../outside/new', join(cwd, 'dangling'));
  symlinkSync('loop', join(cwd, 'loop'));
  symlinkSync('../../outside', join(cwd, 'sub/up'));
  symlinkSync('link', join(cwd, 'second'));
  return { root, cwd };
};

/** Every file of a folder with what is in it; links as they are. */
const filesIn = (folder: string, under = ''): Readonly<Record<string, string>> =>
  Object.assign(
    {},
    ...readdirSync(join(folder, under)).map((name) => {
      const path = join(under, name);
      const found = lstatSync(join(folder, path));
      if (found.isDirectory()) return filesIn(folder, path);
      return { [path]: found.isSymbolicLink() ? 'link' : readFileSync(join(folder, path), 'utf8') };
    }),
  );

const PARTS = [
  'link',
  'absolute',
  'file',
  'dangling',
  'loop',
  'sub',
  'sub/up',
  'second',
  '.',
  './sub',
  'there',
  'none',
];
const ENDS = [
  '',
  'new',
  'secret',
  'deep',
  'deep/new',
  '.',
  '..',
  'new/',
  '../new',
  '../outside/x',
  '%2e%2e%2fnew',
  '..%00',
  'a\u0000b',
  'a\nb',
  '..\\new',
  '…',
  '\u202Enew',
  'x'.repeat(300),
  `${'y/'.repeat(200)}z`,
  'con',
  '-rf',
  '~',
  '*',
  'new?raw??',
];

// Method: every end behind every beginning, with and without leave to replace. What is written must be where the words of the path say,
// and everything else as it was.
describe('a file that is to be written', () => {
  const vectorsIn = (root: string): readonly string[] => [
    ...PARTS.flatMap((part) => ENDS.map((end) => (end === '' ? part : `${part}/${end}`))),
    ...ENDS,
    ...['outside/secret', 'outside/new', 'inside/link/new', 'inside/new', 'inside/file'].map((path) =>
      join(root, path),
    ),
  ];

  it('S13: of 300 paths, none leads anywhere else', () => {
    const { root, cwd } = makePlace();
    const vectors = vectorsIn(root);
    expect(vectors.length).toBeGreaterThanOrEqual(300);
    // This test writes files. By its words, no path of it may name one of the machine's own.
    for (const vector of vectors)
      expect(`${resolve(cwd, vector)}/`.startsWith(`${root}/`), vector).toBe(true);
    const before = filesIn(root);
    let written = 0;
    for (const [index, vector] of vectors.entries()) {
      const force = index % 2 === 0;
      try {
        const file = createNewFile(vector, { cwd, force });
        file.write('ours');
        file.finish();
      } catch {
        expect(filesIn(root), vector).toEqual(before);
        continue;
      }
      written += 1;
      const path = resolve(cwd, vector);
      const { [path.slice(root.length + 1)]: mine, ...others } = filesIn(root);
      expect(mine, vector).toBe('ours\n');
      const { [path.slice(root.length + 1)]: _, ...rest } = before;
      expect(others, vector).toEqual(rest);
      expect(lstatSync(path).mode & 0o777).toBe(0o600);
      // Whatever it was put in place of is put back.
      rmSync(path);
      const replaced = before[path.slice(root.length + 1)];
      if (replaced !== undefined) writeFileSync(path, replaced);
    }
    // Else nothing was tried.
    expect(written).toBeGreaterThan(20);
  });

  it.each(['', '/', '//', '.', '..', 'a/', 'a/..', 'a\u0000b', 'a\nb'])(
    'S13: %j is not the path of a file',
    (path) => {
      const { cwd } = makePlace();
      expect(() => newFileAt(path, { cwd, force: true })).toThrow(/not the path of a file/);
    },
  );

  it('is not there before it is whole, and replaces nothing that came in between', () => {
    const { root, cwd } = makePlace();
    const before = filesIn(root);
    const dropped = createNewFile('new', { cwd });
    dropped.write('half');
    dropped.drop();
    expect(filesIn(root)).toEqual(before);
    const late = createNewFile('new', { cwd });
    writeFileSync(join(cwd, 'new'), 'first');
    expect(() => late.finish()).toThrow(/exists already/);
    expect(filesIn(root)).toEqual({ ...before, 'inside/new': 'first' });
  });
});
