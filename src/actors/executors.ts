import { RuntimeError } from '../errors.ts';
import { failureOf } from '../events/failure.ts';
import type { ClosedCall, OpenCall, Recorded } from '../events/turn.ts';
import type { Agent } from './agent.ts';
import { admit, type CallPorts, runCall } from './call-runner.ts';
import { answerOf } from './envelope.ts';
import { createQuarantine } from './quarantine.ts';
import type { Outcome } from './stimulus.ts';
import { Withdrawal } from './withdrawal.ts';

export interface ExecutorPorts extends Omit<CallPorts, 'late'> {
  /** The agent that a call is for, if it is registered. */
  readonly find: (call: OpenCall) => Agent | undefined;
  readonly known: () => readonly string[];
  readonly answered: (call: Recorded<OpenCall>, outcome: Outcome) => void;
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
}

interface Work {
  readonly withdrawal: Withdrawal;
  release: () => void;
}

export const createExecutors = (given: ExecutorPorts): Executors => {
  const late: CallPorts['late'] = (call, agent, output) => {
    // What cannot be stored is no loss: nobody waits for it.
    if (!stopped)
      answerOf(call, agent, output)
        .then((answer) => admit(ports, answer))
        .then(
          (encoded) => ports.answered(call, { output: encoded }),
          () => undefined,
        );
  };
  const ports = { ...given, late };
  const working = new Map<string, Work>();
  const quarantine = createQuarantine(ports.clock);
  let stopped = false;

  const begin = async (call: Recorded<OpenCall>, agent: Agent, work: Work): Promise<void> => {
    const { withdrawal } = work;
    const refusal = quarantine.refusal(call.agent, agent);
    const outcome = refusal
      ? { failure: failureOf(refusal) }
      : await runCall(ports, agent, { call, withdrawal });
    work.release();
    // It was closed, in the log, by someone else; or we stop, and it stays open.
    if (withdrawal.reason) return;
    working.delete(keyOf(call));
    if (!outcome) return;
    if (!refusal) quarantine.note(call.agent, 'output' in outcome);
    ports.answered(call, outcome);
  };

  const end = (work: Work, why: string) => {
    work.withdrawal.withdraw(why);
    work.release();
  };

  return {
    start(call) {
      if (stopped) return;
      const agent = ports.find(call);
      if (!agent) {
        const missing = new RuntimeError('AGENT_MISSING', { agent: call.agent, known: ports.known() });
        ports.warn(`The call "${call.callId}" waits: ${missing.message}`);
        return;
      }
      const work: Work = { withdrawal: new Withdrawal(), release: () => undefined };
      working.set(keyOf(call), work);
      // The place may be free at once, before `take` has returned what gives it back.
      work.release = agent.slots.take(() => queueMicrotask(() => void begin(call, agent, work)));
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
  };
};

const keyOf = ({ actor, call, generation }: ClosedCall): string => `${actor}#${call}.${generation}`;
