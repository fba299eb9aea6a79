import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import type { EventLog } from '../../src/store/event-log.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { rounds } from '../support/sample-sizes.ts';
import { type Names, namesIn, questionsTo } from './read-everything.ts';
import { fillLog } from './sample-turns.ts';
import { createRandom } from './seeded-random.ts';
import { temporaryFile } from './temporary-directory.ts';

const FLIPS = rounds(100, 5_000);
const PAGE_SIZE = 4_096;

/** What a log said to each question: the answer as text, or the code of the error that it gave instead. */
type Answers = Readonly<Record<string, { readonly text: string } | { readonly code: string }>>;

async function answersOf(log: EventLog, names: Names): Promise<Answers> {
  const answers: Record<string, { text: string } | { code: string }> = {};
  for (const [name, ask] of Object.entries(questionsTo(log, names))) {
    try {
      answers[name] = { text: JSON.stringify((await ask()) ?? null) };
    } catch (error) {
      if (!isRuntimeError(error)) throw error;
      answers[name] = { code: error.code };
    }
  }
  return answers;
}

interface Findings {
  /** How the log was refused at open, if it was. */
  readonly refused: string | undefined;
  readonly answers: Answers;
  readonly isVerified: boolean;
}

/** Opens these bytes as a log and asks it everything. */
async function examine({ file, names }: Sample, bytes: Uint8Array): Promise<Findings> {
  for (const beside of ['-wal', '-shm', '.head']) rmSync(`${file}${beside}`, { force: true });
  writeFileSync(file, bytes);
  let log: EventLog;
  try {
    log = await openSqliteLog({ file, mode: 'read' });
  } catch (error) {
    if (!isRuntimeError(error)) throw error;
    return { refused: error.code, answers: {}, isVerified: false };
  }
  try {
    return { refused: undefined, answers: await answersOf(log, names), isVerified: (await log.verify()).ok };
  } finally {
    await log.close();
  }
}

/** A writer is let in, or refused for one of these reasons. */
async function mayRefuseWriter(file: string, reasons: readonly string[]): Promise<void> {
  try {
    await (await openSqliteLog({ file })).close();
  } catch (error) {
    expect(reasons).toContain(isRuntimeError(error) ? error.code : error);
  }
}

/** A log with a bit of everything, closed: what it has, and the bytes of its one file. */
interface Sample {
  readonly file: string;
  readonly names: Names;
  readonly bytes: Buffer;
}

async function createSample(): Promise<Sample> {
  const file = temporaryFile();
  const log = await openSqliteLog({ file });
  await fillLog(log, { turns: 100 });
  const names = await namesIn(log);
  await log.close();
  return { file, names, bytes: readFileSync(file) };
}

/** What SQLite itself gives out of the table of events, without a look at the digests; undefined if even SQLite refuses. */
function rawEvents(file: string): string | undefined {
  const db = new Database(file, { readonly: true });
  try {
    return JSON.stringify(
      db.prepare('select position, type, data, state, version, kind from events order by position').all(),
    );
  } catch {
    return undefined;
  } finally {
    db.close();
  }
}

/**
 * Questions whose answer is found through an index: a damaged index can hide a row that is whole. Such an answer may lack
 * something as long as `verify` says so; every other answer is right or refused.
 */
const THROUGH_AN_INDEX = new Set([
  'actors',
  'streams',
  'byRun',
  'byActor',
  'findTurn',
  'runs',
  'blobs',
  'view',
  'openWork',
]);

