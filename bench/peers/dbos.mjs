import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';

/** @typedef {import('../peers-task.ts').Next} Next */

const NOTE = 'x'.repeat(300);
const STEPS = 6;
const url = process.env.DBOS_DATABASE_URL ?? '';

/**
 * DBOS on PostgreSQL: a workflow for each loop, and a step of it for each step, whose result is recorded before the next begins.
 *
 * @param {string} folder
 * @returns {Promise<import('../peers-task.ts').Contestant>}
 */
export const open = async (folder) => {
  /** @type {Map<string, Next>} */
  const nexts = new Map();
  const sixSteps = DBOS.registerWorkflow(
    async (/** @type {string} */ id) => {
      let steps = 0;
      for (let step = 0; step < STEPS; step += 1) {
        await nexts.get(id)?.();
        ({ steps } = await DBOS.runStep(async () => ({ steps: steps + 1, note: NOTE }), {
          name: `step-${step}`,
        }));
      }
      return steps;
    },
    { name: 'sixSteps' },
  );
  DBOS.setConfig({ name: 'peers', systemDatabaseUrl: url, logLevel: 'error', applicationVersion: '1' });
  await DBOS.launch();
  const prefix = prefixOf(folder);
  return {
    loop: async (id, next) => {
      nexts.set(id, next);
      const handle = await DBOS.startWorkflow(sixSteps, { workflowID: `${prefix}/${id}` })(id);
      await handle.getResult();
      nexts.delete(id);
    },
    close: () => DBOS.shutdown(),
  };
};

/** The database may have workflows of other folders in it. @param {string} folder */
const prefixOf = (folder) => folder.split('/').at(-1) ?? folder;

/** @param {string} folder */
export const readBack = async (folder) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const like = `${prefixOf(folder)}/%`;
  const { rows } = await client.query(
    `select (select count(*)::int from dbos.operation_outputs where workflow_uuid like $1) as steps,
            (select count(*)::int from dbos.workflow_status where workflow_uuid like $1 and status = 'SUCCESS') as loops`,
    [like],
  );
  await client.end();
  return rows[0];
};
