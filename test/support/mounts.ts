import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { runCommand } from './run-command.ts';

const MEBIBYTE = 1024 * 1024;

/** A file system of a given size, for one test. */
export function mountTmpfs(sizeKib: number): {
  readonly path: string;
  readonly resize: (sizeKib: number) => void;
} {
  const path = temporaryDirectory();
  runCommand('mount', '-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'tmpfs', path);
  onTestFinished(() => runCommand('umount', '-l', path));
  return { path, resize: (sizeNextKib) => runCommand('mount', '-o', `remount,size=${sizeNextKib}k`, path) };
}

/** An ext4 with blocks of a quarter of a page: the rest of a page that SQLite maps may find no block when it is written. */
export function mountExt4(sizeMib: number): string {
  const directory = temporaryDirectory();
  const image = join(directory, 'image');
  const path = join(directory, 'mounted');
  mkdirSync(path);
  writeFileSync(image, Buffer.alloc(sizeMib * MEBIBYTE));
  runCommand('mkfs.ext4', '-q', '-b', '1024', '-m', '0', image);
  runCommand('mount', '-o', 'loop', image, path);
  onTestFinished(() => runCommand('umount', '-l', path));
  return path;
}

/** Why this process may not mount anything, if it may not. */
export function whyNoMounts(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'loopwright-'));
  try {
    runCommand('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path);
    runCommand('umount', path);
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
