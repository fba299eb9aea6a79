import { join } from 'node:path';
import { CommandHandler } from '@event-driven-io/emmett';
import { getSQLiteEventStore } from '@event-driven-io/emmett-sqlite';
import Database from 'better-sqlite3';

const NOTE = 'x'.repeat(300);
const STEPS = 6;

const handle = CommandHandler({
  initialState: () => ({ steps: 0, note: '' }),
  evolve: (state, { data }) => ({ steps: state.steps + 1, note: data.note }),
});

/**
 * Emmett with its SQLite store: a stream for each loop, and a command for each step, which reads the stream, decides on its state
 * and appends one event.
 *
 * @param {string} folder
 * @returns {Promise<import('../peers-task.ts').Contestant>}
 */
export const open = async (folder) => {
  const store = getSQLiteEventStore({ fileName: join(folder, 'emmett.db') });
  return {
    loop: async (id, next) => {
      for (let step = 0; step < STEPS; step += 1) {
        await next();
        await handle(store, id, ({ steps }) => ({
          type: steps === STEPS - 1 ? 'Ended' : 'Stepped',
          data: { note: NOTE },
        }));
      }
    },
    close: async () => undefined,
  };
};

/** @param {string} folder */
export const readBack = async (folder) => {
  const db = new Database(join(folder, 'emmett.db'), { readonly: true });
  const found = db
    .prepare(`select count(*) as steps, sum(message_type = 'Ended') as loops from emt_messages`)
    .get();
  db.close();
  return found;
};
