import type { Address, NewEvent, RecordedEvent } from './event.ts';

/** How a run ended. A limit is never shown as success. */
export type Verdict = 'verified' | 'accepted' | 'exhausted' | 'stalled' | 'cancelled' | 'failed';

export const VERDICTS: readonly Verdict[] = [
  'verified',
  'accepted',
  'exhausted',
  'stalled',
  'cancelled',
  'failed',
];

/** What a run is, apart from its actors. Derived from its events. */
export interface RunRecord {
  readonly id: string;
  readonly workflow: string;
  readonly workflowVersion: number;
  readonly startedAtMs: number;
  /** How many turns have touched it: what the cap of a run counts. */
  readonly turns: number;
  /** Null while it is open. */
  readonly verdict: Verdict | null;
  readonly endedAtMs: number | null;
  /** Canonical JSON of what it gave at its end, or of why it failed; null while it is open. */
  readonly result: string | null;
}

/** A call of an agent that is owed an answer. Its input is fixed here, so that it starts again without its actor. */
export interface OpenCall {
  readonly run: string;
  readonly actor: Address;
  /** The `invoke` id in the actor's machine. */
  readonly call: string;
  /** Tells this call from earlier and later ones of the same id. */
  readonly generation: number;
  readonly agent: string;
  /** The machine that made the call: a call of a version that is not registered is not started. */
  readonly machine: string;
  readonly machineVersion: number;
  /** The same over retries and restarts. */
  readonly callId: string;
  readonly attempt: number;
  /** Canonical JSON; large strings are references that are resolved when the call starts. */
  readonly input: string;
  /** Whether the actor wants to be told when the call leaves the agent's queue. */
  readonly announce: boolean;
}

/** A timer that will fire at `dueMs` unless it is closed before. */
export interface OpenTimer {
  readonly run: string;
  readonly actor: Address;
  readonly timer: string;
  readonly generation: number;
  readonly dueMs: number;
}

/** An open call or timer as the log keeps it: with the position of the event that opened it. */
export type Recorded<Work> = Work & { readonly openedAt: number };

/** Names a call or timer that is no longer open. */
export interface ClosedCall {
  readonly actor: Address;
  readonly call: string;
  readonly generation: number;
}

export interface ClosedTimer {
  readonly actor: Address;
  readonly timer: string;
  readonly generation: number;
}

/** Where a stimulus came from. */
export type Origin = 'host' | 'inbox' | 'agent' | 'timer' | 'runtime';

/** All that one stimulus caused: the unit of commit. All of it is in the log, or nothing. */
export interface Turn {
  /** The stimulus's id, unique in the log: the same stimulus is never committed twice. */
  readonly id: string;
  readonly atMs: number;
  readonly origin: Origin;
  /** The person or program that a host or an inbox command named; null if none. */
  readonly by: string | null;
  /** Position of the event that led to the stimulus (the one that opened the call or timer). */
  readonly cause: number | null;
  readonly events: readonly NewEvent[];
  readonly openedCalls: readonly (OpenCall & { readonly openedBy: number })[];
  readonly closedCalls: readonly ClosedCall[];
  readonly openedTimers: readonly (OpenTimer & { readonly openedBy: number })[];
  readonly closedTimers: readonly ClosedTimer[];
  /** Runs that began or ended in this turn. */
  readonly runs: readonly RunRecord[];
}

/** A turn as the log recorded it. */
export interface RecordedTurn {
  readonly id: string;
  readonly turn: number;
  readonly atMs: number;
  readonly origin: Origin;
  readonly by: string | null;
  readonly events: readonly RecordedEvent[];
  readonly openedCalls: readonly Recorded<OpenCall>[];
  readonly closedCalls: readonly ClosedCall[];
  readonly openedTimers: readonly Recorded<OpenTimer>[];
  readonly closedTimers: readonly ClosedTimer[];
  readonly runs: readonly RunRecord[];
}
