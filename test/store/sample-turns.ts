import type { Address, EventKind, NewEvent, StateValue } from '../../src/events/event.ts';
import type { JsonObject } from '../../src/events/json.ts';
import type { RunRecord, Turn } from '../../src/events/turn.ts';
import type { EventLog, StoredSnapshot } from '../../src/store/event-log.ts';

export interface SampleEvent {
  readonly actor: Address;
  readonly version: number;
  readonly kind?: EventKind;
  readonly type?: string;
  readonly data?: JsonObject;
  readonly from?: Address | null;
  readonly causedBy?: number | null;
  readonly state?: StateValue;
}

function sampleEvent(sample: SampleEvent): NewEvent {
  const {
    actor,
    version,
    kind = 'message',
    type = 'WORK',
    data = { n: version },
    state = 'working',
  } = sample;
  return {
    run: actor.split('/')[0] ?? actor,
    actor,
    version,
    kind,
    type,
    typeVersion: 1,
    data,
    dataJson: JSON.stringify(data),
    from: sample.from ?? null,
    causedBy: sample.causedBy ?? null,
    machine: 'sample',
    machineVersion: 1,
    state,
    stateJson: JSON.stringify(state),
  };
}

/** A turn with the given events, and whatever else is given. */
export function sampleTurn(
  id: string,
  events: readonly SampleEvent[],
  rest: Partial<Omit<Turn, 'id' | 'events'>> = {},
): Turn {
  return {
    id,
    atMs: 1_000,
    origin: 'host',
    by: null,
    cause: null,
    openedCalls: [],
    closedCalls: [],
    openedTimers: [],
    closedTimers: [],
    runs: [],
    ...rest,
    events: events.map(sampleEvent),
  };
}

export function sampleCall(actor: Address, call: string, generation: number): Turn['openedCalls'][number] {
  return {
    run: actor.split('/')[0] ?? actor,
    actor,
    call,
    generation,
    agent: 'developer',
    machine: 'sample',
    machineVersion: 1,
    callId: `${actor}#${call}`,
    attempt: generation,
    input: '{"task":"Add CSV export"}',
    announce: generation % 2 === 0,
    openedBy: 0,
  };
}

export function sampleTimer(actor: Address, timer: string, generation: number): Turn['openedTimers'][number] {
  return {
    run: actor.split('/')[0] ?? actor,
    actor,
    timer,
    generation,
    dueMs: 5_000 + generation,
    openedBy: 0,
  };
}

export function sampleRun(id: string, changes: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    workflow: 'tight-loop',
    workflowVersion: 1,
    startedAtMs: 1_000,
    turns: 0,
    verdict: null,
    endedAtMs: null,
    result: null,
    ...changes,
  };
}

/**
 * Fills a log with a bit of everything, always the same: runs that are open and ended, streams, calls, timers, snapshots,
 * large values, views. Three events a turn.
 */
export async function fillLog(
  log: EventLog,
  { turns, from = 0 }: { readonly turns: number; readonly from?: number },
) {
  for (let n = from; n < from + turns; n += TURNS_IN_BATCH) {
    const numbers = Array.from(
      { length: Math.min(TURNS_IN_BATCH, from + turns - n) },
      (_, index) => n + index,
    );
    await log.commit({ turns: numbers.map(nthTurn), snapshots: numbers.flatMap(nthSnapshot) });
  }
  await log.putBlobs(new Map([[`blob-${from}`, `large ${'z'.repeat(5_000)}`]]));
  await log.saveViews([
    { projection: 'progress', version: 1, partition: 'run-1', position: 3, state: '{"done":1}' },
  ]);
}

const RUNS = 7;
const TURNS_IN_BATCH = 5;

function nthTurn(n: number): Turn {
  const run = `run-${n % RUNS}`;
  const worker = `${run}/worker`;
  const round = Math.floor(n / RUNS);
  const isFirst = round === 0;
  const text = `zażółć ${'x'.repeat(n % 400)}`;
  return sampleTurn(
    `stimulus-${n}`,
    [
      {
        actor: run,
        version: round + 1,
        kind: isFirst ? 'started' : 'message',
        state: { a: 'x', b: `r${round % 3}` },
      },
      { actor: worker, version: 2 * round + 1, from: run, causedBy: 0, data: { text } },
      { actor: worker, version: 2 * round + 2, kind: 'fact', type: 'progress.made', causedBy: 1 },
    ],
    {
      atMs: 1_000 + n * 10,
      origin: isFirst ? 'host' : 'agent',
      by: n % 5 === 0 ? 'ann' : null,
      openedCalls: [sampleCall(worker, 'work', round + 1)],
      closedCalls: isFirst ? [] : [{ actor: worker, call: 'work', generation: round }],
      openedTimers: round % 4 === 0 ? [sampleTimer(run, 'limit', round)] : [],
      closedTimers: round % 4 === 2 ? [{ actor: run, timer: 'limit', generation: round - 2 }] : [],
      runs: isFirst ? [sampleRun(run)] : [],
    },
  );
}

function nthSnapshot(n: number): readonly StoredSnapshot[] {
  const round = Math.floor(n / RUNS);
  if (round % 10 !== 9) return [];
  const state = JSON.stringify({ round, text: 'y'.repeat(200) });
  const actor = `run-${n % RUNS}/worker`;
  return [
    { actor, version: 2 * round + 2, machineVersion: 1, structure: 'structure-1', state, hash: `hash-${n}` },
  ];
}
