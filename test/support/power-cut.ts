import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Random } from '../simulation/random.ts';
import type { Acknowledged } from './verify-ledger.ts';

/** What a process did, in this order: see test/faults/recordfs.c. */
export type Deed =
  | { readonly kind: 'write'; readonly file: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: string; readonly size: number }
  | { readonly kind: 'sync' | 'unlink'; readonly file: string }
  | { readonly kind: 'acknowledged'; readonly n: number; readonly position: number };

/** What a disk writes whole or not at all. */
const SECTOR = 512;

export const readRecord = (path: string): readonly Deed[] => {
  const bytes = readFileSync(path);
  const deeds: Deed[] = [];
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const operation = String.fromCharCode(take(1).readUInt8());
    const file = basename(take(take(4).readUInt32LE()).toString());
    const number = Number(take(8).readBigInt64LE());
    const data = take(take(4).readUInt32LE());
    if (operation === 'W') deeds.push({ kind: 'write', file, offset: number, bytes: data });
    else if (operation === 'T') deeds.push({ kind: 'truncate', file, size: number });
    else if (operation === 'S') deeds.push({ kind: 'sync', file });
    else if (operation === 'U') deeds.push({ kind: 'unlink', file });
    else {
      const [, n = 0, position = 0] = data.toString().split(' ').map(Number);
      deeds.push({ kind: 'acknowledged', n, position });
    }
  }
  return deeds;
};

type Change = Extract<Deed, { kind: 'write' | 'truncate' }>;

/** A file as the disk has it, and what the system has only promised. */
interface DiskFile {
  durable: Buffer | undefined;
  pending: Change[];
}

/**
 * A disk that keeps what was synced. Of all other writes, any may be on it or not, in any order, each sector for itself; a file that was
 * removed is gone for good once anything is synced.
 */
export class SimulatedDisk {
  readonly #files = new Map<string, DiskFile>();
  #unlinked: string[] = [];
  readonly acknowledged = new Map<number, number>();

  /** So many changes are not on the disk for sure. */
  get unsure(): number {
    return [...this.#files.values()].reduce((sum, { pending }) => sum + pending.length, 0);
  }

  take(deed: Deed): void {
    if (deed.kind === 'acknowledged') {
      this.acknowledged.set(deed.n, deed.position);
      return;
    }
    const file = this.#file(deed.file);
    if (deed.kind === 'write' || deed.kind === 'truncate') file.pending.push(deed);
    else if (deed.kind === 'unlink') this.#unlinked.push(deed.file);
    else {
      for (const name of this.#unlinked) this.#files.delete(name);
      this.#unlinked = [];
      let content = file.durable ?? Buffer.alloc(0);
      for (const change of file.pending) content = changed(content, change, () => true);
      this.#files.set(deed.file, { durable: content, pending: [] });
    }
  }

  /** The power goes: what is on the disk then is put into a directory. */
  cut(directory: string, random: Random): Acknowledged {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    // Sometimes nearly all was written, sometimes nearly nothing.
    const kept = [0, 0.1, 0.3, 0.6, 0.9][random.below(5)] ?? 0.5;
    for (const [name, { durable, pending }] of this.#files) {
      if (this.#unlinked.includes(name) && random.chance(0.5)) continue;
      let content = durable;
      for (const change of pending) {
        const isTorn = random.chance(0.3);
        const isWhole = random.chance(kept);
        const keeps = isTorn ? () => random.chance(kept) : () => isWhole;
        if (!isTorn && !isWhole) continue;
        content = changed(content ?? Buffer.alloc(0), change, keeps);
      }
      if (content) writeFileSync(join(directory, name), content);
    }
    return new Map(this.acknowledged);
  }

  #file(name: string): DiskFile {
    const known = this.#files.get(name);
    if (known && !this.#unlinked.includes(name)) return known;
    const made: DiskFile = known ?? { durable: undefined, pending: [] };
    // Made anew under the name of one that was removed.
    if (known) {
      this.#unlinked = this.#unlinked.filter((each) => each !== name);
      made.pending.push({ kind: 'truncate', file: name, size: 0 });
    }
    this.#files.set(name, made);
    return made;
  }
}

/** The content after a change, of which each sector is kept or not. */
const changed = (content: Buffer, change: Change, keeps: () => boolean): Buffer => {
  if (change.kind === 'truncate') {
    if (!keeps()) return content;
    return change.size <= content.length
      ? content.subarray(0, change.size)
      : Buffer.concat([content, Buffer.alloc(change.size - content.length)]);
  }
  const { offset, bytes } = change;
  const next = Buffer.alloc(Math.max(content.length, offset + bytes.length));
  content.copy(next);
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + SECTOR - ((offset + from) % SECTOR));
    if (keeps()) bytes.copy(next, offset + from, from, to);
    from = to;
  }
  return next;
};
