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
import { ledgerRun, openLedger } from '../support/open-ledger.ts';
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
      say(`ERROR ${isRuntimeError(error) ? error.code : String(error)}`);
    }
  }
}

async function fill(): Promise<void> {
  const gate = new Gate();
  const runtime = await openLedger(file, {
    exclusive,
    reserveBytes: Number(values.reserve),
    fetch: gate.fetch,
  });
  const run = await ledgerRun(runtime);
  const waiting = await runtime.start('errand', { name: 'waiting' });
  const acknowledged = new Map<number, number>();
  const add = async (): Promise<unknown> => {
    const n = acknowledged.size + 1;
    try {
      const { position } = await run.send(entry(n));
      acknowledged.set(n, position ?? 0);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  say('START');

  let refusal = await add();
  while (refusal === undefined) refusal = await add();
  // Its answer comes while nothing can be written, and so does that of a timer.
  gate.open('waiting');
  say(`ERROR ${isRuntimeError(refusal) ? refusal.code : String(refusal)}`);
  for (
    const untilMs = performance.now() + Number(values.stay);
    refusal !== undefined || performance.now() < untilMs;
  ) {
    if (
      !isRuntimeError(refusal ?? undefined, 'DISK_FULL', 'DISK_LOW', 'LOG_WRITE_FAILED') &&
      refusal !== undefined
    ) {
      problem(`it was refused with ${String(refusal)}`);
      break;
    }
    const { context } = await run.state();
    if (context.entries !== acknowledged.size)
      problem(`${context.entries} entries are in memory, ${acknowledged.size} in the log`);
    if ((await runtime.audit({ limit: 1, reverse: true })).length !== 1) problem('the log cannot be read');
    await sleep(TRY_EVERY_MS);
    refusal = await add();
  }
  say('ON');

  const { verdict } = await waiting.result();
  if (verdict !== 'verified') problem(`the errand ended ${verdict}`);
  for (let more = 0; more < AFTER_ALL_ENTRIES; more += 1) {
    const error = await add();
    if (error !== undefined) problem(`after there was room again: ${String(error)}`);
  }
  for (const what of (await checkLedger(runtime, acknowledged)).problems) problem(what);
  await runtime.close();
}

await (values.readonly ? openReadOnly() : fill());
say('END');
