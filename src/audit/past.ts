import { workOf } from '../actors/agent-answer.ts';
import type { Registry } from '../actors/registry.ts';
import type { Outcome, Stimulus } from '../actors/stimulus.ts';
import type { KernelLimits } from '../actors/turn.ts';
import { createUpcast } from '../actors/upcast.ts';
import { isRuntimeError, RuntimeError } from '../errors.ts';
import { canonicalJson, decode } from '../events/encode.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject, type JsonObject } from '../events/json.ts';
import type { OpenCall, RecordedTurn } from '../events/turn.ts';
import type { EventLog } from '../store/event-log.ts';
import { capIn } from './met-limits.ts';
import { stimulusOf } from './past-stimulus.ts';
import { type PastTurn, turnsOfRun } from './past-turns.ts';
import { isQuestion } from './questions.ts';
import { callKey, type Opened, type Taken, timerKey, World } from './world.ts';

/** Which call, and when it was opened. The rest of it the log keeps only while it is open. */
type PastOpening = Pick<
  Opened<OpenCall>,
  'actor' | 'call' | 'generation' | 'openedAt' | 'openedAtMs' | 'machine'
>;

/** A call that was made, and what came of it. Positions are those of the log. */
export interface PastCall {
  readonly call: PastOpening;
  /** What its agent was given: the same for two calls that ask for the same. Null if it cannot be known any more. */
  readonly work: string | null;
  begunAfterMs: number | null;
  begunAt: number | null;
  /** Until it was answered, or nobody waited for it any more; null if it is still open. */
  endedAfterMs: number | null;
  outcome: Outcome | null;
  answeredAt: number | null;
}

/** A question that was asked of a person, and what was said. */
export interface PastQuestion {
  readonly actor: Address;
  readonly asked: string;
  readonly openedAt: number;
  readonly openedAtMs: number;
  said: (Stimulus & { kind: 'message' }) | null;
  saidAt: number | null;
}

/** When a timer was due, when it fired, and where. */
interface PastTimer {
  readonly dueMs: number;
  readonly atMs: number;
  readonly position: number;
}

/** A run as it was: every turn, what made it, and what agents and persons answered. */
export interface Past {
  readonly run: string;
  readonly turns: readonly PastTurn[];
  readonly stimuli: readonly Stimulus[];
  /** What each turn opened: see `opensOf`. */
  readonly opens: readonly string[];
  /** When and where each timer fired, by its key. */
  readonly fired: ReadonlyMap<string, PastTimer>;
  readonly calls: readonly PastCall[];
  readonly questions: readonly PastQuestion[];
  /** The system at its end. */
  readonly world: World;
  /** Why it could not be lived again to its end, if it could not: then the inputs of some calls are not known. */
  readonly problem: RuntimeError | undefined;
  /** The caps of the runtime that made it, as far as they are known. */
  readonly caps: KernelLimits;
}

/**
 * What two calls must have in common for one's answer to be the other's: agent, input, feedback, history, context, and why the
 * attempt before failed. How many passes a loop, or a story, may have in all is no part of the work: with it, nothing that was
 * answered under one limit could be used under another.
 */
export const workKey = (call: OpenCall): string => {
  const { input, ...work } = workOf(call, decode(call.input)) as unknown as JsonObject; // It is made from JSON.
  return `${call.agent}\n${canonicalJson({ ...work, input: isJsonObject(input) ? withoutBound(input) : (input ?? null) })}`;
};

const withoutBound = (input: JsonObject): JsonObject => {
  const { passesMax: _, own, ...work } = input;
  const isOfStory = 'iteration' in work && 'refinement' in work;
  const { maxIterations: __, ...ofStory } = work;
  // What a story's file is to say has it among the fields.
  const fields = isJsonObject(own) && isJsonObject(own['fields']) ? own['fields'] : undefined;
  if (fields) {
    const { max_refinement_attempts: ___, ...others } = fields;
    return { ...work, own: { ...(own as JsonObject), fields: others } }; // It was looked at just now.
  }
  return { ...(isOfStory ? ofStory : work), ...(own !== undefined && { own }) };
};

/** What is asked: of the same question to the same person the answer is the same. */
export const askedKey = ({ text, details, options, isFree, askedOf }: JsonObject): string =>
  canonicalJson([text ?? null, details ?? null, options ?? null, isFree ?? null, askedOf ?? null]);

