import { isRuntimeError, RuntimeError } from '../errors.ts';
import type { RecordedTurn, RunRecord } from '../events/turn.ts';
import { createAwake } from './awake.ts';
import { type ContextPorts, createRunContext } from './run-context.ts';
import {
  type ActorState,
  type Run,
  type RunResult,
  type SendOptions,
  toActorState,
  toRunResult,
} from './run-handle.ts';
import { type StatePorts, settledState, stateOf$ } from './run-state.ts';

/** The reason of whoever gives none. */
const HOST_REASON = 'host';

export interface RunsPorts extends StatePorts, ContextPorts {
  readonly find: (id: string) => Promise<RunRecord | undefined>;
}

/** The runs that someone holds on to. */
export interface Runs {
  handle(id: string): Run;
  /** Tells those who wait for a run that it has ended. */
  committed(turn: RecordedTurn): void;
  /** Nothing will end any more: whoever waits is told why. */
  fail(error: RuntimeError): void;
}

type Waiter = {
  readonly resolve: (result: RunResult) => void;
  readonly reject: (error: RuntimeError) => void;
};

export const createRuns = (ports: RunsPorts): Runs => {
  const waiting = new Map<string, Set<Waiter>>();
  const awake = createAwake();
  let failure: RuntimeError | undefined;

  const result = async (id: string): Promise<RunResult> => {
    const { promise, waiter } = deferred();
    const waiters = waiting.get(id) ?? new Set();
    // Before the log is asked, so that an end which is committed meanwhile is not missed.
    waiting.set(id, waiters.add(waiter));
    const run = await ports.find(id);
    const ended = run && toRunResult(run);
    if (!run) waiter.reject(new RuntimeError('UNKNOWN_RUN', { run: id }));
    else if (ended) waiter.resolve(ended);
    else if (failure) waiter.reject(failure);
    if (!run || ended || failure) waiters.delete(waiter);
    if (waiters.size === 0 && waiting.get(id) === waiters) waiting.delete(id);
    return promise;
  };

  const stateOf = async (id: string): Promise<ActorState> => {
    if (isRuntimeError(failure, 'RUNTIME_CLOSED')) throw failure;
    const record = await ports.actor(id);
    if (!record) throw new RuntimeError('UNKNOWN_RUN', { run: id });
    return toActorState(record);
  };

  return {
    handle: (id) => ({
      id,
      state: () => stateOf(id),
      state$: stateOf$(ports, id),
      events$: ports.events(id),
      send: (message, options = {}) =>
        ports.execute({ kind: 'send', to: id, message, ...expected(options) }, options),
      result: () => awake.until(result(id)),
      settled: () => awake.until(settledState(ports, id, () => failure)),
      pause: (reason = HOST_REASON, options = {}) =>
        tellRun(ports, { to: id, message: { type: 'run.pause', reason } }, options),
      resume: (reason = HOST_REASON, options = {}) =>
        tellRun(ports, { to: id, message: { type: 'run.resume', reason } }, options),
      context: createRunContext(ports, id),
      async cancel({ reason, ...options } = {}) {
        await ports.execute(
          { kind: 'cancel', run: id, ...(reason === undefined ? {} : { reason }) },
          options,
        );
      },
    }),
    committed(turn) {
      for (const run of turn.runs) {
        const ended = toRunResult(run);
        const waiters = ended && waiting.get(run.id);
        if (!ended || !waiters) continue;
        waiting.delete(run.id);
        for (const { resolve } of waiters) resolve(ended);
      }
    },
    fail(error) {
      failure = error;
      for (const waiters of waiting.values()) for (const { reject } of waiters) reject(error);
      waiting.clear();
    },
  };
};

/** @throws {RuntimeError} NOT_PAUSABLE if its machine does not take the message */
const tellRun = async (
  { execute }: RunsPorts,
  {
    to,
    message,
  }: { readonly to: string; readonly message: { readonly type: string; readonly reason: string } },
  options: SendOptions,
): Promise<void> => {
  const { taken } = await execute({ kind: 'send', to, message }, options);
  if (!taken) throw new RuntimeError('NOT_PAUSABLE', { run: to });
};

const expected = ({ expectedVersion }: SendOptions) =>
  expectedVersion === undefined ? {} : { expectedVersion };

const deferred = () => {
  let waiter: Waiter | undefined;
  const promise = new Promise<RunResult>((resolve, reject) => {
    waiter = { resolve, reject };
  });
  // A result that nobody awaits any more must not end the process.
  promise.catch(() => undefined);
  return { promise, waiter: waiter as unknown as Waiter }; // The executor of a promise runs before its constructor returns.
};
