import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { RuntimeError } from '../errors.ts';
import { wrong } from './wrong-use.ts';

export interface NewFileOptions {
  /** Whether a file that is there may be replaced. */
  readonly force?: boolean;
  /** Where a path that is not absolute begins: the folder of the process unless set. */
  readonly cwd?: string;
  /** The log that is read meanwhile: nothing takes its place, nor that of the files beside it. */
  readonly log?: string;
}

/**
 * Where a file is to be written, as a path without links. What is there is left alone: a file only unless `force` is set, anything
 * else always.
 *
 * @throws {RuntimeError} WRONG_USE, FILE_EXISTS
 */
export const newFileAt = (given: string, options: NewFileOptions = {}): string => {
  const { force = false, cwd = '.', log } = options;
  if (given === '' || given.length > 4_000 || /\p{Cc}/u.test(given) || /(?:^|\/)\.{0,2}$/.test(given))
    throw wrong(`"${given}" is not the path of a file.`, 'Give the path of a file that is not there yet.');
  const path = resolve(realpathSync(cwd), given);
  const folder = realFolder(dirname(path), given);
  if (folder !== dirname(path))
    throw wrong(`"${given}" leads through a link.`, `Give its real path: "${join(folder, basename(path))}".`);
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (!there) return path;
  if (!there.isFile())
    throw wrong(
      `"${given}" is ${there.isSymbolicLink() ? 'a link' : 'no file'}.`,
      'Give the path of a file that is not there yet.',
    );
  if (!force) throw new RuntimeError('FILE_EXISTS', { file: given });
  if (log !== undefined && isOfLog(path, realpathSync(resolve(cwd, log))))
    throw wrong(`"${given}" belongs to the log itself.`, 'Give the path of another file.');
  return path;
};

const BESIDE_LOG = ['', '-wal', '-shm', '-journal', '.lock', '.head'];

const isOfLog = (path: string, log: string): boolean => BESIDE_LOG.some((end) => path === `${log}${end}`);

const realFolder = (folder: string, given: string): string => {
  try {
    return realpathSync(folder);
  } catch {
    throw wrong(`The folder of "${given}" is not there.`, 'Make it first.');
  }
};

/** Writes lines one after the other into a new file, which gets its name when it is whole. */
export interface NewFile {
  readonly write: (line: string) => void;
  /** All of it is on the disk, under its name. */
  readonly finish: () => void;
  /** None of it is there. */
  readonly drop: () => void;
}

const PRIVATE = 0o600;
const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** @throws {RuntimeError} WRONG_USE, FILE_EXISTS */
export const createNewFile = (given: string, options: NewFileOptions = {}): NewFile => {
  const path = newFileAt(given, options);
  const draft = draftOf(path);
  const descriptor = openSync(draft, NEW, PRIVATE);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  return {
    write: (line) => {
      const bytes = Buffer.from(`${line}\n`);
      for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
    },
    finish: () => {
      fsyncSync(descriptor);
      close();
      takePlace(draft, given, options);
    },
    drop: () => {
      close();
      rmSync(draft, { force: true });
    },
  };
};

/** Beside the file, under a name that nobody else uses. */
export const draftOf = (path: string): string => `${path}.${process.pid}.partial`;

/**
 * Gives a draft its name, if that is still free.
 *
 * @throws {RuntimeError} FILE_EXISTS
 */
export const takePlace = (draft: string, given: string, options: NewFileOptions): void => {
  try {
    const path = newFileAt(given, options);
    // A rename would replace what somebody has put there just now.
    if (options.force || !isLinked(draft, path, given)) renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
};

/** False if the file system has no links. */
const isLinked = (draft: string, path: string, given: string): boolean => {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new RuntimeError('FILE_EXISTS', { file: given });
    return false;
  }
};
