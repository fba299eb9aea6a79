import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { createRandom } from '../store/seeded-random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { LEDGER_RUN, openLedger } from '../support/open-ledger.ts';
import { headOf, readFile, rounds } from '../support/runtimes.ts';
import { everything, sizes } from '../support/views.ts';
import { startWorker } from '../support/worker-process.ts';

const KILLS = rounds(8, 200, 3);

const openWithViews = (file: string) => openLedger(file, { projections: [sizes, everything], idle: true });

/** How many views are stored, and up to where the last of them is folded. */
const storedViews = (file: string) =>
  readFile(
    file,
    (db) =>
      db
        .prepare<[], { count: number; last: number }>(
          'select count(*) as count, coalesce(max(position), 0) as last from views',
        )
        .get() ?? { count: 0, last: 0 },
  );

// Method: a process that appends and reads views is killed at any moment, the next one goes on with the same log. What is stored of
// the views then, read on, must be what all of the log makes of them.
test(`G21: views of a process that is killed equal a rebuild from the log (${KILLS} kills)`, async () => {
  const file = temporaryFile();
  const random = createRandom(21);
  let begunFrom = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const worker = startWorker('view-worker', { arguments: [file] });
    await worker.line('READ');
    await sleep(random.below(300));
    worker.kill();
    await worker.ended;

    const { last } = storedViews(file);
    const runtime = await openWithViews(file);
    if (last > 0) begunFrom += 1;
    const read = async () => [await runtime.read(sizes, LEDGER_RUN), await runtime.read(everything)];
    const found = await read();
    await runtime.rebuildViews();
    expect(await read()).toEqual(found);
    const position = await headOf(runtime);
    expect(found[1]).toEqual({ events: position, sum: (position * (position + 1)) / 2 });
    await runtime.close();
  }
  // Views of which nothing was ever stored would be a rebuild themselves.
  expect(begunFrom).toBeGreaterThan(KILLS / 2);
  expect(storedViews(file).count).toBeGreaterThanOrEqual(2);
});

test('G21: a stored view that is not what the log makes of it would be found', async () => {
  const file = temporaryFile();
  const worker = startWorker('view-worker', { arguments: [file] });
  await worker.line('READ');
  worker.kill();
  await worker.ended;
  const runtime = await openWithViews(file);
  const position = await headOf(runtime);
  await runtime.rebuildViews();
  await runtime.close();
  const wrong = { projection: 'everything', version: 1, partition: 'log' };

  const log = await openSqliteLog({ file });
  const stored = await log.loadView(wrong);
  expect(stored?.position).toBe(position);
  await log.saveViews([{ ...wrong, position, state: '{"events":0,"sum":0}' }]);
  await log.close();
  const second = await openWithViews(file);
  const found = await second.read(everything);
  await second.rebuildViews();
  expect(await second.read(everything)).not.toEqual(found);
  await second.close();
});
