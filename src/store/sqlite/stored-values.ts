import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { Address } from '../../events/event.ts';
import { derivedDigest } from '../chain.ts';
import type { StoredSnapshot, StoredView, ViewKey } from '../event-log.ts';
import type { Value } from './row-inserter.ts';

/** A snapshot, and a turn at or before which the stream had its version: the tail begins there. */
export interface PlacedSnapshot {
  readonly snapshot: StoredSnapshot;
  readonly turn: number;
}

interface SnapshotRow {
  readonly version: number;
  readonly machine_version: number;
  readonly structure: string;
  readonly state: string;
  readonly hash: string;
  readonly turn: number;
  readonly digest: string;
}

/** Reads snapshots, views and large values: things that others made, and that the log only keeps. Each has its digest. */
export function createValueReader(db: Database.Database, file: string) {
  const selectSnapshot = db.prepare<[number], SnapshotRow>(
    'select version, machine_version, structure, state, hash, turn, digest from snapshots where actor = ?',
  );
  const selectView = db.prepare<[string, number, string], StoredView & { readonly digest: string }>(
    'select position, state, digest from views where projection = ? and version = ? and partition = ?',
  );
  const selectBlob = db.prepare<[string], { readonly text: string; readonly digest: string }>(
    'select text, digest from blobs where hash = ?',
  );
  const selectHashes = db
    .prepare<[string, number], string>('select hash from blobs where hash > ? order by hash limit ?')
    .pluck();
  const damaged = (what: string) =>
    new RuntimeError('LOG_CORRUPT', { file, position: 0, problem: `${what} does not match its digest` });

  return {
    snapshot(actor: Address, id: number): PlacedSnapshot | undefined {
      const row = selectSnapshot.get(id);
      if (!row) return undefined;
      const { version, machine_version: machineVersion, structure, state, hash, turn } = row;
      const snapshot = { actor, version, machineVersion, structure, state, hash };
      if (snapshotDigest({ snapshot, turn }) !== row.digest) throw damaged(`the snapshot of "${actor}"`);
      return { snapshot, turn };
    },
    view(key: ViewKey): StoredView | undefined {
      const row = selectView.get(key.projection, key.version, key.partition);
      if (!row) return undefined;
      const view = { position: row.position, state: row.state };
      if (viewDigest({ ...key, ...view }) !== row.digest) throw damaged(`the view "${key.projection}"`);
      return view;
    },
    blob(hash: string): string | undefined {
      const row = selectBlob.get(hash);
      if (row && blobDigest(hash, row.text) !== row.digest) throw damaged(`the value ${hash}`);
      return row?.text;
    },
    blobHashes: (after: string, limit: number): readonly string[] =>
      selectHashes.all(after, limit === Number.POSITIVE_INFINITY ? -1 : limit),
  };
}

/** Writes them. Call it inside a transaction. */
export function createValueWriter(db: Database.Database) {
  const putSnapshot = db.prepare<[readonly Value[]]>(
    `insert or replace into snapshots (actor, version, machine_version, structure, state, hash, turn, digest)
       values (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const putView = db.prepare<[readonly Value[]]>(
    'insert or replace into views (projection, version, partition, position, state, digest) values (?, ?, ?, ?, ?, ?)',
  );
  const deleteView = db.prepare<[string, number, string]>(
    'delete from views where projection = ? and version = ? and partition = ?',
  );
  const putBlob = db.prepare<[readonly Value[]]>(
    'insert or ignore into blobs (hash, text, digest) values (?, ?, ?)',
  );
  return {
    snapshot(id: number, placed: PlacedSnapshot): void {
      const { version, machineVersion, structure, state, hash } = placed.snapshot;
      putSnapshot.run([
        id,
        version,
        machineVersion,
        structure,
        state,
        hash,
        placed.turn,
        snapshotDigest(placed),
      ]);
    },
    view(view: ViewKey & StoredView): void {
      const { projection, version, partition, position, state } = view;
      putView.run([projection, version, partition, position, state, viewDigest(view)]);
    },
    dropView: ({ projection, version, partition }: ViewKey): void => {
      deleteView.run(projection, version, partition);
    },
    blob: (hash: string, text: string): void => {
      putBlob.run([hash, text, blobDigest(hash, text)]);
    },
  };
}

function snapshotDigest({ snapshot, turn }: PlacedSnapshot): string {
  const { actor, version, machineVersion, structure, state, hash } = snapshot;
  return derivedDigest('snapshot', [actor, version, machineVersion, structure, state, hash, turn]);
}

function viewDigest({ projection, version, partition, position, state }: ViewKey & StoredView): string {
  return derivedDigest('view', [projection, version, partition, position, state]);
}

function blobDigest(hash: string, text: string): string {
  return derivedDigest('blob', [hash, text]);
}
