import { RuntimeError } from '../errors.ts';
import { failureOf } from '../events/failure.ts';
import type { ClosedCall, OpenCall, Recorded } from '../events/turn.ts';
import type { Agent } from './agent.ts';
import { answerOf } from './agent-answer.ts';
import { admit, type CallAtWork, type CallPorts, type CallToMake, runCall } from './call-runner.ts';
import { createQuarantine } from './quarantine.ts';
import type { Outcome } from './stimulus.ts';
import { Withdrawal } from './withdrawal.ts';

export interface ExecutorPorts extends Omit<CallPorts, 'late' | 'held'> {
  /** The agent that a call is for, if it is registered. */
  readonly find: (call: OpenCall) => Agent | undefined;
  /** The names that there are for a call. */
  readonly known: (call: OpenCall) => readonly string[];
  readonly answered: (call: CallAtWork, outcome: Outcome) => void;
  readonly warn: (warning: string) => void;
}

/** The agents at work: each open call is started once its agent has a place free, and answered once. */
export interface Executors {
  start(call: Recorded<OpenCall>): void;
  /** Nobody waits for it any more: it leaves the queue, or is aborted. */
  abort(call: ClosedCall): void;
  readonly size: number;
  /** Aborts all; their calls stay open in the log and start again with the next runtime. */
  stop(): void;
  /** Resolves when nothing is left of what agents did outside of this process: after `stop`. */
  ended(): Promise<void>;
}

interface Work extends CallToMake {
  release: () => void;
  /** Resolves when it was answered, or nobody waits for it any more. */
  over: Promise<void> | undefined;
}

export const createExecutors = (given: ExecutorPorts): Executors => {
  const late: CallPorts['late'] = (call, agent, output) => {
    // That its time was over may not be in the log yet: until then the call is open, and this would be taken for its answer.
    const told = working.get(keyOf(call))?.over ?? Promise.resolve();
    if (!stopped) void told.then(() => keepLate(ports, { call, agent, output }));
  };
  const lingering = createLingering();
  const ports = { ...given, late, held: lingering.add };
  const working = new Map<string, Work>();
  const quarantine = createQuarantine(ports.clock);
  let stopped = false;

  const begin = createBegin({ ports, working, quarantine });

  return {
    start(call) {
      if (stopped) return;
      const agent = ports.find(call);
      if (!agent) {
        const missing = new RuntimeError('AGENT_MISSING', { agent: call.agent, known: ports.known(call) });
        ports.warn(`The call "${call.callId}" waits: ${missing.message}`);
        return;
      }
      const { input } = call;
      const work: Work = {
        call: atWork(call),
        input,
        withdrawal: new Withdrawal(),
        release: nothing,
        over: undefined,
      };
      working.set(keyOf(call), work);
      // The place may be free at once, before `take` has returned what gives it back.
      work.release = agent.slots.take(() =>
        queueMicrotask(() => {
          work.over = begin(agent, work);
        }),
      );
    },
    abort(call) {
      const work = working.get(keyOf(call));
      working.delete(keyOf(call));
      if (work) end(work, 'Nobody waits for this call any more.');
    },
    get size() {
      return working.size;
    },
    stop() {
      stopped = true;
      for (const work of working.values()) end(work, 'The runtime closes.');
      working.clear();
    },
    ended: () => lingering.ended(),
  };
};

interface Desk {
  readonly ports: ExecutorPorts & CallPorts;
  readonly working: Map<string, Work>;
  readonly quarantine: ReturnType<typeof createQuarantine>;
}

/** How a call that has a place is made, to its end. */
const createBegin = ({ ports, working, quarantine }: Desk) => {
  /** Not async itself: the frame of a function that waits is the largest part of what a call at work takes in memory. */
  const begin = (agent: Agent, work: Work): Promise<void> => {
    const refusal = quarantine.refusal(work.call.agent, agent);
    if (refusal) return settle(agent, work, { outcome: { failure: failureOf(refusal) }, isRefused: true });
    return runCall(ports, agent, work).then((outcome) => settle(agent, work, { outcome, isRefused: false }));
  };

  const settle = async (
    agent: Agent,
    work: Work,
    { outcome, isRefused }: { readonly outcome: Outcome | undefined; readonly isRefused: boolean },
  ): Promise<void> => {
    const { call, withdrawal } = work;
    // Its place stays taken, and the next attempt waits, until nothing of it is at work any more.
    if (withdrawal.lingering) await withdrawal.lingering;
    work.release();
    // It was closed, in the log, by someone else; or we stop, and it stays open.
    if (withdrawal.reason) return;
    working.delete(keyOf(call));
    if (!outcome) return;
    if (!isRefused) quarantine.note(agent, 'output' in outcome);
    ports.answered(call, outcome);
  };

  return begin;
};

const keepLate = async (
  ports: ExecutorPorts & CallPorts,
  { call, agent, output }: { readonly call: CallAtWork; readonly agent: Agent; readonly output: unknown },
): Promise<void> => {
  try {
    ports.answered(call, { output: await admit(ports, call, await answerOf(call, agent, output)) });
  } catch {
    // What cannot be stored is no loss: nobody waits for it.
  }
};

const end = ({ withdrawal, release }: Work, why: string): void => {
  withdrawal.withdraw(why);
  // Otherwise whoever waits for what goes on gives the place back.
  if (!withdrawal.lingering) release();
};

/** Written out member by member: this runs for every call, and to leave one out by destructuring costs five times more. */
const atWork = (call: Recorded<OpenCall>): CallAtWork => ({
  run: call.run,
  actor: call.actor,
  call: call.call,
  generation: call.generation,
  agent: call.agent,
  machine: call.machine,
  machineVersion: call.machineVersion,
  callId: call.callId,
  attempt: call.attempt,
  announce: call.announce,
  openedAt: call.openedAt,
});

const nothing = (): void => undefined;

/** What goes on outside of this process after its call is over. */
const createLingering = () => {
  const lingering = new Set<Promise<unknown>>();
  return {
    add: (ending: Promise<unknown>): void => {
      lingering.add(ending);
      const forget = () => lingering.delete(ending);
      ending.then(forget, forget);
    },
    ended: async (): Promise<void> => {
      await Promise.allSettled(lingering);
    },
  };
};

const keyOf = ({ actor, call, generation }: ClosedCall): string => `${actor}#${call}.${generation}`;
