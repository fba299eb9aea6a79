import { assign, emit, setup } from 'xstate';
import { delivery } from '../../src/events/delivery.ts';
import type { Verdict } from '../../src/events/turn.ts';
import { CALL_BEGUN, startActor, WAITING_TAG } from '../../src/events/vocabulary.ts';
import { agentCall } from '../../src/machines/agent-call.ts';
import { workflow } from '../../src/machines/workflow.ts';

/**
 * The workflow under simulation: a loop asks a worker that lives as long as it does, then lets a reviewer that lives for one
 * round look at the result, until the review passes, the rounds are used up, or a person decides. It is small, and has one
 * of everything that the kernel makes durable: messages both ways, calls that are announced and calls that are not,
 * retries, back-off, time limits, withdrawal, invoked and started children, a state that waits for a person.
 *
 * Every message between actors carries its sender's serial number, so that the log can be checked for each one.
 */

/** What an agent is given, and what it answers. `key` says which call the answer is meant for. */
export interface Task {
  readonly piece: string;
  readonly attempt: number;
}
interface Built {
  readonly key: string;
  readonly quality: { readonly level: number };
}
interface Checked {
  readonly key: string;
  readonly passed: { readonly really: boolean };
}

export const BUILD_ATTEMPTS_MAX = 3;
export const CHECK_ATTEMPTS_MAX = 2;
export const CALLS_PER_ROUND_MAX = BUILD_ATTEMPTS_MAX + CHECK_ATTEMPTS_MAX;
/** The worker gives up an attempt after this time; the reviewer leaves that to the shell's own limit for agents. */
const BUILD_LIMIT_MS = 60;
export const AGENT_LIMIT_MS = 200;
const PATIENCE_MS = 150;

const request = ({ piece, attempt }: Task) => ({ callId: piece, attempt });

const workerMachine = setup({
  types: {
    context: {} as { round: number; attempts: number; serial: number; quality: number },
    events: {} as
      | { type: 'ASK'; serial: number; round: number }
      | { type: 'WITHDRAW'; serial: number }
      | { type: 'POKE'; with: { point: number } | null }
      | { type: typeof CALL_BEGUN; call: string },
    emitted: {} as
      | { type: 'WORKED'; to: '..'; serial: number; round: number; quality: number }
      | { type: 'HINT'; to: string; serial: number },
  },
  actors: { build: agentCall<Task, Built>({ announce: true, request }) },
  guards: { hasAttemptsLeft: ({ context }) => context.attempts < BUILD_ATTEMPTS_MAX },
  delays: { backoff: ({ context }) => 10 * 2 ** context.attempts },
  actions: {
    count: assign({ attempts: ({ context }) => context.attempts + 1 }),
    number: assign({ serial: ({ context }) => context.serial + 1 }),
    report: emit(({ context }) => ({
      type: 'WORKED' as const,
      to: '..' as const,
      serial: context.serial,
      round: context.round,
      quality: context.quality,
    })),
    // Whether there is a reviewer, has been one or has never been: nobody takes it, so that it becomes a dead letter.
    hint: emit(({ context }) => ({
      type: 'HINT' as const,
      to: `${delivery().parent}/review`,
      serial: context.serial,
    })),
  },
}).createMachine({
  context: { round: 0, attempts: 0, serial: 0, quality: 0 },
  initial: 'idle',
  // A null in place of the point is a fault of the machine: the assign throws, and the actor fails.
  on: { POKE: { actions: assign({ quality: ({ event }) => (event.with as { point: number }).point }) } },
  states: {
    idle: {
      on: {
        ASK: {
          target: 'working',
          actions: assign(({ event }) => ({ round: event.round, attempts: 0, quality: 0 })),
        },
      },
    },
    working: {
      entry: 'count',
      invoke: {
        id: 'build',
        src: 'build',
        input: ({ context }) => ({ piece: `${delivery().self}.${context.round}`, attempt: context.attempts }),
        onDone: {
          target: 'idle',
          // Garbage has no quality: reading it throws, which counts as a failed attempt.
          actions: [assign({ quality: ({ event }) => event.output.quality.level }), 'number', 'report'],
        },
        onError: [
          { guard: 'hasAttemptsLeft', target: 'resting' },
          { target: 'idle', actions: ['number', 'report', 'number', 'hint'] },
        ],
      },
      on: { WITHDRAW: 'idle' },
      initial: 'queued',
      states: {
        queued: { on: { [CALL_BEGUN]: 'running' } },
        running: { after: { [BUILD_LIMIT_MS]: '#worker.overdue' } },
      },
    },
    overdue: {
      always: [
        { guard: 'hasAttemptsLeft', target: 'resting' },
        { target: 'idle', actions: ['number', 'report', 'number', 'hint'] },
      ],
    },
    resting: { after: { backoff: 'working' }, on: { WITHDRAW: 'idle' } },
  },
  id: 'worker',
});