describe('G7: damage is detected, never served', () => {
  // Method: flip one byte at a time, going through the pages of the file, and ask the log everything. Each answer must be the one
  // that it gave before, or an error that says that the log is damaged.
  test(`${FLIPS} flipped bytes`, async () => {
    const sample = await createSample();
    const { file, bytes } = sample;
    const original = await examine(sample, bytes);
    expect(original).toMatchObject({ refused: undefined, isVerified: true });
    const originalEvents = rawEvents(file);
    const random = createRandom(7);
    const pages = bytes.length / PAGE_SIZE;
    let servedBySqlite = 0;
    let detected = 0;
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const offset = (flip % pages) * PAGE_SIZE + random.below(PAGE_SIZE);
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(offset) ^ (1 + random.below(255)), offset);
      const found = await examine(sample, damaged);
      // Bytes 60 to 63 of the header are the number of the schema: any other number may be that of a newer one.
      const refusals =
        offset >= 60 && offset < 64
          ? ['LOG_CORRUPT', 'NOT_A_LOG', 'NEWER_SCHEMA']
          : ['LOG_CORRUPT', 'NOT_A_LOG'];
      if (found.refused !== undefined) expect(refusals).toContain(found.refused);
      let isDetected = found.refused !== undefined || !found.isVerified;
      for (const [question, answer] of Object.entries(found.answers)) {
        if ('code' in answer) {
          expect([answer.code, question, offset]).toEqual(['LOG_CORRUPT', question, offset]);
          isDetected = true;
        } else if (JSON.stringify(answer) !== JSON.stringify(original.answers[question])) {
          // Said so that a failure shows which byte became what.
          const change = `${question}: byte ${offset} became ${damaged.readUInt8(offset)}`;
          expect(found.isVerified, change).toBe(false);
          expect(THROUGH_AN_INDEX, change).toContain(question);
        }
      }
      if (flip % 4 === 0) await mayRefuseWriter(file, refusals);
      const served = rawEvents(file);
      if (served !== undefined && served !== originalEvents) {
        servedBySqlite += 1;
        expect(isDetected).toBe(true);
      }
      if (isDetected) detected += 1;
    }
    // The control: without our digests many of these rows would have been served as if nothing were wrong with them.
    expect(servedBySqlite).toBeGreaterThan(FLIPS / 10);
    expect(detected).toBeGreaterThanOrEqual(servedBySqlite);
  });

  test.each([
    ['a header of zeros', (bytes: Buffer) => Buffer.concat([Buffer.alloc(100), bytes.subarray(100)])],
    [
      'a first page of zeros',
      (bytes: Buffer) => Buffer.concat([Buffer.alloc(PAGE_SIZE), bytes.subarray(PAGE_SIZE)]),
    ],
    ['a file that is no database', () => Buffer.from('This is not a database. '.repeat(500))],
    ['a file cut to half a header', (bytes: Buffer) => bytes.subarray(0, 50)],
  ])('%s is refused at open', async (_what, damage) => {
    const sample = await createSample();
    expect(['NOT_A_LOG', 'LOG_CORRUPT']).toContain((await examine(sample, damage(sample.bytes))).refused);
    await expect(openSqliteLog({ file: sample.file })).rejects.toMatchObject({
      code: expect.stringMatching(/^(NOT_A_LOG|LOG_CORRUPT)$/),
    });
  });

  test('a file cut short anywhere is refused, or refuses what it has lost', async () => {
    const sample = await createSample();
    const { bytes } = sample;
    const original = await examine(sample, bytes);
    for (let pages = 1; pages < bytes.length / PAGE_SIZE; pages += 1) {
      const found = await examine(sample, bytes.subarray(0, pages * PAGE_SIZE + (pages % 3) * 100));
      expect([pages, found.isVerified]).toEqual([pages, false]);
      for (const [question, answer] of Object.entries(found.answers)) {
        if ('code' in answer) expect(answer.code).toBe('LOG_CORRUPT');
        else expect([pages, question, answer]).toEqual([pages, question, original.answers[question]]);
      }
    }
  });

  // One bit in the header of a record says whether its bytes are a text or a blob: as a blob they print, and hash, the same.
  test('a text that became a blob of the same bytes is refused', async () => {
    const sample = await createSample();
    for (const column of ['data', 'state', 'type', 'machine', 'kind', 'digest']) {
      writeFileSync(sample.file, sample.bytes);
      const db = new Database(sample.file);
      db.unsafeMode().pragma('ignore_check_constraints = ON');
      db.pragma('writable_schema = ON');
      db.exec("update sqlite_schema set sql = replace(sql, ') strict', ')') where name = 'events'");
      db.close();
      const loose = new Database(sample.file);
      loose.exec(`update events set ${column} = cast(${column} as blob) where position = 5`);
      loose.unsafeMode().pragma('writable_schema = ON');
      loose.exec("update sqlite_schema set sql = sql || ' strict' where name = 'events'");
      loose.close();
      const { answers, isVerified } = await examine(sample, readFileSync(sample.file));
      expect([column, isVerified, answers['byPosition'], answers['turns']]).toEqual([
        column,
        false,
        { code: 'LOG_CORRUPT' },
        { code: 'LOG_CORRUPT' },
      ]);
    }
  });

  // A flip in a WAL that was not yet moved into the database makes SQLite drop what comes after it: the log is then an older
  // state of itself. Which one it should be is known only to someone who has noted its head.
  test('a damaged WAL leaves a whole and older state of the log', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: 60 });
    const chains = (await log.turns({ limit: 100 })).map(({ chain }) => chain);
    const wal = readFileSync(`${file}-wal`);
    const copy = temporaryFile();
    await log.close();
    const random = createRandom(8);
    let older = 0;
    for (let flip = 0; flip < 30; flip += 1) {
      const damaged = Buffer.from(wal);
      const offset = 32 + random.below(wal.length - 32);
      damaged.writeUInt8(damaged.readUInt8(offset) ^ 0x20, offset);
      for (const beside of ['-wal', '-shm', '.head']) rmSync(`${copy}${beside}`, { force: true });
      writeFileSync(copy, Buffer.alloc(0));
      writeFileSync(`${copy}-wal`, damaged);
      const opened = await openSqliteLog({ file: copy });
      const head = await opened.head();
      expect((await opened.verify()).ok).toBe(true);
      expect(['0'.repeat(64), ...chains]).toContain(head.chain);
      if (head.turn < chains.length) older += 1;
      await opened.close();
    }
    expect(older).toBeGreaterThan(0);
  });
});