/** What a turn opened, as a text: other calls or timers mean another way, even if the rows are the same. */
export const opensOf = ({ openedCalls, openedTimers }: RecordedTurn): string =>
  JSON.stringify([
    openedCalls.map((call) => [callKey(call), workKey(call)]),
    openedTimers.map((timer) => [timerKey(timer), timer.dueMs]),
  ]);

interface Ports {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly limits: KernelLimits;
}

/**
 * Lives a run once more, from the log alone: each recorded stimulus is given to the kernel, and must lead to the rows that the
 * log has. What the log does not keep, the inputs of calls that were answered, is known afterwards. A run that the machines at
 * hand cannot live again is remembered as far as the log goes by itself: see `problem`.
 *
 * @throws {RuntimeError} UNKNOWN_RUN
 */
export const liveAgain = async ({ log, registry, limits }: Ports, run: string): Promise<Past> => {
  const turns = await turnsOfRun(log, run, createUpcast(registry));
  if (turns.length === 0) throw new RuntimeError('UNKNOWN_RUN', { run });
  const caps = capsIn(turns, limits);
  const world = new World(registry, caps);
  const memory = new Remembering();
  const opens: string[] = [];
  const stimuli: Stimulus[] = [];
  let problem: RuntimeError | undefined;
  for (const turn of turns) {
    const stimulus = stimulusOf(turn);
    if (!stimulus) throw diverged(turn.events[0], 'nothing that can be given to it again');
    const taken = problem ? undefined : takeAsRecorded(world, stimulus, turn);
    if (isRuntimeError(taken)) problem = taken;
    const isLived = taken !== undefined && !isRuntimeError(taken);
    memory.note(turn, stimulus, isLived ? taken : undefined);
    opens.push(isLived ? opensOf(taken.recorded) : '');
    stimuli.push(stimulus);
  }
  const { questions, fired } = memory;
  return {
    run,
    turns,
    stimuli,
    opens,
    fired,
    calls: [...memory.calls.values()],
    questions,
    world,
    problem,
    caps,
  };
};

/** The caps that the run was made under, as far as it met them: they belong to the runtime of then, not to its machines. */
const capsIn = (turns: readonly PastTurn[], limits: KernelLimits): KernelLimits => {
  let { turnsPerRun, deliveriesPerTurn } = limits;
  for (const {
    events: [first],
  } of turns) {
    const { turns: turnsMax = turnsPerRun, deliveries = deliveriesPerTurn } = first ? capIn(first) : {};
    turnsPerRun = turnsMax;
    deliveriesPerTurn = deliveries;
  }
  return { turnsPerRun, deliveriesPerTurn };
};

/** The turn that a stimulus leads to, which must be the one that the log has; else what is wrong. */
const takeAsRecorded = (world: World, stimulus: Stimulus, { events }: PastTurn): Taken | RuntimeError => {
  const [first] = events;
  const { machine = '', machineVersion: version = 0 } = first ?? {};
  const { registry } = world;
  if (!registry.find(machine, version))
    return new RuntimeError('MACHINE_MISSING', { machine, version, known: registry.versions(machine) });
  const taken = world.take(stimulus, version);
  if (isRuntimeError(taken)) return diverged(first, `an error: ${taken.message}`);
  const made = taken?.recorded.events ?? [];
  for (let index = 0; index < Math.max(made.length, events.length); index += 1) {
    const [was, is] = [events[index], made[index]];
    if (!was || !is || pathOf(was) !== pathOf(is)) return diverged(was ?? first, is ? pathOf(is) : 'nothing');
  }
  return taken ?? diverged(first, 'nothing');
};

/** What tells one way through the machines from another, whatever is said on the way. */
export const pathOf = ({ actor, kind, type, from, state }: RecordedEvent): string =>
  `${actor} ${kind} ${type} ${from ?? ''} ${canonicalJson(state)}`;

const diverged = (event: RecordedEvent | undefined, computed: string): RuntimeError =>
  new RuntimeError('REPLAY_DIVERGED', {
    address: event?.actor ?? '',
    position: event?.position ?? 0,
    recorded: event ? pathOf(event) : 'nothing',
    computed,
  });

