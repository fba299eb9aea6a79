import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { RunRecord, Verdict } from '../../events/turn.ts';
import { derivedDigest } from '../chain.ts';
import type { RunFilter } from '../event-log.ts';
import { queryLimit } from '../query-limit.ts';
import type { Value } from './row-inserter.ts';

interface RunRow {
  readonly id: string;
  readonly workflow: string;
  readonly workflow_version: number;
  readonly started_at_ms: number;
  readonly turns: number;
  readonly verdict: Verdict | null;
  readonly ended_at_ms: number | null;
  readonly result: string | null;
  readonly digest: string;
}

/** The number of turns is counted, not stored: a run would otherwise be written anew by every turn. */
const COLUMNS = `r.name as id, r.workflow, r.workflow_version, r.started_at_ms,
  (select count(*) from run_turns t where t.run = r.id) as turns, r.verdict, r.ended_at_ms, r.result, r.digest`;

/** A run that only its events name has neither; one that was recorded and is damaged may have lost one of them. */
const IS_RECORDED = '(r.workflow is not null or r.digest is not null)';

export interface RunReader {
  run(id: string): RunRecord | undefined;
  runs(filter: RunFilter): readonly RunRecord[];
}

/** Reads what runs are; each row is checked by its digest. */
export function createRunReader(db: Database.Database, file: string): RunReader {
  const select = db.prepare<[string], RunRow>(
    `select ${COLUMNS} from runs r where r.name = ? and ${IS_RECORDED}`,
  );
  return {
    run(id) {
      const row = select.get(id);
      return row && readRun(row, file);
    },
    runs({ status, workflow, limit, reverse = false }) {
      const conditions = [IS_RECORDED];
      const values: Value[] = [];
      if (status !== undefined) conditions.push(`r.verdict is ${status === 'open' ? 'null' : 'not null'}`);
      if (workflow !== undefined) {
        conditions.push('r.workflow = ?');
        values.push(workflow);
      }
      const most = queryLimit(limit, Number.POSITIVE_INFINITY);
      values.push(most === Number.POSITIVE_INFINITY ? -1 : most);
      return db
        .prepare<[readonly Value[]], RunRow>(
          `select ${COLUMNS} from runs r where ${conditions.join(' and ')} order by r.id ${reverse ? 'desc' : 'asc'} limit ?`,
        )
        .all(values)
        .map((row) => readRun(row, file));
    },
  };
}

/** Writes what runs are. The row itself, with the name of the run, is made by the dictionary. */
export function createRunWriter(db: Database.Database): (id: number, record: RunRecord) => void {
  const update = db.prepare<[readonly Value[]]>(
    `update runs set workflow = ?, workflow_version = ?, started_at_ms = ?, verdict = ?, ended_at_ms = ?, result = ?,
       digest = ? where id = ?`,
  );
  return (id, record) => {
    const { workflow, workflowVersion, startedAtMs, verdict, endedAtMs, result } = record;
    update.run([workflow, workflowVersion, startedAtMs, verdict, endedAtMs, result, runDigest(record), id]);
  };
}

function readRun(row: RunRow, file: string): RunRecord {
  const record: RunRecord = {
    id: row.id,
    workflow: row.workflow,
    workflowVersion: row.workflow_version,
    startedAtMs: row.started_at_ms,
    turns: row.turns,
    verdict: row.verdict,
    endedAtMs: row.ended_at_ms,
    result: row.result,
  };
  if (runDigest(record) === row.digest) return record;
  throw new RuntimeError('LOG_CORRUPT', {
    file,
    position: 0,
    problem: `the run "${row.id}" does not match its digest`,
  });
}

function runDigest({
  id,
  workflow,
  workflowVersion,
  startedAtMs,
  verdict,
  endedAtMs,
  result,
}: RunRecord): string {
  return derivedDigest('run', [id, workflow, workflowVersion, startedAtMs, verdict, endedAtMs, result]);
}
