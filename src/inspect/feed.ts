import { setTimeout as sleep } from 'node:timers/promises';
import { createRedactor, type Redactor, type Replay, type Runtime, type SecretOptions } from '../index.ts';
import { createTeller, type InspectionMessage } from './messages.ts';

/** What can be looked at: a live runtime, or a log that is replayed. Each viewer gets a replay of its own. */
export type Inspectable = Pick<Runtime, 'events$' | 'replay' | 'runs' | 'redactor'> | (() => Replay);

export interface FeedOptions {
  /** Only this run; all that are open, and those that begin, unless set. */
  readonly run?: string;
  /** How fast a log is replayed: 1 is as fast as it was; as fast as can be unless set. */
  readonly speed?: number;
  /** What must not be shown besides what the runtime knows: definitions of machines are not in the log. */
  readonly secrets?: SecretOptions;
}

/** Whoever looks. */
export interface Viewer {
  /** Sends one message; resolves when the next may follow. False if nobody listens any more. */
  readonly send: (message: InspectionMessage) => Promise<boolean>;
  /** Aborted when nobody listens any more. */
  readonly gone: AbortSignal;
}

/** Tells a viewer everything, in order. Resolves at the end of a log; of a live runtime when it closes or nobody listens. */
export const feed = async (source: Inspectable, options: FeedOptions, viewer: Viewer): Promise<void> => {
  const extra = createRedactor(options.secrets ?? {});
  return typeof source === 'function'
    ? feedReplay(source(), { ...options, redactor: extra }, viewer)
    : feedLive(source, { ...options, redactor: both(source.redactor, extra) }, viewer);
};

const both = (one: Redactor, other: Redactor): Redactor => ({
  text: (text) => other.text(one.text(text)),
  isSecretName: (key) => one.isSecretName(key) || other.isSecretName(key),
});

type Feeding = FeedOptions & { readonly redactor: Redactor };

const feedReplay = async (
  replay: Replay,
  { speed = Number.POSITIVE_INFINITY, run, redactor }: Feeding,
  { send, gone }: Viewer,
): Promise<void> => {
  const tell = createTeller({ machines: () => replay.machines(), redactor });
  // Steps wait for the viewer, not in memory.
  let lastAtMs: number | undefined;
  for (let step = await replay.step(); step; step = await replay.step()) {
    const { atMs } = step.event;
    await pause(lastAtMs === undefined ? 0 : (atMs - lastAtMs) / speed, gone);
    lastAtMs = atMs;
    if (run !== undefined && step.event.run !== run) continue;
    for (const message of tell(step)) if (!(await send(message))) return;
  }
};

const WAIT_MS_MAX = 2 ** 31 - 1;

const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  for (let left = ms; left > 0 && !signal.aborted; left -= WAIT_MS_MAX)
    await sleep(Math.min(left, WAIT_MS_MAX), undefined, { signal, ref: false }).catch(() => undefined);
};

/** How many runs that have ended are kept in memory. */
const ENDED_KEPT = 100;

/** Each run is replayed by itself: a log may be long, and most of it over. */
const feedLive = async (
  runtime: Exclude<Inspectable, () => Replay>,
  { run: only, redactor }: Feeding,
  { send, gone }: Viewer,
): Promise<void> => {
  /** Runs that have ended, oldest first, and those of which nothing is left to tell. */
  const endings: string[] = [];
  const over = new Set<string>();
  const runs = new Map<string, { readonly replay: Replay; readonly tell: ReturnType<typeof createTeller> }>();
  const of = (run: string) => {
    const known = runs.get(run);
    if (known) return known;
    const replay = runtime.replay({ run });
    const made = { replay, tell: createTeller({ machines: () => replay.machines(), redactor }) };
    runs.set(run, made);
    return made;
  };
  /** Tells of a run up to what is in the log now. */
  const tellOf = async (run: string, to: number): Promise<boolean> => {
    if (over.has(run)) return true;
    const { replay, tell } = of(run);
    while (replay.position < to) {
      const step = await replay.step();
      if (!step) return true;
      for (const message of tell(step)) if (!(await send(message))) return false;
      if (step.event.type === 'lw.run.ended' && step.event.actor === run) endings.push(run);
    }
    // What was still on its way to a run that ends comes soon after, and late answers of its agents, if at all.
    for (const old of endings.splice(0, Math.max(0, endings.length - ENDED_KEPT))) {
      over.add(old);
      runs.delete(old);
    }
    return true;
  };
  const arrivals = new Arrivals<{ readonly run: string; readonly position: number }>();
  const subscription = runtime.events$.subscribe({
    next: ({ run, position }) => arrivals.put({ run, position }),
    complete: () => arrivals.end(),
  });
  const leave = () => arrivals.end();
  gone.addEventListener('abort', leave);
  try {
    const open = only === undefined ? (await runtime.runs({ status: 'open' })).map(({ id }) => id) : [only];
    for (const run of open) if (!(await tellOf(run, Number.POSITIVE_INFINITY))) return;
    for await (const { run, position } of arrivals)
      if ((only === undefined || run === only) && !(await tellOf(run, position))) return;
  } finally {
    gone.removeEventListener('abort', leave);
    subscription.unsubscribe();
  }
};

/** What has come and was not looked at yet. */
class Arrivals<Item> implements AsyncIterable<Item> {
  #items: Item[] = [];
  #isEnded = false;
  #wake: () => void = () => undefined;

  put(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (;;) {
      const items = this.#items;
      this.#items = [];
      yield* items;
      if (this.#items.length > 0) continue;
      if (this.#isEnded) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
