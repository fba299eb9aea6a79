import type { RecordedEvent } from 'loopwright';
import { entry } from './ledger.ts';
import { isToBeCompared, wasCompared } from './noted-logs.ts';
import { LEDGER_RUN, type LedgerRuntime, ledgerRun, openLedger } from './open-ledger.ts';

/** What the process that wrote the log was told: entries by number, with the position that it was given for each. */
export type Acknowledged = ReadonlyMap<number, number>;

export interface LedgerReport {
  /** What is wrong, in words. Nothing if the list is empty. */
  readonly problems: readonly string[];
  /** How many entries the log holds. */
  readonly entries: number;
}

const PAGE = 1_000;

/**
 * Opens a log as a second process would after the first is gone, and checks that it is whole (chain, replay, no gaps, no half
 * turns), that everything acknowledged is there, and that work goes on: it adds one more entry.
 */
export async function verifyLedger(file: string, acknowledged: Acknowledged): Promise<LedgerReport> {
  const problems: string[] = [];
  let entries = 0;
  let runtime: LedgerRuntime | undefined;
  try {
    runtime = await openLedger(file, { reserveBytes: 0 });
    const found = await checkLedger(runtime, acknowledged);
    entries = found.entries;
    problems.push(...found.problems);
    problems.push(...(await problemsGoingOn(runtime, entries)));
    if (isToBeCompared(file)) {
      const compared = await runtime.compareMachines();
      const others = compared.filter(({ kind }) => kind !== 'identical');
      problems.push(...others.map(({ difference }) => `lived again it is another: ${difference?.text}`));
      wasCompared(file);
    }
  } catch (error) {
    problems.push(`it cannot be used: ${String(error)}`);
  } finally {
    await runtime?.close();
  }
  return { problems, entries };
}

/** The same on a runtime that is open, without adding anything. */
export async function checkLedger(runtime: LedgerRuntime, acknowledged: Acknowledged): Promise<LedgerReport> {
  const { log, replay } = await runtime.verify();
  const problems: string[] = [];
  if (!log.ok) problems.push(`the log is damaged at ${log.problem?.position}: ${log.problem?.what}`);
  if (!replay.ok)
    problems.push(`it replays differently at ${replay.problem?.position}: ${replay.problem?.what}`);
  const events = await eventsOf(runtime);
  const additions = events.filter(({ kind, type }) => kind === 'message' && type === 'ADD');
  problems.push(
    ...gapsIn(events),
    ...halfTurnsIn(events, additions),
    ...missingFrom(additions, acknowledged),
  );
  return { problems, entries: additions.length };
}

async function eventsOf(runtime: LedgerRuntime): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await runtime.audit({ after: events.at(-1)?.position ?? 0, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

function gapsIn(events: readonly RecordedEvent[]): readonly string[] {
  const problems: string[] = [];
  const versions = new Map<string, number>();
  let turn = 0;
  for (const [index, event] of events.entries()) {
    const version = (versions.get(event.actor) ?? 0) + 1;
    versions.set(event.actor, version);
    if (event.position !== index + 1) problems.push(`position ${index + 1} is missing`);
    if (event.version !== version) problems.push(`version ${version} of ${event.actor} is missing`);
    if (event.turn !== turn && event.turn !== turn + 1) problems.push(`turn ${turn + 1} is missing`);
    turn = event.turn;
  }
  return problems.slice(0, 1);
}

/** Everything that an entry makes is in its own turn: the entry, its parts, and one row of the tally. */
function halfTurnsIn(
  events: readonly RecordedEvent[],
  additions: readonly RecordedEvent[],
): readonly string[] {
  const byTurn = new Map<number, string[]>();
  for (const { turn, type } of events) byTurn.set(turn, [...(byTurn.get(turn) ?? []), type]);
  return additions.flatMap((addition, index) => {
    const { n, parts } = entry(index + 1);
    if (addition.data['n'] !== n)
      return [`entry ${n} is missing: there is ${JSON.stringify(addition.data['n'])} in its place`];
    const found = byTurn.get(addition.turn)?.sort();
    const expected = ['ADD', 'COUNT', ...Array.from({ length: parts }, () => 'part')];
    return found?.join() === expected.join() ? [] : [`the turn of entry ${n} has ${found?.join(', ')}`];
  });
}

function missingFrom(additions: readonly RecordedEvent[], acknowledged: Acknowledged): readonly string[] {
  const positions = new Map(additions.map(({ position, data }) => [data['n'], position]));
  return [...acknowledged].flatMap(([n, position]) =>
    positions.get(n) === position ? [] : [`entry ${n} was acknowledged at ${position}, and is not there`],
  );
}

async function problemsGoingOn(runtime: LedgerRuntime, entries: number): Promise<readonly string[]> {
  const run = await ledgerRun(runtime);
  const { taken } = await run.send(entry(entries + 1));
  const { context } = await run.state();
  const counted = await runtime.actor(`${LEDGER_RUN}/tally`);
  const isCounted =
    context.entries === entries + 1 && JSON.stringify(counted.context).includes(`"entries":${entries + 1},`);
  return taken && isCounted
    ? []
    : [`after ${entries} entries one more was not counted: ${JSON.stringify(counted.context)}`];
}
