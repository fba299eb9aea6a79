import { rmSync, statSync } from 'node:fs';
import { agent, createRuntime, type RecordedEvent, type Run, type Runtime, runSummary } from 'loopwright';
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type EventObject } from 'xstate';
import { answer, GOAL, machines, type Report, workflows } from './chart.ts';
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
 * Committed events a second with many loops in flight against the bare rate of the same, unmodified machines on the same
 * events, in slices of a quarter of a second that take turns. A second ratio counts only events that moved a machine: rows
 * which have no counterpart in the bare run (facts, stops) do not flatter it.
 */
export const measureThroughput = async ({
  loops,
  pairs,
  lookedAt = LOOKED_AT,
}: {
  loops: number;
  pairs: number;
  lookedAt?: number;
}): Promise<Throughput> => {
  const file = tempFile('throughput');
  const gate = createGate();
  const work = agent(
    async ({ input }: { input: { pass: number } | null }): Promise<Report> => {
      if (gate.isClosed) await gate.opened();
      return answer(input ?? { pass: 1 });
    },
    { concurrency: loops },
  );
  const runtime = await createRuntime({
    file,
    workflows: [...workflows],
    agents: { work },
  });
  const counts = createCounts();
  runtime.events$.subscribe(counts.count);
  const feeder = createFeeder(runtime, loops, lookedAt);
  const bare = await createBareRun(runtime, gate);

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

type LoopRuntime = Runtime<(typeof workflows)[number]>;

/** Of the loops that end, one in so many is looked at: its view is folded from the log. */
const LOOKED_AT = 10;

/** Keeps so many loops in flight: each that ends is followed by another. */
const createFeeder = (runtime: LoopRuntime, loops: number, lookedAt: number) => {
  let isStopped = false;
  let ended = 0;
  const follow = async (): Promise<void> => {
    if (isStopped) return;
    const run = await runtime.start('loop', { goal: GOAL, passesMax: 5 });
    await run.result();
    ended += 1;
    if (ended % lookedAt === 0) await runtime.read(runSummary, run.id);
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

/** The unmodified machines on the events of a run that the log has: the rate of bare `machine.transition`. */
const createBareRun = async (runtime: LoopRuntime, gate: Gate): Promise<(forMs: number) => number> => {
  gate.open();
  const run: Pick<Run, 'id'> = await finishedRun(runtime);
  gate.close();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const steps = (await runtime.audit({ run: run.id })).flatMap(toStep);
  const scopes = { loop: createScope(machines.loop), agent: createScope(machines.agent) };
  return (forMs) => {
    const startMs = performance.now();
    let transitions = 0;
    while (performance.now() - startMs < forMs) {
      const snapshots = new Map<string, AnyMachineSnapshot>();
      for (const { actor, machine, event, input } of steps) {
        const { scope, actions } = scopes[machine];
        actions.length = 0;
        const before = snapshots.get(actor);
        const chart: AnyStateMachine = machines[machine];
        snapshots.set(
          actor,
          before && event ? chart.transition(before, event, scope) : chart.getInitialSnapshot(scope, input),
        );
      }
      transitions += steps.length;
    }
    return transitions / ((performance.now() - startMs) / 1_000);
  };
};

const finishedRun = async (runtime: LoopRuntime) => {
  for (;;) {
    const [ended] = await runtime.runs({ status: 'ended', limit: 1 });
    if (ended) return ended;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

interface BareStep {
  readonly actor: string;
  readonly machine: 'loop' | 'agent';
  readonly event: EventObject | undefined;
  readonly input: unknown;
}

/** What XState was given for a row of the log. */
const toStep = ({ actor, machine, kind, type, data }: RecordedEvent): BareStep[] => {
  if (machine !== 'loop' && machine !== 'agent') return [];
  if (kind === 'started') return [{ actor, machine, event: undefined, input: data.input }];
  if (kind !== 'message') return [];
  const event =
    type === 'lw.call.done'
      ? { type: 'xstate.done.actor.work', output: data.output, actorId: 'work' }
      : { ...data, type };
  return [{ actor, machine, event, input: undefined }];
};

const createScope = (machine: AnyStateMachine) => {
  const self = createActor(machine, { input: { goal: GOAL, passesMax: 5 } });
  const actions: unknown[] = [];
  const scope = {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger() {},
    defer() {},
    emit() {},
    stopChild() {},
    actionExecutor: (action: unknown) => actions.push(action),
  };
  // What a pure transition reads of the scope; the rest of its type is for live actors.
  return { scope: scope as unknown as Parameters<AnyStateMachine['transition']>[2], actions };
};