const reviewMachine = setup({
  types: {
    context: {} as { attempts: number; serial: number; isPassed: boolean },
    output: {} as { passed: boolean },
    emitted: {} as { type: 'REPORT'; to: '..'; serial: number },
  },
  actors: { check: agentCall<Task, Checked>({ request }) },
  guards: { hasAttemptsLeft: ({ context }) => context.attempts < CHECK_ATTEMPTS_MAX },
  actions: {
    number: assign({ serial: ({ context }) => context.serial + 1 }),
    report: emit(({ context }) => ({
      type: 'REPORT' as const,
      to: '..' as const,
      serial: context.serial,
    })),
  },
}).createMachine({
  context: { attempts: 0, serial: 0, isPassed: false },
  initial: 'checking',
  states: {
    checking: {
      entry: assign({ attempts: ({ context }) => context.attempts + 1 }),
      invoke: {
        id: 'check',
        src: 'check',
        input: ({ context }) => ({ piece: delivery().self, attempt: context.attempts }),
        onDone: { target: 'over', actions: assign({ isPassed: ({ event }) => event.output.passed.really }) },
        onError: [
          { guard: 'hasAttemptsLeft', target: 'again', actions: ['number', 'report'] },
          { target: 'over', actions: ['number', 'report'] },
        ],
      },
    },
    again: { after: { 5: 'checking' } },
    over: { type: 'final' },
  },
  output: ({ context }) => ({ passed: context.isPassed }),
});

const loopMachine = setup({
  types: {
    context: {} as { round: number; roundsMax: number; serial: number; notes: number; reports: number },
    input: {} as { roundsMax: number },
    output: {} as { verdict: Verdict },
    events: {} as
      | { type: 'WORKED'; serial: number; round: number; quality: number }
      | { type: 'REPORT'; serial: number }
      | { type: 'NOTE' }
      | { type: 'DECIDE'; accept: boolean },
    emitted: {} as
      | ReturnType<typeof startActor>
      | { type: 'ASK'; to: './worker'; serial: number; round: number }
      | { type: 'WITHDRAW'; to: './worker'; serial: number },
  },
  actors: { review: reviewMachine },
  guards: { hasRoundsLeft: ({ context }) => context.round < context.roundsMax },
  delays: { patience: PATIENCE_MS },
  actions: {
    begin: assign(({ context }) => ({ round: context.round + 1, serial: context.serial + 1 })),
    number: assign({ serial: ({ context }) => context.serial + 1 }),
    ask: emit(({ context: { serial, round } }) => ({
      type: 'ASK' as const,
      to: './worker' as const,
      serial,
      round,
    })),
    withdraw: emit(({ context: { serial } }) => ({
      type: 'WITHDRAW' as const,
      to: './worker' as const,
      serial,
    })),
  },
}).createMachine({
  context: ({ input }) => ({ round: 0, roundsMax: input.roundsMax, serial: 0, notes: 0, reports: 0 }),
  entry: emit(startActor({ id: 'worker', machine: 'worker' })),
  initial: 'building',
  on: {
    NOTE: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
    REPORT: { actions: assign({ reports: ({ context }) => context.reports + 1 }) },
  },
  states: {
    building: {
      entry: ['begin', 'ask'],
      on: {
        WORKED: [
          {
            guard: ({ context, event }) => event.round === context.round && event.quality > 0,
            target: 'reviewing',
          },
          { guard: ({ context, event }) => event.round === context.round, target: 'asking' },
        ],
      },
      // A worker that is busy with an older round does not take the question: nobody may wait for it for ever.
      after: { patience: { target: 'asking', actions: ['number', 'withdraw'] } },
    },
    reviewing: {
      invoke: {
        id: 'review',
        src: 'review',
        onDone: [
          { guard: ({ event }) => event.output.passed, target: 'verified' },
          { guard: 'hasRoundsLeft', target: 'building' },
          { target: 'exhausted' },
        ],
        onError: 'asking',
      },
    },
    asking: {
      tags: WAITING_TAG,
      on: {
        DECIDE: [
          { guard: ({ event }) => event.accept, target: 'accepted' },
          {
            target: 'building',
            actions: assign({ roundsMax: ({ context }) => context.roundsMax + 1 }),
          },
        ],
      },
    },
    verified: { type: 'final', output: 'verified' },
    accepted: { type: 'final', output: 'accepted' },
    exhausted: { type: 'final', output: 'exhausted' },
  },
  output: ({ event }) => ({ verdict: event.output as Verdict }),
});

const loop = workflow('loop', loopMachine);
const review = workflow('review', reviewMachine);
const worker = workflow('worker', workerMachine);

export const workflows = [loop, worker, review] as const;

/** The worker's next version does the same; its actors come over from the first as they are. */
const upgradedWorker = workflow('worker', workerMachine, {
  version: 2,
  migrations: {
    // States and contexts of both are the same.
    1: {
      from: workerMachine,
      migrate: ({ value, context }) => ({ value: value as never, context: context as never }),
    },
  },
});

/** What an application has after an upgrade: the worker's first version is gone. */
export const upgradedWorkflows = [loop, upgradedWorker, review] as const;

/** Every version that a log may hold. */
export const allWorkflows = [...workflows, upgradedWorker] as const;

/** The number of the last message that an actor of this workflow sent. */
export const lastSerial = (context: unknown): number => (context as { serial: number }).serial;

interface LoopTally {
  readonly notes: number;
  readonly reports: number;
  readonly round: number;
}

/** How many notes and reports a loop says that it was given, and how many rounds it began. */
export const tallyOf = (context: unknown): LoopTally => context as LoopTally;
