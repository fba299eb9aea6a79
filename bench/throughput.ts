import { rmSync, statSync } from 'node:fs';
import { contextView, createRuntime, type RecordedEvent, type Runtime, tightProgress } from 'loopwright';
import { createBareRun } from './bare.ts';
import { GOAL, loop, loopAgents } from './chart.ts';
import { median, tempFile } from './measure.ts';

export interface Throughput {
  readonly events_per_s: number;
  readonly steps_per_s: number;
  readonly raw_transitions_per_s: number;
  /** Committed events by the bare rate. */
  readonly ratio: number;
  /** The same, but only of events that moved a machine: rows that have no counterpart in the bare run do not count. */
  readonly ratio_moved: number;
  readonly ratios: readonly number[];
  readonly bytes_per_event: number;
  readonly events: number;
}

const SLICE_MS = 250;

/**
 * Committed events a second with many loops in flight, the context and progress of each folded as they come, against the bare rate
 * of the same, unmodified machines on the same events, in slices of a quarter of a second that take turns. A second ratio
 * counts only events that moved a machine: rows which have no counterpart in the bare run (facts, stops) do not flatter it.
 */
export const measureThroughput = async ({
  loops,
  pairs,
}: {
  loops: number;
  pairs: number;
}): Promise<Throughput> => {
  const file = tempFile('throughput');
  const gate = createGate();
  const runtime = await createRuntime({
    file,
    workflows: [loop],
    agents: loopAgents(() => (gate.isClosed ? gate.opened() : undefined), loops),
    runsFolder: null,
  });
  const counts = createCounts();
  runtime.events$.subscribe(counts.count);
  const feeder = createFeeder(runtime, loops);
  gate.open();
  const finished = await finishedRun(runtime);
  gate.close();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const bare = await createBareRun(await runtime.audit({ run: finished.id }));

  await ownSlice(gate, counts);
  bare(SLICE_MS);
  const slices: { own: Rates; bareRate: number }[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    // Each goes first as often as second.
    const bareFirst = pair % 2 === 0 ? undefined : bare(SLICE_MS);
    const own = await ownSlice(gate, counts);
    slices.push({ own, bareRate: bareFirst ?? bare(SLICE_MS) });
  }
  gate.open();
  await feeder.drain();
  await runtime.close();
  const bytes = statSync(file).size;
  rmSync(file, { force: true });
  const ratios = slices.map(({ own, bareRate }) => own.events / bareRate);
  const ratiosMoved = slices.map(({ own, bareRate }) => own.moved / bareRate);
  return {
    events_per_s: median(slices.map(({ own }) => own.events)),
    steps_per_s: median(slices.map(({ own }) => own.turns)),
    raw_transitions_per_s: median(slices.map(({ bareRate }) => bareRate)),
    ratio: median(ratios),
    ratio_moved: median(ratiosMoved),
    ratios,
    bytes_per_event: bytes / counts.now().events,
    events: counts.now().events,
  };
};

interface Counts {
  readonly events: number;
  /** Events that moved a machine. */
  readonly moved: number;
  readonly turns: number;
}

/** The same, a second. */
type Rates = Counts;

const createCounts = () => {
  let events = 0;
  let moved = 0;
  let turns = 0;
  let lastTurn = 0;
  return {
    count: ({ kind, turn }: RecordedEvent) => {
      events += 1;
      if (kind === 'started' || kind === 'message') moved += 1;
      if (turn !== lastTurn) turns += 1;
      lastTurn = turn;
    },
    now: (): Counts => ({ events, moved, turns }),
  };
};

/** Holds all agents back while the bare run has its slice. */
const createGate = () => {
  let open = withResolvers();
  let isClosed = true;
  return {
    get isClosed() {
      return isClosed;
    },
    opened: () => open.promise,
    open() {
      isClosed = false;
      open.resolve();
    },
    close() {
      isClosed = true;
      open = withResolvers();
    },
  };
};

const withResolvers = () => {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

type Gate = ReturnType<typeof createGate>;

/** Lets the loops run for a slice, then until all that was under way is committed. */
const ownSlice = async (gate: Gate, counts: ReturnType<typeof createCounts>): Promise<Rates> => {
  const before = counts.now();
  const startMs = performance.now();
  gate.open();
  await new Promise((resolve) => setTimeout(resolve, SLICE_MS));
  gate.close();
  for (let events = -1; events !== counts.now().events; ) {
    events = counts.now().events;
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  // The last look found nothing new: its own wait is not counted.
  const seconds = (performance.now() - startMs - 3) / 1_000;
  const after = counts.now();
  return {
    events: (after.events - before.events) / seconds,
    moved: (after.moved - before.moved) / seconds,
    turns: (after.turns - before.turns) / seconds,
  };
};

type LoopRuntime = Runtime<typeof loop>;

/** Keeps so many loops in flight: each that ends is followed by another. Two views of each are kept up to date. */
const createFeeder = (runtime: LoopRuntime, loops: number) => {
  let isStopped = false;
  const follow = async (): Promise<void> => {
    if (isStopped) return;
    const run = await runtime.start('tight-loop', GOAL);
    const watching = [contextView, tightProgress].map((view) =>
      runtime.view$<unknown>(view, run.id).subscribe(() => undefined),
    );
    await run.result();
    for (const each of watching) each.unsubscribe();
    await follow();
  };
  const all = Array.from({ length: loops }, follow);
  return {
    drain: async () => {
      isStopped = true;
      await Promise.all(all);
    },
  };
};

const finishedRun = async (runtime: LoopRuntime) => {
  for (;;) {
    const [ended] = await runtime.runs({ status: 'ended', limit: 1 });
    if (ended) return ended;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
