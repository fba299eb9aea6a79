import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createRuntime, workflow } from 'loopwright';
import { setup } from 'xstate';
import { median, tempFile } from './measure.ts';

export interface Latency {
  readonly turn_p50_us: number;
  readonly raw_commit_p50_us: number;
  readonly ratio: number;
}

const CHUNK = 50;
const NOTE = 'x'.repeat(250);

const pinger = setup({ types: { events: {} as { type: 'PING'; note: string } } }).createMachine({
  initial: 'here',
  states: { here: { on: { PING: 'there' } }, there: { on: { PING: 'here' } } },
});

/**
 * One loop alone: the time from a stimulus to its event on the bus, against one bare SQLite commit of a row of that size with
 * the same durability. In chunks that take turns.
 */
export const measureLatency = async ({ chunks }: { chunks: number }): Promise<Latency> => {
  const file = tempFile('latency');
  const runtime = await createRuntime({
    file,
    workflows: [workflow('pinger', pinger)],
    agents: {},
    limits: { turnsPerRun: 1_000_000 },
  });
  const run = await runtime.start('pinger');
  let publishedMs = 0;
  run.events$.subscribe(() => {
    publishedMs = performance.now();
  });
  const turn = async () => {
    const startMs = performance.now();
    await run.send({ type: 'PING', note: NOTE });
    return publishedMs - startMs;
  };
  const bare = createBareCommit(tempFile('bare'));
  const turns: number[] = [];
  const commits: number[] = [];
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    for (let index = 0; index < CHUNK; index += 1) turns.push(await turn());
    for (let index = 0; index < CHUNK; index += 1) commits.push(bare.commit());
  }
  await runtime.close();
  bare.close();
  rmSync(file, { force: true });
  // The first chunks warm both up.
  const [turnMs, commitMs] = [median(turns.slice(2 * CHUNK)), median(commits.slice(2 * CHUNK))];
  return { turn_p50_us: turnMs * 1_000, raw_commit_p50_us: commitMs * 1_000, ratio: turnMs / commitMs };
};

const createBareCommit = (file: string) => {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('create table rows (id integer primary key, data text not null)');
  const insert = db.prepare('insert into rows (data) values (?)');
  const row = NOTE.padEnd(500, 'y');
  return {
    commit: () => {
      const startMs = performance.now();
      insert.run(row);
      return performance.now() - startMs;
    },
    close: () => db.close(),
  };
};
