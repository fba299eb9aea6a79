import { isRuntimeError, RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import { encodeOwn } from '../events/encode-own.ts';
import type { Address } from '../events/event.ts';
import { failureOf } from '../events/failure.ts';
import { joined, plain } from '../events/join.ts';
import type { Json } from '../events/json.ts';
import type { RunRecord, Turn, Verdict } from '../events/turn.ts';
import { SYSTEM_TYPE_VERSION, TYPE } from '../events/vocabulary.ts';
import { invariant } from '../invariant.ts';
import { type ActorRecord, noted } from './actor-record.ts';
import { type Delivered, type Delivery, deliver } from './deliver.ts';
import type { Registry } from './registry.ts';
import type { Stimulus } from './stimulus.ts';
import { NotLoaded, type System, Workspace } from './workspace.ts';

export interface KernelLimits {
  /** How many messages one stimulus may cause. */
  readonly deliveriesPerTurn: number;
  /** After how many turns a run ends exhausted, unless its workflow says otherwise. */
  readonly turnsPerRun: number;
}

export type TurnResult =
  /** An actor that is not loaded: load it, and begin the turn again. */
  | { readonly kind: 'needs'; readonly actors: readonly Address[] }
  /** The stimulus is wrong in itself, and whoever sent it is told. Nothing changes. */
  | { readonly kind: 'refused'; readonly error: RuntimeError }
  /** It came too late to mean anything, and cost nobody anything. Nothing changes. */
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'turn';
      readonly turn: Turn;
      readonly actors: ReadonlyMap<Address, ActorRecord>;
      readonly runs: ReadonlyMap<string, RunRecord>;
      /** What became of the stimulus itself. */
      readonly delivered: Delivered;
    };

/**
 * The pure function at the heart of everything: delivers a stimulus to its actor, then every message which that causes,
 * until all is quiet. No clock, no randomness, no I/O. The system that it is given stays as it is.
 */
export interface Kernel {
  turn(system: System, stimulus: Stimulus): TurnResult;
  /** For a stimulus on which `turn` itself threw, which is our fault: its run ends failed, so that it does not come again. */
  park(system: System, stimulus: Stimulus, fault: unknown): TurnResult;
}

export const createKernel = ({
  registry,
  limits,
}: {
  readonly registry: Registry;
  readonly limits: KernelLimits;
}): Kernel => {
  const attempt = (system: System, stimulus: Stimulus): TurnResult => {
    const work = new Workspace(system, stimulus);
    const refusal = refuse(work, stimulus, registry);
    if (refusal) return { kind: 'refused', error: refusal };
    if (stimulus.kind === 'migrate') return finished(work, migrate(work, stimulus));
    const exhausted = exhaustedRun(work, stimulus, { registry, limits });
    const delivered = exhausted
      ? endRun(work, {
          registry,
          stimulus,
          reason: `${exhausted.turns} turns are the cap of the run`,
          verdict: 'exhausted',
        })
      : deliverAll(work, {
          registry,
          first: toDelivery(work, stimulus),
          deliveriesMax: limits.deliveriesPerTurn,
        });
    return finished(work, delivered);
  };

  const giveUp = (
    system: System,
    stimulus: Stimulus,
    end: Pick<Ending, 'reason' | 'verdict'>,
  ): TurnResult => {
    const work = new Workspace(system, stimulus);
    try {
      return finished(work, endRun(work, { registry, stimulus, ...end }));
    } catch (error) {
      return orNeeds(error);
    }
  };

  return {
    turn: (system, stimulus) => {
      try {
        return attempt(system, stimulus);
      } catch (error) {
        if (!isRuntimeError(error, 'TURN_TOO_LONG')) return orNeeds(error);
        if (stimulus.kind === 'start') return { kind: 'refused', error };
        return giveUp(system, stimulus, { reason: error.message, verdict: 'exhausted' });
      }
    },
    park: (system, stimulus, fault) =>
      giveUp(system, stimulus, {
        reason: `a fault of the runtime: ${failureOf(fault).message}`,
        verdict: 'failed',
      }),
  };
};

