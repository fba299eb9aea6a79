import { copyFileSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { rounds } from '../support/sample-sizes.ts';
import { fillLog } from './sample-turns.ts';
import { createRandom } from './seeded-random.ts';
import { temporaryFile } from './temporary-directory.ts';

const MUTATIONS = rounds(500, 20_000, 100);
const TURNS = 86;
const EVENTS = TURNS * 3;

type Random = ReturnType<typeof createRandom>;

/** The positions that `verify` may name, and the change that was made. */
interface Mutation {
  readonly what: string;
  readonly first: number;
  readonly last: number;
}

const EVENT_COLUMNS = [
  'turn',
  'run',
  'actor',
  'version',
  'kind',
  'type',
  'type_version',
  'data',
  'sender',
  'cause',
  'machine',
  'machine_version',
  'state',
  'digest',
];
const TURN_COLUMNS = ['id', 'first', 'last', 'at_ms', 'origin', 'by', 'cause', 'chain'];

/** Another value of the same type: numbers are moved, texts get another letter, nulls become something. */
function otherThan(value: unknown, random: Random): string | number {
  if (typeof value === 'number') return value + (random.below(2) === 0 ? 1 : -1) * (1 + random.below(3));
  if (typeof value !== 'string' || value === '') return 1;
  const at = random.below(value.length);
  return `${value.slice(0, at)}${value.charAt(at) === 'q' ? 'r' : 'q'}${value.slice(at + 1)}`;
}

function alterEvent(db: Database.Database, random: Random): Mutation {
  const column = EVENT_COLUMNS[random.below(EVENT_COLUMNS.length)] ?? '';
  const position = 1 + random.below(EVENTS);
  const old = db.prepare(`select ${column} from events where position = ?`).pluck().get(position);
  const value = old === null && column === 'sender' ? 1 : otherThan(old, random);
  db.prepare(`update events set ${column} = ? where position = ?`).run(value, position);
  return { what: `events.${column} of ${position}`, first: position, last: position };
}

/** A turn is named by its first row; where its rows are is seen to be wrong in it or right behind it. */
function alterTurn(db: Database.Database, random: Random): Mutation {
  const column = TURN_COLUMNS[random.below(TURN_COLUMNS.length)] ?? '';
  const turn = 1 + random.below(TURNS);
  const old = db.prepare(`select ${column} from turns where turn = ?`).pluck().get(turn);
  const value = old === null && column === 'by' ? 'eve' : otherThan(old, random);
  db.prepare(`update turns set ${column} = ? where turn = ?`).run(value, turn);
  const first = turn * 3 - 2;
  return { what: `turns.${column} of ${turn}`, first, last: column === 'last' ? first + 3 : first };
}

function alterName(db: Database.Database, random: Random): Mutation {
  const [table, column, used] =
    random.below(2) === 0 ? ['actors', 'address', 'actor'] : ['runs', 'name', 'run'];
  const id = 1 + random.below(7);
  db.prepare(`update ${table} set ${column} = ${column} || 'x' where id = ?`).run(id);
  const uses = used === 'actor' ? '@id in (actor, sender)' : 'run = @id';
  const first = Number(db.prepare(`select min(position) from events where ${uses}`).pluck().get({ id }));
  return { what: `${table}.${column} of ${id}`, first, last: first };
}

function swapNames(db: Database.Database, random: Random): Mutation {
  const one = 1 + random.below(6);
  const names = db
    .prepare<[number, number], string>('select address from actors where id in (?, ?) order by id')
    .pluck()
    .all(one, one + 1);
  const rename = db.prepare('update actors set address = ? where id = ?');
  rename.run('somebody', one);
  rename.run(names[0], one + 1);
  rename.run(names[1], one);
  const uses = 'actor in (@one, @other) or sender in (@one, @other)';
  const select = db.prepare(`select min(position) from events where ${uses}`).pluck();
  const first = Number(select.get({ one, other: one + 1 }));
  return { what: `the names of ${one} and ${one + 1}`, first, last: first };
}

function swapRows(db: Database.Database, random: Random): Mutation {
  const one = 1 + random.below(EVENTS - 1);
  const other = one + 1 + random.below(EVENTS - one);
  const move = db.prepare('update events set position = ? where position = ?');
  move.run(-1, one);
  move.run(one, other);
  move.run(other, -1);
  return { what: `rows ${one} and ${other} swapped`, first: one, last: one };
}

function deleteRow(db: Database.Database, random: Random): Mutation {
  const position = 1 + random.below(EVENTS);
  db.prepare('delete from events where position = ?').run(position);
  return { what: `row ${position} deleted`, first: position, last: position };
}

/** All later rows move down: no gap is left, and yet every row of them is another one than it was. */
function deleteAndClose(db: Database.Database, random: Random): Mutation {
  const position = 1 + random.below(EVENTS);
  db.prepare('delete from events where position = ?').run(position);
  db.prepare('update events set position = -position where position > ?').run(position);
  db.prepare('update events set position = -position - 1 where position < 0').run();
  return { what: `row ${position} cut out`, first: position, last: position };
}

function deleteTurn(db: Database.Database, random: Random): Mutation {
  const turn = 1 + random.below(TURNS);
  db.prepare('delete from turns where turn = ?').run(turn);
  return { what: `turn ${turn} deleted`, first: turn * 3 - 2, last: turn * 3 - 2 };
}

function insertRow(db: Database.Database, random: Random): Mutation {
  const copied = 1 + random.below(EVENTS);
  const columns = EVENT_COLUMNS.join(', ');
  db.prepare(
    `insert into events (position, ${columns}) select ?, ${columns} from events where position = ?`,
  ).run(EVENTS + 1, copied);
  return { what: 'a row behind the last', first: EVENTS + 1, last: EVENTS + 1 };
}

/** A row is moved to make room for a copy of another one, and so are all behind it. */
function insertBetween(db: Database.Database, random: Random): Mutation {
  const position = 1 + random.below(EVENTS);
  const columns = EVENT_COLUMNS.join(', ');
  db.prepare('update events set position = -position where position >= ?').run(position);
  db.prepare('update events set position = 1 - position where position < 0').run();
  db.prepare(
    `insert into events (position, ${columns}) select ?, ${columns} from events where position = ?`,
  ).run(position, position === 1 ? 2 : position - 1);
  return { what: `a row put in at ${position}`, first: position, last: position };
}

/** Whoever knows how rows are hashed can give a changed row a digest that fits: then the chain of its turn does not. */
function alterDigestToo(db: Database.Database, random: Random): Mutation {
  const position = 1 + random.below(EVENTS - 3);
  db.prepare(
    'update events set data = other.data, digest = other.digest from events other where events.position = ? and other.position = events.position + 3',
  ).run(position);
  const first = position - ((position - 1) % 3);
  return { what: `data and digest of ${position}`, first, last: position };
}

const MUTATIONS_BY_KIND = [
  alterEvent,
  alterEvent,
  alterEvent,
  alterTurn,
  alterTurn,
  alterName,
  swapNames,
  swapRows,
  deleteRow,
  deleteAndClose,
  deleteTurn,
  insertRow,
  insertBetween,
  alterDigestToo,
] as const;

/** The position of the first problem, as `verify` says it. */
async function verify(file: string): Promise<number | undefined> {
  const log = await openSqliteLog({ file, mode: 'read' });
  const report = await log.verify();
  await log.close();
  return report.problem?.position;
}

/** The position that a writer is refused with; undefined if the damage is so far back that it is let in. */
async function refusedAt(file: string): Promise<number | undefined> {
  try {
    await (await openSqliteLog({ file })).close();
    return undefined;
  } catch (error) {
    if (!isRuntimeError(error, 'LOG_CORRUPT')) throw error;
    return error.fields.position;
  }
}

describe('G8: what was altered, removed, moved or put in is found', () => {
  // Method: change the file of a log with plain SQL, each time in one way, and let `verify` name the first row that is not as
  // it was. SQLite's own check is the control: it has nothing against any of these changes.
  test(`${MUTATIONS} mutations: verify names the first row that is not as it was written`, async () => {
    const original = temporaryFile();
    const log = await openSqliteLog({ file: original });
    await fillLog(log, { turns: TURNS });
    await log.close();
    const file = temporaryFile();
    const random = createRandom(8);
    let invisibleToSqlite = 0;
    let refusals = 0;
    for (let round = 0; round < MUTATIONS; round += 1) {
      for (const beside of ['', '-wal', '-shm']) rmSync(`${file}${beside}`, { force: true });
      copyFileSync(original, file);
      const db = new Database(file);
      const mutate = MUTATIONS_BY_KIND[round % MUTATIONS_BY_KIND.length] ?? alterEvent;
      const { what, first, last } = db.transaction(() => mutate(db, random))();
      if (db.pragma('integrity_check', { simple: true }) === 'ok') invisibleToSqlite += 1;
      db.close();
      const problem = await verify(file);
      expect(problem, what).toBeDefined();
      expect(problem, what).toBeGreaterThanOrEqual(first);
      expect(problem, what).toBeLessThanOrEqual(last);
      if (round % 5 > 0) continue;
      const refused = await refusedAt(file);
      if (refused !== undefined) refusals += 1;
      expect([undefined, problem], what).toContain(refused);
    }
    expect(invisibleToSqlite).toBe(MUTATIONS);
    expect(refusals).toBeGreaterThan(MUTATIONS / 20);
  });

  test.each([
    ['a call', "update calls set input = '{}'"],
    [
      'a call moved to another actor',
      'update calls set actor = actor + 1 where actor = (select max(actor) from calls)',
    ],
    ['a timer', 'update timers set due_ms = due_ms + 1'],
    ['a run', "update runs set workflow = 'other' where id = 1"],
    ['a verdict', "update runs set verdict = 'verified' where id = 1"],
    ['a snapshot', "update snapshots set state = '{}'"],
    ['a view', "update views set state = '{}'"],
    ['a large value', "update blobs set text = 'small'"],
    ['a turn that a run lists', 'delete from run_turns where turn = 9'],
    ['a turn that a run should not list', 'insert into run_turns (run, turn) values (1, 9)'],
  ])('what is derived is checked too: %s', async (_what, sql) => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: TURNS });
    await log.close();
    const db = new Database(file);
    expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
    db.close();
    const reader = await openSqliteLog({ file, mode: 'read' });
    const report = await reader.verify();
    await reader.close();
    expect(report.ok).toBe(false);
    expect(report.problem?.what).toMatch(/./);
  });
});
