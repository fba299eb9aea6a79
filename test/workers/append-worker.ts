/**
 * Appends entries to the ledger of a log through the public API until it has made all of them, or is killed. On standard output:
 * `START` once the log is open (before it `READY`, with --wait), `ACK <number> <position>` for each entry after its promise has resolved, `END` at the end.
 */
import { readSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { entry, positionOf } from '../support/ledger.ts';
import { ledgerRun, openLedger } from '../support/open-ledger.ts';

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: '' },
    entries: { type: 'string', default: '1000000' },
    durability: { type: 'string', default: 'full' },
    exclusive: { type: 'boolean', default: false },
    /** How much of the disk to leave alone, in bytes. */
    reserve: { type: 'string' },
    /** Adds a few entries, then does not go on before it is told to, by a byte on standard input. */
    wait: { type: 'boolean', default: false },
    /** The control of the tests: acknowledges before the commit, as a careless program would. */
    early: { type: 'boolean', default: false },
  },
});

const WARM_UP_ENTRIES = 10;

/** Written before the next line of this program runs: what the reader has not got was not said. */
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

const runtime = await openLedger(values.file, {
  durability: values.durability === 'normal' ? 'normal' : 'full',
  exclusive: values.exclusive,
  ...(values.reserve !== undefined && { reserveBytes: Number(values.reserve) }),
});
const run = await ledgerRun(runtime);
const { context } = await run.state();

const add = async (n: number): Promise<void> => {
  if (values.early) say(`ACK ${n} ${positionOf(n)}`);
  const { position } = await run.send(entry(n));
  if (!values.early) say(`ACK ${n} ${position}`);
};

/** Adds the entries from one number to another, in commits of one entry to seven. */
const addAll = async (first: number, last: number): Promise<void> => {
  for (let next = first; next <= last; ) {
    const size = Math.min(1 + (next % 7), last - next + 1);
    await Promise.all(Array.from({ length: size }, (_, index) => add(next + index)));
    next += size;
  }
};

let first = context.entries + 1;
if (values.wait) {
  // The first entries take longer than all the others: whoever waits for the work wants to see it at its usual pace.
  await addAll(first, first + WARM_UP_ENTRIES - 1);
  first += WARM_UP_ENTRIES;
  say('READY');
  readSync(0, new Uint8Array(1));
}
say('START');
await addAll(first, first + Number(values.entries) - 1);
await runtime.close();
say('END');
