/**
 * Appends entries to the ledger of a log through the public API until it has made all of them, or is killed. On standard output:
 * `START` once the log is open, `ACK <number> <position>` for each entry after its promise has resolved, `END` at the end.
 */
import { writeSync } from 'node:fs';
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
    /** The control of the tests: acknowledges before the commit, as a careless program would. */
    early: { type: 'boolean', default: false },
  },
});

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
say('START');

const add = async (n: number): Promise<void> => {
  if (values.early) say(`ACK ${n} ${positionOf(n)}`);
  const { position } = await run.send(entry(n));
  if (!values.early) say(`ACK ${n} ${position}`);
};

const last = context.entries + Number(values.entries);
for (let next = context.entries + 1; next <= last; ) {
  // From one entry in a commit to seven.
  const size = Math.min(1 + (next % 7), last - next + 1);
  await Promise.all(Array.from({ length: size }, (_, index) => add(next + index)));
  next += size;
}
await runtime.close();
say('END');
