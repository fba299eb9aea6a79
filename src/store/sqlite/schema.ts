import Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import { explainFault, isNoDatabase } from './faults.ts';

/** Marks a SQLite file as one of our logs ("Loop"). */
export const APPLICATION_ID = 0x4c_6f_6f_70;

/** One step from a schema to the next. It is never edited once it was released: files that it made are out there. */
export interface Migration {
  readonly to: number;
  apply(db: Database.Database): void;
}

/**
 * Integers stand for runs and actors, so that a row is short; digests are over the names. Events have no index besides their
 * position: `run_turns` says which turns touched a run, and a turn says where its events are. (An index with an entry for
 * each event took a third of the time of a commit, since every event of another run dirties another page of it.)
 *
 * `calls` and `timers` hold only what is open; `nth` orders those that one event opened. Every table but the dictionaries and `run_turns` has a digest for each row.
 */
const SCHEMA_1 = `
  create table turns (
    turn integer primary key, id text not null unique, first integer not null, last integer not null,
    at_ms integer not null, origin text not null, by text, cause integer, chain text not null
  ) strict;
  create table events (
    position integer primary key, turn integer not null, run integer not null, actor integer not null,
    version integer not null, kind text not null, type text not null, type_version integer not null, data text not null,
    sender integer, cause integer, machine text not null, machine_version integer not null, state text not null,
    digest text not null
  ) strict;
  create table run_turns (run integer not null, turn integer not null, primary key (run, turn)) strict, without rowid;
  create table actors (id integer primary key, address text not null unique) strict;
  create table runs (
    id integer primary key, name text not null unique, workflow text, workflow_version integer, started_at_ms integer,
    verdict text, ended_at_ms integer, result text, digest text
  ) strict;
  create index open_runs on runs (id) where verdict is null;
  create table calls (
    actor integer not null, call text not null, run integer not null, generation integer not null, agent text not null,
    machine text not null, machine_version integer not null, call_id text not null, attempt integer not null,
    input text not null, announce integer not null, opened_at integer not null, nth integer not null, digest text not null,
    primary key (actor, call)
  ) strict, without rowid;
  create table timers (
    actor integer not null, timer text not null, run integer not null, generation integer not null,
    due_ms integer not null, opened_at integer not null, nth integer not null, digest text not null,
    primary key (actor, timer)
  ) strict, without rowid;
  create table snapshots (
    actor integer primary key, version integer not null, machine_version integer not null, structure text not null,
    state text not null, hash text not null, turn integer not null, digest text not null
  ) strict;
  create table views (
    projection text not null, version integer not null, partition text not null, position integer not null,
    state text not null, digest text not null, primary key (projection, version, partition)
  ) strict;
  create table blobs (hash text primary key, text text not null, digest text not null) strict;
`;

export const MIGRATIONS: readonly Migration[] = [{ to: 1, apply: (db) => db.exec(SCHEMA_1) }];

/** The schema that this version of the code reads and writes. */
export const SCHEMA_VERSION = latest(MIGRATIONS);

/**
 * The schema that a file has; 0 if it is a database without anything in it. Reads only.
 *
 * @throws {RuntimeError} NOT_A_LOG, NEWER_SCHEMA, or LOG_CORRUPT if the tables are not those of its schema
 */
export function readSchemaVersion(db: Database.Database, file: string, migrations = MIGRATIONS): number {
  try {
    const version = Number(db.pragma('user_version', { simple: true }));
    const application = Number(db.pragma('application_id', { simple: true }));
    const found = describeSchema(db);
    if (version === 0 && application === 0 && found === '') return 0;
    if (application !== APPLICATION_ID) {
      throw new RuntimeError('NOT_A_LOG', { file, problem: 'it is a SQLite database of another program' });
    }
    const supported = latest(migrations);
    if (version > supported) throw new RuntimeError('NEWER_SCHEMA', { file, found: version, supported });
    if (version < 1 || found !== expectedSchema(version, migrations)) {
      throw new RuntimeError('LOG_CORRUPT', {
        file,
        position: 0,
        problem: `its tables are not those of schema ${version}`,
      });
    }
    return version;
  } catch (error) {
    if (isNoDatabase(error)) {
      throw new RuntimeError('NOT_A_LOG', { file, problem: 'it is not a SQLite database' }, { cause: error });
    }
    // A plain error is what SQLite gives for a header that asks for more than it knows: our statement is right.
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR') {
      throw new RuntimeError('LOG_CORRUPT', { file, position: 0, problem: error.message }, { cause: error });
    }
    throw explainFault(error, { file, doing: 'reading' });
  }
}

/** Brings a file to the newest schema, in one transaction: it has the old one or the new one, never anything between. */
export function migrate(db: Database.Database, file: string, migrations = MIGRATIONS): void {
  try {
    const version = readSchemaVersion(db, file, migrations);
    if (version === latest(migrations)) return;
    db.transaction(() => {
      for (const migration of migrations) if (migration.to > version) migration.apply(db);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${latest(migrations)}`);
    }).immediate();
  } catch (error) {
    throw explainFault(error, { file, doing: 'writing' });
  }
}

function latest(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.to ?? 0;
}

/** What the tables would be in a new file. Made by the migrations themselves, so that there is no second list to keep. */
function expectedSchema(version: number, migrations: readonly Migration[]): string {
  const known = KNOWN_SCHEMAS.get(migrations)?.get(version);
  if (known !== undefined) return known;
  const schema = buildSchema(version, migrations);
  KNOWN_SCHEMAS.set(migrations, new Map(KNOWN_SCHEMAS.get(migrations)).set(version, schema));
  return schema;
}

const KNOWN_SCHEMAS = new WeakMap<readonly Migration[], ReadonlyMap<number, string>>();

function buildSchema(version: number, migrations: readonly Migration[]): string {
  const db = new Database(':memory:');
  try {
    for (const migration of migrations) if (migration.to <= version) migration.apply(db);
    return describeSchema(db);
  } finally {
    db.close();
  }
}

/** Tables of SQLite's own (statistics that someone's ANALYZE left) do not count. */
function describeSchema(db: Database.Database): string {
  return db
    .prepare<[], string>(
      "select coalesce(sql, '') from sqlite_schema where name not like 'sqlite~_%' escape '~' order by type, name",
    )
    .pluck()
    .all()
    .join('\n');
}
