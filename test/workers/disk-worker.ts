/**
 * Appends entries until the disk takes no more, holds on while it is so, and goes on when there is room again. On standard
 * output: `START`, `ERROR <code>` when the first entry is refused, `ON` when one is taken again, `END` if all was well to the end,
 * and `PROBLEM <what>` for what was not.
 */
import { chmodSync, readdirSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isRuntimeError } from 'loopwright';
import { Gate } from '../support/gate.ts';
import { entry } from '../support/ledger.ts';
import { type LedgerRuntime, ledgerRun, openLedger } from '../support/open-ledger.ts';
import { checkLedger } from '../support/verify-ledger.ts';

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: '' },
    reserve: { type: 'string', default: '0' },
    exclusive: { type: 'boolean', default: false },
    /** Only tries to open this log, and a new one, in a directory that it may not write to. */
    readonly: { type: 'boolean', default: false },
    /** For how long at least to go on trying while the disk takes nothing. */
    stay: { type: 'string', default: '0' },
  },
});

const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};
const problem = (what: string): void => say(`PROBLEM ${what}`);

const { file, exclusive } = values;
const NOBODY = 65_534;
const AFTER_ALL_ENTRIES = 30;
const TRY_EVERY_MS = 10;
const PASSING = ['DISK_FULL', 'DISK_LOW', 'LOG_WRITE_FAILED'];

/** An error by its code, or by its text if it is none of ours. */
const nameOf = (error: unknown): string => (isRuntimeError(error) ? error.code : String(error));

async function openReadOnly(): Promise<void> {
  await (await openLedger(file)).close();
  for (const name of readdirSync(dirname(file))) chmodSync(join(dirname(file), name), 0o444);
  chmodSync(dirname(file), 0o555);
  // Modes mean nothing to root.
  if (process.getuid?.() === 0) process.setuid?.(NOBODY);
  for (const path of [file, `${file}.new`]) {
    try {
      await openLedger(path);
      problem(`${path} was opened`);
    } catch (error) {
      say(`ERROR ${nameOf(error)}`);
    }
  }
}

/** The ledger of the log, and the entries that were acknowledged. */
class Book {
  readonly acknowledged = new Map<number, number>();
  readonly #runtime: LedgerRuntime;

  constructor(runtime: LedgerRuntime) {
    this.#runtime = runtime;
  }

  /** Adds the next entry. Gives what it was refused with, if it was. */
  async add(): Promise<string | null> {
    const n = this.acknowledged.size + 1;
    try {
      const { position } = await (await ledgerRun(this.#runtime)).send(entry(n));
      this.acknowledged.set(n, position ?? 0);
      return null;
    } catch (error) {
      return nameOf(error);
    }
  }

  /** Everything can be read, and memory holds what the log does. */
  async look(): Promise<void> {
    const { context } = await (await ledgerRun(this.#runtime)).state();
    const [last] = await this.#runtime.audit({ types: ['ADD'], limit: 1, reverse: true });
    const counts = [context.entries, last?.data['n'], this.acknowledged.size];
    if (new Set(counts).size > 1)
      problem(`in memory, in the log and acknowledged are ${JSON.stringify(counts)} entries`);
  }
}

async function fill(): Promise<void> {
  const gate = new Gate();
  const runtime = await openLedger(file, {
    exclusive,
    reserveBytes: Number(values.reserve),
    fetch: gate.fetch,
  });
  const book = new Book(runtime);
  const waiting = await runtime.start('errand', { name: 'waiting' });
  say('START');

  let refusal = await book.add();
  while (refusal === null) refusal = await book.add();
  // Its answer comes while nothing can be written.
  gate.open('waiting');
  say(`ERROR ${refusal}`);
  const untilMs = performance.now() + Number(values.stay);
  while (refusal !== null || performance.now() < untilMs) {
    if (refusal !== null && !PASSING.includes(refusal)) return problem(`it was refused with ${refusal}`);
    await book.look();
    await sleep(TRY_EVERY_MS);
    refusal = await book.add();
  }
  say('ON');

  const { verdict } = await waiting.result();
  if (verdict !== 'verified') problem(`the errand ended ${verdict}`);
  for (let more = 0; more < AFTER_ALL_ENTRIES; more += 1) {
    const error = await book.add();
    if (error !== null) problem(`although there is room again, an entry was refused with ${error}`);
  }
  for (const what of (await checkLedger(runtime, book.acknowledged)).problems) problem(what);
  await runtime.close();
}

await (values.readonly ? openReadOnly() : fill());
say('END');
