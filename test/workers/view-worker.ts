/**
 * Appends entries to a ledger and reads views of it all the while, until it is killed. On standard output `START` once the log is
 * open, then `READ <position>` after each reading.
 */
import { writeSync } from 'node:fs';
import { entry } from '../support/ledger.ts';
import { LEDGER_RUN, ledgerRun, openLedger } from '../support/open-ledger.ts';
import { everything, sizes } from '../support/views.ts';

const runtime = await openLedger(process.argv[2] ?? '', { projections: [sizes, everything] });
const run = await ledgerRun(runtime);
const { context } = await run.state();
writeSync(1, 'START\n');
for (let n = context.entries + 1; ; n += 1) {
  const { position } = await run.send(entry(n));
  if (n % 3 !== 0) continue;
  await Promise.all([runtime.read(sizes, LEDGER_RUN), runtime.read(everything)]);
  writeSync(1, `READ ${position}\n`);
}
