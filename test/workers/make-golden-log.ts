import { writeFileSync } from 'node:fs';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { goldenAnswers } from '../store/read-everything.ts';
import { fillLog } from '../store/sample-turns.ts';

// Makes the stored log of a schema, once, when that schema is new: `node <this> test/golden/log-schema-1`. Files that were made
// for a release are never made again: they stand for the logs that users have.
const name = process.argv[2] ?? '';
const log = await openSqliteLog({ file: `${name}.sqlite` });
await fillLog(log, { turns: 16 });
writeFileSync(`${name}.json`, `${JSON.stringify(await goldenAnswers(log), null, 1)}\n`);
await log.close();
