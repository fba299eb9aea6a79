import type { Registry } from '../actors/registry.ts';
import type { KernelLimits } from '../actors/turn.ts';
import { blobRefsIn, resolveBlobs } from '../events/blob.ts';
import { decode } from '../events/encode.ts';
import type { Failure, Json } from '../events/json.ts';
import { AGENT } from '../machines/agent-machine.ts';
import type { EventLog } from '../store/event-log.ts';
import { liveAgain, type PastCall } from './past.ts';

/** What an agent was given with a call, as far as its answer may depend on it. */
export interface RecordedWork {
  readonly input: Json;
  readonly feedback: readonly Json[];
  readonly history: readonly Json[];
  readonly context: Json;
  /** Why the attempt before failed; null for the first. */
  readonly failure: string | null;
}

/** A call of a run that was answered. */
export interface RecordedCall {
  readonly agent: string;
  readonly work: RecordedWork;
  /** Whether `output` is an envelope (output, issues, usage, feedback), as agents in loops answer, or the output alone. */
  readonly isEnvelope: boolean;
  /** What it answered; undefined if it failed. */
  readonly output: Json | undefined;
  readonly failure: Failure | undefined;
}

interface Ports {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly limits: KernelLimits;
}

/**
 * Every call of a run that was answered, in the order of the answers: the run is lived once more, since the log keeps answers,
 * but not what was asked.
 *
 * @throws {RuntimeError} UNKNOWN_RUN, MACHINE_MISSING or REPLAY_DIVERGED if the workflows are not those of the run
 */
export const recordedCalls = async (ports: Ports, run: string): Promise<readonly RecordedCall[]> => {
  const { calls, problem } = await liveAgain(ports, run);
  if (problem) throw problem;
  const answered = calls
    .filter(({ outcome, work }) => outcome !== null && work !== null)
    .sort((one, other) => (one.answeredAt ?? 0) - (other.answeredAt ?? 0));
  const recorded: RecordedCall[] = [];
  for (const call of answered) recorded.push(await recordedCall(ports.log, call));
  return recorded;
};

const recordedCall = async (log: EventLog, { call, work, outcome }: PastCall): Promise<RecordedCall> => {
  const [agent = '', ...lines] = (work ?? '').split('\n');
  const given = await whole(log, decode(lines.join('\n')));
  const output = outcome && 'output' in outcome ? await whole(log, outcome.output.value) : undefined;
  const failure = outcome && 'failure' in outcome ? outcome.failure : undefined;
  // It was made of just these.
  return {
    agent,
    work: given as unknown as RecordedWork,
    isEnvelope: call.machine === AGENT,
    output,
    failure,
  };
};

/** With its large values in place. */
const whole = async (log: EventLog, value: Json): Promise<Json> => {
  const hashes = blobRefsIn(value);
  return hashes.length === 0 ? value : resolveBlobs(value, await log.blobs(hashes));
};
