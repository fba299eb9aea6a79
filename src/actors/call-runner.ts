import { RuntimeError } from '../errors.ts';
import { blobRefsIn, resolveBlobs } from '../events/blob.ts';
import type { Door } from '../events/door.ts';
import { decode, type Encoded } from '../events/encode.ts';
import { failureOf } from '../events/failure.ts';
import type { Json } from '../events/json.ts';
import type { OpenCall, Recorded } from '../events/turn.ts';
import type { Agent } from './agent.ts';
import type { Clock } from './clock.ts';
import type { Outcome } from './stimulus.ts';

/** Progress that an agent told of: for whoever watches, not for the log. */
export interface Progress {
  readonly run: string;
  readonly actor: string;
  readonly callId: string;
  readonly update: Json;
}

export interface CallPorts {
  readonly clock: Clock;
  readonly door: Door;
  readonly loadBlobs: (hashes: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Stores large strings of an answer before the answer refers to them. */
  readonly putBlobs: (blobs: ReadonlyMap<string, string>) => Promise<void>;
  /** Resolves once it is in the log that the call began. */
  readonly begun: (call: Recorded<OpenCall>) => Promise<void>;
  readonly progress: (progress: Progress) => void;
}

/** Progress beyond this rate is dropped: an agent that floods harms nobody. */
const PROGRESS_MAX_PER_SECOND = 100;

/** setTimeout takes at most 2^31 - 1 milliseconds and fires at once beyond that. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;

/** What a call's signal is aborted with when its time is over: unlike a withdrawn call, it still has an outcome. */
export const TIMED_OUT = new DOMException('The time limit of the agent has passed.', 'TimeoutError');

/** Runs one attempt of a call to its outcome. Never throws: whatever goes wrong is the outcome. */
export const runCall = async (
  ports: CallPorts,
  agent: Agent,
  { call, controller }: { readonly call: Recorded<OpenCall>; readonly controller: AbortController },
): Promise<Outcome> => {
  try {
    if (call.announce) await ports.begun(call);
    const input = await inputOf(ports, call);
    controller.signal.throwIfAborted();
    return { output: await admit(ports, await withinTime(ports, agent, { call, input, controller })) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
};

const inputOf = async (ports: CallPorts, call: OpenCall): Promise<Json> => {
  const input = decode(call.input);
  const hashes = blobRefsIn(input);
  return hashes.length === 0 ? input : resolveBlobs(input, await ports.loadBlobs(hashes));
};

const admit = async (ports: CallPorts, output: unknown): Promise<Encoded> => {
  const admitted = ports.door.admit(output ?? null, 'answer');
  if (admitted.blobs.size > 0) await ports.putBlobs(admitted.blobs);
  return admitted;
};

const withinTime = (
  ports: CallPorts,
  agent: Agent,
  {
    call,
    input,
    controller,
  }: { readonly call: OpenCall; readonly input: Json; readonly controller: AbortController },
): Promise<unknown> => {
  const { signal } = controller;
  const { timeoutMs } = agent.options;
  return new Promise((resolve, reject) => {
    const cancel = limitTo(ports.clock, timeoutMs, () => {
      reject(new RuntimeError('AGENT_TIMED_OUT', { agent: call.agent, limitMs: timeoutMs }));
      controller.abort(TIMED_OUT);
    });
    // An agent that does not mind its signal must not keep its place for ever.
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    // The input is what the machine's author declared for this call; its type is checked where both are registered.
    const request = { ...requestOf(call, signal), input: input as never, progress: progressOf(ports, call) };
    new Promise((done) => {
      done(agent.run(request));
    })
      .then(resolve, reject)
      .finally(cancel);
  });
};

const limitTo = (clock: Clock, limitMs: number, callback: () => void): (() => void) =>
  limitMs > TIMEOUT_MAX_MS ? () => undefined : clock.after(limitMs, callback);

const requestOf = ({ callId, attempt, run, actor }: OpenCall, signal: AbortSignal) => ({
  signal,
  callId,
  idempotencyKey: `${callId}/${attempt}`,
  attempt,
  run,
  actor,
});

const progressOf = (ports: CallPorts, { run, actor, callId }: OpenCall) => {
  let windowEndsMs = 0;
  let left = 0;
  return (update: Json) => {
    const now = ports.clock.now();
    if (now >= windowEndsMs) [windowEndsMs, left] = [now + 1_000, PROGRESS_MAX_PER_SECOND];
    if (left <= 0) return;
    left -= 1;
    ports.progress({ run, actor, callId, update: ports.door.admit(update, 'progress').value });
  };
};
