import type { Json } from '../events/json.ts';
import type { AgentRequest } from './agent.ts';
import { workOf } from './agent-answer.ts';
import { type CallLink, LINK } from './call-link.ts';
import type { CallAtWork, CallPorts } from './call-runner.ts';
import type { Withdrawal } from './withdrawal.ts';

/** Progress beyond this rate is dropped: an agent that floods harms nobody. */
const PROGRESS_MAX_PER_SECOND = 100;

/** What a request has besides data. Made of one object: thousands of calls may be open at a time. */
class Link implements CallLink {
  readonly #ports: CallPorts;
  readonly #call: CallAtWork;
  readonly #withdrawal: Withdrawal;
  #progress: AgentRequest<never>['progress'] | undefined;

  constructor(ports: CallPorts, call: CallAtWork, withdrawal: Withdrawal) {
    this.#ports = ports;
    this.#call = call;
    this.#withdrawal = withdrawal;
  }

  get log(): string {
    return this.#ports.logTag;
  }

  get redact(): CallLink['redact'] {
    return this.#ports.door.text;
  }

  get signal(): AbortSignal {
    return this.#withdrawal.signal;
  }

  get progress(): AgentRequest<never>['progress'] {
    this.#progress ??= progressOf(this.#ports, this.#call);
    return this.#progress;
  }

  hold(ending: Promise<unknown>): void {
    this.#withdrawal.hold(ending);
    this.#ports.held(ending);
  }
}

interface Linked {
  readonly [LINK]: Link;
}

/**
 * Own members, since agents pass requests on as `{ ...request }`; and the same two functions in all of them: with functions of its
 * own each request would have a shape of its own, which takes ten times the memory.
 */
const ACCESSORS: PropertyDescriptorMap & ThisType<Linked> = {
  signal: {
    enumerable: true,
    get() {
      return this[LINK].signal;
    },
  },
  progress: {
    enumerable: true,
    get() {
      return this[LINK].progress;
    },
  },
};

/** What an agent is called with. Its signal and its way to tell of progress are made when it first asks for them. */
export const requestOf = (
  ports: CallPorts,
  call: CallAtWork,
  { input, withdrawal }: { readonly input: Json; readonly withdrawal: Withdrawal },
): AgentRequest<never> => {
  const { callId, attempt, run, actor } = call;
  const work = workOf(call, input);
  // Written out member by member: this runs for every call, and a spread costs ten times more.
  const request = {
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
    [LINK]: new Link(ports, call, withdrawal),
  };
  // The accessors give what is missing.
  return Object.defineProperties(request, ACCESSORS) as unknown as AgentRequest<never>;
};

const progressOf = (ports: CallPorts, { run, actor, callId }: CallAtWork) => {
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
