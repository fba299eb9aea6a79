import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
/** A place that no tool of the project looks at. */
const CACHE = join(ROOT, 'node_modules/.cache/loopwright-faults');

/** In the order of the enumerations in faultfs.c. */
const OPERATIONS = ['nothing', 'write', 'sync', 'truncate', 'read'] as const;
const ACTIONS = ['none', 'fail', 'kill', 'freeze', 'flip', 'short'] as const;
const NUMBERS_OF_PLAN = 9;

export const ENOSPC = 28;
export const EIO = 5;

/** At which calls of the file system something happens, and what. */
export interface Plan {
  readonly operation: (typeof OPERATIONS)[number];
  readonly action: (typeof ACTIONS)[number];
  /** Half of a write is written first. */
  readonly torn?: boolean;
  /** The errno of a call that fails. */
  readonly error?: number;
  /** The first call at which it happens: 1 (unless set) is the next one. */
  readonly first?: number;
  /** From then on it happens at every so many-th call; at each unless set. */
  readonly step?: number;
  /** How often it happens; for ever unless set. */
  readonly count?: number;
}

/** The plan of a process that has the library preloaded, shared with it through a file. */
export interface SharedPlan {
  /** Begins to count anew. */
  set(plan: Plan): void;
  clear(): void;
  /** How many calls of the plan's operation there were, and at how many of them something happened. */
  read(): { readonly seen: number; readonly acted: number };
}

export function sharedPlan(file: string): SharedPlan {
  return {
    set({ operation, action, torn = false, error = 0, first = 1, step = 1, count = -1 }) {
      const numbers = [
        OPERATIONS.indexOf(operation),
        ACTIONS.indexOf(action),
        torn ? 1 : 0,
        error,
        first,
        step,
        count,
        0,
        0,
      ];
      // In place, never by a new file: the process has this one mapped.
      writeFileSync(file, new BigInt64Array(numbers.map(BigInt)), { flag: existsSync(file) ? 'r+' : 'w' });
    },
    clear() {
      this.set({ operation: 'nothing', action: 'none' });
    },
    read() {
      const bytes = readFileSync(file);
      const numbers = new BigInt64Array(
        bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 8 * NUMBERS_OF_PLAN),
      );
      return { seen: Number(numbers[7]), acted: Number(numbers[8]) };
    },
  };
}

/**
 * What to start a process with, so that the plan holds for its files with this in their paths (`$` is the end of one), except for
 * those with that.
 */
export function faultEnvironment(plan: string, match: string, except = ''): Record<string, string> {
  return {
    LD_PRELOAD: compiled('faultfs'),
    FAULTFS_PLAN: plan,
    FAULTFS_MATCH: match,
    FAULTFS_EXCEPT: except,
  };
}

/** What to start a process with, so that all it does to its files with this in their paths is written down: see `readRecord`. */
export function recordEnvironment(record: string, match: string): Record<string, string> {
  return { LD_PRELOAD: compiled('recordfs'), RECORDFS_LOG: record, RECORDFS_MATCH: match };
}

/**
 * What to start a process with, so that its wall clock can be set while it runs, by a number of milliseconds in this file, or its
 * clocks go as many times faster as a second number says: see clockshift.c.
 */
export function clockEnvironment(file: string): Record<string, string> {
  return { LD_PRELOAD: compiled('clockshift'), CLOCKSHIFT_FILE: file };
}

/** The compiled library. @throws if it cannot be compiled: what it proves must not look proven. */
function compiled(name: 'faultfs' | 'recordfs' | 'clockshift'): string {
  const source = join(ROOT, `test/faults/${name}.c`);
  const library = join(CACHE, `${name}-${Math.floor(statSync(source).mtimeMs)}.so`);
  if (existsSync(library)) return library;
  mkdirSync(CACHE, { recursive: true });
  const draft = `${library}.${process.pid}`;
  const compiler = process.env['CC'] ?? 'gcc';
  const { error, status, stderr } = spawnSync(compiler, [
    '-O2',
    '-Wall',
    '-shared',
    '-fPIC',
    '-o',
    draft,
    source,
    '-ldl',
  ]);
  if (error || status !== 0) {
    throw new Error(
      `The fault tests need a C compiler for ${source}, and "${compiler}" did not do it: ${error?.message ?? String(stderr)}. ` +
        'Install gcc (apt-get install gcc libc6-dev), or name another compiler in CC.',
    );
  }
  // Test files that run at the same time may compile it twice, but never load half of it.
  renameSync(draft, library);
  return library;
}
