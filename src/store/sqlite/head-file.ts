import { hash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { RuntimeError } from '../../errors.ts';
import { EMPTY_CHAIN } from '../chain.ts';
import type { Head } from '../event-log.ts';
import type { Problem } from './chain-walk.ts';
import { createPrivateFile } from './private-files.ts';
import type { TurnReader } from './turn-reader.ts';

/** Where a log ended when its writer last looked. */
export type FiledHead = Pick<Head, 'position' | 'turn' | 'chain'>;

const SYNC_EVERY_MS = 5_000;
const FORMAT = 'loopwright-head 1';
const RECORD =
  /^(?<body>loopwright-head 1 (?<position>\d{16}) (?<turn>\d{16}) (?<chain>[\da-f]{64})) (?<sum>[\da-f]{16})\n$/;

export interface HeadFileOptions {
  /** The real path of the log, and the one that the caller wrote. */
  readonly path: string;
  readonly file: string;
  /** Not if commits may be lost in a power cut: what was kept would then be ahead of a log that is as it should be. */
  readonly isKept: boolean;
  /** Whether somebody has put the log in its place on purpose: then what was kept says nothing of it. */
  readonly isRestored: boolean;
}

/** The file beside a log that says where the log ends. */
const headFileOf = (path: string): string => `${path}.head`;

/**
 * Keeps the head of a log in a file beside it. A log that has lost its tail is a whole, shorter log to SQLite and to the chain: only
 * what was noted elsewhere shows it.
 *
 * It is written after each commit, which is on the disk by then, so that it is never ahead of a log that lost nothing. It may be
 * behind: it waits for no disk itself, and what cannot be written now is written with a later commit. Records have one length and
 * take each other's place in one write.
 */
export class HeadFile {
  readonly #options: HeadFileOptions;
  readonly #record = Buffer.alloc(recordOf({ position: 0, turn: 0, chain: EMPTY_CHAIN }).length);
  #descriptor: number | undefined;
  #isSynced = true;
  #syncing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeadFileOptions) {
    this.#options = options;
  }

  /**
   * Holds a log that was just opened against what was kept of it, and begins to keep its head.
   *
   * @throws {RuntimeError} LOG_NOT_AS_LEFT
   */
  begin(turns: TurnReader): void {
    const { path, file, isKept, isRestored } = this.#options;
    const kept = isRestored ? undefined : readHeadFile(path);
    const problem = kept && headProblem(turns, kept);
    if (problem) throw new RuntimeError('LOG_NOT_AS_LEFT', { file, problem: problem.what });
    if (!isKept) return dropHeadFile(path);
    this.keep(turns.head());
    // Else a power cut could bring back what was kept of the log that was there before.
    if (isRestored) this.sync();
  }

  keep(head: FiledHead): void {
    if (!this.#options.isKept) return;
    try {
      this.#record.write(recordOf(head), 'latin1');
      writeSync(this.#open(), this.#record, 0, this.#record.length, 0);
      this.#isSynced = false;
      this.#timer ??= setTimeout(() => this.#syncLater(), SYNC_EVERY_MS).unref();
    } catch {
      // The commit stands without it. The next one tries anew.
      this.#letGo();
    }
  }

  /** What is kept is on the disk when this returns, if the disk lets it. */
  sync(): void {
    if (this.#isSynced || this.#descriptor === undefined) return;
    try {
      fsyncSync(this.#descriptor);
      this.#isSynced = true;
    } catch {
      this.#letGo();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
    this.sync();
    this.#letGo();
  }

  #open(): number {
    if (this.#descriptor !== undefined) return this.#descriptor;
    const path = headFileOf(this.#options.path);
    createPrivateFile(path);
    this.#descriptor = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
    // Whatever else was there, a record is all of the file.
    ftruncateSync(this.#descriptor, this.#record.length);
    return this.#descriptor;
  }

  /** Without blocking the thread. A commit may come meanwhile, and is synced with the next. */
  #syncLater(): void {
    this.#timer = undefined;
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#isSynced = true;
    this.#syncing = new Promise((resolve) => {
      fsync(descriptor, (error) => {
        if (error) this.#isSynced = false;
        resolve();
      });
    });
  }

  #letGo(): void {
    if (this.#descriptor === undefined) return;
    try {
      closeSync(this.#descriptor);
    } catch {
      // It is gone either way.
    }
    this.#descriptor = undefined;
  }
}

/** What was kept, if it is whole: a record that a crash has torn says nothing. */
export function readHeadFile(path: string): FiledHead | undefined {
  let text: string;
  try {
    text = readFileSync(headFileOf(path), 'latin1');
  } catch {
    return undefined;
  }
  const { body = '', position, turn, chain = '', sum } = RECORD.exec(text)?.groups ?? {};
  if (sum === undefined || sum !== sumOf(body)) return undefined;
  return { position: Number(position), turn: Number(turn), chain };
}

/** Forgets the head of a log that is not there any more: a new one begins in its place. */
export function forgetLostLog(path: string): void {
  if (!existsSync(path)) dropHeadFile(path);
}

export function dropHeadFile(path: string): void {
  rmSync(headFileOf(path), { force: true });
}

/** What is wrong with a log, by what was kept of it. */
export function headProblem(
  turns: Pick<TurnReader, 'head' | 'turnRows'>,
  kept: FiledHead,
): Problem | undefined {
  if (kept.turn === 0) return undefined;
  const { turn, position } = turns.head();
  if (kept.turn > turn)
    return {
      position,
      what: `it ends with turn ${turn} at position ${position}, but had ${kept.turn} turns up to position ${kept.position} when it was last written`,
    };
  const [row] = turns.turnRows(kept.turn - 1, 1);
  if (row?.chain === kept.chain) return undefined;
  return { position: row?.first ?? 0, what: `turn ${kept.turn} is not the one that was last written` };
}

function recordOf({ position, turn, chain }: FiledHead): string {
  const body = `${FORMAT} ${numberOf(position)} ${numberOf(turn)} ${chain}`;
  return `${body} ${sumOf(body)}\n`;
}

const numberOf = (value: number): string => String(value).padStart(16, '0');

const sumOf = (body: string): string => hash('sha256', body).slice(0, 16);
