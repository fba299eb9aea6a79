import type Database from 'better-sqlite3';
import { RuntimeError } from '../../errors.ts';
import type { OpenCall, OpenTimer, Recorded } from '../../events/turn.ts';
import { derivedDigest } from '../chain.ts';
import type { OpenWork } from '../event-log.ts';

interface CallRow {
  readonly run: string | null;
  readonly actor: string | null;
  readonly call: string;
  readonly generation: number;
  readonly agent: string;
  readonly machine: string;
  readonly machine_version: number;
  readonly call_id: string;
  readonly attempt: number;
  readonly input: string;
  readonly announce: number;
  readonly opened_at: number;
  readonly nth: number;
  readonly digest: string;
}

interface TimerRow {
  readonly run: string | null;
  readonly actor: string | null;
  readonly timer: string;
  readonly generation: number;
  readonly due_ms: number;
  readonly opened_at: number;
  readonly nth: number;
  readonly digest: string;
}

/** `nth` is its place among those that its turn opened. */
export function callDigest(call: Recorded<OpenCall>, nth: number): string {
  const {
    run,
    actor,
    generation,
    agent,
    machine,
    machineVersion,
    callId,
    attempt,
    input,
    announce,
    openedAt,
  } = call;
  const made = [machine, machineVersion, callId, attempt, input, announce ? 1 : 0];
  return derivedDigest('call', [run, actor, call.call, generation, agent, ...made, openedAt, nth]);
}

export function timerDigest(timer: Recorded<OpenTimer>, nth: number): string {
  const { run, actor, generation, dueMs, openedAt } = timer;
  return derivedDigest('timer', [run, actor, timer.timer, generation, dueMs, openedAt, nth]);
}

/** Reads what is open, in the order in which it was opened; each row is checked by its digest. */
export function createWorkReader(db: Database.Database, file: string): () => OpenWork {
  const names = 'left join runs r on r.id = w.run left join actors a on a.id = w.actor';
  const selectCalls = db.prepare<[], CallRow>(
    `select r.name as run, a.address as actor, w.call, w.generation, w.agent, w.machine, w.machine_version, w.call_id,
       w.attempt, w.input, w.announce, w.opened_at, w.nth, w.digest from calls w ${names} order by w.opened_at, w.nth`,
  );
  const selectTimers = db.prepare<[], TimerRow>(
    `select r.name as run, a.address as actor, w.timer, w.generation, w.due_ms, w.opened_at, w.nth, w.digest
       from timers w ${names} order by w.opened_at, w.nth`,
  );
  return () => ({
    calls: selectCalls.all().map((row) => readCall(row, file)),
    timers: selectTimers.all().map((row) => readTimer(row, file)),
  });
}

function readCall(row: CallRow, file: string): Recorded<OpenCall> {
  const call: Recorded<OpenCall> = {
    run: row.run ?? '',
    actor: row.actor ?? '',
    call: row.call,
    generation: row.generation,
    agent: row.agent,
    machine: row.machine,
    machineVersion: row.machine_version,
    callId: row.call_id,
    attempt: row.attempt,
    input: row.input,
    announce: row.announce === 1,
    openedAt: row.opened_at,
  };
  if (callDigest(call, row.nth) === row.digest && (row.announce === 0 || row.announce === 1)) return call;
  throw damaged(file, row.opened_at, 'an open call does not match its digest');
}

function readTimer(row: TimerRow, file: string): Recorded<OpenTimer> {
  const timer: Recorded<OpenTimer> = {
    run: row.run ?? '',
    actor: row.actor ?? '',
    timer: row.timer,
    generation: row.generation,
    dueMs: row.due_ms,
    openedAt: row.opened_at,
  };
  if (timerDigest(timer, row.nth) === row.digest) return timer;
  throw damaged(file, row.opened_at, 'a timer does not match its digest');
}

function damaged(file: string, position: number, problem: string): RuntimeError {
  return new RuntimeError('LOG_CORRUPT', { file, position, problem });
}
