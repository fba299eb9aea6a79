import { isRuntimeError } from '../../src/errors.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';

// Opens the log given as its argument, says in one line of JSON what came of it, and holds it until its input ends.
const startedAtMs = performance.now();
try {
  const log = await openSqliteLog({ file: process.argv[2] ?? '' });
  console.log(JSON.stringify({ outcome: 'won', pid: process.pid, position: (await log.head()).position }));
  process.stdin.resume();
  process.stdin.once('end', () => void log.close());
} catch (error) {
  const tookMs = performance.now() - startedAtMs;
  const code = isRuntimeError(error) ? error.code : 'other';
  console.log(JSON.stringify({ outcome: 'refused', code, message: String(error), tookMs }));
}