/** What a turn was left with, unless it was a fault. */
const orNeeds = (error: unknown): TurnResult => {
  if (error instanceof NotLoaded) return { kind: 'needs', actors: [error.address] };
  throw error;
};

const finished = (work: Workspace, delivered: Delivered): TurnResult => {
  const turn = work.finish();
  return turn ? { kind: 'turn', turn, actors: work.actors, runs: work.runs, delivered } : { kind: 'nothing' };
};

const deliverAll = (
  work: Workspace,
  { registry, first, deliveriesMax }: { registry: Registry; first: Delivery; deliveriesMax: number },
): Delivered => {
  const queue: Delivery[] = [];
  const desk = { work, registry, queue };
  const delivered = deliver(desk, first);
  for (let next = 0; next < queue.length; next += 1) {
    if (next >= deliveriesMax)
      throw new RuntimeError('TURN_TOO_LONG', { run: runOf(first.to), deliveries: deliveriesMax });
    const message = queue[next];
    invariant(message, 'the queue has what its length says');
    deliver(desk, message);
  }
  return delivered;
};

/** What is wrong with a stimulus of the host's or of another process's, if anything is. */
const refuse = (work: Workspace, stimulus: Stimulus, registry: Registry): RuntimeError | undefined => {
  switch (stimulus.kind) {
    case 'start':
      return stimulus.isFresh || work.run(stimulus.run) === null
        ? undefined
        : new RuntimeError('RUN_EXISTS', { run: stimulus.run });
    case 'end':
      return refuseEnded(work, stimulus.run);
    case 'message': {
      const { to: address, type, expectedVersion } = stimulus;
      const record = work.actor(address);
      if (record === null) return new RuntimeError('UNKNOWN_ACTOR', { address });
      if (expectedVersion !== undefined && record.version !== expectedVersion) {
        return new RuntimeError('STALE_VERSION', {
          address,
          expected: expectedVersion,
          actual: record.version,
        });
      }
      const behavior = registry.find(record.machine, record.machineVersion)?.behavior;
      if (behavior && !behavior.accepts(type))
        return new RuntimeError('UNKNOWN_EVENT', { address, type, known: behavior.takes });
      return refuseEnded(work, record.run);
    }
    default:
      return undefined;
  }
};

const refuseEnded = (work: Workspace, id: string): RuntimeError | undefined => {
  const run = work.run(id);
  if (run === null) return new RuntimeError('UNKNOWN_RUN', { run: id });
  return run.verdict === null ? undefined : new RuntimeError('RUN_ENDED', { run: id, verdict: run.verdict });
};

const toDelivery = (work: Workspace, stimulus: Exclude<Stimulus, { kind: 'migrate' }>): Delivery => {
  switch (stimulus.kind) {
    case 'start': {
      const { run, workflow, version, input, atMs } = stimulus;
      const record = {
        id: run,
        workflow,
        workflowVersion: version,
        startedAtMs: atMs,
        turns: 0,
        verdict: null,
        endedAtMs: null,
        result: null,
      };
      work.putRun(record);
      return {
        kind: 'start',
        to: run,
        from: null,
        causedBy: null,
        machine: workflow,
        version,
        input,
        child: null,
      };
    }
    case 'message':
      return {
        kind: 'message',
        to: stimulus.to,
        from: null,
        causedBy: null,
        type: stimulus.type,
        data: stimulus.data,
      };
    case 'answer': {
      const { actor: to, call, generation, outcome } = stimulus;
      return { kind: 'answer', to, from: null, causedBy: null, call, generation, outcome };
    }
    case 'begun':
      return {
        kind: 'begun',
        to: stimulus.actor,
        from: null,
        causedBy: null,
        call: stimulus.call,
        generation: stimulus.generation,
      };
    case 'fired':
      return {
        kind: 'fired',
        to: stimulus.actor,
        from: null,
        causedBy: null,
        timer: stimulus.timer,
        generation: stimulus.generation,
      };
    case 'end':
      return {
        kind: 'stop',
        to: stimulus.run,
        from: null,
        causedBy: null,
        reason: stimulus.reason,
        verdict: stimulus.verdict,
      };
  }
};

