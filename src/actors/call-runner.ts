import { RuntimeError } from '../errors.ts';
import { blobRefsIn, resolveBlobs } from '../events/blob.ts';
import type { Door } from '../events/door.ts';
import { decode, type Encoded } from '../events/encode.ts';
import { failureOf } from '../events/failure.ts';
import type { Failure, Json } from '../events/json.ts';
import type { OpenCall, Recorded } from '../events/turn.ts';
import type { Agent, AgentRequest } from './agent.ts';
import { answerOf, withExcerpt, workOf } from './agent-answer.ts';
import { type CallLink, LINK } from './call-link.ts';
import type { Clock } from './clock.ts';
import type { Outcome } from './stimulus.ts';
import type { Withdrawal } from './withdrawal.ts';

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
  /** The answer to a call that need not be made, since it is known. */
  readonly recorded?: (call: OpenCall) => Outcome | undefined;
  /** Marks the processes of this runtime's log. */
  readonly logTag: string;
  /** Told of what may outlast a call, so that it can be waited for. */
  readonly held: (ending: Promise<unknown>) => void;
  /** An agent answered although nobody waits any more: it is kept, since it cost money. */
  readonly late: (call: Recorded<OpenCall>, agent: Agent, output: unknown) => void;
}

/** Progress beyond this rate is dropped: an agent that floods harms nobody. */
const PROGRESS_MAX_PER_SECOND = 100;

/** Short enough to stay in the event itself. */
const FAILURE_TEXT_MAX = 4_100;
const LOOKED_AT_MAX = 256 * 1024;

/** setTimeout takes at most 2^31 - 1 milliseconds and fires at once beyond that. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;

/**
 * Runs one attempt of a call to its outcome. Never throws: whatever goes wrong is the outcome. Undefined if nobody could be
 * told that it began, since its run is parked: then the agent was not called, and the call stays open in the log.
 */
export const runCall = async (
  ports: CallPorts,
  agent: Agent,
  { call, withdrawal }: { readonly call: Recorded<OpenCall>; readonly withdrawal: Withdrawal },
): Promise<Outcome | undefined> => {
  if (call.announce && !(await hasBegun(ports, call))) return undefined;
  const known = ports.recorded?.(call);
  if (known) return known;
  try {
    const input = await inputOf(ports, call);
    if (withdrawal.reason) throw withdrawal.reason;
    const returned = await withinTime(ports, agent, { call, input, withdrawal });
    return { output: await admit(ports, call, await answerOf(call, agent, returned)) };
  } catch (error) {
    return { failure: failureIn(ports, error) };
  }
};

const hasBegun = (ports: CallPorts, call: Recorded<OpenCall>): Promise<boolean> =>
  ports.begun(call).then(
    () => true,
    () => false,
  );

/** What the log keeps of what an agent threw: without secrets, and even if it throws when it is looked at. */
const failureIn = ({ door }: CallPorts, thrown: unknown): Failure => {
  const clean = (text: unknown): string =>
    door.text(String(text).slice(0, LOOKED_AT_MAX)).slice(0, FAILURE_TEXT_MAX).toWellFormed();
  try {
    const { name, message, code, ...retries } = failureOf(thrown, door.text);
    return {
      name: clean(name),
      message: clean(message),
      ...(code === undefined ? {} : { code: clean(code) }),
      ...retries,
    };
  } catch {
    return { name: 'Thrown', message: 'a value that cannot be shown' };
  }
};

const inputOf = async (ports: CallPorts, call: OpenCall): Promise<Json> => {
  const input = decode(call.input);
  const hashes = blobRefsIn(input);
  return hashes.length === 0 ? input : resolveBlobs(input, await ports.loadBlobs(hashes));
};

export const admit = async (ports: CallPorts, call: OpenCall, output: unknown): Promise<Encoded> => {
  const admitted = ports.door.admit(output ?? null, 'answer');
  if (admitted.blobs.size === 0) return admitted;
  await ports.putBlobs(admitted.blobs);
  return withExcerpt(call, admitted);
};

interface Attempt {
  readonly call: Recorded<OpenCall>;
  readonly input: Json;
  readonly withdrawal: Withdrawal;
}

const withinTime = (
  ports: CallPorts,
  agent: Agent,
  { call, input, withdrawal }: Attempt,
): Promise<unknown> => {
  const { timeoutMs } = agent.options;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (settle: () => void) => {
      isOver = true;
      cancel();
      settle();
    };
    const cancel = limitTo(ports.clock, timeoutMs, () => {
      end(() => reject(new RuntimeError('AGENT_TIMED_OUT', { agent: call.agent, limitMs: timeoutMs })));
      withdrawal.abortSignal(TIMED_OUT);
    });
    // An agent that does not mind its signal must not keep its place for ever.
    withdrawal.onWithdrawn = (reason) => end(() => reject(reason));
    invoke(agent, requestOf(ports, call, { input, withdrawal })).then(
      (output) => (isOver ? ports.late(call, agent, output) : end(() => resolve(output))),
      (error: unknown) => end(() => reject(error)),
    );
  });
};

const TIMED_OUT = new DOMException('The time limit of the agent has passed.', 'TimeoutError');

/** Async, so that an agent which throws at once is like one that rejects. */
const invoke = async (agent: Agent, request: AgentRequest<never>): Promise<unknown> => agent.run(request);

const limitTo = (clock: Clock, limitMs: number, callback: () => void): (() => void) =>
  limitMs > TIMEOUT_MAX_MS ? () => undefined : clock.after(limitMs, callback);

const requestOf = (
  ports: CallPorts,
  call: OpenCall,
  { input, withdrawal }: { readonly input: Json; readonly withdrawal: Withdrawal },
): AgentRequest<never> => {
  const { callId, attempt, run, actor } = call;
  const work = workOf(call, input);
  // Written out member by member: this runs for every call, and a spread costs ten times more.
  return {
    input: work.input,
    callId,
    idempotencyKey: `${callId}/${attempt}`,
    attempt,
    run,
    actor,
    feedback: work.feedback,
    history: work.history,
    context: work.context,
    failure: work.failure,
    get signal() {
      return withdrawal.signal;
    },
    progress: progressOf(ports, call),
    [LINK]: linkOf(ports, withdrawal),
  };
};

const linkOf = (ports: CallPorts, withdrawal: Withdrawal): CallLink => ({
  log: ports.logTag,
  redact: ports.door.text,
  hold: (ending) => {
    withdrawal.hold(ending);
    ports.held(ending);
  },
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
