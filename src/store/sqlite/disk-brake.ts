import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { RuntimeError } from '../../errors.ts';

const DEFAULT_RESERVE_BYTES = 64 * 1024 * 1024;
const LOOK_EVERY_MS = 200;
/** More room than this above the reserve is not used up between two looks. */
const FAR_BYTES = 64 * 1024 * 1024;

export interface DiskBrakeOptions {
  readonly file: string;
  /** Below this, nothing is written. */
  readonly reserveBytes?: number | undefined;
  /** How much room there is; asks the file system unless given. */
  readonly freeBytes?: (() => number) | undefined;
}

/**
 * Stops writing before the disk is full. On a full disk the shared memory of a WAL database can kill the whole process with
 * SIGBUS and no error, so that point must never be reached; reading goes on, and writing too once there is room again.
 */
export class DiskBrake {
  readonly #file: string;
  readonly #reserveBytes: number;
  readonly #freeBytes: () => number;
  #lookAgainAtMs = 0;

  constructor({ file, reserveBytes = DEFAULT_RESERVE_BYTES, freeBytes }: DiskBrakeOptions) {
    this.#file = file;
    this.#reserveBytes = reserveBytes;
    this.#freeBytes = freeBytes ?? (() => freeBytesAt(dirname(file)));
  }

  /** Called before every write; looks at the disk now and then, and each time if there is not much room left. */
  check(): void {
    const nowMs = performance.now();
    if (nowMs < this.#lookAgainAtMs) return;
    const freeBytes = this.#freeBytes();
    if (freeBytes < this.#reserveBytes) {
      throw new RuntimeError('DISK_LOW', { file: this.#file, freeBytes, reserveBytes: this.#reserveBytes });
    }
    const isFar = freeBytes - this.#reserveBytes > FAR_BYTES;
    this.#lookAgainAtMs = isFar ? nowMs + LOOK_EVERY_MS : 0;
  }
}

function freeBytesAt(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
