import type { ActorRecord } from '../../src/actors/actor-record.ts';
import { foldEvent } from '../../src/actors/fold.ts';
import type { Registry } from '../../src/actors/registry.ts';
import type { Address, RecordedEvent } from '../../src/events/event.ts';
import type { OpenCall, OpenTimer, Recorded, RecordedTurn } from '../../src/events/turn.ts';
import { TYPE } from '../../src/events/vocabulary.ts';
import { isSameRecord } from './same-record.ts';
import type { SentMessages } from './sent-messages.ts';
import { must } from './violation.ts';

export const callKey = (actor: Address, call: string, generation: number): string =>
  `${actor}#${call}.${generation}`;
const timerKey = (actor: Address, timer: string, generation: number): string =>
  `${actor}@${timer}.${generation}`;

/** The name of the errors that agents here throw, with the key of their call as the message. */
export const AGENT_FAILURE = 'AgentFailure';

export const idempotencyKey = ({ callId, attempt }: OpenCall): string => `${callId}/${attempt}`;

/**
 * What an observer outside of the process knows: it sees every commit that the log accepted, what was published, and every
 * effect of an agent, and it outlives all crashes. It folds each row by itself, once, so that its actors come from the log
 * alone; and it holds each row against the laws as it comes.
 */
export class Ledger {
  readonly actors = new Map<Address, ActorRecord>();
  /** Every call that was ever opened. */
  readonly calls = new Map<string, Recorded<OpenCall>>();
  /** How often each call had its effect, by idempotency key. */
  readonly effects = new Map<string, number>();
  /** Ids of committed stimuli. */
  readonly turns = new Map<string, RecordedTurn>();
  /** Rows by sender and serial number. */
  readonly messages = new Map<string, RecordedEvent>();
  readonly turnsByRun = new Map<string, number>();
  /** How many messages each actor took, by type. */
  readonly taken = new Map<Address, Map<string, number>>();
  readonly #registry: Registry;
  readonly #sent: SentMessages | undefined;
  readonly #areAnswersKeyed: boolean;
  /** By the id of the stimulus: the key of the call that it answers. */
  readonly #answering = new Map<string, string>();
  readonly #events: RecordedEvent[] = [];
  readonly #answered = new Set<string>();
  readonly #callByKey = new Map<string, string>();
  readonly #openTimers = new Map<string, Recorded<OpenTimer>>();
  #atMs = 0;
  #published = 0;

  /**
   * With `sent`, messages are held against what their senders asked for; without, every message has a number. Every answer has the
   * key of its call, or is known by its stimulus, which says what it was made for.
   */
  constructor(
    registry: Registry,
    sent?: SentMessages,
    { areAnswersKeyed = sent === undefined }: { readonly areAnswersKeyed?: boolean } = {},
  ) {
    this.#registry = registry;
    this.#sent = sent;
    this.#areAnswersKeyed = areAnswersKeyed;
  }

