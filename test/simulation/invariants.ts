import type { ActorCache } from '../../src/actors/actor-cache.ts';
import { runOf } from '../../src/events/address.ts';
import type { Address } from '../../src/events/event.ts';
import { WAITING_TAG } from '../../src/events/vocabulary.ts';
import type { EventLog, OpenWork } from '../../src/store/event-log.ts';
import type { Ledger } from './ledger.ts';
import { must } from './violation.ts';
import {
  BUILD_ATTEMPTS_MAX,
  CALLS_PER_ROUND_MAX,
  CHECK_ATTEMPTS_MAX,
  lastSerial,
  tallyOf,
} from './workflows.ts';

/** The tables of open calls and timers say what folding all streams does, and an actor that has ended has none. */
export const checkOpenWork = (ledger: Ledger, { calls, timers }: OpenWork): void => {
  let waits = 0;
  for (const { status, waits: open, address } of ledger.actors.values()) {
    const count = Object.keys(open.calls).length + Object.keys(open.timers).length;
    must(status === 'active' || count === 0, 'an actor that has ended waits for nothing', () => address);
    waits += count;
  }
  for (const { actor, call, generation } of calls) {
    const expected = ledger.actors.get(actor)?.waits.calls[call];
    must(expected === generation, 'an open call is one that its actor waits for', () => [
      actor,
      call,
      generation,
      expected,
    ]);
  }
  for (const { actor, timer, generation, dueMs } of timers) {
    const expected = ledger.actors.get(actor)?.waits.timers[timer];
    must(
      expected?.generation === generation && expected.dueMs === dueMs,
      'an open timer is one that its actor waits for',
      () => [actor, timer, generation, expected],
    );
  }
  must(waits === calls.length + timers.length, 'what an actor waits for is open in the log', () => [
    waits,
    calls,
    timers,
  ]);
};

/** What a process has in memory, between two commits, is what the log leads to. */
export const checkMemory = async (ledger: Ledger, cache: ActorCache, log: EventLog): Promise<void> => {
  const runs = new Set<string>();
  for (const { record } of cache.entries()) {
    ledger.matches(record);
    runs.add(record.run);
  }
  for (const id of runs) {
    const run = cache.run(id);
    if (run === undefined) continue;
    const stored = await log.run(id);
    must(JSON.stringify(run) === JSON.stringify(stored), 'the record of a run equals the log', () => [
      run,
      stored,
    ]);
  }
};

/** What must hold between any two commits, whatever happened before. */
export const checkSafety = (ledger: Ledger, crashes: number): void => {
  checkMessages(ledger);
  checkCalls(ledger, crashes);
};

/** What must hold when all is quiet. */
export const checkEnd = (ledger: Ledger, log: EventLog): Promise<void> =>
  checkQuiet(ledger, log, (run) => ledger.actors.get(run)?.snapshot?.hasTag(WAITING_TAG) === true);

/** No run is left in the middle: it has ended, or somebody is waited for. */
export const checkQuiet = async (
  ledger: Ledger,
  log: EventLog,
  waitsForPerson: (run: string) => boolean,
): Promise<void> => {
  checkOpenWork(ledger, await log.openWork());
  for (const [address, { status, snapshot, parent }] of ledger.actors) {
    if (parent !== null) continue;
    const run = await log.run(address);
    must(
      (run?.verdict === null) === (status === 'active'),
      'a run has a verdict once its root has ended',
      () => run,
    );
    must(run?.turns === ledger.turnsByRun.get(address), 'the turns of a run are counted', () => run);
    must(status !== 'active' || waitsForPerson(address), 'every run ends or waits for a person', () => [
      address,
      snapshot?.value,
      openIn(ledger, address),
    ]);
  }
};

/** Who is still at something, for whoever looks into a failure. */
const openIn = (ledger: Ledger, run: string): readonly unknown[] =>
  [...ledger.actors.values()]
    .filter(({ address, status }) => status === 'active' && runOf(address) === run)
    .map(({ address, snapshot, waits }) => [address, snapshot?.value, waits]);

/** Each message that an actor sent has left one row; each that was taken was counted once. */
const checkMessages = (ledger: Ledger): void => {
  let sent = 0;
  for (const [address, { snapshot, machine, status }] of ledger.actors) {
    if (!snapshot) continue;
    const last = lastSerial(snapshot.context);
    for (let serial = 1; serial <= last; serial += 1) {
      must(ledger.messages.has(`${address} ${serial}`), 'a message between actors is processed', () => [
        address,
        serial,
      ]);
    }
    sent += last;
    if (machine !== 'loop' || status === 'failed') continue;
    const { notes, reports } = tallyOf(snapshot.context);
    must(notes === takenBy(ledger, address, 'NOTE'), 'a note is counted once', () => address);
    must(reports === takenBy(ledger, address, 'REPORT'), 'a report is counted once', () => address);
  }
  must(sent === ledger.messages.size, 'a message between actors has a sender', () => [
    sent,
    ledger.messages.size,
  ]);
};

const takenBy = (ledger: Ledger, address: Address, type: string): number =>
  ledger.taken.get(address)?.get(type) ?? 0;

/** Limits hold: attempts for each piece of work, and effects for each attempt. */
const checkCalls = (ledger: Ledger, crashes: number): void => {
  const effects = new Map<string, { count: number; max: number }>();
  const callsByRun = new Map<string, number>();
  for (const { callId, attempt, call, run } of ledger.calls.values()) {
    callsByRun.set(run, (callsByRun.get(run) ?? 0) + 1);
    const attemptsMax = call === 'build' ? BUILD_ATTEMPTS_MAX : CHECK_ATTEMPTS_MAX;
    must(attempt <= attemptsMax, 'no more attempts than the limit', () => [callId, attempt]);
    const count = ledger.effects.get(`${callId}/${attempt}`) ?? 0;
    must(count <= 1 + crashes, 'an effect is repeated by a crash only', () => [callId, attempt, count]);
    const piece = effects.get(callId) ?? { count: 0, max: attemptsMax * (1 + crashes) };
    effects.set(callId, { ...piece, count: piece.count + count });
  }
  for (const [callId, { count, max }] of effects) {
    must(count <= max, 'calls of agents are bounded by limit and crashes', () => [callId, count, max]);
  }
  for (const [run, count] of callsByRun) {
    const context = ledger.actors.get(run)?.snapshot?.context;
    must(count <= tallyOf(context).round * CALLS_PER_ROUND_MAX, 'a run has a bound on calls', () => [
      run,
      count,
    ]);
  }
};
