import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createActor } from 'xstate';
import { sixSteps } from './peers-machine.ts';
import { type Contestant, NOTE, type OnDisk, STEPS } from './peers-task.ts';

const openDatabase = (folder: string) => {
  const db = new Database(join(folder, 'xstate.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('create table if not exists snapshots (id text primary key, snapshot text not null)');
  return db;
};

/** An XState user's way today: a live actor, whose persisted snapshot is stored after each transition. */
export const open = async (folder: string): Promise<Contestant> => {
  const db = openDatabase(folder);
  const store = db.prepare<[string, string]>(
    'insert into snapshots (id, snapshot) values (?, ?) on conflict (id) do update set snapshot = excluded.snapshot',
  );
  return {
    loop: async (id, next) => {
      const actor = createActor(sixSteps, { id });
      actor.subscribe({
        next: () => {
          store.run(id, JSON.stringify(actor.getPersistedSnapshot()));
        },
      });
      actor.start();
      for (let step = 0; step < STEPS; step += 1) {
        await next();
        actor.send({ type: 'NEXT', note: NOTE });
      }
    },
    close: async () => {
      db.close();
    },
  };
};

export const readBack = async (folder: string): Promise<OnDisk> => {
  const db = openDatabase(folder);
  const found = db
    .prepare<[], OnDisk>(
      `select sum(json_extract(snapshot, '$.context.steps')) as steps, sum(json_extract(snapshot, '$.status') = 'done') as loops
       from snapshots`,
    )
    .get();
  db.close();
  return found ?? { steps: 0, loops: 0 };
};