/** What a run has asked of agents and persons, and what they said. */
class Remembering {
  readonly calls = new Map<string, PastCall>();
  readonly questions: PastQuestion[] = [];
  readonly fired = new Map<string, PastTimer>();
  readonly #dueMs = new Map<string, number>();

  readonly #times = new Map<number, number>();

  /** Takes down what a turn opened and closed, as far as the kernel has told. */
  note({ events }: PastTurn, stimulus: Stimulus, taken: Taken | undefined): void {
    const { atMs } = stimulus;
    for (const { position } of events) this.#times.set(position, atMs);
    if (taken) this.#opened(events, taken);
    else if (stimulus.kind === 'begun' || stimulus.kind === 'answer') this.#unknown(stimulus, events[0]);
    for (const event of events) if (isQuestion(event)) this.#asked(event);
    if (stimulus.kind === 'begun') {
      const past = this.calls.get(callKey(stimulus));
      if (past) past.begunAfterMs = atMs - past.call.openedAtMs;
      if (past) past.begunAt = events[0]?.position ?? null;
    }
    if (stimulus.kind === 'fired') {
      const dueMs = this.#dueMs.get(timerKey(stimulus)) ?? atMs;
      this.fired.set(timerKey(stimulus), { dueMs, atMs, position: events[0]?.position ?? 0 });
    }
    if (stimulus.kind === 'answer') this.#answered(stimulus, events[0]);
    if (stimulus.kind === 'message') this.#said(stimulus, events[0]);
    for (const closed of taken?.recorded.closedCalls ?? []) {
      const past = this.calls.get(callKey(closed));
      if (past) past.endedAfterMs ??= atMs - past.call.openedAtMs;
    }
  }

  #opened(events: readonly RecordedEvent[], { recorded }: Taken): void {
    const { atMs: openedAtMs, openedCalls, openedTimers } = recorded;
    const shift = (events[0]?.position ?? 0) - (recorded.events[0]?.position ?? 0);
    for (const call of openedCalls)
      this.#remember({ ...call, openedAt: call.openedAt + shift, openedAtMs }, workKey(call));
    for (const timer of openedTimers) this.#dueMs.set(timerKey(timer), timer.dueMs);
  }

  /** A call of which the log only says that it began, or was answered. What led to that is what opened it. */
  #unknown(
    stimulus: Extract<Stimulus, { kind: 'begun' | 'answer' }>,
    first: RecordedEvent | undefined,
  ): void {
    if (!first || this.calls.has(callKey(stimulus))) return;
    const { actor, call, generation, cause } = stimulus;
    const openedAt = cause ?? first.position;
    const openedAtMs = this.#times.get(openedAt) ?? stimulus.atMs;
    this.#remember({ actor, call, generation, openedAt, openedAtMs, machine: first.machine }, null);
  }

  #remember(call: PastOpening, work: string | null): void {
    const nothing = {
      begunAfterMs: null,
      begunAt: null,
      endedAfterMs: null,
      outcome: null,
      answeredAt: null,
    };
    this.calls.set(callKey(call), { call, work, ...nothing });
  }

  #asked({ actor, data, position: openedAt, atMs: openedAtMs }: RecordedEvent): void {
    this.questions.push({ actor, asked: askedKey(data), openedAt, openedAtMs, said: null, saidAt: null });
  }

  /**
   * An answer that came too late stands for what the agent would have said, had it been waited for: unless its call had been answered
   * already, as one is that runs out of time.
   */
  #answered(stimulus: Extract<Stimulus, { kind: 'answer' }>, first: RecordedEvent | undefined): void {
    const past = this.calls.get(callKey(stimulus));
    if (!past || !first || (first.kind === 'late' && past.outcome !== null)) return;
    past.outcome = stimulus.outcome;
    past.answeredAt = first.position;
    past.endedAfterMs = stimulus.atMs - past.call.openedAtMs;
  }

  #said(stimulus: Extract<Stimulus, { kind: 'message' }>, first: RecordedEvent | undefined): void {
    if (first?.kind !== 'message') return;
    const asked = this.questions.findLast(({ actor, said }) => actor === stimulus.to && said === null);
    if (!asked) return;
    asked.said = stimulus;
    asked.saidAt = first.position;
  }
}
