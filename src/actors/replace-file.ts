import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ReplaceOptions {
  /** Of the new file; readable for its owner only unless set. */
  readonly mode?: number;
  /** Where the new file is made ready, in the same folder; `<file>.new` unless set. Whatever is there is removed. */
  readonly draft?: string;
  /** Called when the new file is whole, before it takes the place of the old one: what it throws keeps the old one. */
  readonly before?: () => void;
}

const PRIVATE = 0o600;

/** At any moment the file is the old one or the new one, whole: also after a power cut, if the disk honours fsync. */
export const replaceFile = (
  file: string,
  text: string,
  { mode = PRIVATE, draft = `${file}.new`, before }: ReplaceOptions = {},
): void => {
  // What a killed process left there, or somebody's link to elsewhere.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, 'wx', mode);
  try {
    // All of it, or an error: a single write may stop half-way on a disk that is full.
    writeFileSync(descriptor, text);
    // Whatever the process would take away from the mode of a new file.
    if (mode !== PRIVATE) fchmodSync(descriptor, mode);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    before?.();
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(file));
};

/** That the name now means the new file is a change of the folder. One that may not be opened is left to the system. */
const syncFolder = (folder: string): void => {
  let descriptor: number;
  try {
    descriptor = openSync(folder, 'r');
  } catch {
    return;
  }
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