  /** The call that has this idempotency key. */
  callOf(key: string): Recorded<OpenCall> | undefined {
    return this.calls.get(this.#callByKey.get(key) ?? '');
  }

  get atMs(): number {
    return this.#atMs;
  }

  get position(): number {
    return this.#events.length;
  }

  /** The log accepted these turns. */
  recorded(turns: readonly RecordedTurn[]): void {
    for (const turn of turns) this.#record(turn);
  }

  /** The process told its subscribers of an event. */
  published({ position, id }: RecordedEvent): void {
    must(this.#events[position - 1]?.id === id, 'what is published is in the log', () => [position, id]);
    must(position > this.#published, 'events are published once, in order', () => [
      position,
      this.#published,
    ]);
    this.#published = position;
  }

  /** The process told whoever sent this stimulus that it is done. */
  acknowledged(id: string): void {
    must(this.turns.has(id), 'what is acknowledged is in the log', () => id);
  }

  /** An agent acts upon the world outside, with the key of its call. */
  effect(key: string): void {
    must(this.#callByKey.has(key), 'a call is in the log before it acts', () => key);
    this.effects.set(key, (this.effects.get(key) ?? 0) + 1);
  }

  /** An agent answers this call, in a stimulus of this id. */
  answering(id: string, { actor, call, generation }: OpenCall): void {
    this.#answering.set(id, callKey(actor, call, generation));
  }

  /** A process loaded or held this record: it must be what the log leads to. */
  matches(record: ActorRecord): void {
    const folded = this.actors.get(record.address);
    must(folded !== undefined && isSameRecord(folded, record), 'memory equals the log', () => [
      record,
      folded,
    ]);
  }

  #record(turn: RecordedTurn): void {
    must(!this.turns.has(turn.id), 'no stimulus is committed twice', () => turn.id);
    this.turns.set(turn.id, turn);
    must(turn.turn === this.turns.size, 'turns have no gaps', () => turn.turn);
    must(turn.atMs >= this.#atMs, 'time never goes back', () => [turn.atMs, this.#atMs]);
    this.#atMs = turn.atMs;
    for (const call of turn.openedCalls) this.#opened(call);
    const runs = new Set<string>();
    for (const event of turn.events) {
      this.#event(event, turn);
      runs.add(event.run);
    }
    this.#sent?.check(turn);
    for (const run of runs) this.turnsByRun.set(run, (this.turnsByRun.get(run) ?? 0) + 1);
    for (const timer of turn.openedTimers) {
      this.#openTimers.set(timerKey(timer.actor, timer.timer, timer.generation), timer);
    }
    for (const { actor, timer, generation } of turn.closedTimers) {
      this.#openTimers.delete(timerKey(actor, timer, generation));
    }
  }

  #opened(call: Recorded<OpenCall>): void {
    const name = callKey(call.actor, call.call, call.generation);
    const key = idempotencyKey(call);
    must(!this.calls.has(name), 'each call has a generation of its own', () => name);
    // A call that was taken back before it began is made again under its key: nobody has seen it yet.
    const isUnseen = this.#sent !== undefined && !this.effects.has(key);
    must(isUnseen || !this.#callByKey.has(key), 'each call has an idempotency key of its own', () => key);
    this.calls.set(name, call);
    this.#callByKey.set(key, name);
  }

  #event(event: RecordedEvent, turn: RecordedTurn): void {
    this.#events.push(event);
    must(event.position === this.#events.length, 'positions have no gaps', () => event.position);
    must(event.turn === turn.turn && event.atMs === turn.atMs, 'a row is of its turn', () => event.id);
    const before = this.actors.get(event.actor);
    if (event.type === TYPE.started) must(before === undefined, 'an actor starts once', () => event.actor);
    must(event.version === (before?.version ?? 0) + 1, 'versions have no gaps', () => [
      event.actor,
      event.version,
    ]);
    if (event.kind === 'undelivered') this.#message(event);
    else if (event.type === TYPE.callDone || event.type === TYPE.callFailed)
      this.#answer(event, before, turn);
    else if (event.type === TYPE.timerFired) this.#fired(event);
    else if (event.kind === 'message') this.#message(event);
    // It also compares the state that the row names with the one that it leads to.
    this.#sent?.begin();
    this.actors.set(event.actor, foldEvent(this.#registry, before, event));
    this.#sent?.end(event);
  }

  #answer(event: RecordedEvent, before: ActorRecord | undefined, turn: RecordedTurn): void {
    const { call, generation } = event.data as { call: string; generation: number };
    const name = callKey(event.actor, call, generation);
    const isAwaited = before?.status === 'active' && before.waits.calls[call] === generation;
    const opened = this.calls.get(name);
    must(opened !== undefined, 'an answer is to a call', () => name);
    const key = idempotencyKey(opened);
    if (!this.#areAnswersKeyed) {
      must(this.#answering.get(turn.id) === name, 'an answer is its own call’s', () => [name, event.data]);
      must(this.effects.has(key), 'an answered call had its effect', () => name);
    } else this.#mustSayItsKey(event, { name, key });
    if (event.kind === 'late') {
      must(!isAwaited, 'an answer that is awaited counts', () => name);
      return;
    }
    must(isAwaited, 'a late answer never moves its machine', () => name);
    must(!this.#answered.has(name), 'a call is answered at most once', () => name);
    this.#answered.add(name);
  }

  #mustSayItsKey(event: RecordedEvent, { name, key }: { readonly name: string; readonly key: string }): void {
    const answer = answerIn(event);
    must(answer.isExplained, 'an answer is an agent’s, or says why there is none', () => event.data);
    must(answer.key === undefined || answer.key === key, 'an answer is its own call’s', () => [
      name,
      event.data,
    ]);
    must(answer.key === undefined || this.effects.has(key), 'an answered call had its effect', () => name);
  }

  #fired(event: RecordedEvent): void {
    const { timer, generation } = event.data as { timer: string; generation: number };
    const open = this.#openTimers.get(timerKey(event.actor, timer, generation));
    must(open !== undefined, 'a timer fires once, while it is open', () => [event.actor, timer, generation]);
    must(event.atMs >= open.dueMs, 'a timer never fires early', () => [event.actor, timer, event.atMs]);
  }

  #message(event: RecordedEvent): void {
    if (event.kind === 'message') {
      const taken = this.taken.get(event.actor) ?? new Map<string, number>();
      taken.set(event.type, (taken.get(event.type) ?? 0) + 1);
      this.taken.set(event.actor, taken);
    }
    const serial = serialIn(event);
    if (event.from === null || serial === undefined) return;
    const name = `${event.from} ${serial}`;
    must(!this.messages.has(name), 'a message between actors is processed once', () => name);
    const sender = event.cause === null ? undefined : this.#events[event.cause - 1]?.actor;
    must(sender === event.from, 'a message is caused by an event of its sender', () => event.id);
    this.messages.set(name, event);
  }
}

interface Answer {
  /** The key of the call that it was made for: every agent here says it. What executors say in place of an agent has none. */
  readonly key: string | undefined;
  readonly isExplained: boolean;
}

const answerIn = ({ data }: RecordedEvent): Answer => {
  const { output, answer, error } = data as {
    output?: { key?: string; artifacts?: { key: string }; refused?: string } | null;
    answer?: { key: string };
    error?: { name: string; message: string; code?: string };
  };
  const key =
    output?.key ??
    output?.artifacts?.key ??
    answer?.key ??
    (error?.name === AGENT_FAILURE ? error.message : undefined);
  const isExplained =
    key !== undefined ||
    output?.refused !== undefined ||
    error?.code === 'AGENT_QUARANTINED' ||
    error?.code === 'AGENT_TIMED_OUT';
  return { key, isExplained };
};

/** The number that its sender gave to a message, also if it is kept in a dead letter. */
const serialIn = ({ kind, data }: RecordedEvent): number | undefined => {
  const message = (kind === 'undelivered' ? data.message : data) as { serial?: number } | null;
  return message?.serial;
};
