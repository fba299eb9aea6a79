import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createRuntime, type RecordedEvent } from 'loopwright';
import { GOAL, loop, loopAgents } from './chart.ts';
import { median, tempFile } from './measure.ts';

export interface Latency {
  readonly turn_p50_us: number;
  readonly raw_commit_p50_us: number;
  readonly ratio: number;
  /** Rows that such a turn writes, and bytes in each. */
  readonly rows: number;
  readonly row_bytes: number;
}

/** What a row has besides its payload: names, numbers, digest. */
const ROW_BYTES = 250;
const COMMITS = 9;
/** Until the code of a turn is compiled: that of the throughput is, too, by the time that it is measured. */
const WARM_LOOPS = 300;

/**
 * One loop alone: the time from an agent's answer to its event on the bus, against one bare SQLite commit of as many rows of that
 * size with the same durability. They take turns: a loop, then some commits.
 */
export const measureLatency = async ({ loops }: { readonly loops: number }): Promise<Latency> => {
  const file = tempFile('latency');
  let answeredMs = 0;
  const turns: number[] = [];
  const rows = new Map<number, number[]>();
  const runtime = await createRuntime({
    file,
    workflows: [loop],
    agents: loopAgents(() => {
      answeredMs = performance.now();
      return undefined;
    }, 1),
    runsFolder: null,
  });
  runtime.events$.subscribe((event: RecordedEvent) => {
    if (event.type === 'lw.call.done') {
      turns.push(performance.now() - answeredMs);
      rows.set(event.turn, []);
    }
    rows.get(event.turn)?.push(JSON.stringify(event.data).length + ROW_BYTES);
  });
  const play = async (): Promise<void> => void (await (await runtime.start('tight-loop', GOAL)).result());
  // The first loops warm it up, and tell what a turn writes.
  for (let warm = 0; warm < WARM_LOOPS; warm += 1) await play();
  turns.length = 0;
  const sizes = [...rows.values()];
  const rowCount = Math.round(median(sizes.map((each) => each.length)));
  const rowBytes = Math.round(median(sizes.flat()));
  const bare = createBareCommit({ rowCount, rowBytes });
  for (let warm = 0; warm < 100; warm += 1) bare.commit();
  const commits: number[] = [];
  for (let played = 0; played < loops; played += 1) {
    await play();
    for (let index = 0; index < COMMITS; index += 1) commits.push(bare.commit());
  }
  await runtime.close();
  bare.close();
  rmSync(file, { force: true });
  const [turnMs, commitMs] = [median(turns), median(commits)];
  return {
    turn_p50_us: turnMs * 1_000,
    raw_commit_p50_us: commitMs * 1_000,
    ratio: turnMs / commitMs,
    rows: rowCount,
    row_bytes: rowBytes,
  };
};

const createBareCommit = ({
  rowCount,
  rowBytes,
}: {
  readonly rowCount: number;
  readonly rowBytes: number;
}) => {
  const file = tempFile('bare');
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('create table rows (id integer primary key, data text not null)');
  const insert = db.prepare('insert into rows (data) values (?)');
  const row = 'y'.repeat(rowBytes);
  const all = db.transaction(() => {
    for (let index = 0; index < rowCount; index += 1) insert.run(row);
  });
  return {
    commit: () => {
      const startMs = performance.now();
      all();
      return performance.now() - startMs;
    },
    close: () => {
      db.close();
      rmSync(file, { force: true });
    },
  };
};
