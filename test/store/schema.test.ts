import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { requireSqlite } from '../../src/store/sqlite/open-database.ts';
import {
  APPLICATION_ID,
  MIGRATIONS,
  type Migration,
  migrate,
  readSchemaVersion,
} from '../../src/store/sqlite/schema.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { goldenAnswers } from './read-everything.ts';
import { fillLog } from './sample-turns.ts';
import { temporaryFile } from './temporary-directory.ts';

const GOLDEN = join(import.meta.dirname, '../golden');
/** The schemas of all releases. Their logs are in test/golden, and are never made again. */
const RELEASED = [1];

describe('G22: logs of older versions', () => {
  test.each(RELEASED)('a log of schema %i opens, reads as it did, and goes on', async (schema) => {
    const file = temporaryFile();
    copyFileSync(join(GOLDEN, `log-schema-${schema}.sqlite`), file);
    const expected: unknown = JSON.parse(readFileSync(join(GOLDEN, `log-schema-${schema}.json`), 'utf8'));
    const log = await openSqliteLog({ file });
    expect(JSON.parse(JSON.stringify(await goldenAnswers(log)))).toEqual(expected);
    await fillLog(log, { turns: 20, from: 16 });
    expect(await log.verify()).toMatchObject({ ok: true, events: 108 });
    await log.close();
  });

  test('there is a golden log of the schema in use', () => {
    expect(RELEASED.at(-1)).toBe(MIGRATIONS.at(-1)?.to);
  });

  // Method: make up later schemas, so that the way from one to the next can be tested before there is a second one.
  const later: readonly Migration[] = [
    ...MIGRATIONS,
    { to: 2, apply: (db) => db.exec("alter table turns add column note text not null default 'none'") },
    { to: 3, apply: (db) => db.exec('create table notes (turn integer primary key, note text) strict') },
  ];

  test('a migration brings an older file to the newest schema, with all that it holds', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: 10 });
    await log.close();
    const db = new Database(file);
    migrate(db, file, later);
    expect(readSchemaVersion(db, file, later)).toBe(3);
    expect(db.prepare('select count(*) from turns where note = ?').pluck().get('none')).toBe(10);
    db.close();
    // And the version of today refuses what it made.
    await expect(openSqliteLog({ file })).rejects.toMatchObject({
      code: 'NEWER_SCHEMA',
      fields: { found: 3, supported: 1 },
    });
    await expect(openSqliteLog({ file, mode: 'read' })).rejects.toMatchObject({ code: 'NEWER_SCHEMA' });
  });

  test('a migration that fails leaves the file as it was', async () => {
    const file = temporaryFile();
    await (await openSqliteLog({ file })).close();
    const db = new Database(file);
    const failing: readonly Migration[] = [
      ...later,
      { to: 4, apply: (broken) => broken.exec('create table turns (x)') },
    ];
    expect(() => migrate(db, file, failing)).toThrow('already exists');
    expect(readSchemaVersion(db, file)).toBe(1);
    db.close();
    await (await openSqliteLog({ file })).close();
  });

  test('a file of a newer schema is refused, and not a byte of it is touched', async () => {
    const file = temporaryFile();
    await (await openSqliteLog({ file })).close();
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    const before = readFileSync(file);
    await expect(openSqliteLog({ file })).rejects.toMatchObject({
      code: 'NEWER_SCHEMA',
      fields: { found: 99 },
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

describe('files that are no logs', () => {
  test.each([
    ['a database of another program', "create table songs (title text); insert into songs values ('x')"],
    [
      'a database of another program that has a number',
      'create table songs (title text); pragma application_id = 7',
    ],
  ])('%s is refused and stays as it is', async (_what, sql) => {
    const file = temporaryFile('songs.db');
    const db = new Database(file);
    db.exec(sql);
    db.close();
    const before = readFileSync(file);
    await expect(openSqliteLog({ file })).rejects.toMatchObject({ code: 'NOT_A_LOG' });
    await expect(openSqliteLog({ file, mode: 'read' })).rejects.toMatchObject({ code: 'NOT_A_LOG' });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('a log whose tables were changed is refused', async () => {
    const file = temporaryFile();
    await (await openSqliteLog({ file })).close();
    const db = new Database(file);
    expect(db.pragma('application_id', { simple: true })).toBe(APPLICATION_ID);
    db.exec('alter table calls add column extra text');
    db.close();
    await expect(openSqliteLog({ file })).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });

  test('statistics that someone made with ANALYZE are no change', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: 10 });
    await log.close();
    const db = new Database(file);
    db.exec('analyze');
    db.close();
    await (await openSqliteLog({ file })).close();
  });

  test('an empty path, and a log that is not there', async () => {
    await expect(openSqliteLog({ file: '' })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    await expect(openSqliteLog({ file: temporaryFile(), mode: 'read' })).rejects.toMatchObject({
      code: 'LOG_NOT_FOUND',
    });
  });

  test('a SQLite that can corrupt a log is refused', () => {
    expect(() => requireSqlite('3.51.2')).toThrow('3.51.3');
    expect(() => requireSqlite('3.9.0')).toThrow('3.51.3');
    expect(() => requireSqlite('3.51.3')).not.toThrow();
    expect(() => requireSqlite()).not.toThrow();
  });
});