/** Records that an actor, which the loader has brought into its new state, goes on under a newer machine. */
const migrate = (work: Workspace, { actor, from, state }: Stimulus & { kind: 'migrate' }): Delivered => {
  const record = work.actor(actor);
  invariant(record, `${actor} is loaded`);
  const data = joined([
    ['from', plain(from)],
    ['state', state],
    ['to', plain(record.machineVersion)],
  ]);
  work.append(noted(record), {
    kind: 'migrated',
    type: TYPE.migrated,
    typeVersion: SYSTEM_TYPE_VERSION,
    data,
    from: null,
    causedBy: null,
  });
  return 'taken';
};

const targetOf = (stimulus: Stimulus): Address => {
  switch (stimulus.kind) {
    case 'start':
    case 'end':
      return stimulus.run;
    case 'message':
      return stimulus.to;
    default:
      return stimulus.actor;
  }
};

/** The open run that a stimulus is for, if it has no turns left. A person may end it all the same. */
const exhaustedRun = (
  work: Workspace,
  stimulus: Stimulus,
  { registry, limits }: { registry: Registry; limits: KernelLimits },
): RunRecord | undefined => {
  if (stimulus.kind === 'start' || stimulus.kind === 'end') return undefined;
  const run = work.run(runOf(targetOf(stimulus)));
  if (run === null || run.verdict !== null) return undefined;
  const turnsMax =
    registry.find(run.workflow, run.workflowVersion)?.workflow.options.turnsMax ?? limits.turnsPerRun;
  return run.turns >= turnsMax ? run : undefined;
};

interface Ending {
  readonly registry: Registry;
  readonly stimulus: Stimulus;
  readonly reason: string;
  readonly verdict: Verdict;
}

/** Ends the run of a stimulus that can't be delivered: it is kept as a dead letter, and everything in the run is stopped. */
const endRun = (work: Workspace, { registry, stimulus, reason, verdict }: Ending): Delivered => {
  const target = targetOf(stimulus);
  const root = runOf(target);
  const record = work.actor(root);
  invariant(record, 'a run that is under way has a root');
  const { type, message } = contentOf(stimulus);
  const data = encodeOwn({ to: target, reason, message }, 'message');
  work.append(noted(record), { kind: 'undelivered', type, typeVersion: 1, data, from: null, causedBy: null });
  const first: Delivery = { kind: 'stop', to: root, from: null, causedBy: 0, reason, verdict };
  deliverAll(work, { registry, first, deliveriesMax: Number.POSITIVE_INFINITY });
  return 'undelivered';
};

/** What a stimulus says, for the row that keeps it when it could not be delivered. */
const contentOf = (stimulus: Stimulus): { readonly type: string; readonly message: Json } => {
  switch (stimulus.kind) {
    case 'message':
      return { type: stimulus.type, message: stimulus.data.value };
    case 'answer': {
      const { call, generation, outcome } = stimulus;
      return 'output' in outcome
        ? { type: TYPE.callDone, message: { call, generation, output: outcome.output.value } }
        : { type: TYPE.callFailed, message: { call, generation, error: { ...outcome.failure } } };
    }
    case 'begun':
      return { type: TYPE.callBegun, message: { call: stimulus.call, generation: stimulus.generation } };
    case 'fired':
      return { type: TYPE.timerFired, message: { timer: stimulus.timer, generation: stimulus.generation } };
    default:
      return { type: TYPE.stop, message: null };
  }
};
