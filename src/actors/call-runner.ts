import { RuntimeError } from '../errors.ts';
import { blobRefsIn, resolveBlobs } from '../events/blob.ts';
import type { Door } from '../events/door.ts';
import { decode, type Encoded } from '../events/encode.ts';
import { failureOf } from '../events/failure.ts';
import type { Failure, Json } from '../events/json.ts';
import type { OpenCall, Recorded } from '../events/turn.ts';
import type { Agent, AgentRequest } from './agent.ts';
import { answerOf, withExcerpt } from './agent-answer.ts';
import { requestOf } from './agent-request.ts';
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
  readonly begun: (call: CallAtWork) => Promise<void>;
  readonly progress: (progress: Progress) => void;
  /** The answer to a call that need not be made, since it is known. */
  readonly recorded?: (call: OpenCall) => Outcome | undefined;
  /** Marks the processes of this runtime's log. */
  readonly logTag: string;
  /** Told of what may outlast a call, so that it can be waited for. */
  readonly held: (ending: Promise<unknown>) => void;
  /** An agent answered although nobody waits any more: it is kept, since it cost money. */
  readonly late: (call: CallAtWork, agent: Agent, output: unknown) => void;
}

/** A call that an agent was given. The text of its input is not kept: thousands may be at work at a time, for hours. */
export type CallAtWork = Omit<Recorded<OpenCall>, 'input'>;

/** A call that is to be made: its input is taken out once. */
export interface CallToMake {
  readonly call: CallAtWork;
  readonly withdrawal: Withdrawal;
  input: string | undefined;
}

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
  toMake: CallToMake,
): Promise<Outcome | undefined> => {
  const { call, withdrawal } = toMake;
  if (call.announce && !(await hasBegun(ports, call))) return undefined;
  const known = ports.recorded?.({ ...call, input: toMake.input ?? '' });
  if (known) return known;
  try {
    const input = await inputOf(ports, toMake);
    if (withdrawal.reason) throw withdrawal.reason;
    const returned = await withinTime(ports, agent, { call, input, withdrawal });
    return { output: await admit(ports, call, await answerOf(call, agent, returned)) };
  } catch (error) {
    return { failure: failureIn(ports, error) };
  }
};

const hasBegun = (ports: CallPorts, call: CallAtWork): Promise<boolean> =>
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

const inputOf = async (ports: CallPorts, toMake: CallToMake): Promise<Json> => {
  const input = decode(toMake.input ?? '');
  toMake.input = undefined;
  const hashes = blobRefsIn(input);
  return hashes.length === 0 ? input : resolveBlobs(input, await ports.loadBlobs(hashes));
};

export const admit = async (ports: CallPorts, call: CallAtWork, output: unknown): Promise<Encoded> => {
  const admitted = ports.door.admit(output ?? null, 'answer');
  if (admitted.blobs.size === 0) return admitted;
  await ports.putBlobs(admitted.blobs);
  return withExcerpt(call, admitted);
};

interface Attempt {
  readonly call: CallAtWork;
  readonly input: Json;
  readonly withdrawal: Withdrawal;
}

const withinTime = (
  ports: CallPorts,
  agent: Agent,
  { call, input, withdrawal }: Attempt,
): Promise<unknown> => {
  const { timeoutMs } = agent.options;
  // Made before: what follows keeps all that it makes use of for as long as the agent is at work.
  const request = requestOf(ports, call, { input, withdrawal });
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
    invoke(agent, request).then(
      (output) => (isOver ? ports.late(call, agent, output) : end(() => resolve(output))),
      (error: unknown) => end(() => reject(error)),
    );
  });
};

const TIMED_OUT = new DOMException('The time limit of the agent has passed.', 'TimeoutError');

/** An agent which throws at once is like one that rejects. */
const invoke = (agent: Agent, request: AgentRequest<never>): Promise<unknown> => {
  try {
    return Promise.resolve(agent.run(request));
  } catch (error) {
    return Promise.reject(error);
  }
};

const limitTo = (clock: Clock, limitMs: number, callback: () => void): (() => void) =>
  limitMs > TIMEOUT_MAX_MS ? () => undefined : clock.after(limitMs, callback);
