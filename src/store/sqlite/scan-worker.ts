import { parentPort, workerData } from 'node:worker_threads';
import { openForReading } from './open-database.ts';
import { type Part, ScanReader } from './scan-reader.ts';

/** A thread that reads parts of a log for another one, which folds them meanwhile: see `ReadAhead`. */
const path = String(workerData);
const db = openForReading(path, path);
const reader = new ScanReader(db);

parentPort?.on('message', (part: Part) => {
  const rows = reader.read(part);
  parentPort?.postMessage(rows, [rows.numbers.buffer as ArrayBuffer, rows.turns.buffer as ArrayBuffer]); // Plain ones: just made.
});
parentPort?.on('close', () => db.close());
