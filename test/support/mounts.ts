import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from '../store/temporary-directory.ts';

function run(command: string, ...given: readonly string[]): void {
  const { error, status, stderr } = spawnSync(command, given, { encoding: 'utf8' });
  if (error || status !== 0) throw new Error(`${command} ${given.join(' ')}: ${error?.message ?? stderr}`);
}

const MEBIBYTE = 1024 * 1024;

/** A file system of a given size, for one test. */
export function mountTmpfs(sizeKib: number): { readonly path: string; resize(sizeKib: number): void } {
  const path = temporaryDirectory();
  run('mount', '-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'tmpfs', path);
  onTestFinished(() => run('umount', '-l', path));
  return { path, resize: (sizeNextKib) => run('mount', '-o', `remount,size=${sizeNextKib}k`, path) };
}

/** The same on ext4, where a full disk is felt when a page is written, not when it is asked for. */
export function mountExt4(sizeMib: number): string {
  const directory = temporaryDirectory();
  const image = join(directory, 'image');
  const path = join(directory, 'mounted');
  mkdirSync(path);
  writeFileSync(image, Buffer.alloc(sizeMib * MEBIBYTE));
  run('mkfs.ext4', '-q', '-m', '0', image);
  run('mount', '-o', 'loop', image, path);
  onTestFinished(() => run('umount', '-l', path));
  return path;
}

/** Why this process may not mount anything, if it may not. */
export function whyNoMounts(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'loopwright-'));
  try {
    run('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path);
    run('umount', path);
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
